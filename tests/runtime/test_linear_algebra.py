"""The functions of `runtime/linear_algebra.py` on batches: sizes around those of their blocks, and empty ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirax.runtime import linear_algebra as la

SIZES = [(2, 1), (1, 31), (3, 32), (2, 70), (0, 4), (2, 0)]
BOUND = {"float32": 2e-4, "float64": 1e-10}


def random(*shape: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("batch, n", SIZES)
def test_lu(batch: int, n: int, dtype: str) -> None:
    for m in (n, n + 5):
        for x in (random(batch, m, n, dtype=dtype), random(batch, n, m, dtype=dtype)):
            rows, rank = x.shape[1], min(x.shape[1:])
            out, pivots = np.empty_like(x), np.empty((batch, rank), np.int32)
            info, order = np.empty(batch, np.int32), np.empty((batch, rows), np.int64)
            la.lu(x, out, pivots, info)
            la.pivots_to_order(out, pivots, order)
            lower = np.tril(out[..., :rank], -1) + np.eye(rows, rank)
            assert np.all(np.abs(lower) <= 1)
            permuted = np.take_along_axis(x, order[..., None], 1)
            np.testing.assert_allclose(lower @ np.triu(out[:, :rank]), permuted, atol=BOUND[dtype])
            assert not info.any()


@pytest.mark.parametrize("upper, unit", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("batch, n", SIZES)
def test_solve_triangular(batch: int, n: int, upper: bool, unit: bool) -> None:
    x, b = random(batch, n, n) / (n + 1) + 2 * np.eye(n), random(n, 3)
    out = np.empty((batch, n, 3))
    la.solve_triangular(x, b, upper, unit, out)
    triangle = np.triu(x) if upper else np.tril(x)
    if unit:
        triangle = triangle - triangle * np.eye(n) + np.eye(n)
    np.testing.assert_allclose(triangle @ out, np.broadcast_to(b, out.shape), atol=1e-12)


def test_a_zero_on_the_diagonal_of_a_triangle() -> None:
    out = np.empty((2, 1))
    la.solve_triangular(np.array([[1.0, 0], [1, 0]]), np.array([[1.0], [2]]), False, False, out)
    np.testing.assert_array_equal(out, [[1], [np.inf]])


def test_the_status_names_the_minor_or_the_pivot() -> None:
    x = np.stack([np.eye(4), np.diag([1.0, 2, 0, 1]), np.diag([-1.0, 2, 0, 1])])
    out, info = np.empty_like(x), np.empty(3, np.int32)
    la.cholesky(x, False, False, out, info)
    assert info.tolist() == [0, 3, 1]
    assert np.isnan(out[1]).all() and not np.isnan(out[0]).any()
    la.inv(x, False, out, info)
    assert info.tolist() == [0, 3, 3]


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 30.0])
def test_matrix_exp(scale: float) -> None:
    x = random(2, 6, 6) * scale
    symmetric = x + x.swapaxes(-1, -2)
    out = np.empty_like(x)
    la.matrix_exp(symmetric, out)
    values, v = np.linalg.eigh(symmetric)
    wanted = (v * np.exp(values)[:, None, :]) @ v.swapaxes(-1, -2)
    np.testing.assert_allclose(out, wanted, atol=1e-10 * np.abs(wanted).max())


def test_matrix_exp_of_other_batches() -> None:
    for shape in ((0, 3, 3), (2, 0, 0)):
        la.matrix_exp(np.zeros(shape), np.zeros(shape))
    out = np.empty((1, 1))
    la.matrix_exp(np.array([[np.nan]]), out)
    assert np.isnan(out)
