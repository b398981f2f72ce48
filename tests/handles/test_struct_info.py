"""Struct info views: constructors, properties, equality, what is refused."""

import numpy as np
import pytest

from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.dialects import relax
from tirax.dialects.sym.expr import Var
from tirax.handles.equality import structural_equal
from tirax.handles.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    struct_info_lca,
    tir_vars_in_struct_info,
    type_of,
)
from tirax.handles.tir.dims import dim_of
from tirax.handles.tir.prim_expr import const
from tirax.handles.tir.variables import Var as TirVar
from tirax.tvm_api.handles.from_script import from_mlir, from_source


def test_a_tensor():
    info = TensorStructInfo((128, "n"), "float32")
    assert str(info) == "!relax.tensor<[128, n], f32>"
    assert info.dtype == "float32" and info.ndim == 2
    assert info.shape.values == [128, Var("n")] and len(info.shape) == 2 and info.shape[0] == 128
    assert list(info.shape) == [128, Var("n")]


def test_what_is_unknown_of_a_tensor():
    assert TensorStructInfo(dtype="float16", ndim=3).shape is None
    assert TensorStructInfo(dtype="float16", ndim=3).ndim == 3
    assert TensorStructInfo(dtype=None).dtype == "" and TensorStructInfo(dtype=None).ndim == -1
    assert TensorStructInfo((4,), vdevice="cpu:0").vdevice == "cpu:0"


def test_others():
    assert ShapeStructInfo((1, "n")).values == [1, Var("n")]
    assert ShapeStructInfo(ndim=2).values is None and ShapeStructInfo(ndim=2).ndim == 2
    assert PrimStructInfo("int64").dtype == "int64" and PrimStructInfo(value="n + 1").value == Var("n") + 1
    pair = TupleStructInfo([TensorStructInfo((4,)), ObjectStructInfo()])
    assert isinstance(pair.fields[0], TensorStructInfo) and isinstance(pair.fields[1], ObjectStructInfo)
    func = FuncStructInfo([pair], TensorStructInfo((4,)), purity=False)
    assert func.params == [pair] and func.ret == TensorStructInfo((4,)) and not func.purity
    assert FuncStructInfo.opaque_func().params is None


def test_views_are_equal_where_their_types_are():
    assert TensorStructInfo((4,), "float32") == StructInfo.of(
        relax.TensorType.of([4], type_of(TensorStructInfo()).dtype)
    )
    assert TensorStructInfo((4,)) != TensorStructInfo((5,))
    assert TensorStructInfo((4,)) != "float32"
    assert len({TensorStructInfo((4,)), TensorStructInfo((4,)), ObjectStructInfo()}) == 2
    assert TensorStructInfo(ndim=1).is_base_of(TensorStructInfo((4,)))
    assert not TensorStructInfo((4,)).is_base_of(TensorStructInfo(ndim=1))


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (4, "4"),
        (np.int64(4), "4"),
        ("n", "n"),
        ("n * 4 + 1", "n * 4 + 1"),
        ("n // 2", "n floordiv 2"),
        ("(n - n % -3) // 3", str((Var("n") - Var("n") % -3) // 3)),
        (Var("m") + 1, "m + 1"),
        (TirVar("n", "int64") * 2, "n * 2"),
    ],
)
def test_extents(inputs, expected):
    assert str(dim_of(inputs)) == expected


@pytest.mark.parametrize("inputs", [True, 1.5, None, "f(n)", "n +", "__import__('os')", "n ** 2", [1]])
def test_what_is_no_extent(inputs):
    with pytest.raises(ShapeError):
        dim_of(inputs)


def test_what_is_refused():
    with pytest.raises(ShapeError, match="sequence of extents"):
        TensorStructInfo(4)
    with pytest.raises(DTypeError, match="did you mean 'float32'"):
        TensorStructInfo((4,), "floot32")
    with pytest.raises(TiraxError, match="not a struct info"):
        TupleStructInfo([3])
    with pytest.raises(TiraxError, match="dtype or a value"):
        PrimStructInfo()
    with pytest.raises(DTypeError, match="no struct info"):
        StructInfo.of(type_of(TensorStructInfo()).dtype)


@pytest.mark.parametrize(
    ("value", "text", "script"),
    [
        (const(0.5, "float16"), "!relax.prim<f16, 0.5>", "T.float16(0.5)"),
        (const(float("inf"), "float32"), "!relax.prim<f32, inf>", 'T.float32("inf")'),
        (const(-1e-30, "float64"), "!relax.prim<f64, -1.0e-30>", "T.float64(-1.0000000000000001e-30)"),
        (TirVar("N", "float16"), "!relax.prim<f16, N>", "N"),
        (const(0, "int8"), "!relax.prim<i8, 0 : i8>", "T.int8(0)"),
        (const(1, "bool"), "!relax.prim<i1, 1 : i1>", "T.bool(True)"),
        (const(3, "uint64"), "!relax.prim<ui64, 3 : ui64>", "T.uint64(3)"),
        (3, "!relax.prim<i64, 3>", "3"),
    ],
)
def test_scalars_of_any_dtype_have_values(value, text, script):
    info = PrimStructInfo(value=value)
    assert str(info) == text and info.dtype == getattr(value, "dtype", "int64")
    other = PrimStructInfo("bool") if info.dtype == "bool" else PrimStructInfo(value=const(7, info.dtype))
    assert struct_info_lca(info, other) == PrimStructInfo(info.dtype) and struct_info_lca(info, info) == info
    module = from_mlir(f"relax.func @main(%x: {text}) -> {text} {{\n  relax.return %x : {text}\n}}")
    assert StructInfo.of(module["main"].params[0].struct_info.type) == info
    assert f"R.Prim(value={script})" in module.script()
    if script != "N":  # a variable for a float is no symbolic variable, which a signature declares
        assert structural_equal(from_source(module.script()), module)


@pytest.mark.parametrize(("value", "dtype"), [(TirVar("N", "float16") + 1, None), (const(1, "int8"), "int64")])
def test_scalars_that_do_not_fit_are_refused(value, dtype):
    with pytest.raises((ShapeError, DTypeError)):
        PrimStructInfo(dtype, value=value)


def test_struct_info_alone_declares_its_variables_on_request():
    info = TensorStructInfo([Var("n") + 1, Var("m")], "float32")
    text = 'R.Tensor((n + 1, m), dtype="float32")'
    assert info.script() == text
    assert info.script(verbose_expr=True) == f"n = T.int64()\nm = T.int64()\n{text}"
    assert PrimStructInfo(value=const(3, "int8")).script() == "R.Prim(value=3)"
    assert PrimStructInfo(value=const(0, "bool")).script() == "R.Prim(value=False)"


def test_variables_of_struct_info_print_as_a_list():
    assert str(tir_vars_in_struct_info(TensorStructInfo([Var("n") + 1, Var("m")], "float32"))) == "[n, m]"
