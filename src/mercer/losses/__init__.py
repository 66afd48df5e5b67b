"""Losses."""

from ._base import ABILITIES, FAR, Box, Loss, Task, register, registry
from .absolute import Absolute
from .cox import Cox
from .custom import Custom
from .epsilon_insensitive import EpsilonInsensitive
from .expectile import Expectile
from .exponential import Exponential
from .expression import LossLike, as_loss
from .hampel import Hampel
from .hinge import Hinge
from .huber import Huber
from .log_cosh import LogCosh
from .logistic import Logistic
from .multinomial import Multinomial
from .pinball import Pinball
from .poisson import Poisson
from .smoothed_hinge import SmoothedHinge
from .squared import Squared
from .squared_epsilon_insensitive import SquaredEpsilonInsensitive
from .squared_hinge import SquaredHinge

__all__ = [
    "ABILITIES",
    "FAR",
    "Absolute",
    "Box",
    "Cox",
    "Custom",
    "EpsilonInsensitive",
    "Expectile",
    "Exponential",
    "Hampel",
    "Hinge",
    "Huber",
    "LogCosh",
    "Logistic",
    "Loss",
    "LossLike",
    "Multinomial",
    "Pinball",
    "Poisson",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Task",
    "as_loss",
    "register",
    "registry",
]
