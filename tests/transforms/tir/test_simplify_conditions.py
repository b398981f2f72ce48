"""Simplify: conditions by the values of names, and what shifts, logarithms and conversions can be."""

import math

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import arith, tir
from tirax.tvm_api.script import tir as T


def simplified(func):
    mod = tvm.IRModule({"main": func})
    after = tir.transform.Simplify()(mod)
    assert_same_meaning(mod, after)
    return after["main"]


@T.prim_func
def by_name(A: T.Buffer((4,), "bool")):
    for i in range(4):
        condition = i < 3
        if i < 3:  # noqa: SIM102
            if condition:
                A[i] = condition


@T.prim_func
def by_name_after(A: T.Buffer((4,), "bool")):
    for i in range(4):
        condition = i < 3
        if i < 3:
            A[i] = condition


@T.prim_func
def in_its_branch(A: T.Buffer((4,), "bool"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        condition = B[i] < 3
        if condition:  # noqa: SIM102
            if condition:
                A[i] = condition
        else:
            A[3 - i] = condition


@T.prim_func
def in_its_branch_after(A: T.Buffer((4,), "bool"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        condition: T.bool = B[i] < 3
        if condition:
            A[i] = T.bool(True)
        else:
            A[3 - i] = T.bool(False)


@T.prim_func
def shifted(A: T.Buffer((16,), "float32")):
    for i in range(16):
        if T.shift_left(31, i) <= 1015808 and T.shift_left(1, i) >= 1:
            A[i] = T.float32(1)


@T.prim_func
def shifted_after(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = T.float32(1)


@T.prim_func
def logarithm(A: T.Buffer((1,), "int32")):
    A[0] = T.Cast("int32", T.ceil(T.log2(T.Cast("float64", 14))))


@T.prim_func
def logarithm_after(A: T.Buffer((1,), "int32")):
    A[0] = 4


@pytest.mark.parametrize(
    ("before", "after"),
    [(by_name, by_name_after), (in_its_branch, in_its_branch_after), (shifted, shifted_after),
     (logarithm, logarithm_after)],
)  # fmt: skip
def test_conditions(before, after):
    actual = simplified(before)
    assert actual.script().splitlines()[-1:] == after.script().splitlines()[-1:]
    tvm.ir.assert_structural_equal(
        actual.with_attr("global_symbol", "f"), after.with_attr("global_symbol", "f"), map_free_vars=True
    )


@pytest.mark.parametrize(
    ("value", "count"), [((0, 5), (0, 3)), ((1, 8), (2, 9)), ((0, 2**20), (0, 20)), ((-3, 3), (0, 3))]
)
def test_bounds_of_shifts_hold_for_all_values(value, count):
    analyzer = arith.Analyzer()
    x, n = tir.Var("x", "int32"), tir.Var("n", "int32")
    analyzer.bind(x, tvm.ir.Range(value[0], value[1] + 1))
    analyzer.bind(n, tvm.ir.Range(count[0], count[1] + 1))
    bound = analyzer.const_int_bound(tir.shift_left(x, n))
    for a in {value[0], value[1], sum(value) // 2}:
        for k in range(count[0], count[1] + 1):
            assert bound.min_value <= int(np.int64(a << k).astype(np.int32)) <= bound.max_value


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 9), (1023, 1025), (1025, 1040), (4096, 4096)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_of_logarithms_hold_for_all_values(low, high, dtype):
    analyzer, x = arith.Analyzer(), tir.Var("x", "int32")
    analyzer.bind(x, tvm.ir.Range(low, high + 1))
    logarithm = tvm.te.log2(tir.Cast(dtype, x))
    rounded = analyzer.const_int_bound(tir.Cast("int32", tvm.te.ceil(logarithm)))
    cut = analyzer.const_int_bound(tir.Cast("int32", logarithm))
    for value in range(low, high + 1):
        exact = np.log2(np.dtype(dtype).type(value))
        assert rounded.min_value <= math.ceil(exact) <= rounded.max_value
        assert cut.min_value <= int(exact) <= cut.max_value
    assert rounded.max_value - rounded.min_value <= math.ceil(math.log2(high)) - math.ceil(math.log2(low)) + 1


def test_logarithms_of_what_may_be_zero_are_unknown():
    analyzer, x = arith.Analyzer(), tir.Var("x", "int32")
    analyzer.bind(x, tvm.ir.Range(0, 9))
    bound = analyzer.const_int_bound(tir.Cast("int32", tvm.te.log2(tir.Cast("float64", x))))
    assert (bound.min_value, bound.max_value) == (-(2**31), 2**31 - 1)


def test_casts_outside_of_scripts():
    expr = T.cast(tir.Var("x", "int32") + 1, "float64")
    assert isinstance(expr, tir.Cast) and expr.dtype == "float64"


@T.prim_func
def named(A: T.Buffer((4,), "int32"), p: T.handle("int32")):
    for i in range(4):
        x = T.int32(11)
        y = i
        if x == 11:
            A[i] = y
    q: T.handle("int32") = p
    B = T.decl_buffer((1,), "int32", data=q)
    B[0] = 1


def test_names_of_what_is_written_in_their_place_are_no_more_but_those_of_buffers():
    after = tir.transform.Simplify()(tvm.IRModule({"main": named}))["main"].script()
    assert "x" not in after.split("range(4)")[1].split() and "y = i" not in after and "A[i] = i" in after
    assert "q: T.handle" in after and "data=q" in after


@T.prim_func
def of_a_remainder(a: T.handle, b: T.handle):
    n = T.int64()
    B = T.match_buffer(b, (n,), "int32")
    A = T.match_buffer(a, (n * 32 - 1,), "int32")
    A[T.min(T.int64(1), n)] = B[0]


def test_extents_of_parameters_are_not_negative():
    mod = tvm.IRModule({"main": of_a_remainder})
    after = tir.transform.Simplify()(mod)
    assert "A[T.int64(1)] = B[0]" in after["main"].script()
    assert_same_meaning(mod, after, sizes=(1, 2))


def test_a_condition_that_mostly_holds_is_known_inside():
    @T.prim_func
    def before(A: T.Buffer(64, "int32"), n: T.int32):
        for i in range(64):
            if T.likely(i < n):  # noqa: SIM102
                if T.likely(i < n):
                    A[i] = n

    module = tvm.IRModule({"before": before})
    after = tir.transform.Simplify()(module)
    assert str(after).count("if ") == 1 and "likely" in str(after)
    assert_same_meaning(module, after)


@T.prim_func
def with_two_names(A: T.Buffer((4,), "bool"), i: T.int32, j: T.int32, k: T.int32):
    if i == j and j != k:
        A[0] = i < k
        A[1] = i > k
        A[2] = i != k
    if i == 3 and j == i:
        A[3] = i < k


def test_a_variable_that_is_equal_to_another_keeps_its_name():
    after = simplified(with_two_names).script()
    assert "A[0] = i < k" in after and "A[1] = k < i" in after and "A[2] = T.bool(True)" in after
    assert "A[3] = 3 < k" in after
