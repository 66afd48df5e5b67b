"""Handwritten digits."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import affine_transform

from .._errors import check_choice
from ..types import Data, FilePath
from ._source import File, Part, answer, arrays, choose, locate, located, reading

SUBSETS = ("train", "test", "all")
_KINDS = ("{}-images-idx3", "{}-labels-idx1")

_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_IDX = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
MNIST = {
    name: File(f"mnist/{name}-ubyte.gz", _MIRROR, parts=(Part(f"{_MIRROR}{name}-ubyte.gz", digest),))
    for name, digest in _IDX.items()
}
MNIST_DESCR = """MNIST: 70,000 handwritten digits of 28 × 28 pixels, 60,000 for training and 10,000 for tests.

Source: LeCun, Cortes, Burges, The MNIST database of handwritten digits (1998), from NIST's Special Databases 1 and 3.
Licence: Creative Commons Attribution-Share Alike 3.0.
"""
USPS_DESCR = """USPS: 9,298 handwritten digits of 16 × 16 pixels from envelopes, 7,291 for training and 2,007 for tests.

Source: Le Cun et al., Handwritten digit recognition with a back-propagation network (1990); the files of Hastie,
Tibshirani and Friedman, The Elements of Statistical Learning. LIBSVM's files hold the same digits, smoothed.
Licence: none stated; in use for research.
"""


def load_mnist(
    *,
    subset: str = "train",
    scale: str = "unit",
    return_X_y: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load the MNIST digits.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 training digits, the 10,000 test digits, or all, training digits first.
    scale : {"unit", "signed", "raw"}, default="unit"
        Pixels as float32 in [0, 1] or [−1, 1], or as bytes. The background is 0, −1 or 0, respectively.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    data_home : path, default=None
        Folder for downloads (in its subfolder ``mercer``). The default is `sklearn.datasets.get_data_home`.
    download_if_missing : bool, default=True
        If False, raise an error if the files are neither in the folder ``MERCER_DATA`` nor in `data_home`.

    Returns
    -------
    Bunch
        ``data`` of shape (n, 784), with images row by row; ``target``; ``feature_names``, ``target_names``, ``images``
        (n, 28, 28), ``DESCR``, ``filename``.

    References
    ----------
    LeCun, Bottou, Bengio, Haffner, *Gradient-based learning applied to document recognition* (1998).

    Examples
    --------
    >>> digits = load_mnist(subset="test", scale="signed")  # doctest: +SKIP
    >>> digits.data.shape, float(digits.data.min()), digits.target[:5]  # doctest: +SKIP
    ((10000, 784), -1.0, array([7, 2, 1, 0, 4]))
    """
    check_choice("load_mnist", "subset", subset, SUBSETS)
    check_choice("load_mnist", "scale", scale, ("unit", "signed", "raw"))
    parts = {"train": ["train"], "test": ["t10k"], "all": ["train", "t10k"]}[subset]
    where = (data_home, download_if_missing)
    found = {kind: [locate("load_mnist", MNIST[kind.format(part)], *where) for part in parts] for kind in _KINDS}
    images, target = (np.concatenate([read_idx(path) for path in found[kind]]) for kind in _KINDS)
    if len(images) != len(target):
        raise ValueError(f"load_mnist: {len(images)} images and {len(target)} labels in {found}; replace the files.")
    data = images.reshape(len(images), -1)
    if scale != "raw":
        data = data.astype(np.float32) / 255 if scale == "unit" else data.astype(np.float32) / 127.5 - 1
    return _digits(return_X_y, data, target, MNIST_DESCR, [path for kind in _KINDS for path in found[kind]])


def read_idx(path: Path) -> np.ndarray:
    """Read bytes in the idx format: two zeros, 8 for bytes, the number of axes, their lengths (big-endian), values."""
    with reading("load_mnist", path), gzip.open(path) as file:
        head = file.read(4)
        if head[:3] != b"\0\0\x08":
            raise ValueError(f"it starts with {head.hex()}, not 000008")
        shape = tuple(np.frombuffer(file.read(4 * head[3]), ">u4").astype(int))
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


def _digits(return_X_y: bool, data: np.ndarray, target: np.ndarray, descr: str, filename: Any) -> Any:
    side = int(np.sqrt(data.shape[1]))
    return answer(
        return_X_y,
        data,
        target.astype(np.int64),
        feature_names=[f"pixel_{i}_{j}" for i in range(side) for j in range(side)],
        target_names=np.arange(10),
        images=data.reshape(-1, side, side),
        DESCR=descr,
        filename=filename,
    )


def _build_usps(parts: Sequence[Path], path: Path) -> None:
    """Convert lines of a digit and its 256 pixels on [−1, 1], in thousandths, to arrays with pixels on [0, 1]."""
    tables = [np.loadtxt(part, ndmin=2) for part in parts]
    check = sha256()
    for table in tables:
        check.update(table[:, 0].astype(np.int8).tobytes() + np.rint(1000 * table[:, 1:]).astype("<i2").tobytes())
    if check.hexdigest() != _USPS_CONTENT:
        raise ValueError("the digits do not match the checksum")
    found: dict[str, Any] = {}
    for part, table in zip(("train", "test"), tables, strict=True):
        found[f"X_{part}"] = ((table[:, 1:] + 1) / 2).astype(np.float32)
        found[f"y_{part}"] = table[:, 0].astype(np.int8)
    np.savez_compressed(path, **found)


_ESL = "https://hastie.su.domains/ElemStatLearn/datasets/"
# checksum of the values, because copies of the files differ in compression
_USPS_CONTENT = "9a7c62d4ae8456936534c29d88ac7b31468dc4bd63526a13f81bfe40dadaf27c"
USPS = File(
    "usps/usps.npz",
    _ESL,
    "an npz file of X_train, y_train, X_test and y_test, with pixels on [0, 1]",
    (Part(_ESL + "zip.train.gz"), Part(_ESL + "zip.test.gz")),
    _build_usps,
)


def load_usps(
    *,
    subset: str = "train",
    scale: str = "unit",
    return_X_y: bool = False,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
) -> Any:
    """Load the USPS digits.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 7,291 training digits, the 2,007 test digits, or all, training digits first.
    scale : {"unit", "signed"}, default="unit"
        Pixels as float32 in [0, 1] or [−1, 1]; the background is 0 or −1.
    return_X_y, data_home, download_if_missing
        As in `load_mnist`.

    Returns
    -------
    Bunch
        ``data`` of shape (n, 256), with images row by row; ``target``; ``feature_names``, ``target_names``, ``images``
        (n, 16, 16), ``DESCR``, ``filename``.

    References
    ----------
    Le Cun, Boser, Denker, Henderson, Howard, Hubbard, Jackel, *Handwritten digit recognition with a back-propagation
    network* (1990).

    Examples
    --------
    >>> X, y = load_usps(return_X_y=True)  # doctest: +SKIP
    >>> X.shape, y[:5]  # doctest: +SKIP
    ((7291, 256), array([6, 5, 4, 7, 3]))
    """
    check_choice("load_usps", "subset", subset, SUBSETS)
    check_choice("load_usps", "scale", scale, ("unit", "signed"))
    with located("load_usps", USPS, data_home, download_if_missing) as path:
        parts = arrays(path)
        data, target = (choose(subset, parts[f"{name}_train"], parts[f"{name}_test"]) for name in "Xy")
    data = data if scale == "unit" else 2 * data - 1
    return _digits(return_X_y, data, target, USPS_DESCR, path)


def deskew(X: Data) -> np.ndarray:
    r"""Shear and shift square images so that their ink is upright and centred.

    With the ink's mean row and column :math:`\bar r, \bar c`, its moments :math:`\mu_{20} = \sum v\,(r - \bar r)^2` and
    :math:`\mu_{11} = \sum v\,(r - \bar r)(c - \bar c)`, and the middle m of the image, the new value of a pixel is the
    old one at

    .. math:: r' = r - m + \bar r, \qquad c' = c - m + \bar c + \frac{\mu_{11}}{\mu_{20}}\,(r - m),

    interpolated linearly, and 0 outside the image. Rows and columns of the ink are then uncorrelated, except that
    interpolation adds at most a quarter of a squared pixel to :math:`\mu_{20}`.

    Parameters
    ----------
    X : array of shape (n, side²)
        Images row by row, nonnegative, 0 without ink (``scale="unit"`` or ``"raw"``, not ``"signed"``).

    Returns
    -------
    array of shape (n, side²)
        On the scale of X, float64 if X is and float32 otherwise. Images without ink are unchanged.

    References
    ----------
    LeCun, Bottou, Bengio, Haffner, *Gradient-based learning applied to document recognition* (1998).

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((1, 9, 9))
    >>> image[0, [2, 3, 4, 5, 6], [6, 5, 4, 3, 2]] = 1  # a stroke that leans to the right
    >>> deskew(image.reshape(1, 81)).reshape(9, 9).sum(axis=0)
    array([0., 0., 0., 0., 5., 0., 0., 0., 0.])
    """
    X = np.asarray(X)
    side = int(np.sqrt(X.shape[-1]))
    if X.ndim != 2 or side**2 != X.shape[1]:
        raise ValueError(f"deskew: X has shape {X.shape}; each row must be a square image, for a shape (n, side²).")
    X = X.astype(np.float64 if X.dtype == np.float64 else np.float32)
    if not np.all(X >= 0):
        raise ValueError("deskew: X must be nonnegative, 0 where there is no ink; scale pixels to [0, 1].")
    middle = (side - 1) / 2
    axis = np.arange(side, dtype=X.dtype) - middle
    rows, columns = np.repeat(axis, side), np.tile(axis, side)
    inked = np.flatnonzero(X.any(axis=1))
    moments = X[inked] @ np.stack([rows, columns, rows**2, rows * columns], axis=1)
    r, c, rr, rc = (moments / X[inked].sum(axis=1, keepdims=True)).T
    spread = rr - r**2
    shear = np.divide(rc - r * c, spread, out=np.zeros_like(r), where=spread > 1e-6)
    out = X.copy()
    for i, mean, column, lean in zip(inked, r, c, shear, strict=True):
        affine_transform(
            X[i].reshape(side, side),
            [[1, 0], [lean, 1]],
            offset=[mean, column - lean * middle],
            order=1,
            mode="grid-constant",
            output=out[i].reshape(side, side),
        )
    return out
