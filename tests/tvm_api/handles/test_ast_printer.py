"""Relax programs as trees of nodes with fields."""

import re

import pytest

from tirax.diagnostics import TiraxError
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator
from tirax.handles.types import FuncType, ObjectType, ShapeType, TensorType, TupleType
from tirax.script import parse_source
from tirax.tvm_api.handles.ast_printer import ASTPrinter, dump_ast

F32 = rx.TensorStructInfo((2, "n"), "float32")


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_variables_and_calls():
    x = rx.Var("x", F32)
    plain = {"include_struct_info_annotations": False}
    assert dump_ast(x, **plain) == 'Var(name_hint="x")' == dump_ast(rx.Var("x"))
    assert bare(dump_ast(call_operator("relax.add", x, x), **plain)) == (
        'Call(op=Op(name="relax.add"),args=[Var(name_hint="x"),Var(name_hint="x")])'
    )
    annotated = bare(dump_ast(x, include_type_annotations=True))
    assert "shape=ShapeExpr(values=[PrimExpr(value=`T.int64(2)`),PrimExpr(value=`n`)]" in annotated
    assert annotated.endswith("checked_type_=TensorType(ndim=2,dtype=float32))")
    permuted = dump_ast(call_operator("relax.permute_dims", x, [1, 0]), **plain)
    assert 'attrs={"axes": [1, 0]}' in permuted
    assert "attrs" not in dump_ast(call_operator("relax.permute_dims", x, [1, 0]), include_call_attrs=False)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (rx.PrimValue(3), "PrimValue(value=PrimExpr(value=`T.int64(3)`))"),
        (rx.StringImm("a"), 'StringImm(value="a")'),
        (rx.DataTypeImm("int8"), "DataTypeImm(value=int8)"),
        (rx.ExternFunc("f"), 'ExternFunc(global_symbol="f")'),
        (rx.GlobalVar("g"), 'GlobalVar(name_hint="g")'),
        (rx.const(1.0), "Constant(data=1.0)"),
        (rx.Tuple([rx.Var("x")]), 'Tuple(fields=[Var(name_hint="x")])'),
        (rx.ShapeExpr([4]), "ShapeExpr(values=[PrimExpr(value=`T.int64(4)`)])"),
    ],
)
def test_leaves(expr, text):
    assert dump_ast(expr, include_struct_info_annotations=False) == text


def test_a_function():
    module = IRModule(
        parse_source("""
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    with R.dataflow():
        y: R.Tensor = R.match_cast(x, R.Tensor((2,), "float32"))
        R.output(y)
    if c:
        z = R.exp(y)
    else:
        z = R.abs(y)
    return (z, y)[0]
""")
    )
    text = bare(dump_ast(module["main"], include_struct_info_annotations=False))
    assert text.startswith('Function(params=[Var(name_hint="x"),Var(name_hint="c")],body=SeqExpr(blocks=[Dataflow')
    assert "MatchCast(var=" in text and 'If(cond=Var(name_hint="c"),true_branch=SeqExpr(' in text
    assert text.endswith('is_pure=True,attrs={"global_symbol":"main"})')
    body = module["main"].body
    assert bare(dump_ast(body.blocks[0], include_struct_info_annotations=False)).startswith("DataflowBlock(bindings=[")
    binding = dump_ast(body.blocks[1].bindings[0], include_struct_info_annotations=False)
    assert binding.startswith("VarBinding(\n    var=Var(name_hint=")


def test_struct_info_and_types():
    printer = ASTPrinter()
    assert printer.visit_struct_info_(rx.TensorStructInfo()) == "TensorStructInfo(dtype=float32, ndim=-1)"
    s = rx.Var("s", rx.ShapeStructInfo(ndim=2))
    assert bare(printer.visit_struct_info_(rx.TensorStructInfo(s))) == (
        'TensorStructInfo(dtype=float32,shape=Var(name_hint="s",struct_info=ShapeStructInfo(ndim=2)))'
    )
    func = rx.FuncStructInfo([rx.ObjectStructInfo()], rx.TupleStructInfo([rx.PrimStructInfo("int32")]), False)
    assert bare(printer.visit_struct_info_(func)) == (
        "FuncStructInfo(params=[ObjectStructInfo()],ret=TupleStructInfo(fields=[PrimStructInfo(dtype=int32)]),purity=False)"
    )
    inputs = FuncType([TensorType(2, "int8")], TupleType([ObjectType(), ShapeType()]))
    assert bare(printer.visit_type_(inputs)) == (
        "FuncType(arg_types=[TensorType(ndim=2,dtype=int8)],ret_type=TupleType(fields=[ObjectType(),ShapeType(ndim=-1)]))"
    )


def test_what_is_no_expression():
    with pytest.raises(TiraxError, match="no Relax expression"):
        dump_ast(3)


def test_formats_are_arguments_and_flags_are_numbers():
    x = rx.Var("x", rx.TensorStructInfo((4,), "float32"))
    shown = call_operator("relax.print", x, format="{}")
    assert [type(a) for a in shown.args] == [rx.StringImm, rx.Var] and shown.attrs is None
    assert 'StringImm(value="{}")' in dump_ast(shown, include_struct_info_annotations=False)
    again = rx.Call(shown.op, shown.args)
    assert again.op_handle.attr("format") == "{}" and [a.name_hint for a in again.args[1:]] == ["x"]
    assert "PrimExpr(value=`T.int64(1)`)" in dump_ast(call_operator("relax.unique", x, sorted=True))
