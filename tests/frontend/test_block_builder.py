"""`BlockBuilder`: names, scopes, placing of detached ops, tensor expressions, what is refused."""

import numpy as np
import pytest

from tirax import te, topi
from tirax.diagnostics import TiraxError, VerifyError
from tirax.dialects.attributes import to_attr
from tirax.frontend.block_builder import BlockBuilder
from tirax.frontend.mutator import PyExprMutator
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator, call_packed
from tirax.ir.verification.verify import verify_module
from tirax.ir.verification.well_formed import well_formed_problems
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R


def tensor(*shape):
    return rx.TensorStructInfo(shape, "float32")


def variables(count=2, *shape):
    return [rx.Var(name, tensor(*(shape or (4, 4)))) for name in "xyzw"[:count]]


def finished(bb):
    mod = bb.get()
    verify_module(mod.op)
    return mod


def names(func):
    return [b.var.name_hint for block in func.body.blocks for b in block.bindings]


def relu(x):
    return call_operator("relax.nn.relu", x)


def te_matmul(A, B):
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A):
    return te.compute(A.shape, lambda i, j: te.max(A[i, j], 0), name="relu")


@pytest.mark.parametrize("params_first", [True, False])
def test_the_tutorial_of_seed_003(golden, params_first):
    A, B = rx.Var("A", tensor(128, 128)), rx.Var("B", tensor(128, 128))
    bb = BlockBuilder()
    with bb.function("main", params=[A, B] if params_first else None):
        with bb.dataflow():
            C = bb.emit_te(te_matmul, A, B)
            D = bb.emit_te(te_relu, C)
            R = bb.emit_output(D)
        bb.emit_func_output(R, params=None if params_first else [A, B])
    assert type(C) is rx.DataflowVar and isinstance(C, rx.Var)
    golden("script/te_matmul_relu.txt", finished(bb).script())


def test_names_as_in_tvm():
    x, y = variables()
    bb = BlockBuilder()
    with bb.function("main", [x, y]):
        outside = bb.emit(x + y)
        with bb.dataflow():
            a = bb.emit(outside * y)
            b = bb.emit(relu(a * y))
            c = bb.emit(b, "named")
            d = bb.emit(c + x, "named")
            out = bb.emit_output(d)
        last = bb.emit(out + x)
        bb.emit_func_output(last)
    mod = finished(bb)
    assert names(mod["main"]) == ["gv", "lv", "lv1", "lv2", "named", "named1", "gv1", "gv2"]
    assert [v.name_hint for v in (outside, a, b, c, d, out, last)] == [
        "gv", "lv", "lv2", "named", "named1", "gv1", "gv2",
    ]  # fmt: skip


def test_variables_and_functions_share_a_supply_of_names():
    (x,) = variables(1)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            bb.emit(relu(x), "add")
            call = bb.call_te(topi.add, x, x)
            out = bb.emit_output(call)
        bb.emit_func_output(out)
    assert call.args[0] == rx.GlobalVar("add1") and "add1" in finished(bb)
    assert bb.get_unique_name("main") == "main1"


def test_equal_tensor_functions_are_shared():
    (x,) = variables(1)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit_te(te_relu, x)
            b = bb.emit_te(te_relu, a)
            c = bb.emit_te(te_matmul, a, b, primfunc_name_hint="mm", primfunc_attrs={"note": 1})
            out = bb.emit_output(c)
        bb.emit_func_output(out)
    mod = finished(bb)
    assert set(mod.names) == {"te_relu", "mm", "main"} and mod["mm"].attrs["note"] == 1


def test_what_is_output_is_visible_after_the_block():
    x, y = variables()
    bb = BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            inner = bb.emit(x + y)
            out = bb.emit_output(inner)
            both = bb.emit_output((inner, out), "pair")
        # TVM's tutorials return the inner variable, too
        bb.emit_func_output(rx.Tuple([inner, out, both]))
    func = finished(bb)["main"]
    assert func.ret_struct_info.fields[0] == tensor(4, 4) and len(func.ret_struct_info.fields) == 3


def test_a_local_variable_is_not_visible_after_its_block():
    x, y = variables()
    bb = BlockBuilder()
    with pytest.raises(VerifyError, match="lv where it is not defined"), bb.function("main", [x, y]):
        with bb.dataflow():
            local = bb.emit(x + y)
            bb.emit_output(local * y)
        bb.emit_func_output(relu(local))


def test_constants_and_shapes_are_copied_to_each_use():
    x, y = variables()
    one, shape = rx.const(np.ones((4, 4), "float32")), rx.ShapeExpr([16])
    bb = BlockBuilder()
    for name in ("first", "second"):
        with bb.function(name, [x, y]):
            with bb.dataflow():
                a = bb.emit(call_operator("relax.reshape", x + one, shape))
                b = bb.emit(call_operator("relax.reshape", y + one, shape))
                out = bb.emit_output(a * b)
            bb.emit_func_output(out)
    mod = finished(bb)
    assert mod["first"].params[0] != mod["second"].params[0] and x == mod["second"].params[0]
    assert names(mod["first"]) == ["lv", "lv1", "lv2", "lv3", "gv"]


def test_a_shared_call_is_bound_once():
    x, y = variables()
    total = x + y
    bb = BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            out = bb.emit_output(total * total)
        bb.emit_func_output(out)
    assert names(finished(bb)["main"]) == ["lv", "gv"]


def test_deep_expressions_need_no_deep_stack():
    (x,) = variables(1)
    deep = x
    for _ in range(3000):
        deep = relu(deep)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(deep)
    assert len(names(finished(bb)["main"])) == 3000


def test_lookup_normalize_and_emit_normalized():
    x, y = variables()
    bb = BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            a = bb.emit(x + y)
            assert bb.lookup_binding(a).op.name == "relax.add" and bb.lookup_binding(x) is None
            call = bb.normalize(relu(a * a))
            assert bb.lookup_binding(call.args[0]).op.name == "relax.multiply"
            mine = rx.DataflowVar("mine", tensor(4, 4))
            bb.emit_normalized(rx.VarBinding(mine, call))
            out = bb.emit_output(mine + x)
        assert bb.lookup_binding(out).op.name == "relax.add"
        bb.emit_func_output(out)
    assert names(finished(bb)["main"]) == ["lv", "lv1", "mine", "gv"]


def test_match_cast_binds_symbolic_variables():
    x = rx.Var("x", rx.TensorStructInfo(ndim=2))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        y = bb.match_cast(x, tensor("n", 4))
        bb.emit_func_output(bb.emit(relu(y)))
    func = finished(bb)["main"]
    # no parameter binds n, so a caller knows only the rank
    assert func.ret_struct_info == rx.TensorStructInfo(ndim=2) and str(y.struct_info.shape[0]) == "n"


def test_attributes_purity_and_privacy():
    (x,) = variables(1)
    bb = BlockBuilder()
    with bb.function("main", x, attrs={"num_input": 1}, pure=False, private=True):
        bb.emit_func_output(bb.emit(call_packed("f", x, sinfo_args=tensor(4, 4))))
    func = finished(bb)["main"]
    assert func.attrs == {"num_input": 1} and not func.is_pure and func.private


def test_building_into_a_module():
    (x,) = variables(1)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relu(x)))
    first = bb.get()
    more = BlockBuilder(first)
    with more.function("main", [x]):
        more.emit_func_output(more.emit(first.get_global_var("main")(x)))
    assert first.names == ["main"] and more.get().names == ["main", "main1"]
    assert more.get()["main1"].ret_struct_info == tensor(4, 4)
    with bb.function("other", [x]):
        bb.emit_func_output(x)
    assert first.names == ["main"] and bb.get().names == ["main", "other"]


def test_an_if_is_built_of_branches():
    x, c = rx.Var("x", tensor(4)), rx.Var("c", rx.TensorStructInfo((), "bool"))
    bb = BlockBuilder()
    with bb.function("main", [x, c]):
        value = bb.emit(rx.If(c, relu(x), x + x))
        bb.emit_func_output(value)
    assert "if c:" in finished(bb).script()


def test_local_functions_are_bound():
    (x,) = variables(1)
    a = rx.Var("a", tensor(4, 4))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        f = bb.emit(rx.Function([a], relu(a)), "f")
        bb.emit_func_output(bb.emit(f(x)))
    assert names(finished(bb)["main"]) == ["f", "gv"]


def test_symbolic_shapes_reach_tensor_functions():
    x = rx.Var("x", tensor("n", 4))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(topi.nn.relu, x))
        bb.emit_func_output(out)
    func = finished(bb)["main"]
    assert str(func.ret_struct_info) == "!relax.tensor<[n, 4], f32>"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda bb, x: bb.emit_output(x + x), "is allowed in a dataflow block only"),
        (lambda bb, x: bb.emit_func_output(x, [x]), "given already"),
        (lambda bb, x: None, "has no result"),
        (lambda bb, x: bb.emit_te(lambda a: 3, x), "must return tensors"),
        (lambda bb, x: bb.emit(object()), "not an expression"),
        (lambda bb, x: bb.begin_scope([x, x]).__enter__(), "given twice"),
    ],
)
def test_what_is_refused_in_a_function(build, message):
    (x,) = variables(1)
    bb = BlockBuilder()
    with pytest.raises(TiraxError, match=message), bb.function("main", [x]):
        build(bb, x)
    assert BlockBuilder.current() is None
    with bb.function("main", [x]):
        assert BlockBuilder.current() is bb
        bb.emit_func_output(x)


def test_what_is_refused_elsewhere():
    (x,) = variables(1)
    bb = BlockBuilder()
    with pytest.raises(TiraxError, match="no function to build in"):
        bb.emit(x)
    with pytest.raises(TiraxError, match="stands in a function"):
        bb.emit_func_output(x)
    with pytest.raises(TiraxError, match="never given"), bb.function("main"):
        bb.emit_func_output(x)
    with pytest.raises(TiraxError, match="a parameter is a variable"), bb.function("main", [3]):
        pass
    with pytest.raises(TiraxError, match="outside of the dataflow"), bb.function("main", [x]), bb.dataflow():
        bb.emit_func_output(x)
    with pytest.raises(TiraxError, match="do not nest"), bb.function("main", [x]), bb.dataflow(), bb.dataflow():
        pass


def test_the_result_of_a_function_names_it():
    (x,) = variables(1)
    bb = BlockBuilder()
    with bb.function("f", rx.Tuple([x])):
        gv = bb.emit_func_output(relu(x))
        assert bb.get()["f"].ret_struct_info == tensor(4, 4)
        with pytest.raises(TiraxError, match="has a result already"):
            bb.emit_func_output(x)
    assert gv == rx.GlobalVar("f")
    y = rx.Var("y", tensor(4, 4))
    with bb.function("f"):
        again = bb.emit_func_output(gv(y), rx.Tuple([y]))
    assert again.name_hint == "f1" and finished(bb).names == ["f", "f1"]


def test_scopes_begin_and_end():
    bb = BlockBuilder()
    assert not bb.current_block_is_dataflow()
    (x,) = variables(1)
    bb.begin_scope([x])
    with bb.dataflow():
        assert bb.current_block_is_dataflow()
        out = bb.emit_output(relu(x))
    bb._begin_binding_block()
    bb.emit(relu(out), "after")
    block = bb._end_block()
    bb.end_scope()
    assert [b.var.name_hint for b in block.bindings] == ["after"]
    with pytest.raises(TiraxError, match="end_scope ends no scope"):
        bb.end_scope()
    with pytest.raises(TiraxError, match="no function to build in"):
        bb.emit(x)


def test_a_scope_ends_those_inside_of_it():
    bb = BlockBuilder()
    with bb.begin_scope() as outer:
        bb.begin_scope()
        bb.emit(rx.const(1.0), "inner")
    assert not list(outer.ops)
    with pytest.raises(TiraxError, match="no function to build in"):
        bb.emit(rx.const(1.0))


def test_a_testing_scope_knows_symbolic_variables():
    bb = BlockBuilder()
    with bb.testing_scope(def_vars=["n", "m"]):
        x = rx.Var("x", tensor("n", "m"))
        call = bb.normalize(relu(relu(x)))
        assert call.struct_info == tensor("n", "m") and isinstance(call.args[0], rx.Var)
        te = bb.emit_te(te_relu, x)
        assert te.struct_info == tensor("n", "m")
    assert bb.get().names == ["te_relu"]


def test_a_tensor_function_with_a_gradient():
    (x,) = variables(1)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        call = bb.call_te_with_grad(te_relu, x, te_grad_name="relu_grad", te_grad_kwargs={"slope": 1})
        bb.emit_func_output(bb.emit(call))
    text = finished(bb).script()
    assert 'te_grad_name="relu_grad", te_grad_kwargs={"slope": 1}' in text and "R.call_tir_with_grad(" in text


def test_arguments_of_a_gradient_may_be_scalars_of_tir():
    (x,) = variables(1)
    call = BlockBuilder().call_te_with_grad(
        te_relu, x, te_grad_name="g", te_grad_kwargs={"k": tir.const(2.0, "float32")}
    )
    assert call.op_handle.te_grad_kwargs.data["k"] == to_attr(2.0)


def test_what_is_well_formed():

    x = rx.Var("x", tensor("n", 4))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(topi.nn.relu, relu(x)))
        bb.emit_func_output(out)
    assert well_formed_problems(finished(bb)) == []


def test_what_is_local_to_a_dataflow_block_says_how_it_becomes_an_output():
    builder, x = BlockBuilder(), rx.Var("x", tensor(4))
    with pytest.raises(VerifyError, match="make it an output by emit_output"), builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(R.exp(x))
        builder.emit_func_output(y)


def test_a_mutator_that_returns_nothing_is_reported():
    class Forgets(PyExprMutator):
        def visit_call_(self, call):
            pass

    mod = from_source("@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = R.exp(x)\n    return y\n")
    with pytest.raises(TiraxError, match=r"Forgets.visit_call_ returned None(.|\n)*return super\(\).visit_call_"):
        Forgets().visit_expr(mod)


def test_a_variable_that_is_no_parameter_fails_verification():
    x, y = variables()
    bb = BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(x + y))
    (problem,) = well_formed_problems(bb.get())
    assert problem.message == "relax.add uses 'y' which is not defined"
    with pytest.raises(VerifyError, match="y where it is not defined"):
        verify_module(bb.get().op)


def test_a_parameter_of_another_function_is_not_defined():
    x, y = variables()
    bb = BlockBuilder()
    with bb.function("first", [x]):
        bb.emit_func_output(bb.emit(x + x))
    with bb.function("second", [y]):
        bb.emit_func_output(bb.emit(x + y))
    (problem,) = well_formed_problems(bb.get())
    assert problem.message == "relax.add uses 'x' which belongs to another function"
