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
    assert page.startswith("### How fast is it?\n") and "\nratio 3.5\n" in page
    assert result["machine"] in page and f"numpy {result['versions']['numpy']}" in page


def test_failed_run_writes_nothing(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text('"""No."""\nraise RuntimeError("no peer")\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="no peer"):
        recorder.record(str(script), [])


def test_busy_machine_is_refused(monkeypatch):
    monkeypatch.setattr(recorder, "cores", lambda: 4)
    monkeypatch.setattr(recorder.os, "getloadavg", lambda: (2.1, 0.0, 0.0))
    with pytest.raises(SystemExit, match="at most 2"):
        recorder.refuse_busy()
    monkeypatch.setattr(recorder.os, "getloadavg", lambda: (2.0, 9.0, 9.0))
    recorder.refuse_busy()


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks" / "results").glob("*.json")), ids=lambda path: path.stem)
def test_stored_result_is_complete(path):
    result = json.loads(path.read_text(encoding="utf-8"))
    assert set(result) == {"question", "command", "date", "machine", "versions", "output"}
    assert (ROOT / "benchmarks" / result["command"].split()[0]).exists()
