"""Collections of graphs by name."""

from __future__ import annotations

from typing import Any

from .._errors import check_choice
from ._source import File, answer, locate, reading
from .tu import load_tu

PAGE = "https://chrsmrrs.github.io/datasets/"
COLLECTIONS = {
    "MUTAG": "188 aromatic nitro compounds; mutagenic or not",
    "Cuneiform": "267 cuneiform signs; 30 of them",
    "PROTEINS": "1,113 proteins; enzymes or not",
    "NCI1": "4,110 compounds; active against lung cancer cells or not",
    "IMDB-BINARY": "1,000 casts of films; action or romance",
}


def load_graphs(
    name: str,
    *,
    return_X_y: bool = False,
    data_home: Any = None,
    download_if_missing: bool = True,
) -> Any:
    """Load a collection of the TU Dortmund by its name; `load_tu` reads any other from a path.

    Parameters
    ----------
    name : {"MUTAG", "Cuneiform", "PROTEINS", "NCI1", "IMDB-BINARY"}
        The collection, in the file ``graphs/NAME.zip``.
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data``, a list of `mercer.domains.Graph`; ``target``, the labels of the collection; ``DESCR``, ``filename``.

    References
    ----------
    Morris, Kriege, Bause, Kersting, Mutzel, Neumann, *TUDataset: a collection of benchmark datasets for learning with
    graphs* (2020).

    Examples
    --------
    >>> graphs, y = load_graphs("MUTAG", return_X_y=True)  # doctest: +SKIP
    >>> len(graphs), graphs[0]  # doctest: +SKIP
    (188, Graph(17 nodes, 19 edges))
    """
    check_choice("load_graphs", "name", name, tuple(COLLECTIONS))
    path = locate("load_graphs", File(f"graphs/{name}.zip", PAGE), data_home, download_if_missing)
    with reading("load_graphs", path):
        found = load_tu(path)
    descr = (
        f"{name}: {COLLECTIONS[name]}.\n\nSource: TUDataset, {PAGE}.\nLicence: none is stated; in use for research.\n"
    )
    return answer(return_X_y, found.graphs, found.y, DESCR=descr, filename=path)
