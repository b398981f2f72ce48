"""LDLᵀ factorizations and their solutions beside numpy's of the same matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.runtime import symmetric_systems
from tirax.runtime.errors import AssertionFailedError


@pytest.mark.parametrize("diagonal", [0.0, 1.0, 9.0])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 40])
def test_solutions_are_those_of_numpy(n: int, diagonal: float) -> None:
    random = np.random.default_rng(n)
    x = random.standard_normal((3, n, n))
    x = (
        np.tril(x, -1)
        + np.tril(x, -1).swapaxes(1, 2)
        + (diagonal + 0.1) * random.standard_normal((3, 1, n)) * np.eye(n)
    )
    b = random.standard_normal((n, 2))
    factors, pivots = np.empty_like(x), np.empty((3, n), np.int32)
    info, out = np.empty(3, np.int32), np.empty((3, n, 2))
    symmetric_systems.ldl(np.tril(x), True, factors, pivots, info)
    symmetric_systems.ldl_solve(factors, pivots, b, out)
    assert not info.any() and not np.triu(factors, 1).any()
    np.testing.assert_allclose(out, np.linalg.solve(x, np.broadcast_to(b, out.shape)), rtol=1e-7, atol=1e-9)


def test_a_zero_column_is_named() -> None:
    x = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0])])
    out, pivots, info = np.empty_like(x), np.empty((2, 3), np.int32), np.empty(2, np.int32)
    symmetric_systems.ldl(x, False, out, pivots, info)
    assert info.tolist() == [0, 2]
    with pytest.raises(AssertionFailedError, match=r"the matrix \(1,\) is not invertible"):
        symmetric_systems.ldl(x, True, out, pivots, info)
