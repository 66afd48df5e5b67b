"""WeightedDegree against its definition."""

import numpy as np
import pytest

from mercer.kernels import parse
from mercer.kernels.strings import WeightedDegree


def by_definition(x, y, length, shift):
    """The triple sum over places and lengths."""
    total = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            near = max(0.0, 1 - abs(i - j) / (shift + 1))
            for n in range(1, min(length, len(x) - i, len(y) - j) + 1):
                total += near * 2 * (length - n + 1) / (length * (length + 1)) * (x[i : i + n] == y[j : j + n])
    return total


@pytest.mark.parametrize(("length", "shift"), [(1, 0), (3, 0), (3, 1), (4, 3), (20, 30)])
def test_definition(define, length, shift) -> None:
    X = [*define.ODD, *define.random_strings(0, 15, 9, "ab")]
    expected = define.matrix(lambda x, y: by_definition(x, y, length, shift), X)
    kernel = WeightedDegree(length, shift)
    assert np.allclose(kernel(X), expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(kernel(X[:4], X), expected[:4], rtol=1e-12, atol=1e-12)


def test_text_and_parameters_out_of_range() -> None:
    assert parse("weighted_degree(length=4, shift=1)") == WeightedDegree(4, 1)
    for kernel in (WeightedDegree(0), WeightedDegree(2, -1), WeightedDegree(2, 0.5)):
        with pytest.raises(ValueError, match=r"WeightedDegree: (length|shift) = "):
            kernel(["a"])
