"""The results that `benchmarks/record.py` wrote, as Markdown for the page on performance."""

import json
import re

PLACE = "<!-- results -->"
EMPTY = "*No results are stored; `python benchmarks/record.py gram_matrix.py` writes the first.*"
OTHERS = "Others"
LOAD = re.compile(r", (load [\d.]+ at the start)")
THEMES = {
    "Kernel matrices": {
        "gram_matrix": "Gaussian kernel matrix",
        "lazy_product": "Products without the matrix",
        "gpu": "Products on a GPU",
        "strings": "Strings",
        "graphs": "Graphs",
    },
    "Classification and regression": {
        "svm": "Support vector machines",
        "gpu_svm": "Support vector machines on a GPU",
        "gpu_grid": "Searches on a GPU",
        "small_data": "Small data and single rows",
        "growth": "From thirty rows to a hundred thousand",
        "grid_search": "A grid over C and γ",
        "linear_svm": "Linear machines",
        "logistic": "Logistic regression",
        "gpu_methods": "Ridge, components and logistic regression on a GPU",
        "ridge_cv": "Ridge regression by leave-one-out",
        "tuning": "Tuning by gradients",
        "spline": "Smoothing splines",
        "digits": "The digits of the lectures",
    },
    "Structure": {
        "kernel_pca": "Principal components",
        "denoising": "Denoising",
        "fisher_pls": "Discriminants and partial least squares",
        "retrieval": "Canonical correlation",
        "ica": "Independent components",
        "kernel_kmeans": "Kernel k-means",
        "density": "Densities",
        "hsic": "Independence test",
    },
    "Several kernels, tasks, samples": {
        "multiple_kernels": "Multiple kernels",
        "multitask": "Many tasks",
        "transfer": "Marginal transfer",
        "semi_supervised": "Few labels",
        "indefinite": "Indefinite kernels",
    },
    "The library": {"import_time": "Import", "calls": "The ten most common calls"},
}


def facts(result):
    """On what and when it was run, without the load, which belongs to the run."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return [LOAD.sub("", result["machine"]), versions, result["date"]]


def section(name, title, result, shared):
    """One run: the question, how it was asked, and what was printed."""
    own = [fact for fact in facts(result) if fact not in shared]
    manner = "; ".join([*LOAD.findall(result["machine"]), *own])
    return (
        f"(benchmark-{name})=\n### {title}\n\n{result['question']}\n\n"
        f"`python benchmarks/{result['command']}`{f' ({manner})' if manner else ''}\n\n"
        f"```text\n{result['output'].rstrip()}\n```"
    )


def text(folder):
    """All results of a folder by theme, after a list of them, or a line that says that there are none.

    What all runs have in common is said once.
    """
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    if not results:
        return EMPTY
    known = {name for titles in THEMES.values() for name in titles}
    themes = {**THEMES, OTHERS: {name: name.replace("_", " ").capitalize() for name in results if name not in known}}
    runs = [facts(result) for result in results.values()]
    shared = [fact for fact in runs[0] if all(fact in run for run in runs)]
    contents, parts = [], []
    for theme, titles in themes.items():
        found = {name: title for name, title in titles.items() if name in results}
        if found:
            links = ", ".join(f"[{title}](#benchmark-{name})" for name, title in found.items())
            contents.append(f"- {theme}: {links}")
            parts += [f"## {theme}", *(section(name, title, results[name], shared) for name, title in found.items())]
    said = [f"All runs: {'; '.join(shared)}."] if shared else []
    return "\n\n".join([*said, "\n".join(contents), *parts])
