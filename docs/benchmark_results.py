"""The results that `benchmarks/record.py` wrote, as Markdown for the page on performance."""

import json

PLACE = "<!-- results -->"
EMPTY = "*No results are stored; `python benchmarks/record.py gram_matrix.py` writes the first.*"


def section(result):
    """One run: the question, the machine, and what was printed."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    question, mark, manner = result["question"].partition("?")
    return (
        f"### {question}{mark}\n\n"
        f"{manner.strip()} `python benchmarks/{result['command']}`, {result['date']}. "
        f"{result['machine']}; {versions}.\n\n"
        f"```text\n{result['output'].rstrip()}\n```"
    )


def text(folder):
    """All results of a folder, or a line that says that there are none."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return "\n\n".join(map(section, results)) or EMPTY
