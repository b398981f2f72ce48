"""Handles on Relax expressions, functions and bindings."""

import inspect

import numpy as np
import pytest

from tirax.diagnostics import DTypeError, NameLookupError, ShapeError, TiraxError
from tirax.dialects.relax import OPERATORS
from tirax.dialects.relax.composite import COMPOSITES
from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.relax import names as rx
from tirax.handles.relax.analysis import (
    all_global_vars,
    bound_vars,
    contains_impure_call,
    free_vars,
    get_var2val,
    name_to_binding,
    udchain,
    well_formed,
)
from tirax.handles.relax.builder import Builder
from tirax.handles.relax.calls import call_dps_packed, call_operator, call_packed, call_tir, operator_function
from tirax.handles.tir.prim_expr import const
from tirax.ir.equality import structural_equal
from tirax.script import parse_source
from tirax.tvm_api.script import relax as R

SOURCE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def copy(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(4), i)
                B[vi] = A[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            b = R.call_tir(cls.copy, (a,), out_sinfo=R.Tensor((4,), "float32"))
            s = R.nn.softmax(b, axis=0)
            t = (s, b)
            u = t[0]
            gv = R.multiply(u, u)
            R.output(gv)
        m = R.match_cast(gv, R.Tensor((4,), "float32"))
        if c:
            y = R.negative(m)
        else:
            y = R.add(m, m)
        return y
"""


def tensor(*shape):
    return rx.TensorStructInfo(shape, "float32")


@pytest.fixture
def module():
    return parse_module(SOURCE)


def parse_module(text):
    from tirax.handles.module import IRModule

    return IRModule(parse_source(text))


def bindings(func):
    return {b.var.name_hint: b for block in func.body.blocks for b in block.bindings}


def test_blocks_and_bindings(module):
    main = module["main"]
    dataflow, after = main.body.blocks
    assert isinstance(dataflow, rx.DataflowBlock) and not isinstance(after, rx.DataflowBlock)
    assert [b.var.name_hint for b in dataflow.bindings] == ["a", "b", "s", "t", "u", "gv"]
    kinds = [type(b.value).__name__ for b in dataflow.bindings]
    assert kinds == ["Call", "Call", "Call", "Tuple", "TupleGetItem", "Call"]
    assert [type(b.var) for b in dataflow.bindings] == [rx.DataflowVar] * 5 + [rx.Var]
    assert isinstance(after.bindings[0], rx.MatchCast) and isinstance(after.bindings[1].value, rx.If)
    assert main.body.body == after.bindings[1].var


def test_calls(module):
    exprs = bindings(module["main"])
    add, copy, softmax = (exprs[n].value for n in "abs")
    assert add.op == rx.Op.get("relax.add") and add.op.name == "relax.add" and add.attrs is None
    x, one = add.args
    assert x == module["main"].params[0] and x.name_hint == "x"
    assert isinstance(one, rx.Constant) and one.data.numpy() == 1.0
    gv, args = copy.args
    assert copy.op.name == "relax.call_tir" and gv == rx.GlobalVar("copy") and args.fields == [exprs["a"].var]
    assert copy.sinfo_args == [tensor(4)]
    assert softmax.attrs.axis == 0 and softmax.attrs["axis"] == 0 and softmax.attrs.keys() == ["axis"]
    with pytest.raises(AttributeError, match="unknown attribute 'axes'"):
        softmax.attrs.axes


def test_variables_are_what_they_stand_for(module):
    exprs = bindings(module["main"])
    product = exprs["gv"].value
    assert product.args[0] == exprs["u"].var and hash(product.args[0]) == hash(exprs["u"].var)
    assert product.args[0].vid == exprs["u"].var.vid
    assert product.args[0] != exprs["t"].var
    assert product.args[0] != product
    # the output is one variable, inside and outside of the dataflow block
    assert exprs["m"].value == exprs["gv"].var


def test_an_if(module):
    branch = bindings(module["main"])["y"].value
    assert branch.cond.name_hint == "c"
    (block,) = branch.true_branch.blocks
    assert block.bindings[-1].value.op.name == "relax.negative"
    assert branch.false_branch.body.name_hint == "gv2"  # what the branch gives is not yet y


def test_operators_build_detached_calls():
    x = rx.Var("x", tensor("n", 4))
    for call, name in [
        (x + 1, "add"),
        (2.0 - x, "subtract"),
        (x * x, "multiply"),
        (x / 2, "divide"),
        (x // 2, "floor_divide"),
        (x**2, "power"),
        (x < 0, "less"),
        (x >= x, "greater_equal"),
        (-x, "negative"),
        (x.astype("float16"), "astype"),
    ]:
        assert isinstance(call, rx.Call) and call.op.name == f"relax.{name}"
        assert call.op_handle.parent is None
    assert (2.0 - x).args[0].struct_info.dtype == "float32"
    assert x.astype("float16").struct_info == rx.TensorStructInfo(("n", 4), "float16")
    assert (x < 0).struct_info.dtype == "bool"


def test_call_operator_takes_python_values():
    x = rx.Var("x", tensor(2, 6))
    assert call_operator("relax.reshape", x, (3, -1)).struct_info == tensor(3, 4)
    assert call_operator("relax.zeros", (2, "n"), "float32").struct_info == tensor(2, "n")
    assert call_operator("relax.clip", x, 0, 1).args[1].value == 0
    assert call_operator("relax.concat", [x, x], axis=1).struct_info == tensor(2, 12)
    assert call_operator("relax.full", (2,), 1.5, "float32").args[1].data.numpy() == 1.5
    assert call_operator("relax.permute_dims", x, axes=[1, 0]).attrs.axes == [1, 0]
    assert call_operator("relax.matmul", x, rx.Var("w", tensor(6, 1))).attrs.out_dtype == "void"


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x: call_operator("relax.addd", x, x), NameLookupError, "did you mean 'relax.add'"),
        (lambda x: call_operator("relax.add", x), TiraxError, "argument x2 is missing"),
        (lambda x: call_operator("relax.add", x, x, x), TiraxError, "takes 2 arguments"),
        (lambda x: call_operator("relax.nn.softmax", x, axes=1), NameLookupError, "did you mean 'axis'"),
        (lambda x: call_operator("relax.nn.softmax", x, 1, axis=1), TiraxError, "given twice"),
        (lambda x: call_operator("relax.reshape", x, (-1, -1)), ShapeError, "at most one"),
        (lambda x: x + rx.Var("y", tensor(3)), ShapeError, "broadcast|agree|x2"),
        (lambda x: x[0], DTypeError, "only a tuple has fields"),
        (lambda x: x(x), DTypeError, "only functions can be called"),
        (lambda x: rx.Call("relax.add", [x, object()]), TiraxError, "not an expression"),
    ],
)
def test_what_cannot_be_built(build, error, message):
    with pytest.raises(error, match=message):
        Builder().normalize(build(rx.Var("x", tensor(2, 6))))


def test_what_does_not_fit_is_reported_when_it_is_bound():
    x, y = rx.Var("x", tensor(2, 6)), rx.Var("y", tensor(3))
    call = x + y
    with pytest.raises(ShapeError, match="broadcast"):
        assert call.struct_info
    builder = Builder()
    with builder.function("main", [x, y]):
        with pytest.raises(ShapeError, match="broadcast"):
            builder.emit(call)
        builder.emit_func_output(x)


def test_attributes_know_their_dtype():
    call = call_operator("relax.permute_dims", rx.Var("x", tensor(2, 6)), axes=[1, 0])
    assert [(int(a), a.value, a.dtype) for a in call.attrs.axes] == [(1, 1, "int64"), (0, 0, "int64")]


def test_calls_of_functions():
    x = rx.Var("x", tensor(4))
    call = rx.Call(rx.Op.get("relax.call_tir"), [rx.GlobalVar("f"), rx.Tuple([x])], None, [tensor(4)])
    assert call.op.name == "relax.call_tir" and call.struct_info == tensor(4)
    several = call_tir(rx.GlobalVar("f"), x, [tensor(4), tensor(2)], tir_vars=["n"])
    assert several.struct_info == rx.TupleStructInfo([tensor(4), tensor(2)])
    assert str(several.args[2][0]) == "n"
    dps = call_dps_packed("env.relu", (x,), tensor(4))
    assert dps.args[0].global_symbol == "env.relu"
    packed = call_packed("f", x, sinfo_args=tensor(4), flag=True)
    assert isinstance(packed.op, rx.ExternFunc) and packed.attrs.flag is True and packed.args == [x]
    direct = rx.GlobalVar("g")(x)
    assert direct.op == rx.GlobalVar("g") and direct.struct_info == rx.ObjectStructInfo()


def test_constants():
    assert rx.const(1.0).struct_info == rx.TensorStructInfo((), "float32")
    assert rx.const(1).struct_info.dtype == "int32" and rx.const(True).struct_info.dtype == "bool"
    assert rx.const(np.ones((2, 3), "float16")).struct_info == rx.TensorStructInfo((2, 3), "float16")
    assert rx.const(np.ones(2), rx.TensorStructInfo((2,), "float32")).data.numpy().tolist() == [1, 1]
    with pytest.raises(ShapeError, match="contents of a constant"):
        rx.const(np.ones(3), rx.TensorStructInfo((2,), "float32"))


def test_leaves_and_tuples():
    shape = rx.ShapeExpr([1, "n"])
    assert shape == [1, shape[1]] and shape.struct_info == rx.ShapeStructInfo((1, "n"))
    inputs = rx.PrimValue(const(1.5, "float16"))
    assert inputs.value == 1.5 and inputs.struct_info == rx.PrimStructInfo("float16", 1.5)
    assert rx.PrimValue(const(3, "int64")).value == 3
    assert rx.PrimValue(1.5).value == 1.5 and rx.PrimValue("n").struct_info == rx.PrimStructInfo(value="n")
    assert rx.StringImm("a").value == "a" and rx.DataTypeImm("int8").value == "int8"
    x = rx.Var("x", tensor(4))
    pair = rx.Tuple([x, rx.const(1)])
    assert pair[0] is x and len(pair) == 2 and pair.struct_info.fields[0] == tensor(4)
    assert rx.Var("t", pair.struct_info)[1].struct_info.dtype == "int32"
    with pytest.raises(IndexError):
        rx.Var("t", pair.struct_info)[2]


def test_functions_of_expressions():
    x, y = rx.Var("x", tensor(4)), rx.Var("y", tensor(4))
    func = rx.Function([x, y], x + y * 2, attrs={"global_symbol": "f", "Primitive": 1})
    assert func.name == "f" and not func.private and func.attrs == {"global_symbol": "f", "Primitive": 1}
    assert [p.name_hint for p in func.params] == ["x", "y"] and func.ret_struct_info == tensor(4)
    assert well_formed(func) and func.is_pure
    assert rx.Function([rx.Var("x", tensor(4))], rx.const(1)).private


def test_a_function_of_the_body_of_another(module):
    main = module["main"]
    copy = rx.Function(main.params, main.body, main.ret_struct_info, attrs={"global_symbol": "main"})
    assert structural_equal(copy.op, main.op) and copy.op is not main.op and well_formed(main)
    z = rx.Var("z", tensor(4))
    branch = bindings(main)["y"].value
    m = branch.true_branch.blocks[0].bindings[0].value.args[0]
    assert well_formed(rx.Function([m, main.params[1]], rx.If(main.params[1], branch.true_branch, rx.SeqExpr([], m))))
    assert not well_formed(rx.Function([z], branch.true_branch))


def test_changed_copies(module):
    main = module["main"]
    renamed = main.with_attr("global_symbol", "other").with_attrs({"n": 1, "s": "t"})
    assert renamed.name == "other" and renamed.attrs["n"] == 1 and main.name == "main" and "n" not in main.attrs
    assert renamed.without_attr("n").attrs.get("n") is None
    assert renamed.without_attr("global_symbol").private
    assert main.bind_params({"x": np.ones(4, "float32")}).params[0].name_hint == "c"
    with pytest.raises(NameLookupError):
        main.attrs["nothing"]
    with pytest.raises(TiraxError, match="not an attribute"):
        main.with_attr("a", object())


def test_symbolic_variables_are_bound_in_a_copy():
    x = rx.Var("x", tensor("n", 4))
    func = rx.Function([x], x + x)
    assert func.bind_symbolic_vars({"n": 8}).ret_struct_info == tensor(8, 4)
    assert func.ret_struct_info == tensor("n", 4)


def test_a_handle_on_what_was_removed_says_so(module):
    main = module["main"]
    var = bindings(main)["y"].var
    op = var.op_handle
    op.results[0].replace_all_uses_with(main.params[0].ssa)
    op.detach()
    op.erase()
    with pytest.raises(rx.StaleHandleError, match="'y' no longer points at anything"):
        var.struct_info


def test_a_handle_on_a_removed_function_or_parameter_says_so(module):
    main = module["main"]
    param = main.params[1]
    var = param.ssa
    main.op.body.block.erase_arg(var, safe_erase=False)
    with pytest.raises(rx.StaleHandleError, match="'c'"):
        param.struct_info
    main.op.detach()
    main.op.erase(safe_erase=False)
    with pytest.raises(rx.StaleHandleError, match="function"):
        main.params


def test_analysis(module):
    main = module["main"]
    var2val = get_var2val(main)
    exprs = bindings(main)
    assert var2val[exprs["a"].var].op.name == "relax.add" and var2val[exprs["gv"].var].op.name == "relax.multiply"
    assert name_to_binding(main)["s"][0].value.attrs.axis == 0
    assert [v.name_hint for v in bound_vars(main)][:2] == ["x", "c"]
    assert free_vars(main) == [] and [v.name_hint for v in free_vars(exprs["gv"].value)] == ["u"]
    assert all_global_vars(main) == [rx.GlobalVar("copy")]
    assert udchain(main.body.blocks[0])[exprs["a"].var] == [exprs["b"].var]
    assert udchain(main)[exprs["b"].var] == [exprs["s"].var, exprs["t"].var]
    assert udchain(main)[exprs["s"].var] == [exprs["t"].var]
    assert not contains_impure_call(main) and well_formed(module)


def test_impure_calls_are_seen():
    x = rx.Var("x", tensor(4))
    assert contains_impure_call(rx.Function([x], call_packed("f", x, sinfo_args=tensor(4)), is_pure=False))


def test_output_of_another_name_is_a_binding_of_its_own():
    bb = BlockBuilder()
    x = rx.Var("x", tensor(4))
    with bb.function("main", [x]):
        with bb.dataflow():
            gv = bb.emit_output(bb.emit(x + x))
        bb.emit_func_output(gv)
    exprs = bindings(bb.get()["main"])
    assert isinstance(exprs["lv"].var, rx.DataflowVar) and exprs["gv"].value == exprs["lv"].var
    assert isinstance(exprs["gv"].var, rx.Var) and get_var2val(bb.get()["main"])[exprs["gv"].var] == exprs["lv"].var


def test_functions_of_operators_have_signatures():
    names = ("nn.conv2d", "add", "concat", "full", "nn.attention", "nn.batch_norm")
    shown = [str(inspect.signature(operator_function(f"relax.{name}"))) for name in names]
    assert shown[0].startswith("(data, weight, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1,")
    assert shown[1:4] == ["(x1, x2)", "(tensors, axis=0)", "(shape, fill_value, dtype=None)"]
    assert shown[4] == "(query, key, value, bias=None, scale=None, causal_mask=None, window_size=None)"
    assert shown[5].startswith("(data, gamma, beta, moving_mean, moving_var, axis, epsilon=1e-05,")
    for name in (*OPERATORS, *COMPOSITES):
        inspect.signature(operator_function(name))


def test_calls_are_shown_as_they_are_written():
    x = rx.Var("x", rx.TensorStructInfo((4, 8), "float32"))
    call = R.exp(x)
    assert repr(call) == "R.exp(x)"
    assert repr(R.sum(x, axis=1)) == "R.sum(x, axis=[1])"
    assert repr(R.astype(x, "float16")) == "R.astype(x, dtype='float16')"
    for _ in range(100):  # not written out: the text would double with each
        call = R.add(call, call)
    assert repr(call) == "R.add(…, …)"


def test_attributes_of_convolutions_that_do_not_fit_are_spread_too():
    data, weight = (
        rx.Var("x", rx.TensorStructInfo((2, 3, 8, 8), "float32")),
        rx.Var("w", rx.TensorStructInfo((3, 4, 3, 3))),
    )
    call = call_operator("relax.nn.conv2d_transpose", data, weight, padding=(1, 2), output_padding=(1, 2))
    assert list(call.attrs.padding) == [1, 2, 1, 2] and list(call.attrs.strides) == [1, 1]


def test_a_shape_is_the_same_variable():
    variable = rx.Var("s", rx.ShapeStructInfo(ndim=2))
    info = rx.TensorStructInfo(variable, "int32")
    assert info.shape == variable and info.ndim == 2
    assert rx.Var("x", info).struct_info.shape.name_hint == "s"
    with pytest.raises(ValueError, match="either the extents"):
        rx.TensorStructInfo([1, 2], ndim=2)
