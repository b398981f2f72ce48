"""Operators of the library that no Relax operator reaches, in numbers; the others are tested through legalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax import te, topi
from tirax.diagnostics import NameLookupError, ShapeError, TiraxError
from tirax.interpreter import interpret
from tirax.ir.verification.verify import verify_module


def evaluate(function: Callable[..., Any], *arrays: Any, shapes: Sequence[tuple[Any, ...]] | None = None) -> Any:
    """The result of a tensor function on arrays (placeholders of `shapes`, or of the arrays' own)."""
    dims = shapes or [a.shape for a in arrays]
    tensors = [te.placeholder(d, str(a.dtype), f"x{i}") for i, (a, d) in enumerate(zip(arrays, dims, strict=True))]
    result = function(*tensors)
    sizes = {str(d): n for t, a in zip(tensors, arrays, strict=True) for d, n in zip(t.dims, a.shape, strict=True)}
    out = np.zeros([d.evaluate(sizes) for d in result.dims], result.dtype)
    module = ModuleOp([te.create_prim_func([*tensors, result])])
    verify_module(module)
    interpret(module, "main", [*arrays, out])
    return out


def array(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return (np.random.default_rng(seed).random(shape) * 4 - 2).astype(dtype)


def test_dense() -> None:
    x, w, b = array(3, 4), array(5, 4, seed=1), array(5, seed=2)
    np.testing.assert_allclose(evaluate(topi.nn.dense, x, w, b), x @ w.T + b, rtol=1e-5)
    np.testing.assert_allclose(evaluate(topi.nn.dense, array(2, 3, 4), w), array(2, 3, 4) @ w.T, rtol=1e-5)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_batch_matmul(transpose_a: bool, transpose_b: bool) -> None:
    x, y = array(2, 3, 4), array(2, 4, 5, seed=1)
    a = x.transpose(0, 2, 1).copy() if transpose_a else x
    b = y.transpose(0, 2, 1).copy() if transpose_b else y
    result = evaluate(lambda p, q: topi.nn.batch_matmul(p, q, None, transpose_a, transpose_b), a, b)
    np.testing.assert_allclose(result, x @ y, rtol=1e-5)


def test_filled_like() -> None:
    x = array(2, 3)
    np.testing.assert_array_equal(evaluate(lambda t: topi.full_like(t, 7), x), np.full((2, 3), 7, np.float32))


def test_where_on_numbers_as_conditions() -> None:
    c = np.array([0, 2, -1], np.int32)
    result = evaluate(topi.where, c, array(3), array(3, seed=1))
    np.testing.assert_array_equal(result, np.where(c != 0, array(3), array(3, seed=1)))


def test_take_of_the_flattened() -> None:
    x, at = array(3, 4), np.array([0, 5, 11], np.int64)
    np.testing.assert_array_equal(evaluate(topi.take, x, at), x.reshape(-1)[at])


def test_logarithms() -> None:
    x = np.abs(array(5)) + 1
    np.testing.assert_allclose(evaluate(topi.log2, x), np.log2(x), rtol=1e-5)
    np.testing.assert_allclose(evaluate(topi.log10, x), np.log10(x), rtol=1e-5)


def test_a_symbolic_batch() -> None:
    n = te.var("n", "int64")
    x = array(3, 4)
    np.testing.assert_allclose(evaluate(topi.mean, x, shapes=[(n, 4)]), x.mean(), rtol=1e-5)
    result = evaluate(lambda t: topi.reshape(t, (n * 2, 2)), x, shapes=[(n, 4)])
    np.testing.assert_array_equal(result, x.reshape(6, 2))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (2, 12)),
        ((4, 6), (3, 8)),
        ((1, 6, 1), (2, 3)),
        ((6,), (1, 3, 1, 2)),
        ((2, 3), (6, 1)),
    ],
)
def test_reshape(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    x = array(*old)
    np.testing.assert_array_equal(evaluate(lambda t: topi.reshape(t, new), x), x.reshape(new))


def test_reshape_needs_no_division_where_dimensions_correspond() -> None:
    x = te.placeholder((2, 3, 4), name="x")
    func = te.create_prim_func([x, topi.reshape(x, (6, 4))])
    names = [op.name for op in func.walk()]
    assert names.count("tir.floordiv") == 2  # once in the reads, once in the load
    func = te.create_prim_func([x, topi.reshape(x, (2, 1, 3, 4))])
    assert not {"tir.floordiv", "tir.floormod"} & {op.name for op in func.walk()}


def test_scalars_on_either_side() -> None:
    x = array(3)
    np.testing.assert_allclose(evaluate(lambda t: topi.subtract(1, t), x), 1 - x)
    np.testing.assert_allclose(evaluate(lambda t: topi.power(t, 2), x), x**2, rtol=1e-5)
    assert topi.add(1, 2).constant == 3


def test_errors() -> None:
    x, y = te.placeholder((2, 3)), te.placeholder((2, 4))
    with pytest.raises(ShapeError, match="do not broadcast") as error:
        topi.add(x, y)
    assert error.value.found == 4
    with pytest.raises(ShapeError, match="out of range"):
        topi.sum(x, axis=2)
    with pytest.raises(ShapeError, match="nothing to concatenate"):
        topi.concatenate([])
    with pytest.raises(NameLookupError, match="unknown mode of take 'clap'"):
        topi.take(x, te.placeholder((2,), "int32"), 0, "clap")
    with pytest.raises(TiraxError, match="rank 1 or more"):
        topi.matmul(te.placeholder((), name="s"), x)
