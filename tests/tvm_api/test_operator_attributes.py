"""Operators that a program extends or declares by attributes, as TVM has them."""

from collections.abc import Iterator

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.dialects.relax.registered import forget, is_changed
from tirax.driver.build_cache import entry_of
from tirax.target import Target
from tirax.tvm_api import relax, topi
from tirax.tvm_api.ir import Op, register_op_attr
from tirax.tvm_api.relax.transform import FoldConstant, Gradient, LegalizeOps
from tirax.tvm_api.relax.transform.legalize_ops.common import has_known_shape_value, register_legalize
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

KEYS = ("FNormalize", "FInferStructInfo", "FLegalize", "FPrimalGradient", "FPurity")


def _like_the_first(call, builder):
    return call.args[0].struct_info


def _cube(builder, call):
    (x,) = call.args
    return x * builder.emit(x * x)


def _cube_gradient(var, call, gradient, builder):
    (x,) = call.args
    return [gradient * builder.emit(x * x) * relax.const(3.0, "float32")]


@pytest.fixture
def cube() -> Iterator[Op]:
    name = "acme.cube"
    for key, value in zip(KEYS[1:], (_like_the_first, _cube, _cube_gradient, True), strict=True):
        register_op_attr(name, key, value)
    yield Op.get(name)
    for key in KEYS:
        forget(name, key)


@pytest.fixture
def exp() -> Iterator[Op]:
    yield Op.get("relax.exp")
    for key in KEYS:
        forget("relax.exp", key)


def _of_cube(cube):
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                y = relax.Call(cube, [x])
                z = R.sum(y)
                R.output(z)
            return z

    return Module


@I.ir_module
class Exp:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.sum(y)
            R.output(z)
        return z


def _run(module, name, *args):
    vm = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    return vm[name](*map(tvm.nd.array, args))


def test_a_declared_operator_is_called_printed_and_read(cube):
    module = _of_cube(cube)
    call = module["main"].body.blocks[0].bindings[0].value
    assert call.op == cube
    assert [a.name_hint for a in call.args] == ["x"]
    assert str(call.struct_info) == str(module["main"].params[0].struct_info)
    assert "R.acme.cube(x)" in module.script()
    assert tvm.script.from_source(module.script()).script() == module.script()


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_declared_operator_is_compiled_by_its_legalization(cube, count):
    x = np.linspace(-1, 2, count, dtype="float32")
    got = _run(_of_cube(cube), "main", x).numpy()
    np.testing.assert_allclose(got, (x.astype("float64") ** 3).sum(), rtol=1e-6)


def test_its_replacement_is_legalized_too(cube):
    once = LegalizeOps()(_of_cube(cube))
    assert "acme" not in once.script()
    assert "R.multiply" not in once.script()
    tvm.ir.assert_structural_equal(once, LegalizeOps()(once))


def test_a_declared_operator_has_the_registered_gradient(cube):
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                y = relax.Call(cube, [x])
                z = R.sum(y)
                R.output(z)
            return z

    x = np.array([-2.0, 0.0, 1.0, 3.0], "float32")
    value, (gradient,) = _run(Gradient("main")(Module), "main_adjoint", x)
    np.testing.assert_allclose(value.numpy(), (x**3).sum())
    np.testing.assert_allclose(gradient.numpy(), 3 * x * x)


def test_a_declared_operator_without_an_effect_may_go_and_one_with_an_effect_may_not():
    name = "acme.effect"
    try:
        register_op_attr(name, "FInferStructInfo", _like_the_first)
        assert Op.get(name).get_attr("FPurity") is True
        register_op_attr(name, "FPurity", False)
        effect = Op.get(name)
        assert effect.get_attr("FPurity") is False

        @I.ir_module
        class Module:
            @R.function(pure=False)
            def main(x: R.Tensor((3,), "float32")):
                y = relax.Call(effect, [x])
                return x

        assert "acme.effect" in relax.transform.DeadCodeElimination()(Module).script()
    finally:
        for key in KEYS:
            forget(name, key)


def test_an_operator_without_inference_says_so():
    register_op_attr("acme.unknown", "FPurity", True)
    try:
        x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
        builder = relax.BlockBuilder()
        with pytest.raises(tvm.TVMError, match=r"what acme\.unknown gives is unknown(.|\n)*FInferStructInfo"):  # noqa: SIM117
            with builder.function("main", [x]):
                builder.emit_func_output(builder.emit(relax.Call(Op.get("acme.unknown"), [x])))
    finally:
        forget("acme.unknown", "FPurity")


def test_attributes_of_this_package():
    assert Op.get("relax.add").get_attr("FPurity") is True
    assert Op.get("relax.print").get_attr("FPurity") is False
    assert Op.get("relax.add").get_attr("FNoSuch") is None
    assert not Op.get("relax.call_tir").has_attr("FLegalize")
    assert not Op.get("relax.floor").has_attr("FPrimalGradient")
    assert {"relax.add", "relax.call_tir", "relax.nn.conv2d"} <= set(Op.list_op_names())
    x, y = (relax.Var(n, relax.TensorStructInfo(s, "float32")) for n, s in (("x", (2, 3)), ("y", (3, 4))))
    infer = Op.get("relax.matmul").get_attr("FInferStructInfo")
    assert str(infer(relax.op.matmul(x, y), relax.BlockBuilder())) == str(relax.TensorStructInfo((2, 4), "float32"))


def test_own_rules_are_called_with_a_builder():
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        call = relax.op.exp(x)
        value = builder.emit(Op.get("relax.exp").get_attr("FLegalize")(builder, call))
        builder.emit_func_output(value)
    module = builder.get()
    assert "R.call_tir(cls.tir_exp, (x,)" in module.script()
    np.testing.assert_allclose(_run(module, "main", np.zeros(3, "float32")).numpy(), np.ones(3))
    gradient = Op.get("relax.exp").get_attr("FPrimalGradient")

    def around(var, call, grad, ctx):
        return [g * relax.const(2.0, "float32") for g in gradient(var, call, grad, ctx)]

    relax.op.register_gradient("relax.exp", around)
    try:
        _, (got,) = _run(Gradient("main")(Exp), "main_adjoint", np.zeros(3, "float32"))
    finally:
        forget("relax.exp", "FPrimalGradient")
    np.testing.assert_allclose(got.numpy(), 2 * np.ones(3))


def test_a_registered_rule_goes_before_ours_and_a_reset_one_is_gone(exp):
    own = exp.get_attr("FLegalize")
    exp.reset_attr("FLegalize")
    assert exp.get_attr("FLegalize") is None
    assert "R.exp(x)" in LegalizeOps()(Exp).script()

    @register_legalize("relax.exp")
    def other(builder, call):
        return builder.call_te(topi.identity, builder.emit_te(topi.sqrt, *call.args))

    assert exp.get_attr("FLegalize") is other
    assert "T.sqrt(" in LegalizeOps()(Exp).script()
    assert "T.sqrt(" not in LegalizeOps({"relax.exp": own})(Exp).script()
    exp.reset_attr("FLegalize")
    register_legalize("relax.exp", own)
    assert not is_changed("relax.exp")
    assert "T.exp(" in LegalizeOps()(Exp).script()


def test_what_is_registered_is_what_is_computed_everywhere(exp):
    """Neither folded by what the operator was, nor taken from a cache."""

    @I.ir_module
    class Module:
        @R.function
        def main():
            with R.dataflow():
                y = R.exp(R.const([0.0, 1.0], "float32"))
                R.output(y)
            return y

    assert "R.exp" not in FoldConstant()(Module).script()
    exp.set_attr("FLegalize", lambda builder, call: builder.call_te(topi.negative, *call.args), 20)
    assert "R.exp" in FoldConstant()(Module).script()
    assert entry_of(Module.op, ["legalize-ops"], Target("llvm"), 3) is None
    np.testing.assert_allclose(_run(Module, "main").numpy(), [0.0, -1.0])


def test_a_declared_operator_goes_with_its_last_attribute():
    register_op_attr("acme.short", "FPurity", True)
    register_op_attr("acme.short", "FInferStructInfo", _like_the_first)
    forget("acme.short", "FPurity")
    assert "acme.short" in Op.list_op_names()
    forget("acme.short", "FInferStructInfo")
    assert "acme.short" not in Op.list_op_names()
    with pytest.raises(tvm.TVMError, match=r"acme\.short"):
        Op.get("acme.short")


def test_levels(exp):
    register_op_attr("relax.exp", "FLegalize", _cube, level=5)
    register_op_attr("relax.exp", "FLegalize", _like_the_first, level=3)
    assert exp.get_attr("FLegalize") is _cube
    with pytest.raises(tvm.TVMError, match=r"FLegalize of relax\.exp is registered already with the level 5"):
        register_op_attr("relax.exp", "FLegalize", _like_the_first, level=5)
    exp.set_attr("FLegalize", _like_the_first, 6)
    assert exp.get_attr("FLegalize") is _like_the_first


def test_a_gradient_that_was_reset_or_is_too_short_is_a_diagnostic(exp):
    exp.reset_attr("FPrimalGradient")
    with pytest.raises(tvm.TVMError, match=r"relax\.exp has no gradient"):
        Gradient("main")(Exp)
    relax.op.register_gradient("relax.exp", lambda *_: [])
    with pytest.raises(tvm.TVMError, match=r"FPrimalGradient of relax\.exp gives too few or too many"):
        Gradient("main")(Exp)


def test_a_rule_of_a_map_gets_handles():
    seen = []

    def rule(builder, call):
        seen.append((call.op, call.args[0].name_hint, call.struct_info.shape[0]))
        checked = builder.match_cast(call.args[0], relax.TensorStructInfo((3,), "float32"), "checked")
        return builder.normalize(relax.op.sqrt(checked))

    text = LegalizeOps({"relax.exp": rule}, skip_ops=["relax.sum"])(Exp).script()
    assert seen == [(Op.get("relax.exp"), "x", 3)]
    assert "checked: R.Tensor((3,)" in text
    assert "T.sqrt(" in text
    assert "R.sum" in text
    assert "R.exp" in LegalizeOps({"relax.exp": lambda builder, call: None})(Exp).script()


@pytest.fixture
def identity() -> Iterator[Op]:
    name = "acme.identity"
    register_op_attr(name, "FInferStructInfo", _like_the_first)
    register_op_attr(name, "FPurity", True)
    yield Op.get(name)
    for key in KEYS:
        forget(name, key)


def _of_identity(identity):
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            y = relax.Call(identity, [x])
            z = R.exp(y)
            return z

    return Module


def test_a_builder_puts_calls_into_their_normal_form(identity):
    seen = []

    def normalize(builder, call):
        seen.append(builder)
        return relax.op.add(call.args[0], call.args[0])

    register_op_attr("acme.identity", "FNormalize", normalize)
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(builder.emit(relax.Call(identity, [x])))))
    assert seen == [builder]
    text = builder.get().script()
    assert "R.add(x, x)" in text
    assert "acme" not in text


@pytest.mark.parametrize("count", [0, 1, 4])
def test_normalize_puts_calls_into_their_normal_form(identity, count):
    module = _of_identity(identity)
    assert relax.analysis.well_formed(module)
    register_op_attr("acme.identity", "FNormalize", lambda builder, call: call.args[0])
    assert not relax.analysis.well_formed(module)
    after = relax.transform.Normalize()(module)
    assert relax.analysis.well_formed(after)
    assert "acme" not in after.script()
    x = np.linspace(-1, 1, count, dtype="float32")
    np.testing.assert_allclose(_run(after, "main", x).numpy(), np.exp(x), rtol=1e-6)


def test_normal_forms_of_normal_forms(identity):
    """What was put there is normalized in its turn; a call that is given back may stand."""
    module = _of_identity(identity)
    register_op_attr("relax.exp", "FNormalize", lambda builder, call: call)
    register_op_attr("acme.identity", "FNormalize", lambda builder, call: relax.op.exp(relax.op.negative(call.args[0])))
    register_op_attr("relax.negative", "FNormalize", lambda builder, call: relax.op.abs(call.args[0]))
    try:
        text = relax.transform.Normalize()(module).script()
    finally:
        forget("relax.exp", "FNormalize")
        forget("relax.negative", "FNormalize")
    assert "R.abs(x)" in text
    assert text.count("R.exp(") == 2
    assert "negative" not in text


def test_a_normal_form_without_end_is_a_diagnostic(identity):
    module = _of_identity(identity)
    register_op_attr("acme.identity", "FNormalize", lambda builder, call: relax.Call(identity, [call.args[0]]))
    with pytest.raises(tvm.TVMError, match=r"the FNormalize of acme\.identity comes to no end"):
        relax.transform.Normalize()(module)
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    with pytest.raises(tvm.TVMError, match=r"the FNormalize of acme\.identity comes to no end"):
        relax.BlockBuilder().normalize(relax.Call(identity, [x]))


def test_own_rules_are_called_by_rules_of_programs():
    """Those too that make other operations, and new symbolic variables."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.nonzero(x)
            return y

    own = Op.get("relax.nonzero").get_attr("FLegalize")
    wrapped = LegalizeOps({"relax.nonzero": lambda builder, call: own(builder, call)})(Module)
    tvm.ir.assert_structural_equal(wrapped, LegalizeOps()(Module))


def test_known_shapes():
    assert has_known_shape_value(relax.TensorStructInfo((3,), "float32"))
    assert not has_known_shape_value(relax.TensorStructInfo(ndim=1, dtype="float32"))


@pytest.mark.parametrize(
    "text, message",
    [
        ('relax.Call("relax.no_such", [x])', "an operator is called so"),
        ('relax.Call("relax.exp", x)', "the arguments are a list"),
        ("R.acme.none_such(x)", "R has no 'acme.none_such'"),
    ],
)
def test_calls_in_scripts_that_are_none(text, message):
    source = f"@R.function\ndef main(x: R.Tensor((3,), 'float32')):\n    return {text}\n"
    with pytest.raises(tvm.TVMError, match=message):
        tvm.script.from_source(f"from tvm.script import relax as R\n{source}")
