"""The factor by blocks is the Cholesky factor, in place."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from mercer.solvers.linear._blocked import lower_factor_in_place  # noqa: E402


@pytest.mark.parametrize("n", [1, 16, 50, 64])
def test_factor_by_blocks(n):
    B = np.random.default_rng(0).normal(size=(n, n + 2))
    A = (B @ B.T / n + np.eye(n)).astype(np.float32)
    given = torch.tensor(A)
    L = lower_factor_in_place(given, block=16)
    assert L is given
    assert_allclose(L.numpy(), np.linalg.cholesky(A.astype(np.float64)), rtol=0, atol=1e-5)
    assert not torch.backends.cuda.matmul.allow_tf32


def test_indefinite_matrices_raise_torchs_error():
    A = torch.eye(40)
    A[30, 30] = -1.0
    with pytest.raises(RuntimeError, match="positive"):
        lower_factor_in_place(A, block=16)
    assert not torch.backends.cuda.matmul.allow_tf32
