"""Scalar expressions: promotion, folding, truth, and placing them into blocks."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block

from tirax import te
from tirax.diagnostics import DTypeError, TiraxError
from tirax.dialects import tir
from tirax.dialects.names import name_of
from tirax.dialects.sym.expr import Const
from tirax.handles.tir import buffers as tir_handles
from tirax.handles.tir import limits, math_functions, variables
from tirax.handles.tir import prim_expr as tx
from tirax.handles.tir.expr_kinds import CLASSES
from tirax.handles.tir.place import place
from tirax.handles.tir.storage import BufferStore
from tirax.handles.types import PointerType, PrimType


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("int32", "int64", "int64"),
        ("int64", "float32", "float32"),
        ("float16", "float32", "float32"),
        ("uint8", "int32", "int32"),
        ("uint32", "int32", "uint32"),
        ("uint16", "int32", "int32"),
        ("bool", "int8", "int8"),
        ("bfloat16", "int64", "bfloat16"),
    ],
)
def test_promotion(left: str, right: str, expected: str) -> None:
    a, b = variables.Var("a", left), variables.Var("b", right)
    assert (a + b).dtype == (b + a).dtype == expected
    assert (a < b).dtype == "bool"


def test_a_number_takes_the_dtype_of_the_other_side() -> None:
    half, small = variables.Var("h", "float16"), variables.Var("s", "int8")
    assert (half * 2).dtype == "float16"
    assert (1.5 - half).dtype == "float16"
    assert (small + 1).dtype == "int8"
    assert (small * 0.5).dtype == "float32"


_X, _Y, _K = variables.Var("x"), variables.Var("y"), variables.Var("k", "int64")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (lambda: _X + 1 < _Y, "x + 1 < y"),
        (lambda: _X + 1 >= _Y, "x + 1 >= y"),
        (lambda: variables.SizeVar("n") * 2 == _X, "n * 2 == x"),
        (lambda: _K + 1, "k + T.int64(1)"),
        (lambda: _X < 3, "x < 3"),
        (lambda: _K < 3, "k < T.int64(3)"),
        (lambda: tx.const(1, "int64"), "T.int64(1)"),
    ],
)
def test_an_expression_prints_as_it_was_written(built: Callable[[], tx.PrimExpr], text: str) -> None:
    assert str(built()) == text


_RAMP = tx.PrimExpr(tir.RampOp(_X.ssa, tx.const(2).ssa, 4).result)


@pytest.mark.parametrize(
    ("built", "text", "dtype"),
    [
        (lambda: _RAMP + _Y, "T.Ramp(x, 2, 4) + T.Broadcast(y, 4)", "int32x4"),
        (lambda: 3 - _RAMP, "T.Broadcast(3, 4) - T.Ramp(x, 2, 4)", "int32x4"),
        (lambda: -_RAMP, "T.Ramp(x, 2, 4) * T.Broadcast(-1, 4)", "int32x4"),
        (lambda: _RAMP < _Y, "T.Ramp(x, 2, 4) < T.Broadcast(y, 4)", "uint1x4"),
        (lambda: _RAMP * 0.5, 'T.Cast("float32x4", T.Ramp(x, 2, 4)) * T.Broadcast(T.float32(0.5), 4)', "float32x4"),
        (lambda: _K + _RAMP, 'T.Broadcast(k, 4) + T.Cast("int64x4", T.Ramp(x, 2, 4))', "int64x4"),
    ],
)
def test_a_scalar_beside_a_vector_is_in_each_lane(built: Callable[[], tx.PrimExpr], text: str, dtype: str) -> None:
    assert (str(built()), built().dtype) == (text, dtype)


def test_vectors_of_different_lengths_do_not_meet() -> None:
    longer = tx.PrimExpr(tir.RampOp(_X.ssa, tx.const(1).ssa, 8).result)
    with pytest.raises(DTypeError, match="different lengths"):
        _ = _RAMP + longer


def test_folding() -> None:
    x = variables.Var("x", "int64")
    assert (x + 0).value is x.value
    assert (1 * x).value is x.value
    assert (x // 1).value is x.value
    assert (x * 0).constant == 0
    assert (x % 1).constant == 0
    assert (tx.const(7) // -2).constant == -4
    assert tx.truncdiv(tx.const(7), -2).constant == -3
    assert tx.truncmod(tx.const(-7), 2).constant == -1
    assert (tx.const(3) < 4).constant is True
    assert tx.minimum(x, x).value is x.value
    assert tx.select(True, x, 0).value is x.value
    f = variables.Var("f", "float32")
    assert (f * 0).constant is None  # NaN and infinities are not 0


@pytest.mark.parametrize("kind", [tx.div, tx.floordiv, tx.floormod, tx.truncmod])
def test_a_division_by_0_is_refused_where_it_is_written(kind) -> None:
    for value in (tx.const(1), variables.Var("a")):
        with pytest.raises(ValueError, match="Divide by zero"):
            kind(value, 0)
    assert kind(variables.Var("x", "float32"), 0.0).dtype == "float32"


def test_integers_are_shifted_by_no_more_than_their_bits() -> None:
    for shift in (tx.shift_left, tx.shift_right):
        for by in (-1, 32):
            with pytest.raises(ValueError, match="non-negative and less than 32"):
                shift(variables.Var("a"), by)
        assert str(shift(variables.Var("a"), 31)).endswith("(a, 31)")


def test_operations_on_the_bits_of_constants_are_done() -> None:
    a, b = np.int8(-77), np.int8(6)
    pairs = [
        (tx.bitwise_and, a & b), (tx.bitwise_or, a | b), (tx.bitwise_xor, a ^ b),
        (tx.shift_left, np.left_shift(a, b)), (tx.shift_right, np.right_shift(a, b)),
    ]  # fmt: skip
    for operation, expected in pairs:
        assert operation(tx.const(a), tx.const(b)).constant == expected


def test_roundings_of_constants_are_done() -> None:
    for x in (-2.5, -0.5, 0.4, 1.5, 2.5, 3.55):
        known = tx.const(x, "float64")
        for mine, theirs in (
            (math_functions.floor, np.floor),
            (math_functions.ceil, np.ceil),
            (math_functions.trunc, np.trunc),
            (math_functions.nearbyint, np.rint),
        ):
            assert mine(known).constant == theirs(x)
    assert [math_functions.round_(tx.const(x)).constant for x in (-2.5, 2.5)] == [-3.0, 3.0]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64", "float16", "float64", "bool"])
def test_scalars_of_numpy_keep_their_dtype(dtype) -> None:
    assert tx.const(np.dtype(dtype).type(1)).dtype == dtype


def test_broadcasts_are_converted_by_their_element() -> None:
    wide = tx.cast("float32x4", tx.cast("int32x4", tx.const(3)))
    assert str(wide) == "T.Broadcast(T.float32(3.0), 4)"
    with pytest.raises(DTypeError, match="Can't cast a handle"):
        tx.cast("int32", variables.Var("h", "handle"))


def test_division_of_integers_must_say_how() -> None:
    with pytest.raises(DTypeError, match="could round either way") as error:
        variables.Var("a") / variables.Var("b")
    assert error.value.hint is not None and "//" in error.value.hint


def test_truth() -> None:
    n, m = variables.SizeVar("n", "int64"), variables.SizeVar("m", "int64")
    assert n + n == 2 * n
    assert not n == m  # noqa: SIM201  (the operator `==`)
    assert n != m
    with pytest.raises(TiraxError, match="not known while the program is built"):
        bool(n < m)


def test_an_index_must_be_known() -> None:
    assert list(range(3))[tx.const(1)] == 1
    assert int(tx.const(4, "int64")) == 4
    with pytest.raises(TiraxError, match="symbolic"):
        range(variables.SizeVar("n"))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("value", "dtype"), [(300, "uint8"), (-1, "uint32"), (1 << 31, "int32"), (1.5, "int32")])
def test_constants_that_do_not_fit(value: float, dtype: str) -> None:
    with pytest.raises(DTypeError):
        tx.const(value, dtype)


def test_limits() -> None:
    assert limits.min_value("int8").constant == -128
    assert limits.max_value("uint16").constant == 65535
    assert limits.max_value("float16").constant == 65504.0


def test_symbolic_form_and_back() -> None:
    i, n = variables.Var("i", "int64"), variables.SizeVar("n", "int64")
    e = (i + n * 2) * 4 - i * 4
    assert str(tx.as_sym(e)) == "n * 8"
    assert tx.simplified(i + 4 - 4).value is i.value
    assert tx.as_sym(tx.from_sym(tx.as_sym(15 - i))) == tx.as_sym(15 - i)
    assert tx.as_sym(tx.const(3, "int32")) == Const(3, i32)


Case = tuple[tx.PrimExpr, int]
_SIZES = {"n": 7, "m": 3}


def _leaf(name: str) -> Case:
    return variables.SizeVar(name, "int64"), _SIZES[name]


def _combined(kind: str, a: Case, b: Case) -> Case:
    functions: dict[str, tuple[Callable[..., tx.PrimExpr], Callable[[int, int], int]]] = {
        "add": (tx.add, operator.add),
        "sub": (tx.subtract, operator.sub),
        "mul": (tx.multiply, operator.mul),
        "min": (tx.minimum, min),
        "max": (tx.maximum, max),
        "floordiv": (tx.floordiv, operator.floordiv),
        "floormod": (tx.floormod, operator.mod),
    }
    build, compute = functions[kind]
    if kind.startswith("floor"):
        b = (tx.const(abs(b[1]) % 5 + 1, "int64"), abs(b[1]) % 5 + 1)
    return build(a[0], b[0]), compute(a[1], b[1])


_LEAVES = st.one_of(st.sampled_from(["n", "m"]).map(_leaf), st.integers(-9, 9).map(lambda v: (tx.const(v, "int64"), v)))
_KINDS = st.sampled_from(["add", "sub", "mul", "min", "max", "floordiv", "floormod"])
_CASES = st.recursive(_LEAVES, lambda inner: st.builds(_combined, _KINDS, inner, inner), max_leaves=12)


@given(_CASES)
def test_arithmetic_means_what_python_means(case: Case) -> None:
    expr, expected = case
    form = tx.as_sym(expr)
    assert form.evaluate(_SIZES) == expected
    assert tx.as_sym(tx.from_sym(form)).evaluate(_SIZES) == expected


def test_place_substitutes_and_shares() -> None:
    i = variables.Var("i", "int64")
    shared = i * i
    block = Block(arg_types=[i64])
    value = place(shared + shared, block, {i.value: block.args[0]})
    assert [op.name for op in block.ops] == ["tir.mul", "tir.add"]
    assert value.owner is block.last_op


def test_place_puts_the_sides_of_a_branch_into_it() -> None:
    i = variables.Var("i", "int64")
    block = Block(arg_types=[i64])
    value = place(tx.if_then_else(i < 3, i * 2, 0), block, {i.value: block.args[0]})
    assert isinstance(value.owner, tir.IfThenElseOp)
    assert [op.name for op in value.owner.then_region.block.ops] == ["tir.const", "tir.mul", "tir.yield"]
    assert "tir.mul" not in [op.name for op in block.ops]


def test_place_widens_indices() -> None:
    i = variables.Var("i", "int32")
    block = Block(arg_types=[i64])
    value = place(i + 1, block, {i.value: block.args[0]})
    assert value.type == i64


def test_names() -> None:
    assert name_of(variables.Var("i_0").value) == "i_0"


def test_conditions_are_booleans() -> None:
    a, b = variables.Var("a", "bool"), variables.Var("b", "bool")
    assert [str(kind(a, b)) for kind in (tx.all_of, tx.any_of)] == ["a and b", "a or b"]
    assert tx.all_of(a, True).same_as(a) and tx.any_of(False, a).same_as(a)
    for kind in (tx.all_of, tx.any_of):
        with pytest.raises(ValueError, match="at least one condition"):
            kind()
        with pytest.raises(DTypeError, match="must be bool"):
            kind(a, variables.Var("n"))
    with pytest.raises(DTypeError, match="must be bool"):
        tx.if_then_else(variables.Var("n"), 1, 2)
    with pytest.raises(ValueError, match="truth of a symbolic"):
        bool(a)


def test_the_type_of_a_variable() -> None:
    pointer = PointerType(PrimType("float"), "local")
    assert variables.Var("p", pointer).type_annotation == pointer and variables.Var("p", pointer).dtype == "handle"
    assert variables.Var("n", "int64").type_annotation == PrimType("int64")
    anywhere = PointerType(PrimType("float32"))
    assert (
        variables.Var("p", anywhere).type_annotation
        == anywhere
        == PointerType(PrimType("float32"), "global")
        != pointer
    )
    assert variables.Var("p", anywhere).type_annotation.storage_scope == "global"


def test_predicates_of_accesses() -> None:
    buffer = tir_handles.decl_buffer((24,), "int32")
    ramp, value = CLASSES["Ramp"](0, 1, 4), CLASSES["Broadcast"](1, 4)
    mask = CLASSES["Broadcast"](tx.const(True), 4)
    assert BufferStore(buffer, value, [ramp], mask).predicate.equal(mask)
    assert CLASSES["BufferLoad"](buffer, [ramp], mask).predicate.equal(mask)
    assert str(CLASSES["BufferLoad"](buffer, [ramp], mask)).endswith("predicate=T.Broadcast(T.bool(True), 4))")
    assert buffer.vload([ramp], "int32x4", mask).dtype == "int32x4"
    short = CLASSES["Broadcast"](tx.const(True), 2)
    for wrong, words in ((value, "must be boolean"), (short, "number of lanes must match")):
        with pytest.raises(DTypeError, match=words):
            BufferStore(buffer, value, [ramp], wrong)


def test_a_thread_axis_is_its_variable():
    thread = te.thread_axis("threadIdx.x")
    assert (thread.thread_tag, thread.iter_type, thread.dom, thread.var.name) == ("threadIdx.x", 1, None, "threadIdx_x")
    assert str(thread * 4 + 1) == "threadIdx_x * 4 + 1"
    bounded = te.thread_axis((0, 8), "blockIdx.x", name="bx")
    assert (int(bounded.dom.extent), bounded.var.name) == (8, "bx")
    with pytest.raises(TiraxError, match="tag"):
        te.thread_axis()
