"""Collections of graphs, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import check_choice
from ..types import FilePath
from ._source import File, Part, answer, located
from .tu import load_tu

PAGE = "https://chrsmrrs.github.io/datasets/"
COLLECTIONS = {
    "MUTAG": "188 aromatic nitro compounds; mutagenic or not",
    "PTC_MR": "344 compounds; carcinogenic in male rats or not",
    "Cuneiform": "267 cuneiform signs; 30 of them",
    "PROTEINS": "1,113 proteins; enzymes or not",
    "ENZYMES": "600 enzymes; their six classes",
    "NCI1": "4,110 compounds; active against lung cancer cells or not",
    "NCI109": "4,127 compounds; active against ovarian cancer cells or not",
    "IMDB-BINARY": "1,000 casts of films; action or romance",
    "IMDB-MULTI": "1,500 casts of films; comedy, romance or science fiction",
}
# a copy of the collections of 2019, at an address whose content cannot change
_COPY = "https://raw.githubusercontent.com/bknyaz/graph_nn/42424688d23f34f6b6e9b4c110f3381c02198312/data/{}.zip"
_SHA256 = {
    "MUTAG": "20f52db82d6d85d5f67d2fa42c3fb705d05934be44329314ab17b05d0c012f7e",
    "PTC_MR": "2f935126a9ec684e13ed9ff5ea389f62c4c70f41dcedb3e1114c0b0947103200",
    "PROTEINS": "fe9d19741637486ea1fd285bf669fce0b117e10b03cdd379f6a5e6197fc830ae",
    "ENZYMES": "0ca7125d7978788346fc6ba5c3cc643b6122153b304220c2230bcb09f99f8ffb",
    "NCI1": "eae6b0c076d59e667c67de0039cfc3214eefb91a8dddc2fa3099126da02d4376",
    "NCI109": "c9e5388b0fb049b68205f8f8c2465d983e73ea8d41ea42bbd15b121aa55d9420",
    "IMDB-BINARY": "2a4abb6431ec1ab025a6fbcd3b546607191f79a1e0aef0f42cd8bd4ec1546116",
    "IMDB-MULTI": "1d22bb88ee69f9f7c09eb7f072dadec56e3f91ad4b14cfd99231379b68073883",
}
GRAPHS = {
    name: File(f"graphs/{name}.zip", PAGE, parts=(Part(_COPY.format(name), _SHA256[name]),) if name in _SHA256 else ())
    for name in COLLECTIONS
}


def load_graphs(
    name: str, *, return_X_y: bool = False, data_home: FilePath | None = None, download_if_missing: bool = True
) -> Any:
    """Load a TU Dortmund collection by name; `load_tu` reads any other from a path.

    Parameters
    ----------
    name : {"MUTAG", "PTC_MR", "Cuneiform", "PROTEINS", "ENZYMES", "NCI1", "NCI109", "IMDB-BINARY", "IMDB-MULTI"}
        The collection, in the file ``graphs/NAME.zip``.
    return_X_y, data_home, download_if_missing
        As in `load_mnist`. Cuneiform has no download.

    Returns
    -------
    Bunch
        ``data``, a list of `mercer.domains.Graph`; ``target`` from 0; ``target_names``, the labels of the collection;
        ``DESCR``, ``filename``.

    References
    ----------
    Morris, Kriege, Bause, Kersting, Mutzel, Neumann, *TUDataset: a collection of benchmark datasets for learning with
    graphs* (2020).

    Examples
    --------
    >>> graphs, y = load_graphs("MUTAG", return_X_y=True)  # doctest: +SKIP
    >>> len(graphs), graphs[0], y[:3]  # doctest: +SKIP
    (188, Graph(17 nodes, 19 edges), array([1, 0, 0]))
    """
    check_choice("load_graphs", "name", name, tuple(COLLECTIONS))
    with located("load_graphs", GRAPHS[name], data_home, download_if_missing) as path:
        found = load_tu(path)
        labels, target = np.unique(found.y, return_inverse=True)
    descr = f"{name}: {COLLECTIONS[name]}.\n\nSource: TUDataset, {PAGE}.\nLicence: none stated; in use for research.\n"
    return answer(return_X_y, found.graphs, target, target_names=labels, DESCR=descr, filename=path)
