"""The differences that scikit-learn's own tests find, as Markdown for the page on conventions."""

import tomllib

PLACE = "<!-- deviations -->"
KINDS = {
    "deviation": "Intentional differences:",
    "wording": "The same errors and warnings with another message:",
}


def text(path):
    """The reasons of the table, kind by kind, each with the tests that it stands for."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))["deviation"]
    parts = []
    for kind, heading in KINDS.items():
        lines = [
            f"- {entry['reason'][:-1]} ({', '.join(names(entry['tests']))})."
            for entry in table
            if entry["kind"] == kind
        ]
        parts += [heading, "\n".join(lines)] if lines else []
    return "\n\n".join(parts)


def names(tests):
    """The functions among ids of tests, without their files and parameters."""
    return list(dict.fromkeys(f"`{test.partition('::')[2].partition('[')[0]}`" for test in tests))
