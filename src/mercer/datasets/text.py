"""Texts and sequences, as strings."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import check_choice
from ..types import FilePath
from ._source import UCI, File, Part, answer, encode, located, read_table, write_table

CSV = "a CSV file with the columns label and sequence"

R8_PAGE = "https://ana.cachopo.org/datasets-for-single-label-text-categorization (R8, all terms)"
_R8_COPY = (
    "https://raw.githubusercontent.com/Maryam-ask/NLP_PFAI_Assignment/610a80e1ad7f6d5d7a071ef7ae1f58a089b8088d/"
    "r8-{}-all-terms.txt"
)
_R8 = {
    "train": "64b54d11c97ecd9c4540090d96cc5be601eb843af7931c8b59aa34e51705a812",
    "test": "7a827d7c2cd64c6b85a8268b8806c54563bd79813df9af13246b3ca56bc8431f",
}


def _compress(parts: Sequence[Path], path: Path) -> None:
    with open(parts[0], "rb") as text, gzip.open(path, "wb") as out:
        shutil.copyfileobj(text, out)


R8 = {
    part: File(
        f"text/r8_{part}.tsv.gz",
        R8_PAGE,
        "a file of a header, and lines of topic, tab and text",
        (Part(_R8_COPY.format(part), digest),),
        _compress,
    )
    for part, digest in _R8.items()
}
R8_TOPICS = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
R8_DESCR = """R8: 7,674 Reuters reports in eight topics, 5,485 for training and 2,189 for tests.

Words in lower case, without punctuation. Source: Reuters-21578, as prepared by Cardoso-Cachopo, Improving methods for
single-label text categorization (2007). Licence: Reuters-21578 is free for research.
"""

REUTERS40 = File(
    "text/reuters40_kernlab.json.gz", "CRAN, in the R package kernlab as reuters", "a JSON file of text and label"
)
REUTERS40_DESCR = """Reuters, 40 reports: 20 on acquisitions and 20 on crude oil, in full.

Source: Reuters-21578 by way of the R package kernlab, as reuters. Licence: GPL-2, like the package.
"""


def _build_splice(parts: Sequence[Path], path: Path) -> None:
    """Strip the blanks around cells."""
    with open(parts[0], newline="", encoding="utf-8") as file:
        write_table(path, ([cell.strip() for cell in row] for row in csv.reader(file)))


SPLICE = File(
    "strings/splice.csv.gz",
    f"{UCI}/dataset/69/molecular+biology+splice+junction+gene+sequences",
    CSV,
    (
        Part(
            "https://raw.githubusercontent.com/pauldhein/splice-junction-detector/"
            "5b513261aff700a36445d185f4ceec0e7b287d42/data/splice.csv",
            "f0d9602dc94a00189727ee345befaa35b946bcce5700d4d0b9929943d26c18f8",
        ),
    ),
    _build_splice,
)
SPLICE_DESCR = """Splice junctions: 3,190 sequences of 60 nucleotides from the DNA of primates.

EI: the end of an exon (767); IE: the end of an intron (768); N: neither (1,655). A few letters stand for several
nucleotides (D, N, R, S). Source: Noordewier, Towell, Shavlik (1991), from the UCI repository.
Licence: Creative Commons Attribution 4.0 (UCI).
"""


def _build_promoters(parts: Sequence[Path], path: Path) -> None:
    """Convert lines of a number, single letters and the label."""
    with open(parts[0], newline="", encoding="utf-8") as file:
        write_table(path, [["label", "sequence"], *([row[-1], "".join(row[1:-1])] for row in csv.reader(file))])


PROMOTERS = File(
    "strings/promoters.csv.gz",
    f"{UCI}/dataset/67/molecular+biology+promoter+gene+sequences",
    CSV,
    (
        Part(
            "https://raw.githubusercontent.com/KaloshinPE/MEM_detector/da9c3c40da0ca8dab996d226f266370da83bef1e/"
            "data/promoters.data",
            "840208d058f1f51e6900a1bd15fec01bcb7ec6b599ed7514a582489444dbb387",
        ),
    ),
    _build_promoters,
)
PROMOTERS_DESCR = """Promoters: 106 sequences of 57 nucleotides of E. coli, 53 of them promoters.

Source: Harley, Reynolds, Noordewier (1990), from the UCI repository.
Licence: Creative Commons Attribution 4.0 (UCI).
"""


def load_r8(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load Reuters reports in eight topics.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 5,485 training reports, the 2,189 test reports, or all, training reports first.
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``, a list of texts; ``target`` from 0 to 7; ``target_names``, ``DESCR``, ``filename``.

    References
    ----------
    Cardoso-Cachopo, *Improving methods for single-label text categorization* (2007).

    Examples
    --------
    >>> news = load_r8(subset="test")  # doctest: +SKIP
    >>> len(news.data), news.target_names[:3].tolist()  # doctest: +SKIP
    (2189, ['acq', 'crude', 'earn'])
    """
    check_choice("load_r8", "subset", subset, ("train", "test", "all"))
    data, targets, filename = [], [], []
    for part in R8 if subset == "all" else (subset,):
        source = located("load_r8", R8[part], data_home, download_if_missing)
        with source as path, gzip.open(path, "rt", encoding="utf-8") as file:
            filename.append(path)
            _, *rows = (line.rstrip("\n").split("\t", 1) for line in file)  # the first line is a header
            data += [text for _, text in rows]
            targets.append(encode([label for label, _ in rows], R8_TOPICS))
    return _texts(return_X_y, data, np.concatenate(targets), R8_TOPICS, R8_DESCR, filename)


def load_reuters40(
    *, return_X_y: bool = False, data_home: FilePath | None = None, download_if_missing: bool = True
) -> Any:
    """Load forty Reuters reports, on acquisitions and on crude oil.

    Parameters
    ----------
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``, a list of texts; ``target``, 0 for acquisitions and 1 for crude oil; ``target_names``, ``DESCR``,
        ``filename``.

    Examples
    --------
    >>> X, y = load_reuters40(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:30], int(y.sum())  # doctest: +SKIP
    ('Computer Terminal Systems Inc ', 20)
    """
    topics = ("acq", "crude")
    source = located("load_reuters40", REUTERS40, data_home, download_if_missing)
    with source as path, gzip.open(path, "rt", encoding="utf-8") as file:
        found = json.load(file)
        data, target = found["text"], encode(found["label"], topics)
    return _texts(return_X_y, data, target, topics, REUTERS40_DESCR, path)


def load_splice(
    *, return_X_y: bool = False, data_home: FilePath | None = None, download_if_missing: bool = True
) -> Any:
    """Load DNA sequences around ends of exons, ends of introns, and neither.

    Parameters
    ----------
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``, a list of 3,190 strings of 60 letters; ``target``, 0 for EI, 1 for IE and 2 for N; ``target_names``,
        ``DESCR``, ``filename``.

    Examples
    --------
    >>> splice = load_splice()  # doctest: +SKIP
    >>> splice.data[0][28:34], splice.target_names[splice.target[0]].item()  # doctest: +SKIP
    ('AGGTCT', 'EI')
    """
    source = located("load_splice", SPLICE, data_home, download_if_missing)
    return _sequences(source, ("EI", "IE", "N"), return_X_y, SPLICE_DESCR)


def load_promoters(
    *, return_X_y: bool = False, data_home: FilePath | None = None, download_if_missing: bool = True
) -> Any:
    """Load DNA sequences, half of which are promoters of a gene.

    Parameters
    ----------
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``, a list of 106 strings of 57 letters; ``target``, 1 for promoters and 0 otherwise; ``target_names``,
        ``DESCR``, ``filename``.

    Examples
    --------
    >>> X, y = load_promoters(return_X_y=True)  # doctest: +SKIP
    >>> len(X), X[0][:10], int(y[0])  # doctest: +SKIP
    (106, 'tactagcaat', 1)
    """
    source = located("load_promoters", PROMOTERS, data_home, download_if_missing)
    return _sequences(source, ("-", "+"), return_X_y, PROMOTERS_DESCR)


def _sequences(source: AbstractContextManager[Path], names: tuple[str, ...], return_X_y: bool, descr: str) -> Any:
    with source as path:
        table = read_table(path)
        data, target = table["sequence"], encode(table["label"], names)
    return _texts(return_X_y, data, target, names, descr, path)


def _texts(
    return_X_y: bool, data: list[str], target: np.ndarray, names: tuple[str, ...], descr: str, filename: Any
) -> Any:
    return answer(return_X_y, data, target, target_names=np.array(names), DESCR=descr, filename=filename)
