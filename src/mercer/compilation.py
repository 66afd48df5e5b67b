"""Compile all of the library's compiled functions for the usual types, by solving small problems that need them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse

from . import _jit

__all__ = ["Warmup", "warmup"]


@dataclass(frozen=True)
class Warmup:
    """Result of `warmup`.

    Attributes
    ----------
    seconds : float
    functions, compiled, loaded : int
        The number of compiled functions, and of their versions (one for each combination of types) that were compiled
        now or loaded from disk.
    folders : list of Path
        Where the code is stored; empty if no folder is writable, in which case each process compiles for itself.
    """

    seconds: float
    functions: int
    compiled: int
    loaded: int
    folders: list[Path]


def warmup(progress: Callable[[str, int, int], object] | None = None) -> Warmup:
    """Compile everything now, so that no later process has to wait for it.

    Otherwise, each function is compiled when it is first needed. Compiled code is stored next to the installed library
    or, if that is read-only, in the user's cache folder; the environment variable ``NUMBA_CACHE_DIR`` sets another
    one. Run it again after an update of the library or of numba, or on another processor. It takes about a minute, or
    a second or two if everything is already compiled.

    Parameters
    ----------
    progress : callable, optional
        Called with the name of the next step, the number of steps done, and the total number.

    Returns
    -------
    Warmup
        With `seconds`, `functions`, `compiled`, `loaded` and `folders`.

    Examples
    --------
    >>> mercer.warmup()  # doctest: +SKIP
    Warmup(seconds=41.6, functions=63, compiled=81, loaded=0, folders=[PosixPath('.../site-packages/mercer')])
    """
    started, problems = perf_counter(), steps()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the problems are too small to be meaningful
        for done, (title, step) in enumerate(problems.items()):
            if progress is not None:
                progress(title, done, len(problems))
            step()
    own = [f.made for f in _jit.functions if "made" in vars(f) and f.__module__.startswith("mercer.")]
    found = [f for f in own if hasattr(f, "stats")]  # plain functions under NUMBA_DISABLE_JIT
    counts = [f.stats for f in found]
    places = {place for f in found for place in f._cache.used}
    missed, hit = (sum(sum(getattr(c, name).values()) for c in counts) for name in ("cache_misses", "cache_hits"))
    return Warmup(perf_counter() - started, len(found), missed, hit, _roots(places))


def _roots(places: set[Path]) -> list[Path]:
    """The library's folder for places inside it, and the parents of others."""
    own = Path(__file__).parent
    return sorted({own if place.is_relative_to(own) else place.parent for place in places})


def steps() -> dict[str, Callable[[], Any]]:
    """Small problems, keyed by the code that they compile."""
    import mercer
    from mercer import kernels
    from mercer.kernels import graphs, sequences, strings, trees
    from mercer.selection import KernelSearchCV

    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    t, y, three = X[:, 0] + 0.3 * rng.normal(size=150), np.where(X[:, 1] > 0, 1, -1), rng.integers(0, 3, 150)
    many = rng.normal(size=(3000, 3))  # so many that the solver computes rows on demand
    noisy = (many[:, 0] + rng.normal(size=3000) > 0).astype(int)
    wide = scipy.sparse.random_array((150, 6000), density=0.01, format="csr", random_state=0)
    words, series = ["banana", "ananas", "bandana"], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    networks = [[[0, 1, 1], [1, 0, 1], [1, 1, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]]
    sentences = [("S", ("NP", "John"), ("VP", ("V", "saw"), ("NP", "Mary")))]
    in_letters = [
        *(strings.Spectrum(length=2), strings.ConstantWeight(), strings.ExponentialDecay(), strings.Subsequence()),
        *(strings.LocalAlignment(), strings.Levenshtein(), strings.Mismatch(2, 1, alphabet="abdns")),
    ]
    in_networks = [
        *(graphs.Graphlet(size=4), graphs.ShortestPath(), graphs.WeisfeilerLehman(), graphs.RandomWalk(decay=0.1)),
        graphs.OptimalAssignment(),
    ]

    def fitted(*models: Any, X: Any = X, y: Any = None) -> list[Any]:
        return [model.fit(X, y) for model in models]

    def evaluated(chosen: list[Any], samples: Any) -> list[Any]:
        return [kernel(samples) for kernel in chosen]

    return {
        "support vector machines": lambda: [
            fitted(mercer.SVC(), mercer.SVC(fit_intercept=False), mercer.NuSVC(nu=0.3), y=y),
            fitted(mercer.SVC(), mercer.SVC(multi_class="ovr"), y=three),
            fitted(mercer.SVC(), mercer.SVC(fit_intercept=False), mercer.NuSVC(), X=many, y=noisy),
            fitted(mercer.SVR(), mercer.NuSVR(), mercer.OneClassSVM(), y=t),
            fitted(mercer.SVR(), mercer.OneClassSVM(), X=many, y=many[:, 0]),
        ],
        "several classes at once": lambda: fitted(
            mercer.SVC(multi_class="crammer_singer"), mercer.SVC(multi_class="kbb"), y=three
        ),
        "searches": lambda: fitted(KernelSearchCV(mercer.SVC(), {"C": [1.0, 10.0]}, cv=2), y=three),
        "linear machines": lambda: [
            fitted(mercer.LinearSVC(), mercer.LinearSVC(penalty="l1", dual=False), X=Z, y=y) for Z in (X, wide)
        ],
        "quantiles and sparse expansions": lambda: fitted(
            mercer.KernelQuantileRegression(), mercer.KernelMachine(loss="squared", penalty="l1"), y=t
        ),
        "ridges": lambda: fitted(mercer.KernelRidgeCV(), X=many[:300], y=many[:300, 0]),
        "smoothing splines": lambda: [
            fitted(mercer.SmoothingSpline(order=order), X=X[:, :1], y=t) for order in (1, 2, 3)
        ],
        "kernels of vectors": lambda: [kernels.Gaussian()(Z) for Z in (many, many.astype(np.float32))],
        "kernels of strings": lambda: evaluated([*in_letters, strings.WeightedDegree()], words[:2]),
        "kernels of graphs": lambda: evaluated(in_networks, networks),
        "kernels of sequences": lambda: evaluated(
            [sequences.GlobalAlignment(), sequences.DynamicTimeWarping()], series
        ),
        "kernels of trees": lambda: evaluated([trees.Subtree(), trees.SubsetTree()], sentences),
        "tests of independence": lambda: mercer.inference.hsic_test(X, X[:, :1]),
    }
