"""Calls of tensor functions on Relax values."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import FloatAttr, TupleType, f32, i64
from xdsl.ir import Block

from tirax import te, topi
from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.dialects.names import name_of, set_name
from tirax.dialects.sym.expr import Var
from tirax.script.printer import print_script
from tirax.te.emit import call_te


def values(*types: Any) -> list[Any]:
    block = Block(arg_types=list(types))
    for arg, name in zip(block.args, "xyz", strict=False):
        set_name(arg, name)
    return list(block.args)


def tensor(*dims: Any, dtype: Any = f32) -> relax.TensorType:
    return relax.TensorType.of(dims, dtype)


def test_parameters_are_named_by_values_and_constants_by_position() -> None:
    (x,) = values(tensor(1, 784))
    weight = relax.ConstantOp.of([[0.5] * 784] * 128, f32).result
    call = call_te(topi.nn.dense, x, weight)
    assert [name_of(p) for p in call.func.params] == ["x", "B", "T_matmul_NT"]
    assert call.args == [x, weight]
    assert call.out_type == tensor(1, 128)
    assert call.func.sym_name.data == "dense" and call.func.private
    assert '"layout_free_buffers": [1], "tir.noalias": T.bool(True)' in print_script(call.func)


def test_python_extents_are_int64_here() -> None:
    (x,) = values(tensor(2, 3))
    call = call_te(lambda t: te.compute((3, 2), lambda i, j: t[j, i], name="flip"), x, primfunc_name_hint="nn.flip")
    assert "T.grid(T.int64(3), T.int64(2))" in print_script(call.func)
    assert call.func.sym_name.data == "nn_flip"


def test_variables_that_no_parameter_determines_are_parameters() -> None:
    x, shape = values(tensor(Var("n") + 1), relax.ShapeType.of([Var("n") * 2]))
    call = call_te(topi.full, shape, "float32", 1.0)
    assert call.tir_vars == [Var("n")]
    assert [name_of(p) for p in call.func.params] == ["T_full", "n"]
    assert call_te(topi.exp, x).tir_vars == [Var("n")]


def test_full_dimensions_need_no_parameter() -> None:
    x, y = values(tensor("n", 4), tensor(Var("n") + 1))
    assert call_te(lambda a, b: [topi.exp(a), topi.exp(b)], x, y).tir_vars == []


def test_scalars_tuples_and_several_results() -> None:
    pair, step = values(TupleType((tensor(2), tensor(2))), relax.PrimType.of(i64, "n"))
    call = call_te(lambda p, s: [topi.add(p[0], s), topi.add(p[1], 1.0)], pair, step)
    assert [op.name for op in call.setup] == ["relax.tuple_get_item"] * 2
    assert call.out_type == TupleType((tensor(2), tensor(2)))
    assert call.tir_vars == [Var("n")]
    half = relax.PrimValueOp(FloatAttr(0.5, f32)).result
    (x,) = values(tensor(2))
    assert "T.float32(0.5)" in print_script(call_te(topi.multiply, x, half).func)


def test_an_input_as_the_result_is_copied() -> None:
    (x,) = values(tensor(2))
    call = call_te(lambda t: t, x)
    assert len(call.func.params) == 2


def test_attributes() -> None:
    (x,) = values(tensor(2))
    assert '"op_pattern": 8' in print_script(call_te(topi.exp, x, primfunc_attrs={"op_pattern": 8}).func)


def test_errors() -> None:
    x, y, z = values(relax.TensorType.of(None, f32, 2), relax.ObjectType(), relax.PrimType.of(i64))
    with pytest.raises(TiraxError, match="known shape and dtype") as error:
        call_te(topi.exp, x)
    assert "'x'" in str(error.value.found) and "match_cast" in str(error.value.hint)
    with pytest.raises(TiraxError, match="cannot be an argument"):
        call_te(topi.exp, y)
    filled = call_te(topi.full, [2], "int64", z)
    assert filled.args == [z] and [p.type for p in filled.func.params][0] == i64
    (t,) = values(tensor(2))
    with pytest.raises(TiraxError, match="must return tensors"):
        call_te(lambda a: a(0), t)
