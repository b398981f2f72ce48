"""Struct info: what covers what, what both have in common, symbolic variables, what a call gives.

`BASE` is what TVM says (checked against it), but that `n` and `n + 1` are never equal.
"""

import itertools

import pytest
from xdsl.dialects.builtin import i32

from tirax.diagnostics import DTypeError, ShapeError
from tirax.dialects.relax import is_base_of
from tirax.dialects.relax.signatures import BaseCheckResult
from tirax.dialects.sym.expr import Var
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator, make_call
from tirax.handles.relax.names import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tirax.handles.struct_info import (
    can_prove_shape_equal,
    collect_non_negative_expressions,
    definable_tir_vars_in_struct_info,
    derive_call_ret_struct_info,
    erase_to_well_defined,
    get_static_type,
    struct_info_base_check,
    struct_info_lca,
    tir_vars_in_struct_info,
)
from tirax.handles.tir.variables import Var as TirVar
from tirax.handles.types import (
    FuncType,
    ObjectType,
    PackedFuncType,
    PointerType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    type_of_attribute,
)

O = ObjectStructInfo()  # noqa: E741


def T(*shape, dtype="float32"):  # noqa: N802
    return TensorStructInfo(shape, dtype)


def ranked(ndim, dtype="float32"):
    return TensorStructInfo(None, dtype, ndim=ndim)


UNKNOWN = TensorStructInfo(None, None)
F = FuncStructInfo([T(2, 4)], T(2, 4))
IMPURE = FuncStructInfo([T(2, 4)], T(2, 4), False)
OPAQUE = FuncStructInfo.opaque_func()
SHAPE = ShapeStructInfo([2, 4])

BASE = [
    (O, T(2, 4), 3), (O, F, 3), (T(2, 4), O, 1), (F, O, 1), (T(2, 4), SHAPE, 0), (SHAPE, F, 0),
    (T(2, 4), T(2, 4), 3), (T(2, 4), T(2, 3), 0), (T(2, 4), T(4), 0), (T(2, 4), T("n", 4), 2),
    (T("n", 4), T("m", 4), 2),
    (T("n", 4), T("n + 1", 4), 0), (T(2, 4), ranked(2), 2), (ranked(2), T(2, 4), 3), (ranked(2), T(4), 0),
    (ranked(2), ranked(-1), 1), (ranked(-1), T(4), 3), (T(2, 4), T(2, 4, dtype="float16"), 0),
    (T(2, 4), T(2, 4, dtype=None), 1), (T(2, 4, dtype=None), T(2, 4), 3), (T(2, 4), UNKNOWN, 1), (UNKNOWN, T(2, 4), 3),
    (SHAPE, ShapeStructInfo([2, 3]), 0), (SHAPE, ShapeStructInfo(["n", 4]), 2), (SHAPE, ShapeStructInfo(ndim=2), 2),
    (SHAPE, ShapeStructInfo(), 1), (ShapeStructInfo(), SHAPE, 3),
    (PrimStructInfo("int64"), PrimStructInfo("int32"), 0), (PrimStructInfo("int64"), PrimStructInfo(value="n"), 3),
    (PrimStructInfo(value="n"), PrimStructInfo("int64"), 2), (PrimStructInfo(value=3), PrimStructInfo(value=4), 0),
    (TupleStructInfo([]), TupleStructInfo([]), 3), (TupleStructInfo([T(4)]), TupleStructInfo([]), 0),
    (TupleStructInfo([T(2, 4)]), TupleStructInfo([ranked(2)]), 2), (TupleStructInfo([T(4)]), TupleStructInfo([O]), 1),
    (TupleStructInfo([T(4), T(4)]), TupleStructInfo([O, T(5)]), 0),
    (F, F, 3), (F, IMPURE, 0), (IMPURE, F, 3), (F, OPAQUE, 0), (IMPURE, OPAQUE, 2), (OPAQUE, F, 3),
    (F, FuncStructInfo.opaque_func(purity=True), 2), (F, FuncStructInfo([T(2, 4)] * 2, T(2, 4)), 0),
    (F, FuncStructInfo([ranked(2)], T(2, 4)), 2), (FuncStructInfo([ranked(2)], T(2, 4)), F, 3),
    (FuncStructInfo.opaque_func(ret=T(2, 4)), FuncStructInfo([T(2, 4)], ranked(2)), 2),
    (FuncStructInfo.opaque_func(ret=T(2, 4)), OPAQUE, 1),
]  # fmt: skip
ALL = list(dict.fromkeys(s for row in BASE for s in row[:2]))


@pytest.mark.parametrize(("base", "derived", "result"), BASE)
def test_base_check(base, derived, result):
    assert struct_info_base_check(base, derived) is BaseCheckResult(result)


def test_a_covered_struct_info_passes():
    """All pairs: subtyping and the check agree, but for the parameters of functions."""
    for a, b in itertools.product(ALL, ALL):
        if not (isinstance(a, FuncStructInfo) and isinstance(b, FuncStructInfo)):
            assert is_base_of(a.type, b.type) == (struct_info_base_check(a, b) is BaseCheckResult.PASS), (a, b)


def test_the_common_ancestor_covers_both():
    for a, b in itertools.product(ALL, ALL):
        lca = struct_info_lca(a, b)
        assert lca.is_base_of(a) and lca.is_base_of(b), (a, b, lca)
        assert struct_info_lca(b, a) == lca or isinstance(lca, FuncStructInfo)
        if a.is_base_of(b):
            assert a.is_base_of(lca) and lca.is_base_of(a)


def test_common_ancestors():
    assert struct_info_lca(T(2, 4), T("n", 4)) == ranked(2)
    assert struct_info_lca(T(2, 4), T(4)) == ranked(-1)
    assert struct_info_lca(T(2, 4), T(2, 4, dtype="int32")) == T(2, 4, dtype=None)
    assert struct_info_lca(T(2, 4), SHAPE) == O
    assert struct_info_lca(TupleStructInfo([T(2), SHAPE]), TupleStructInfo([T(3), SHAPE])) == TupleStructInfo(
        [ranked(1), SHAPE]
    )
    assert struct_info_lca(F, IMPURE) == IMPURE
    assert struct_info_lca(F, FuncStructInfo([T(4)], T(2, 4))) == FuncStructInfo([ranked(-1)], T(2, 4))
    # What only the parameters determine goes with them.
    symbolic = FuncStructInfo([T("n")], T("n"))
    assert struct_info_lca(F, symbolic) == FuncStructInfo([ranked(-1)], ranked(-1))


def test_static_types():
    assert get_static_type(T(2, "n")) == TensorType(2, "float32") and get_static_type(O) == ObjectType()
    assert get_static_type(T(2, dtype=None)) == TensorType(1, "void") != TensorType(1, "float32")
    assert get_static_type(TupleStructInfo([SHAPE, PrimStructInfo(value="n")])) == TupleType(
        [ShapeType(2), PrimType("int64")]
    )
    assert get_static_type(F) == FuncType([TensorType(2)], TensorType(2))
    assert get_static_type(FuncStructInfo.opaque_func()) == PackedFuncType()
    assert rx.Var("x", T(2)).checked_type.same_as(TensorType(1))
    with pytest.raises(DTypeError, match="no struct info"):
        type_of_attribute(i32)


@pytest.mark.parametrize(
    ("static", "text"),
    [
        (ObjectType(), "R.Object"),
        (PackedFuncType(), "R.PackedFunc"),
        (PrimType("int8"), "T.int8"),
        (PointerType(PrimType("float32"), "shared"), 'T.handle("float32", "shared")'),
        (PointerType(PointerType(PrimType("int8"))), 'T.handle(T.handle("int8"))'),
        (TensorType(-1, "void"), 'R.Tensor(ndim=-1, dtype="void")'),
        (TupleType([TupleType([]), ShapeType(2)]), "T.Tuple(None, R.Shape(ndim=2))"),
        (FuncType([ObjectType()], ShapeType()), "I.FuncType([R.Object], R.Shape(ndim=-1))"),
    ],
)
def test_static_types_as_text(static, text):
    assert str(static) == static.script() == text
    assert static.script(relax_prefix="X", tir_prefix="Y", ir_prefix="Z") == text.replace("R.", "X.").replace(
        "T.", "Y."
    ).replace("I.", "Z.")


def test_shapes_that_are_values_of_variables():
    s = rx.Var("s", ShapeStructInfo(ndim=2))
    shaped = TensorStructInfo(s, "float32")
    assert str(shaped) == '!relax.tensor<ndim = 2 of "s", f32>' and shaped.shape.name_hint == "s"
    assert shaped.script() == 'R.Tensor(s, dtype="float32")'
    assert shaped != ranked(2) and shaped.ndim == 2
    assert str(TensorStructInfo(rx.Var("t", ShapeStructInfo((2, "n")))).type) == '!relax.tensor<[2, n] of "t", f32>'
    assert struct_info_base_check(ranked(2), shaped) == BaseCheckResult.PASS
    assert struct_info_base_check(shaped, ranked(2)) == BaseCheckResult.FAIL_L2
    assert struct_info_lca(shaped, T(2, 4)) == ranked(2)
    assert erase_to_well_defined(shaped) == ranked(2)
    assert erase_to_well_defined(shaped, {}, {s: rx.Var("t")}) == TensorStructInfo(rx.Var("t", ShapeStructInfo(ndim=2)))
    assert erase_to_well_defined(shaped, {}, {s: rx.ShapeExpr([2, 3])}) == T(2, 3)
    assert call_operator("relax.exp", rx.Var("x", shaped)).struct_info == shaped
    assert call_operator("relax.add", *[rx.Var("x", shaped)] * 2).struct_info == shaped
    assert call_operator("relax.add", rx.Var("x", shaped), rx.Var("y", ranked(2))).struct_info == ranked(2)
    assert call_operator("relax.zeros_like", rx.Var("x", shaped)).struct_info == shaped
    assert call_operator("relax.expand_dims", rx.Var("x", shaped), axis=[]).struct_info == shaped
    assert call_operator("relax.ones", s, dtype="float32").struct_info == shaped


def test_virtual_devices():
    here, there = (TensorStructInfo([2, 4], "float32", vdevice=f"llvm:{i}") for i in (0, 1))
    assert struct_info_base_check(here, there) == BaseCheckResult.FAIL_L0
    assert struct_info_base_check(here, T(2, 4)) == BaseCheckResult.FAIL_L1
    assert struct_info_base_check(T(2, 4), here) == BaseCheckResult.PASS
    assert struct_info_lca(here, TensorStructInfo(ndim=2, dtype="float32", vdevice="llvm:0")) != ranked(2)
    x, y, z = (rx.Var(n, t) for n, t in zip("xyz", (here, there, T(2, 4)), strict=True))
    assert call_operator("relax.add", z, x).struct_info == here
    assert call_operator("relax.concat", [z, x], axis=0).struct_info.vdevice == "llvm:0"
    assert [f.vdevice for f in call_operator("relax.split", y, 2).struct_info.fields] == ["llvm:1"] * 2
    with pytest.raises(DTypeError, match="one virtual device"):
        rx.Call("relax.add", [x, y]).op_handle.inferred()


def test_equal_shapes():
    assert can_prove_shape_equal([2, "n * 2"], rx.ShapeExpr([2, "n + n"]))
    assert not can_prove_shape_equal([2], [2, 2]) and not can_prove_shape_equal(["n"], ["m"])


def test_erasing_what_is_not_defined():
    n, m = Var("n"), Var("m")
    assert erase_to_well_defined(T("n", "m")) == ranked(2) == erase_to_well_defined(T("n", "m"), {n: n})
    assert erase_to_well_defined(T("n", "m"), {n: m + 1, m: n}) == T("m + 1", "n")
    assert erase_to_well_defined(T("n", 4), {"n": 3}, {}) == T(3, 4)
    sinfo = TupleStructInfo([ShapeStructInfo(["n", 4]), T(4), PrimStructInfo(value="n")])
    assert erase_to_well_defined(sinfo, {}) == TupleStructInfo([ShapeStructInfo(ndim=2), T(4), PrimStructInfo("int64")])


def test_symbolic_variables():
    n, m = TirVar("n", "int64"), TirVar("m", "int64")
    sinfo = TupleStructInfo([T(n, n + 1), ShapeStructInfo([m * 2, 4]), PrimStructInfo(value=m)])
    assert tir_vars_in_struct_info(sinfo) == [n, m] == definable_tir_vars_in_struct_info(sinfo)
    assert set(definable_tir_vars_in_struct_info(T("n", "m * 2"))) == {n}
    assert tir_vars_in_struct_info(FuncStructInfo([T("n")], T("m"))) == [n, m]
    assert tir_vars_in_struct_info(O) == [] == definable_tir_vars_in_struct_info(ranked(2))
    assert [str(e) for e in collect_non_negative_expressions(sinfo)] == ["n", "n + T.int64(1)", "m * T.int64(2)"]


def derived(func, *args, sinfo_args=()):
    variables = [rx.Var(f"x{i}", a) for i, a in enumerate(args)]
    call = make_call(rx.ExternFunc("ignored"), variables, None, sinfo_args)
    return derive_call_ret_struct_info(func, call)


def test_what_a_call_gives():
    func = FuncStructInfo([T("n", "m"), ShapeStructInfo(["k"])], TupleStructInfo([T("n * 2", "k"), T("m", "j")]))
    assert derived(func, T(3, "p"), ShapeStructInfo(["p + 1"])) == TupleStructInfo([T(6, "p + 1"), ranked(2)])
    # The rank alone binds nothing.
    assert derived(FuncStructInfo([T("n")], T("n")), ranked(1)) == ranked(1)
    assert derived(FuncStructInfo([T(4)], T(4)), ranked(1)) == T(4)
    assert derived(OPAQUE, T(4), sinfo_args=[T(5)]) == T(5) and derived(OPAQUE, T(4)) == O


@pytest.mark.parametrize(
    ("params", "args", "error", "message"),
    [
        ([T("n")], [], ShapeError, "wrong number of arguments"),
        ([T("n", 4)], [T(3, 5)], ShapeError, "argument 0 of the call does not fit"),
        ([T("n"), T("n")], [T(3), T(4)], ShapeError, "argument 1 of the call does not fit"),
        ([T("n")], [T(3, 3)], DTypeError, "argument 0"),
        ([T("n")], [T(3, dtype="int32")], DTypeError, "argument 0"),
        ([T("n")], [O], DTypeError, "too little is known of argument 0"),
        ([O, T(4)], [T(4), TensorStructInfo(dtype="float32")], DTypeError, "too little is known of argument 1"),
        ([T("n")], [SHAPE], DTypeError, "argument 0"),
    ],
)
def test_calls_that_cannot_be(params, args, error, message):
    with pytest.raises(error, match=message):
        derived(FuncStructInfo(params, O), *args)


def test_only_functions_are_called():
    with pytest.raises(DTypeError, match="only a function"):
        derived(T(4), T(4))


def test_an_extent_that_is_kept_must_be_known():
    known = rx.Var("x", TensorStructInfo(rx.Var("s", ShapeStructInfo([2, 3])), "float32"))
    assert call_operator("relax.reshape", known, [0, -1]).struct_info == T(2, 3)
    x = rx.Var("x", TensorStructInfo(rx.Var("s", ShapeStructInfo(ndim=2)), "float32"))
    with pytest.raises(ShapeError, match="an extent of 0 needs an input of known shape"):
        call_operator("relax.reshape", x, [2, 0])
