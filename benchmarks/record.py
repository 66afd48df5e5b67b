"""Run a benchmark and save its output, with machine and versions, for the performance page of the documentation.

Run: python benchmarks/record.py gram_matrix.py [its arguments]

Writes `results/<name>.json`. A benchmark prints its own figures next to those of its peer from the same run; only the
output of a run is shown, and all of it is kept, good or bad. If the machine is busy, the program waits, and gives up
after five minutes, before the run, so that no result can be the reason to omit it.
"""

import ast
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex", "torch", "triton")


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def wait_for_quiet(minutes=5):
    """Wait for an idle machine; on a busy one, contenders share the cores unequally."""
    end = time.monotonic() + 60 * minutes
    while (load := os.getloadavg()[0]) > cores() / 2:
        if time.monotonic() > end:
            raise SystemExit(f"The load is {load:.1f} on {cores()} cores; it should be at most {cores() / 2:g}.")
        time.sleep(5)


def machine():
    """The processor, usable cores, memory and load."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{name}, {cores()} cores, {memory:.0f} GiB, load {os.getloadavg()[0]:.1f} at the start, {platform.system()}"


def versions():
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def record(script, arguments):
    """The result of one run, in the form that the page reads."""
    path = HERE / script
    before = machine()
    run = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{script} failed; nothing was written.\n{run.stderr}")
    return {
        "question": ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0],
        "command": " ".join([script, *arguments]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": before,
        "versions": versions(),
        "output": run.stdout,
    }


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    wait_for_quiet()
    script, *arguments = sys.argv[1:]
    target = HERE / "results" / f"{Path(script).stem}.json"
    target.write_text(json.dumps(record(script, arguments), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
