"""Laws that a loss must satisfy."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import numpy as np
from scipy.linalg import block_diag
from sklearn.base import clone

from ..losses import ABILITIES, Loss, Task
from ..types import Array
from ._arrays import close, move


def check_loss(loss: Loss, *, namespaces: Any = (), seed: int = 0) -> None:
    """Assert the laws of a loss.

    Totals are sums; derivatives agree with finite differences, both as blocks and as products with matrices; `convex`,
    `majorizer` and the link hold as claimed; the proximal map is a minimiser, for a common step and one step per
    sample; the conjugate satisfies Fenchel's inequality, with equality at the gradient; the dual box agrees with the
    conjugate. Abilities not listed in `provides` raise NotImplementedError.

    Parameters
    ----------
    loss : Loss
    namespaces : sequence of array namespaces
        Further array libraries to compare with NumPy, in float32 and float64.
    seed : int
        Seed of the targets, which the loss itself draws, and of the values.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> check_loss(Logistic())
    """
    rng = np.random.default_rng(seed)
    n = 24
    y = loss.targets(rng, n)
    loss.check(y)
    f, g = 2 * rng.normal(size=(2, n, *loss.outputs(y)))
    weight = rng.uniform(0.5, 2.0, n)
    assert loss.task in get_args(Task), f"{loss!r}: task {loss.task!r}"

    total = float(loss.total(y, f))
    assert np.isfinite(total), f"{loss!r}: total is {total}"
    if not loss.coupled:
        value = loss.value(y, f)
        assert value.shape == (n,), f"{loss!r}: value has shape {value.shape}"
        assert np.all(value >= 0), f"{loss!r}: a loss must not be negative"
        close(total, np.sum(value), 1e-12, "total", loss)
        close(loss.total(y, f, weight), weight @ value, 1e-12, "weighted total", loss)
    close(loss.total(y, f, np.ones(n)), total, 1e-12, "weights of one", loss)
    if loss.convex:
        measure = loss.total if loss.coupled else loss.value
        for a, b in ((f, g), (5 * f, 5 * g)):
            chord = 0.3 * measure(y, a) + 0.7 * measure(y, b)
            above = chord - measure(y, 0.3 * a + 0.7 * b)
            assert np.all(above >= -1e-12 * (1 + np.abs(chord))), f"{loss!r}: not convex"

    copy, same = pickle.loads(pickle.dumps(loss)), clone(loss)
    assert repr(copy) == repr(same) == repr(loss), f"{loss!r}: pickle or clone"
    close(copy.total(y, f), total, 0.0, "pickled copy", loss)

    _check_derivatives(loss, y, f, weight, rng)
    _check_dual(loss, y, f, rng)
    if "link_inverse" in loss.provides:
        _check_link(loss, y)
    arguments: dict[str, Any] = {"prox": (y, f, 1.0), "box": (y, weight), "hessian_product": (y, f, f)}
    for name in set(ABILITIES) - loss.provides:
        try:
            getattr(type(loss), name)(loss, *arguments.get(name, (f,) if "link" in name else (y, f)))
        except NotImplementedError:
            continue
        raise AssertionError(f"{loss!r}: {name} is not in `provides`, but does not raise NotImplementedError")
    _check_arrays(loss, y, f, weight, namespaces)


def _check_derivatives(loss: Loss, y: Array, f: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> None:
    provides, h, size = loss.provides, 1e-5, f.size
    bumps = h * np.eye(size).reshape(size, *f.shape)
    if "gradient" not in provides:
        return
    numeric = [float(loss.total(y, f + e, weight) - loss.total(y, f - e, weight)) / (2 * h) for e in bumps]
    close(loss.gradient(y, f, weight), np.reshape(numeric, f.shape), 1e-7, "gradient", loss)
    close(loss.gradient(y, f, np.ones(len(f))), loss.gradient(y, f), 1e-12, "gradient with weights of one", loss)
    if not provides & {"hessian", "hessian_product", "majorizer"}:
        return
    columns = [(loss.gradient(y, f + e, weight) - loss.gradient(y, f - e, weight)) / (2 * h) for e in bumps]
    H = np.stack([c.ravel() for c in columns], axis=1)
    if "hessian" in provides:
        close(_matrix(loss.hessian(y, f, weight), f), H, 1e-7, "hessian", loss)
    if "hessian_product" in provides:
        V = rng.normal(size=(*f.shape, 3))
        expected = (H @ V.reshape(size, 3)).reshape(V.shape)
        close(loss.hessian_product(y, f, V, weight), expected, 1e-6, "hessian_product", loss)
        close(loss.hessian_product(y, f, V[..., 0], weight), expected[..., 0], 1e-6, "hessian_product", loss)
        one = loss.hessian_product(y, f, V[..., 0], np.ones(len(f)))
        close(loss.hessian_product(y, f, V[..., 0]), one, 1e-12, "hessian_product with weights of one", loss)
    if "majorizer" in provides:
        M = _matrix(loss.majorizer(y, f, weight), f)
        scale = max(1.0, np.abs(M).max())
        for name, A in (("the Hessian", M - (H + H.T) / 2), ("0", M)):
            assert np.linalg.eigvalsh(A)[0] >= -1e-6 * scale, f"{loss!r}: majorizer is less than {name}"


def _matrix(blocks: Any, f: np.ndarray) -> np.ndarray:
    """The matrix with these blocks, or numbers, on its diagonal."""
    if blocks.shape == f.shape:
        return np.diag(blocks.ravel())
    assert blocks.shape == (*f.shape, f.shape[-1]), f"blocks of shape {blocks.shape} for f of shape {f.shape}"
    return block_diag(*blocks)


def _check_dual(loss: Loss, y: Array, f: np.ndarray, rng: np.random.Generator) -> None:
    """Check the proximal map, the conjugate and the box of a convex separable loss."""
    provides, n = loss.provides, len(f)

    def dot(a: Array, b: Array) -> Any:
        return np.reshape(a * b, (n, -1)).sum(axis=1)

    def moreau(p: Array, step: Array) -> Any:
        return loss.value(y, p) + dot(p - f, p - f) / (2 * step)

    if "prox" in provides:
        for step in (0.1, 1.0, 10.0, 10 ** rng.uniform(-2, 2, n)):
            p = loss.prox(y, f, step)
            assert p.shape == f.shape, f"{loss!r}: prox has shape {p.shape}"
            u = (f - p) / np.reshape(step, (-1, *(1,) * (f.ndim - 1)))
            for size in np.logspace(-6, 1, 50):
                d = size * rng.normal(size=f.shape)
                rise = moreau(p + d, step) - moreau(p, step)
                assert np.all(rise >= -1e-10 * (1 + moreau(p, step))), f"{loss!r}: prox is not a minimum"
                # by convexity, even where the minimum is flat to rounding: (f − p)/step is a subgradient at p
                above = loss.value(y, p + d) - loss.value(y, p) - dot(u, d)
                rounding = 1e-10 * (1 + loss.value(y, p) + np.abs(dot(u, d)))
                assert np.all(above >= -rounding), f"{loss!r}: prox is off, {above.min():g}"
    if "conjugate" in provides:
        u = loss.gradient(y, f)
        close(loss.value(y, f) + loss.conjugate(y, u), dot(u, f), 1e-10, "Fenchel's equality at the gradient", loss)
        for _ in range(20):
            other, at = loss.gradient(y, 3 * rng.normal(size=f.shape)), 3 * rng.normal(size=f.shape)
            for candidate in (other, rng.normal(size=f.shape)):
                gap = loss.value(y, at) + loss.conjugate(y, candidate) - dot(candidate, at)
                assert np.all(gap >= -1e-10), f"{loss!r}: Fenchel's inequality fails by {gap.min():g}"
    if "box" in provides:
        bound = rng.uniform(0.3, 3.0, n)
        boxes = loss.box(y, bound)
        for k, box in enumerate(boxes):
            assert np.all((box.lower <= 0) & (box.upper >= 0)), f"{loss!r}: box {k} does not contain 0"
            near, far = np.clip(box.lower, -5, 0), np.clip(box.upper, 0, 5)
            ridge = 0.0 if box.ridge is None else box.ridge
            for share in (0.0, 0.25, 0.8, 1.0):
                beta = near + share * (far - near)
                term = 0.5 * ridge * beta**2 - box.linear * beta
                close(bound * loss.conjugate(y, -beta / bound), term, 1e-10, f"box {k} against the conjugate", loss)
        ends = {"lower": sum(box.lower for box in boxes), "upper": sum(box.upper for box in boxes)}
        for name, end in ends.items():
            beyond = np.clip(end, -1e99, 1e99) + (1e-6 if name == "upper" else -1e-6)
            outside = loss.conjugate(y, -beyond / bound) == np.inf
            assert np.all(outside == (np.abs(end) < 1e299)), (
                f"{loss!r}: the {name} bound of the box is not that of the domain"
            )
        idle = loss.box(y, np.zeros(n))
        assert all(np.all(box.lower == 0) and np.all(box.upper == 0) for box in idle), f"{loss!r}: a box of weight zero"


def _check_link(loss: Loss, y: Array) -> None:
    """Check that the link is increasing in each entry, and that `link_inverse` inverts it."""
    t = np.linspace(-30, 30, 200)
    for j in range(loss.outputs(y)[0] if loss.outputs(y) else 1):
        f = t
        if loss.outputs(y):
            f = np.zeros((len(t), *loss.outputs(y)))
            f[:, j] = t
        mean = loss.link_inverse(f)
        assert mean.shape == f.shape, f"{loss!r}: link_inverse has shape {mean.shape}"
        assert np.all(np.diff(mean if f.ndim == 1 else mean[:, j]) >= 0), f"{loss!r}: the link is not monotone"
        inner = loss.link_inverse(f[80:120])
        close(loss.link_inverse(loss.link(inner)), inner, 1e-12, "link of link_inverse", loss)


def _check_arrays(loss: Loss, y: Array, f: np.ndarray, weight: np.ndarray, namespaces: Any) -> None:
    """Other array libraries, float32 and NumPy scalars as parameters give the same values, in the type of f."""
    step, provides = weight, loss.provides
    arguments: dict[str, Any] = dict.fromkeys(("total", "gradient", "hessian", "majorizer"), (y, f, weight))
    arguments |= {"value": (y, f), "hessian_product": (y, f, f, weight), "prox": (y, f, step), "link_inverse": (f,)}
    if "conjugate" in provides:
        arguments["conjugate"] = (y, loss.gradient(y, f))
    names = {"total"} | (set() if loss.coupled else {"value"}) | (provides & set(arguments))
    imposing = {k: np.float64(v) for k, v in loss.get_params(deep=False).items() if type(v) is float}
    typed = clone(loss).set_params(**imposing)
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-10), ("float32", 1e-4)):
            kind = move(f, xp, dtype)
            for name in names:
                moved = getattr(typed, name)(*(move(a, xp, dtype) for a in arguments[name]))
                assert moved.dtype == kind.dtype, f"{loss!r}: {name} of {dtype} gave {moved.dtype}"
                assert name == "total" or isinstance(moved, type(kind)), f"{loss!r}: {name} gave {type(moved)}"
                expected = getattr(loss, name)(*arguments[name])
                close(moved, expected, tol, f"{name} on {xp.__name__} {dtype}", loss)
