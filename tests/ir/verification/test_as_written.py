"""Functions of handles are put right, and what was written is called ill formed until a pass has run."""

import pytest

from tirax.handles.module import IRModule
from tirax.ir.verification.as_written import as_written
from tirax.ir.verification.well_formed import well_formed, well_formed_problems
from tirax.transforms.bindings.normalize import Normalize
from tirax.tvm_api import relax as rx
from tirax.tvm_api import tir
from tirax.tvm_api.relax import TensorStructInfo, TupleStructInfo
from tirax.tvm_api.relax.op import add, multiply

F4 = TensorStructInfo((4,), "float32")


def written(bindings, result=None, kind=rx.BindingBlock, params=()):
    """The module of a function of x that consists of bindings."""
    body = rx.SeqExpr([kind(bindings)] if bindings else [], bindings[-1].var if result is None else result)
    func = rx.Function([*params], body, TensorStructInfo(None, "float32", ndim=1)).with_attr("global_symbol", "f")
    return IRModule({"f": func})


def broken(mod):
    """The rules that a module breaks, those about struct info left out."""
    return {problem.rule for problem in well_formed_problems(mod, check_struct_info=False)}


def nested_call(x):
    return [rx.VarBinding(rx.Var("y", F4), add(x, add(x, x)))]


def call_in_a_tuple(x):
    return [rx.VarBinding(rx.Var("y", TupleStructInfo([F4, F4])), rx.Tuple((x, add(x, x))))]


def bound_twice(x):
    y = rx.Var("y", F4)
    return [rx.VarBinding(y, add(x, x)), rx.VarBinding(y, multiply(x, x))]


def dataflow_variable(x):
    return [rx.VarBinding(rx.DataflowVar("y", F4), add(x, x))]


def branches_without_blocks(x):
    return [rx.VarBinding(rx.Var("y", F4), rx.If(rx.const(True), x, x))]


def declared_size(x):
    return [rx.VarBinding(rx.Var("y", TensorStructInfo((tir.Var("s", "int64"),), "float32")), add(x, x))]


@pytest.mark.parametrize(
    ("write", "rule"),
    [
        (nested_call, "nested-call"),
        (call_in_a_tuple, "nested-call"),
        (bound_twice, "variable-defined-twice"),
        (dataflow_variable, "dataflow-variable-outside"),
        (branches_without_blocks, "missing-result"),
        (declared_size, "undefined-symbolic-variable"),
    ],
)
def test_what_was_put_right_is_ill_formed_until_it_is_normalized(write, rule):
    x = rx.Var("x", F4)
    mod = written(write(x), params=[x])
    assert broken(mod) == {rule}
    assert broken(mod.clone()) == {rule} and broken(IRModule({"f": mod["f"]})) == {rule}
    assert broken(Normalize()(mod)) == set()


def test_a_result_that_is_no_variable():
    x = rx.Var("x", F4)
    assert broken(written([], add(x, x), params=[x])) == {"nested-call"}


def test_what_is_written_in_normal_form_is_well_formed():
    x, y, z = rx.Var("x", F4), rx.DataflowVar("y", F4), rx.Var("z", F4)
    block = [rx.VarBinding(y, add(x, rx.const(1.0))), rx.VarBinding(z, multiply(y, y))]
    mod = written(block, z, rx.DataflowBlock, [x])
    assert well_formed(mod)
    assert all(not (note := as_written(op)) or not note.broken for op in mod.op.walk())


def test_a_block_builder_binds_what_is_nested():
    bb, x = rx.BlockBuilder(), rx.Var("x", F4)
    with bb.function("f", [x]):
        bb.emit_func_output(bb.emit(add(x, add(x, x))))
    assert well_formed(bb.get())


def test_a_call_whose_result_is_not_declared():
    x, gv = rx.Var("x", F4), rx.Var("gv", F4)
    call = rx.Call("relax.call_tir", [rx.GlobalVar("k"), rx.Tuple([x])])
    assert "unknown-function" in broken(written([rx.VarBinding(gv, call)], params=[x]))


def test_normalize_takes_and_gives_what_is_ill_formed():
    x, y = rx.Var("x", F4), rx.Var("y", F4)
    branch = rx.If(rx.const(True), rx.SeqExpr([], x), rx.SeqExpr([], x))
    mod = Normalize()(written([rx.VarBinding(y, branch)], kind=rx.DataflowBlock, params=[x]))
    assert broken(mod) == {"control-flow-in-dataflow"}
