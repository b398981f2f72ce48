"""Operators element by element and reductions, against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import floats, ints

from tirax.diagnostics import ShapeError
from tirax.tvm_api import te, topi


def bools(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(shape) < 0.5


erf = np.vectorize(math.erf)
UNARY: dict[str, tuple[Any, Any]] = {
    "abs": (floats(7, 3), np.abs),
    "acos": (floats(7, low=-1, high=1), np.arccos),
    "acosh": (floats(7, low=1), np.arccosh),
    "asin": (floats(7, low=-1, high=1), np.arcsin),
    "asinh": (floats(7), np.arcsinh),
    "atan": (floats(7), np.arctan),
    "atanh": (floats(7, low=-0.9, high=0.9), np.arctanh),
    "ceil": (floats(7), np.ceil),
    "ceil_log2": (np.array([1, 2, 3, 4, 5, 8, 1000], "int32"), lambda x: np.ceil(np.log2(x))),
    "cos": (floats(7), np.cos),
    "cosh": (floats(7), np.cosh),
    "erf": (floats(7), erf),
    "exp": (floats(7), np.exp),
    "fast_erf": (floats(7), erf),
    "fast_exp": (floats(7), np.exp),
    "fast_tanh": (floats(7), np.tanh),
    "floor": (floats(7), np.floor),
    "identity": (floats(7, 2), np.copy),
    "isfinite": (np.array([1, np.inf, np.nan], "float32"), np.isfinite),
    "isinf": (np.array([1, -np.inf, np.nan], "float32"), np.isinf),
    "isnan": (np.array([1, -np.inf, np.nan], "float32"), np.isnan),
    "log": (floats(7, low=0.1), np.log),
    "log10": (floats(7, low=0.1), np.log10),
    "log2": (floats(7, low=0.1), np.log2),
    "logical_not": (bools(7), np.logical_not),
    "bitwise_not": (ints(7), np.invert),
    "negative": (floats(7), np.negative),
    "round": (np.array([0.5, 1.5, -0.5, 2.4], "float32"), np.round),
    "rsqrt": (floats(7, low=0.1), lambda x: 1 / np.sqrt(x)),
    "sigmoid": (floats(7), lambda x: 1 / (1 + np.exp(-x))),
    "sign": (np.array([-2, 0, 3], "float32"), np.sign),
    "sin": (floats(7), np.sin),
    "sinh": (floats(7), np.sinh),
    "sqrt": (floats(7, low=0), np.sqrt),
    "tan": (floats(7, low=-1, high=1), np.tan),
    "tanh": (floats(7), np.tanh),
    "trunc": (floats(7), np.trunc),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, check: Callable[..., None]) -> None:
    x, reference = UNARY[name]
    check(getattr(topi, name), [x], reference(x), 1e-3 if name.startswith("fast") else 1e-5)


F, G = floats(7, 3), floats(3, low=0.5, seed=1)
I, J = ints(7, 3, low=-9), ints(1, 3, low=1, high=5, seed=1)
B, C = bools(7, 3), bools(7, 1, seed=1)
BINARY: dict[str, tuple[Any, Any, Any]] = {
    "add": (F, G, np.add),
    "subtract": (F, G, np.subtract),
    "multiply": (F, G, np.multiply),
    "divide": (F, G, np.divide),
    "floor_divide": (F, G, np.floor_divide),
    "mod": (I, J, np.fmod),
    "floor_mod": (I, J, np.mod),
    "power": (np.abs(F), G, np.power),
    "atan2": (F, G, np.arctan2),
    "log_add_exp": (F, G, np.logaddexp),
    "maximum": (F, G, np.maximum),
    "minimum": (F, G, np.minimum),
    "equal": (I, J, np.equal),
    "not_equal": (I, J, np.not_equal),
    "greater": (F, G, np.greater),
    "greater_equal": (I, J, np.greater_equal),
    "less": (F, G, np.less),
    "less_equal": (I, J, np.less_equal),
    "logical_and": (B, C, np.logical_and),
    "logical_or": (B, C, np.logical_or),
    "logical_xor": (B, C, np.logical_xor),
    "bitwise_and": (I, J, np.bitwise_and),
    "bitwise_or": (I, J, np.bitwise_or),
    "bitwise_xor": (I, J, np.bitwise_xor),
    "left_shift": (I, J, np.left_shift),
    "right_shift": (I, J, np.right_shift),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, check: Callable[..., None]) -> None:
    a, b, reference = BINARY[name]
    check(getattr(topi, name), [a, b], reference(a, b))


REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "sum": (floats(7, 3, 2), np.sum),
    "prod": (floats(7, 3, 2), np.prod),
    "max": (floats(7, 3, 2), np.max),
    "min": (ints(7, 3, 2, low=-9), np.min),
    "all": (floats(7, 3, 2) < 1.5, np.all),
    "any": (floats(7, 3, 2) > 1.5, np.any),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("axis", "keepdims"), [(None, False), (0, True), (-1, False), ((0, 2), False), ([1, 2], True)])
def test_reductions(name: str, axis: Any, keepdims: bool, check: Callable[..., None]) -> None:
    x, reference = REDUCTIONS[name]
    where = tuple(axis) if isinstance(axis, list) else axis
    check(lambda t: getattr(topi, name)(t, axis, keepdims), [x], reference(x, axis=where, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_positions_of_the_best(axis: int | None, dtype: str, check: Callable[..., None]) -> None:
    x = ints(7, 5, high=3, dtype=dtype)
    turned = x[::-1] if axis == 0 else x[:, ::-1] if axis == 1 else x.reshape(-1)[::-1]
    last = (x.size if axis is None else x.shape[axis]) - 1
    check(lambda t: topi.argmax(t, axis), [x], np.argmax(x, axis))
    check(lambda t: topi.argmin(t, axis), [x], np.argmin(x, axis))
    check(lambda t: topi.argmax(t, axis, select_last_index=True), [x], last - np.argmax(turned, axis))
    check(lambda t: topi.argmin(t, axis, select_last_index=True), [x], last - np.argmin(turned, axis))


def test_others(check: Callable[..., None]) -> None:
    x = floats(7, 3)
    check(lambda t: topi.clip(t, -1, 1), [x], np.clip(x, -1, 1))
    check(lambda t: topi.cast(t, "int32"), [x], x.astype("int32"))
    assert topi.cast(te.const(1.5, "float32"), "int32").dtype == "int32"
    check(lambda t: topi.full_like(t, 3), [x], np.full_like(x, 3))
    check(lambda t: topi.full(t.shape, "int32", 3), [x], np.full((7, 3), 3))
    check(lambda t: topi.reinterpret(t, "int32"), [x], x.view("int32"))
    check(lambda a, b: topi.elemwise_sum([a, b, a]), [x, x + 1], 3 * x + 1)
    check(lambda t: topi.broadcast_to(t, (2, 7, 3)), [floats(7, 1)], np.broadcast_to(floats(7, 1), (2, 7, 3)))
    check(topi.where, [x > 0, x, floats(3, seed=2)], np.where(x > 0, x, floats(3, seed=2)))
    values = np.array([[1.5, -2], [3, 4]], "float32")
    check(lambda t: topi.add(topi.const_vector(values), t), [np.zeros((2, 2), "float32")], values)
    with pytest.raises(ShapeError, match="nothing to add"):
        topi.elemwise_sum([])


def rounded_shift(x: Any, y: Any, shift: Any) -> Any:
    places = np.asarray(shift, "int64")
    return (x.astype("int64") * y + (np.int64(1) << (places - 1))) >> places


def test_fixed_point(check: Callable[..., None]) -> None:
    x = ints(7, 3, low=-10000, high=10000)
    multiplier = 1395864371
    check(lambda t: topi.fixed_point_multiply(t, multiplier, 2), [x], rounded_shift(x << 2, multiplier, 31))
    check(lambda t: topi.fixed_point_multiply(t, multiplier, -2), [x], rounded_shift(x, multiplier, 33))
    y, left, right = ints(3, low=1 << 29, high=1 << 30), ints(3, high=3, seed=1), ints(3, high=3, seed=2)
    check(
        lambda *t: topi.fixed_point_multiply_per_axis(*t, 1, 1, [1]),
        [x, y, left, right],
        rounded_shift(x << left, y, 31 + right),
    )
    check(
        lambda *t: topi.fixed_point_multiply_per_axis(*t, 0, 1, [1]),
        [x, y, left, right],
        rounded_shift(x, y, 31 + right),
    )
