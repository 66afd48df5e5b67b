"""What a benchmark prints is what the page on performance shows, and nothing else."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def module(path):
    spec = spec_from_file_location(path.stem, path)
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


results, recorder = module(ROOT / "docs" / "benchmark_results.py"), module(ROOT / "benchmarks" / "record.py")


def test_page_of_no_results(tmp_path):
    assert results.text(tmp_path) == results.EMPTY
    assert results.PLACE in (ROOT / "docs" / "guide" / "performance.md").read_text(encoding="utf-8")


def test_page_shows_what_was_printed(tmp_path):
    script = tmp_path / "speed.py"
    script.write_text('"""How fast is it?\n\nMore.\n"""\nimport sys\nprint("ratio", sys.argv[1])\n', encoding="utf-8")
    result = recorder.record(str(script), ["3.5"])
    (tmp_path / "speed.json").write_text(json.dumps(result), encoding="utf-8")
    page = results.text(tmp_path)
    assert "### Speed\n\nHow fast is it?\n" in page and "[Speed](#benchmark-speed)" in page and "\nratio 3.5\n" in page
    assert result["machine"].split(",")[0] in page and f"numpy {result['versions']['numpy']}" in page


def test_page_says_once_what_all_runs_share(tmp_path):
    run = {"question": "How fast?", "command": "x.py", "versions": {"Python": "3.12"}, "output": "1\n"}
    for name, load, date in (("svm", 0.1, "2026-01-31"), ("gram_matrix", 0.2, "2026-02-01")):
        result = {**run, "date": date, "machine": f"AMD, 2 cores, load {load} at the start, Linux"}
        (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    page = results.text(tmp_path)
    assert page.startswith("All runs: AMD, 2 cores, Linux; Python 3.12.\n") and page.count("AMD") == 1
    assert "(load 0.1 at the start; 2026-01-31)" in page and "(load 0.2 at the start; 2026-02-01)" in page
    assert page.index("## Kernel matrices") < page.index("## Classification and regression")


def test_every_benchmark_has_a_title():
    titles = [name for theme in results.THEMES.values() for name in theme]
    assert sorted(titles) == sorted({path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"record"})


def test_failed_run_writes_nothing(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text('"""No."""\nraise RuntimeError("no peer")\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="no peer"):
        recorder.record(str(script), [])


def test_busy_machine_is_waited_for_and_then_refused(monkeypatch):
    monkeypatch.setattr(recorder, "cores", lambda: 4)
    monkeypatch.setattr(recorder.os, "getloadavg", lambda: (2.1, 0.0, 0.0))
    with pytest.raises(SystemExit, match="at most 2"):
        recorder.wait_for_quiet(minutes=0)
    loads = iter([3.0, 2.1, 2.0])
    monkeypatch.setattr(recorder.os, "getloadavg", lambda: (next(loads), 9.0, 9.0))
    monkeypatch.setattr(recorder.time, "sleep", lambda seconds: None)
    recorder.wait_for_quiet()
    assert not list(loads)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks" / "results").glob("*.json")), ids=lambda path: path.stem)
def test_stored_result_is_complete(path):
    result = json.loads(path.read_text(encoding="utf-8"))
    assert set(result) == {"question", "command", "date", "machine", "versions", "output"}
    assert (ROOT / "benchmarks" / result["command"].split()[0]).exists()
