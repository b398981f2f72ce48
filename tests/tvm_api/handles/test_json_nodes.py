"""Nodes as JSON: what is read equals what was written, shared nodes are one."""

import json

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api import relax, tir
from tirax.tvm_api.ir import load_json, make_node, save_json

x, n = tir.Var("x", "int32"), tir.SizeVar("n", "int64")
A = tir.decl_buffer((8, n), "float32", "A")
v = relax.Var("v", relax.TensorStructInfo([n, 4], "float32"))
w = relax.Var("w", relax.TensorStructInfo([], "int32"))
NODES = {
    "Var": x,
    "SizeVar": n,
    "IntImm": tir.const(1, "int8"),
    "FloatImm": tir.const(float("-inf"), "float64"),
    "StringImm": tir.StringImm("a\n\x01"),
    "Add": x + 1,
    "Cast": tir.Cast("float32", x),
    "Not": tir.Not(x > 1),
    "Select": tir.Select(x > 1, x, x + 2),
    "Ramp": tir.Ramp(x, 1, 4),
    "Broadcast": tir.Broadcast(x, 4),
    "Let": tir.Let(x, tir.const(3), x + 1),
    "exp": tir.exp(tir.const(1.0, "float32")),
    "call_extern": tir.call_extern("int32", "f", x),
    "BufferLoad": A[x, 3],
    "Buffer": A,
    "Range": tvm.ir.Range(0, x),
    "BufferRegion": tir.BufferRegion(A, [tvm.ir.Range(0, 5), tvm.ir.Range(0, 5)]),
    "Evaluate": tir.Evaluate(x),
    "For": tir.For(x, 0, 8, tir.ForKind.PARALLEL, tir.Evaluate(x), annotations={"a": 1}),
    "BufferStore": tir.BufferStore(A, 1.0, [x, 0]),
    "AttrStmt": tir.AttrStmt(A, "a", 1, tir.Evaluate(0)),
    "SeqStmt": tir.SeqStmt([tir.Evaluate(0), tir.Evaluate(1)]),
    "IfThenElse": tir.IfThenElse(x > 1, tir.Evaluate(0), None),
    "relax.Var": v,
    "relax.Constant": relax.const([1.0, 2.0]),
    "relax.ShapeExpr": relax.ShapeExpr([n, 4]),
    "relax.PrimValue": relax.PrimValue(n + 1),
    "relax.StringImm": relax.StringImm("a"),
    "relax.DataTypeImm": relax.DataTypeImm("int32"),
    "relax.ExternFunc": relax.ExternFunc("f"),
    "relax.Tuple": relax.Tuple([v, v]),
    "relax.TupleGetItem": relax.TupleGetItem(relax.Tuple([v, v]), 1),
    "relax.Call": relax.op.sum(v, axis=[0]),
    "relax.VarBinding": relax.VarBinding(w, relax.const(1)),
    "relax.MatchCast": relax.MatchCast(v, relax.Var("w"), v.struct_info),
    "relax.BindingBlock": relax.BindingBlock([relax.VarBinding(w, relax.const(1))]),
    "relax.DataflowBlock": relax.DataflowBlock([relax.VarBinding(w, relax.const(1))]),
    "relax.SeqExpr": relax.SeqExpr([relax.BindingBlock([relax.VarBinding(w, relax.const(1))])], w),
    "types": relax.FuncType([relax.TensorType(2, "int8"), relax.TupleType([])], relax.ShapeType(3)),
    "Array": [1, 2.5, True, None, "a"],
    "Map": {x: x + 1},
    "GlobalVar": tvm.ir.GlobalVar("f"),
    "EnvFunc": tvm.ir.EnvFunc.get("runtime.NumThreads"),
}


@pytest.mark.parametrize("name", NODES)
def test_nodes(name):
    again = load_json(save_json(NODES[name]))
    assert tvm.ir.structural_equal(again, NODES[name], map_free_vars=True)


def test_arrays():
    array = tvm.nd.array(np.arange(6, dtype="float16").reshape(2, 3))
    again = load_json(save_json({"w": array}))["w"]
    assert isinstance(again, tvm.nd.NDArray) and again.dtype == "float16"
    np.testing.assert_array_equal(again.numpy(), array.numpy())


def test_what_is_shared_is_one_node():
    first, second = load_json(save_json([x + 1, x * 2]))
    assert first.a.same_as(second.a)
    assert len(json.loads(save_json([x, x]))["mlir"]) == 3  # the variable, the list, the list of what is stored


def test_functions_in_containers():
    func = tir.PrimFunc([x], tir.Evaluate(x)).with_attr("global_symbol", "f")
    again = load_json(save_json([func, tvm.target.Target("llvm")]))
    tvm.ir.assert_structural_equal(again[0], func)
    assert str(again[1]) == str(tvm.target.Target("llvm"))


def test_making_nodes_by_name():
    node = make_node("IntImm", dtype="int32", value=10, span=None)
    assert isinstance(node, tir.IntImm) and node.value == 10
    assert isinstance(make_node("tir.Add", a=node, b=x), tir.Add)
    with pytest.raises(TiraxError, match="no type of nodes 'relax.Nothing'"):
        make_node("relax.Nothing")


@pytest.mark.parametrize(
    "nodes, message",
    [
        ([], "has no nodes"),
        ([3], "another form"),
        ([{"type": "Array", "items": [{"node": 0}]}], "not before it"),
        ([{"type": "Array", "items": [{"node": True, "more": []}]}, 3], "not before it"),
        ([{"type": "stored", "value": {"kind": "picture"}}], "not known here"),
        ([{"type": "__import__", "fields": {}}], "no type of nodes"),
    ],
)
def test_other_graphs_are_refused(nodes, message):
    text = json.dumps({**json.loads(save_json([x])), "mlir": nodes})
    with pytest.raises(TiraxError, match=message):
        load_json(text)


def test_deep_nodes_are_refused():
    value = x
    for _ in range(2000):
        value = [value]
    with pytest.raises(TiraxError, match="nested too deeply"):
        save_json(value)
