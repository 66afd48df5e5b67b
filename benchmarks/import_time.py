"""What does `import mercer` cost beyond scikit-learn? Median of fresh processes in turn; the target is at most 0.15 s.

Run: python benchmarks/import_time.py [processes]
"""

import os
import statistics
import subprocess
import sys

BASELINE = "import sklearn.base, sklearn.utils.validation, sklearn.metrics.pairwise, scipy.linalg, scipy.sparse.linalg"
STATEMENTS = {"scikit-learn": BASELINE, "scikit-learn, then mercer": f"{BASELINE}; import mercer"}


def seconds(statement):
    code = f"from time import perf_counter\nstart = perf_counter()\n{statement}\nprint(perf_counter() - start)"
    with_bytecode = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=with_bytecode)
    return float(run.stdout)


def main(processes=7):
    for statement in STATEMENTS.values():  # files into the page cache, bytecode onto the disk
        seconds(statement)
    times = {name: [] for name in STATEMENTS}
    for _ in range(processes):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:28s} {value:6.3f} s   ({processes} processes, {min(times[name]):.3f} to {max(times[name]):.3f})")
    base, both = medians.values()
    print(f"{'mercer adds':28s} {both - base:6.3f} s   ({both / base:.2f} of scikit-learn alone)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
