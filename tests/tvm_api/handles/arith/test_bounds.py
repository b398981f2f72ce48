"""Bounds against the values that numpy computes, floats and shifts among them."""

import operator
import random

import numpy as np
import pytest
from strength import thinned

from tirax.tvm_api import tir
from tirax.tvm_api.arith import Analyzer
from tirax.tvm_api.ir import Range

ARITHMETIC = [
    (tir.Add, operator.add),
    (tir.Sub, operator.sub),
    (tir.Mul, operator.mul),
    (tir.Div, operator.truediv),
    (tir.Max, np.maximum),
    (tir.Min, np.minimum),
]
CONSTANTS = [0.5, 0.1, 0.9, 2.0, 7.0, 8.0, 1.00000000001, -3.5]


def random_float(draw: random.Random, x: tir.Var, dtype: str, depth: int):
    """An expression of `x` and what computes it, in `dtype`."""
    scalar = np.dtype(dtype).type
    if depth == 0:
        if draw.random() < 0.5:
            return tir.Cast(dtype, x), scalar
        value = draw.choice(CONSTANTS)
        return tir.const(value, dtype), lambda _: scalar(value)
    a, f = random_float(draw, x, dtype, depth - 1)
    if draw.random() < 0.5:
        result, computed = draw.choice([(tir.ceil, np.ceil), (tir.log2, np.log2)])
        return result(a), lambda v: computed(f(v))
    b, g = random_float(draw, x, dtype, depth - 1)
    result, computed = draw.choice(ARITHMETIC)
    return result(a, b), lambda v: computed(f(v), g(v))


@thinned("dtype", ["float16", "float32", "float64"], 1)
def test_what_floats_round_to_is_within_the_bounds(dtype):
    draw, x, known = random.Random(5), tir.Var("x", "int32"), 0
    for _ in range(300):
        expression, computed = random_float(draw, x, dtype, draw.randint(1, 3))
        low = draw.randint(1, 20)
        high = low + draw.randint(0, 200)
        analyzer = Analyzer()
        analyzer.bind(x, Range(low, high + 1))
        bound = analyzer.const_int_bound(tir.Cast("int32", expression))
        known += bound.max_value < 2**31 - 1
        with np.errstate(all="ignore"):
            values = [float(computed(v)) for v in range(low, high + 1)]
        for value in values:
            # what is no integer of 32 bits is converted to any
            if abs(value) < 2**31:
                assert bound.min_value <= int(value) <= bound.max_value, (str(expression), low, high)
    assert known > 10


@pytest.mark.parametrize(
    "expression",
    [
        tir.Cast("int32", tir.Div(tir.const(7.0, "float32"), tir.const(0.5, "float32"))),
        tir.Cast("int32", tir.ceil(tir.Div(tir.const(7.0, "float32"), tir.const(2.0, "float32")))),
        tir.Cast("int32", tir.const(float("nan"), "float32")),
        tir.Cast("int32", tir.const(float("inf"), "float32")),
        tir.Cast("int32", tir.ceil(tir.log2(tir.const(0.0, "float32")))),
    ],
    ids=str,
)
def test_nothing_is_claimed_of_what_floats_round_or_divide(expression):
    bound = Analyzer().const_int_bound(expression)
    assert (bound.min_value, bound.max_value) == (-(2**31), 2**31 - 1)


@pytest.mark.parametrize(
    ("high", "most", "expected"), [(7, 4, 112), (7, 40, 7 << 40), (7, 62, None), (2**40, 2**40, None)]
)
def test_shifts_to_the_left_are_bounded_where_no_bit_is_lost(high, most, expected):
    x, n = tir.Var("x", "int64"), tir.Var("n", "int64")
    analyzer = Analyzer()
    analyzer.bind(x, Range(tir.const(0, "int64"), tir.const(high + 1, "int64")))
    analyzer.bind(n, Range(tir.const(0, "int64"), tir.const(most + 1, "int64")))
    bound = analyzer.const_int_bound(tir.shift_left(x, n))
    assert bound.max_value == (bound.POS_INF if expected is None else expected)
