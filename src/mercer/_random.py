"""Random generators from scikit-learn's ``random_state``."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from ._errors import KindError, where
from .types import RandomState


def generator(random_state: RandomState) -> np.random.Generator:
    """Convert None, an int, a RandomState or a Generator to a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def generator_of(estimator: object) -> np.random.Generator:
    """The generator for an estimator's random_state; a fixed one without this parameter, so fits are reproducible."""
    return generator(getattr(estimator, "random_state", 0))


def random_frame(p: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A matrix of shape (p, d) with orthonormal columns, uniformly distributed."""
    Q, R = np.linalg.qr(rng.normal(size=(p, d)))
    return np.asarray(Q * np.sign(np.diag(R)))  # the signs make it uniform (Mezzadri 2007)


def check_random(owner: object, random_state: RandomState) -> None:
    """Raise unless `random_state` is valid."""
    if isinstance(random_state, np.random.Generator):
        return
    if isinstance(random_state, Integral) and 0 <= random_state < 2**32:  # without the slow seeding of a RandomState
        return
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise KindError(
            f"{where(owner)}: random_state = {random_state!r} must be None, an integer from 0 to 2**32 - 1, or a "
            "NumPy RandomState or Generator."
        ) from error
