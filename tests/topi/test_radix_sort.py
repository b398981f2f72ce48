"""Rows that are sorted by their bits, against numpy's stable sorts."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
from strength import only_full, thinned

import tirax.tvm_api as tvm
from tirax.tvm_api import relax, te, topi

Check = Callable[..., None]
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def numbers(dtype: str, *shape: int) -> np.ndarray:
    """All kinds of numbers, many of them several times."""
    rng = np.random.default_rng(7)
    if dtype in FLOATS:
        edges = [0.0, -0.0, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1), 1.0, -1.0, 6e-8, -6e-8, 6e4, -6e4]
        values = np.concatenate([edges, rng.standard_normal(60)])
        return rng.choice(values, shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    near = [
        n for n in (info.min, info.min + 1, -1, 0, 1, 2, 255, 256, info.max - 1, info.max) if info.min <= n <= info.max
    ]
    values = np.concatenate([np.array(near, dtype), rng.integers(info.min, info.max, 60, dtype, endpoint=True)])
    return rng.choice(values, shape)


def stable_order(x: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """Positions in sorted order, equal ones in theirs; NaN greatest."""
    x = x.astype("float32") if x.dtype == ml_dtypes.bfloat16 else x
    if ascending:
        return np.argsort(x, axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


@thinned("ascending,dtype", [(up, dtype) for dtype in FLOATS + INTEGERS for up in (True, False)], 6)
def test_every_type(ascending: bool, dtype: str) -> None:
    data = numbers(dtype, 2, 200)
    x = te.placeholder(data.shape, dtype, name="x")
    order = topi.argsort(x, is_ascend=ascending, dtype="int64")
    function = tvm.build(te.create_prim_func([x, order]))["main"]
    out = tvm.nd.array(np.zeros(data.shape, "int64"))
    function(tvm.nd.array(data), out)
    np.testing.assert_array_equal(out.numpy(), stable_order(data, 1, ascending))


@only_full
@thinned("axis", [0, 1], quick=1)
def test_extents_known_when_called(axis: int) -> None:
    bb = relax.BlockBuilder()
    n, m = tvm.tir.Var("n", "int64"), tvm.tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, m), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(relax.Tuple([bb.emit(relax.op.sort(x, axis, True)), bb.emit(relax.op.argsort(x, axis))]))
    function = relax.build(bb.get())["main"]
    for shape in ((0, 70), (70, 0), (1, 63), (64, 65), (300, 2)):
        data = numbers("float32", *shape)
        values, order = (a.numpy() for a in function(tvm.nd.array(data)))
        expected = np.take_along_axis(data, stable_order(data, axis, False), axis)
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(order, stable_order(data, axis, True))


@only_full
def test_meaning_on_the_interpreter(check: Check) -> None:
    row = numbers("int64", 66)
    check(topi.argsort, [row], stable_order(row, 0, True))
    pair = numbers("float16", 66, 1)
    check(lambda t: topi.topk(t, 3, 0, "indices"), [pair], stable_order(pair, 0, False)[:3])
