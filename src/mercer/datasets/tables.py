"""Numeric tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets

from .._errors import check_choice
from ..types import FilePath
from ._source import UCI, File, Part, answer, arrays, encode, located, read_table, write_table

VOWEL = File("classic/vowel.csv.gz", "CRAN, in the R package mlbench as Vowel", "a CSV file")
VOWEL_DESCR = """Vowels of British English: 990 of them, 15 speakers saying 11 words 6 times; 9 coefficients for each.

Source: Deterding, Speaker normalisation for automatic speech recognition (1989), from the UCI repository by way of the
R package mlbench. Speakers 0 to 7 are for training (528 vowels), the others for tests (462), as in the UCI repository.
Licence: Creative Commons Attribution 4.0 (UCI).
"""


def load_wine(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Wine data, 13 measurements of 178 wines from three growers: scikit-learn's copy, unscaled.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return ``data`` as a pandas DataFrame, ``target`` as a Series, and both in ``frame``.

    Returns
    -------
    Bunch
        As `sklearn.datasets.load_wine`: ``data`` (178, 13), ``target``, ``feature_names``, ``target_names``, ``DESCR``.

    Examples
    --------
    >>> load_wine().data.shape
    (178, 13)
    """
    wine = sklearn.datasets.load_wine(as_frame=as_frame)
    wine.DESCR += "\nLicence: Creative Commons Attribution 4.0 (UCI).\n"
    return (wine.data, wine.target) if return_X_y else wine


def load_vowel(
    *,
    subset: str = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load vowels of fifteen speakers, for classification or multitask learning.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The first eight speakers, the other seven, or all.
    return_X_y, as_frame, data_home, download_if_missing
        As in `load_wine` and `load_mnist`.

    Returns
    -------
    Bunch
        ``data`` (n, 9); ``target`` from 0 to 10; ``groups``, the speaker from 0 to 14; ``feature_names``,
        ``target_names``, ``DESCR``, ``filename``.

    Examples
    --------
    >>> vowels = load_vowel(subset="all")  # doctest: +SKIP
    >>> vowels.data.shape, vowels.target_names[:3].tolist()  # doctest: +SKIP
    ((990, 9), ['hid', 'hId', 'hEd'])
    """
    check_choice("load_vowel", "subset", subset, ("train", "test", "all"))
    with located("load_vowel", VOWEL, data_home, download_if_missing) as path:
        columns = read_table(path)
        said = columns.pop("Class")
        words = list(dict.fromkeys(said))
        target = encode(said, words)
        speaker = np.array(columns.pop("V1"), dtype=np.int64)
        data = np.array(list(columns.values()), dtype=np.float64).T
    rows = {"train": speaker < 8, "test": speaker >= 8, "all": speaker >= 0}[subset]
    return answer(
        return_X_y,
        data[rows],
        target[rows],
        as_frame=as_frame,
        groups=speaker[rows],
        feature_names=list(columns),
        target_names=np.array(words),
        DESCR=VOWEL_DESCR,
        filename=path,
    )


# for each data frame: the folder of its file, package and name in R, and the targets
R_TABLES = {
    "mcycle": ("splines", "MASS/mcycle", "accel"),
    "geyser": ("splines", "MASS/geyser", "duration"),
    "faithful": ("splines", "datasets/faithful", "eruptions"),
    "quakes": ("splines", "datasets/quakes", "mag"),
    "cars": ("splines", "datasets/cars", "dist"),
    "galaxies": ("splines", "MASS/galaxies", ""),
    "airquality": ("splines", "datasets/airquality", "Ozone"),
    "GAGurine": ("splines", "MASS/GAGurine", "GAG"),
    "boot_motor": ("splines", "boot/motor", "accel"),
    "co2_monthly": ("splines", "datasets/co2", "co2"),
    "nottem": ("splines", "datasets/nottem", "temp"),
    "nile": ("splines", "datasets/Nile", "flow"),
    "rat_diet": ("splines", "fields/rat.diet", "con trt"),
    "boston": ("classic", "MASS/Boston", "medv"),
    "crabs": ("classic", "MASS/crabs", "sp"),
    "swiss": ("classic", "datasets/swiss", "Fertility"),
    "LifeCycleSavings": ("classic", "datasets/LifeCycleSavings", "sr"),
    "USArrests": ("classic", "datasets/USArrests", ""),
    "cats": ("classic", "MASS/cats", "Hwt"),
    "fgl_glass": ("classic", "MASS/fgl", "type"),
    "trees": ("classic", "datasets/trees", "Volume"),
    "stackloss": ("classic", "datasets/stackloss", "stack.loss"),
}
_R_COLUMNS = {
    "galaxies": ["velocity"],
    "nottem": ["time", "temp"],
    "nile": ["year", "flow"],
}  # where those of Rdatasets differ
_R_SHA256 = {
    "mcycle": "b89a1e4eb0391a982b32be3e378df00e8593ff9971e9425e9c5d7929b74f9801",
    "geyser": "691381248e0418ccbfc23cc5093e71220313ddb7ffb70e817e27a6dfb900fbcc",
    "faithful": "5043db1e2c51c8e8fd67e0868c768ae589770cc76ad0ac0c5b7afd1fca31fc57",
    "quakes": "d674b6fb1a18dd004d44a987713f8d44b1ebe0a206f18a5f505e169c7f683926",
    "cars": "08e75516e5fd1377db316a3ed790545c942dcf905c69f49d0c6f16873a4a6242",
    "galaxies": "5c094d8beb8ecc980493de62e9fd4d2cf7f891b07aed6b1c55a5b42879f498d0",
    "airquality": "65d2c4afd976c169af9bb0bd97e9e78e1e8a185f1b52e2e3153e30f90c7fb5f8",
    "GAGurine": "c673d58396ad5ae3e41014bc451c325a0271dfda5ab237c3d755536a1e637edf",
    "boot_motor": "1242ee88222db32667e769a1df167a231dead99d21f67a71ce8a562767dfb8d4",
    "nottem": "634e2e374c5d59c1332e6e6de207d691cb4ebdcd007f7f0e2993ac2a19c90473",
    "nile": "d0452bea38c61e796a4eeb950bf91d20fb5c7f13d5822eadf5990fe54f9c8d07",
    "boston": "654ae93c04416defb2b3752951a7f4357d5951c84c02371b80b48a4492337f86",
    "crabs": "d643a70456ee5bd8a10b434416f0941615ea5a0adf208263ca25a49407c24b60",
    "swiss": "e9ee520d190a6586bb3072d5b4cace46930ce3eb3c85ba6d70fc2afa1e37dae8",
    "LifeCycleSavings": "753e6c00ad8550b03cdaf93057f2e9ad7b0a11b50e465fdbbc1c009fd71fe2ad",
    "USArrests": "30e78bf58b16929f71f84435580d0aa67910d56a08360dfb5c7b22e0c65d6eba",
    "cats": "b6beba5da29b0f64fc72fda982e01bd9080bfa19866196be087904127d0f713d",
    "fgl_glass": "628e5f64c5ed26a0a9e54a522a562b322771cd18b32b9794c2986cdaf466e135",
    "trees": "7547a8a919872cf39d2e77db7a2945e1abe258e0c40e3f2482586103fa2f7948",
    "stackloss": "5e038eca20714e6d2c88019d98007a11e1efeecaac83b8490793bd2868ca07ef",
}
_RDATASETS = (
    "https://raw.githubusercontent.com/vincentarelbundock/Rdatasets/1dcc2bf5f955cc1224a3e1307256e1fe86b68dae/csv/{}.csv"
)


def _r_file(name: str) -> File:
    folder, item, _ = R_TABLES[name]
    digest = _R_SHA256.get(name)

    def build(copies: Sequence[Path], path: Path) -> None:
        with open(copies[0], newline="", encoding="utf-8") as file:
            head, *rows = (row[1:] for row in csv.reader(file))  # the first column names the rows
        write_table(path, [_R_COLUMNS.get(name, head), *rows])

    parts = (Part(_RDATASETS.format(item), digest),) if digest else ()
    return File(f"{folder}/{name}.csv.gz", f"CRAN, as the R data {item}", "a CSV file", parts, build)


def load_r_data(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load a table from R's packages by name.

    Parameters
    ----------
    name : str
        "mcycle", "geyser", "faithful", "quakes", "cars", "galaxies", "airquality", "GAGurine", "boot_motor",
        "co2_monthly", "nottem", "nile", "rat_diet", "boston", "crabs", "swiss", "LifeCycleSavings",
        "USArrests", "cats", "fgl_glass", "trees" or "stackloss".
    return_X_y, as_frame, data_home, download_if_missing
        As in `load_wine` and `load_mnist`.

    Returns
    -------
    Bunch
        ``data`` (n, p) and ``target``: an array (n,), or (n, t) for several targets (``rat_diet``), or None without a
        target (``galaxies``, ``USArrests``). NA is NaN. Text columns are encoded as positions in
        ``categories[column]``, as integers for targets. Also ``feature_names``, ``target_names`` (the classes,
        or the names of the targets), ``DESCR``, ``filename``.

    Examples
    --------
    >>> mcycle = load_r_data("mcycle")  # doctest: +SKIP
    >>> mcycle.feature_names, mcycle.data[0], float(mcycle.target.min())  # doctest: +SKIP
    (['times'], array([2.4]), -134.0)
    """
    check_choice("load_r_data", "name", name, tuple(R_TABLES))
    _, item, explained = R_TABLES[name]
    categories: dict[str, list[str]] = {}
    with located("load_r_data", _r_file(name), data_home, download_if_missing) as path:
        columns = read_table(path)
        numbers = {column: _numbers(column, cells, categories) for column, cells in columns.items()}
        targets = [numbers.pop(column) for column in explained.split()]
    data = np.stack([values.astype(np.float64) for values in numbers.values()], axis=1)
    return answer(
        return_X_y,
        data,
        None if not targets else targets[0] if len(targets) == 1 else np.stack(targets, axis=1),
        as_frame=as_frame,
        categories=categories,
        feature_names=list(numbers),
        target_names=np.array([label for column in explained.split() for label in categories.get(column, [column])]),
        DESCR=f"{name}: {len(data)} rows of {', '.join(columns)}.\n\nSource: R, {item}.\nLicence: GPL.\n",
        filename=path,
    )


def _numbers(column: str, cells: list[str], categories: dict[str, list[str]]) -> np.ndarray:
    try:
        return np.array([np.nan if cell in ("NA", "") else float(cell) for cell in cells])
    except ValueError:
        categories[column] = sorted(set(cells))
        return encode(cells, categories[column])


REGRESSION = {
    "abalone": (f"{UCI}/dataset/1/abalone", "rings of 4,177 abalones from 7 measures and their sex (3 indicators)"),
    "airfoil": (f"{UCI}/dataset/291/airfoil+self+noise", "sound pressure of 1,503 airfoils from 5 measures"),
    "bike": (f"{UCI}/dataset/275/bike+sharing+dataset", "rented bicycles in 17,379 hours from 17 measures, centred"),
    "california_housing": (
        "http://lib.stat.cmu.edu/datasets/",
        "values of houses in 20,640 blocks, in 100,000 dollars",
    ),
    "concrete": (f"{UCI}/dataset/165/concrete+compressive+strength", "strength of 1,030 concretes from 8 measures"),
    "energy_heating": (f"{UCI}/dataset/242/energy+efficiency", "heating load of 768 buildings from 8 measures"),
    "kin40k": ("https://github.com/treforevans/uci_datasets", "distances of 40,000 robot arms from 8 angles, centred"),
    "kin8nm": ("https://www.openml.org/d/189", "distances of 8,192 robot arms from 8 angles"),
    "power_plant": (
        f"{UCI}/dataset/294/combined+cycle+power+plant",
        "output of a plant in 9,568 hours from 4 measures",
    ),
    "protein_casp": (
        f"{UCI}/dataset/265/physicochemical+properties+of+protein+tertiary+structure",
        "deviation of 45,730 structures of proteins from 9 measures",
    ),
    "pumadyn32nm": (
        "https://github.com/treforevans/uci_datasets",
        "8,192 accelerations of a robot arm, 32 inputs, centred",
    ),
    "wine_red": (f"{UCI}/dataset/186/wine+quality", "quality of 1,599 red wines from 11 measures"),
    "yacht": (f"{UCI}/dataset/243/yacht+hydrodynamics", "resistance of 308 yachts from 6 measures"),
}


def load_uci_regression(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load a regression problem from common benchmarks.

    Parameters
    ----------
    name : str
        "abalone", "airfoil", "bike", "california_housing", "concrete", "energy_heating", "kin40k", "kin8nm",
        "power_plant", "protein_casp", "pumadyn32nm", "wine_red" or "yacht".
    return_X_y, as_frame, data_home, download_if_missing
        As in `load_wine` and `load_mnist`.

    Returns
    -------
    Bunch
        ``data`` (n, p), ``target`` (n,), ``feature_names``, ``DESCR``, ``filename``; and ``test_mask`` (n, 10), the
        test samples of ten published splits, or None.

    Examples
    --------
    >>> load_uci_regression("kin8nm").data.shape  # doctest: +SKIP
    (8192, 8)
    """
    check_choice("load_uci_regression", "name", name, tuple(REGRESSION))
    page, text = REGRESSION[name]
    file = File(f"uci_regression/{name}.npz", page, "an npz file of X and y")
    with located("load_uci_regression", file, data_home, download_if_missing) as path:
        found = arrays(path)
        data, target = found["X"], found["y"]
    names = found.get("feature_names")
    licence = "Creative Commons Attribution 4.0 (UCI)" if UCI in page else "none stated; in use for research"
    return answer(
        return_X_y,
        data,
        target,
        as_frame=as_frame,
        test_mask=found.get("test_mask"),
        feature_names=[f"x{i}" for i in range(data.shape[1])] if names is None else names.tolist(),
        DESCR=f"{name}: {text}.\n\nSource: {page}.\nLicence: {licence}.\n",
        filename=path,
    )


ANOMALY = (
    *("annthyroid", "breastw", "cardio", "glass", "ionosphere", "letter", "mammography", "pendigits", "pima"),
    *("satellite", "vowels", "wbc", "wine"),
)
ODDS = "https://odds.cs.stonybrook.edu"


def load_anomaly(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load an outlier detection problem from the ODDS library.

    Parameters
    ----------
    name : str
        "annthyroid", "breastw", "cardio", "glass", "ionosphere", "letter", "mammography", "pendigits", "pima",
        "satellite", "vowels", "wbc" or "wine".
    return_X_y, as_frame, data_home, download_if_missing
        As in `load_wine` and `load_mnist`.

    Returns
    -------
    Bunch
        ``data`` (n, p); ``target``, 1 for an outlier and 0 otherwise; ``feature_names``, ``target_names``, ``DESCR``,
        ``filename``.

    References
    ----------
    Rayana, *ODDS library* (2016).

    Examples
    --------
    >>> cardio = load_anomaly("cardio")  # doctest: +SKIP
    >>> len(cardio.data), int(cardio.target.sum())  # doctest: +SKIP
    (1831, 176)
    """
    check_choice("load_anomaly", "name", name, ANOMALY)
    file = File(f"anomaly/{name}.npz", ODDS, "an npz file of X and y")
    with located("load_anomaly", file, data_home, download_if_missing) as path:
        found = arrays(path)
        data, target = found["X"], found["y"].astype(np.int64)
    return answer(
        return_X_y,
        data,
        target,
        as_frame=as_frame,
        feature_names=[f"x{i}" for i in range(data.shape[1])],
        target_names=np.array(["inlier", "outlier"]),
        DESCR=f"{name}: {len(data)} samples, {target.sum()} of them outliers.\n\nSource: ODDS, {ODDS}, from the UCI "
        "repository.\nLicence: Creative Commons Attribution 4.0 (UCI) of the original data.\n",
        filename=path,
    )
