"""Struct info views: constructors, properties, equality, what is refused."""

import numpy as np
import pytest

from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.dialects import relax
from tirax.dialects.sym.expr import Var
from tirax.handles.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    type_of,
)
from tirax.handles.tir.dims import dim_of
from tirax.handles.tir.prim_expr import Var as TirVar


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
    ("given", "wanted"),
    [
        (4, "4"),
        (np.int64(4), "4"),
        ("n", "n"),
        ("n * 4 + 1", "n * 4 + 1"),
        ("n // 2", "n floordiv 2"),
        (Var("m") + 1, "m + 1"),
        (TirVar("n", "int64") * 2, "n * 2"),
    ],
)
def test_extents(given, wanted):
    assert str(dim_of(given)) == wanted


@pytest.mark.parametrize("given", [True, 1.5, None, "f(n)", "n +", "__import__('os')", "n ** 2", [1]])
def test_what_is_no_extent(given):
    with pytest.raises(ShapeError):
        dim_of(given)


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
