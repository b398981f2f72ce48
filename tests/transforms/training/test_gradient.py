"""`Gradient` by its text, which is TVM's, with checkpoints, tuples, tensor functions; and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tirax.runtime
from tirax.diagnostics import DTypeError, NameLookupError, TiraxError, UnsupportedError
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import relax, te
from tirax.tvm_api.relax.training.utils import register_te_gradient
from tirax.tvm_api.relax.transform import Gradient
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"
X, Y = 'x: R.Tensor((3, 4), "float32")', 'y: R.Tensor((3, 4), "float32")'


def function(params: str, bindings: str, outputs: str = "gv", returned: str | None = None) -> Any:
    """A module with the function `main`; bindings are separated by `;`."""
    lines = "\n".join(f"            {b.strip()}" for b in bindings.split(";"))
    return from_source(
        f"""{HEAD}
@I.ir_module
class Module:
    @R.function
    def main({params}):
        with R.dataflow():
{lines}
            R.output({outputs})
        return {returned or outputs}
"""
    )


def backward(module: Any, **options: Any) -> str:
    """The bindings of `main_adjoint` from the first gradient on, without types and what all have at the end."""
    result = Gradient("main", **options)(module)
    verify_module(result.op)
    lines = result["main_adjoint"].script().splitlines()
    first = next(i for i, line in enumerate(lines) if "R.ones(" in line)
    kept = [re.sub(r": R\.(Tensor|Tuple)\(.*?\) = ", " = ", line.strip()) for line in lines[first + 1 :]]
    return "\n".join(line for line in kept if not re.match(r"(R\.output|return|\w+_out = )", line))


def test_the_function_returns_what_it_did_and_the_gradients() -> None:
    module = function(f"{X}, {Y}", "lv = R.multiply(x, y); gv = R.sum(lv)")
    result = Gradient("main")(module)
    assert list(map(str, result.names)) == ["main", "main_adjoint"]
    text = result["main_adjoint"].script()
    body = text[text.index("with R.dataflow") :]
    expected = """with R.dataflow():
        lv: R.Tensor((3, 4), dtype="float32") = R.multiply(x, y)
        gv: R.Tensor((), dtype="float32") = R.sum(lv, axis=None, keepdims=False)
        gv_adjoint: R.Tensor((), dtype="float32") = R.ones(R.shape([]), dtype="float32")
        lv_adjoint: R.Tensor((3, 4), dtype="float32") = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
        x_adjoint: R.Tensor((3, 4), dtype="float32") = R.multiply(lv_adjoint, y)
        y_adjoint: R.Tensor((3, 4), dtype="float32") = R.multiply(lv_adjoint, x)
        x_adjoint_out: R.Tensor((3, 4), dtype="float32") = x_adjoint
        y_adjoint_out: R.Tensor((3, 4), dtype="float32") = y_adjoint
        R.output(gv, x_adjoint_out, y_adjoint_out)
    return (gv, (x_adjoint_out, y_adjoint_out))"""
    assert body.strip() == expected
    assert_same_meaning(module.op, result.op, functions=["main"])
    assert from_source(result.script()).script() == result.script()


TEXTS = {
    "broadcast": (
        'x: R.Tensor((3, 1), "float32"), y: R.Tensor((1, 4), "float32")',
        "lv = R.multiply(x, y); gv = R.sum(lv)",
        """lv_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
lv_1 = R.multiply(lv_adjoint, y)
x_adjoint = R.collapse_sum_to(lv_1, R.shape([3, 1]))
lv1 = R.multiply(lv_adjoint, x)
y_adjoint = R.collapse_sum_to(lv1, R.shape([1, 4]))""",
    ),
    "divide": (
        f"{X}, {Y}",
        "lv = R.divide(x, y); gv = R.sum(lv)",
        """lv_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
lv_1 = R.negative(lv_adjoint)
lv1 = R.multiply(lv_1, lv)
x_adjoint = R.divide(lv_adjoint, y)
y_adjoint = R.divide(lv1, y)""",
    ),
    "used twice": (
        f"{X}, {Y}",
        "lv = R.multiply(x, y); lv1 = R.exp(x); lv2 = R.add(lv, lv1); gv = R.sum(lv2)",
        """lv2_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
lv_adjoint = lv2_adjoint
lv1_adjoint = lv2_adjoint
x_adjoint = R.multiply(lv1_adjoint, lv1)
lv_1 = R.multiply(lv_adjoint, y)
x_adjoint1 = R.add(x_adjoint, lv_1)
y_adjoint = R.multiply(lv_adjoint, x)""",
    ),
    "reductions": (
        X,
        "lv = R.mean(x, axis=[1]); gv = R.variance(lv)",
        """lv_1 = R.multiply(R.const(0.66666668653488159, "float32"), lv)
lv1 = R.sum(lv, axis=None, keepdims=True)
lv2 = R.multiply(R.const(0.2222222238779068, "float32"), lv1)
lv3 = R.subtract(lv_1, lv2)
lv_adjoint = R.multiply(gv_adjoint, lv3)
lv4 = R.divide(lv_adjoint, R.const(4.0, "float32"))
lv5 = R.expand_dims(lv4, axis=[1])
x_adjoint = R.broadcast_to(lv5, R.shape([3, 4]))""",
    ),
    "matmul": (
        'x: R.Tensor((2, 3, 4), "float32"), y: R.Tensor((4, 5), "float32")',
        "lv = R.matmul(x, y); gv = R.sum(lv)",
        """lv_adjoint = R.broadcast_to(gv_adjoint, R.shape([2, 3, 5]))
lv_1 = R.permute_dims(y, axes=[1, 0])
lv1 = R.permute_dims(x, axes=[0, 2, 1])
x_adjoint = R.matmul(lv_adjoint, lv_1, out_dtype="void")
lv2 = R.matmul(lv1, lv_adjoint, out_dtype="void")
y_adjoint = R.collapse_sum_to(lv2, R.shape([4, 5]))""",
    ),
    "part of a split": (
        'x: R.Tensor((4, 4), "float32")',
        "lv = R.split(x, [1, 3], axis=0); lv1 = lv[0]; gv = R.sum(lv1)",
        """lv1_adjoint = R.broadcast_to(gv_adjoint, R.shape([1, 4]))
lv_1 = R.zeros(R.shape([2, 4]), dtype="float32")
lv1_1 = R.zeros(R.shape([1, 4]), dtype="float32")
lv_adjoint = lv1_adjoint, lv_1, lv1_1
x_adjoint = R.concat(lv_adjoint, axis=0)""",
    ),
    "both parts of a split": (
        'x: R.Tensor((4, 4), "float32")',
        "lv = R.split(x, 2, axis=0); lv1 = lv[0]; lv2 = lv[1]; lv3 = R.add(lv1, lv2); gv = R.sum(lv3)",
        """lv3_adjoint = R.broadcast_to(gv_adjoint, R.shape([2, 4]))
lv1_adjoint = lv3_adjoint
lv2_adjoint = lv3_adjoint
lv_1 = R.zeros(R.shape([2, 4]), dtype="float32")
lv_adjoint = lv_1, lv2_adjoint
lv1_1 = lv_adjoint[0]
lv2_1 = R.add(lv1_1, lv1_adjoint)
lv3_1 = lv_adjoint[1]
lv_adjoint1 = lv2_1, lv3_1
x_adjoint = R.concat(lv_adjoint1, axis=0)""",
    ),
    "concat": (
        'x: R.Tensor((3, 4), "float32"), y: R.Tensor((3, 5), "float32")',
        "lv = R.concat((x, y), axis=1); gv = R.sum(lv)",
        """lv_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 9]))
lv_1 = R.split(lv_adjoint, indices_or_sections=[4], axis=1)
x_adjoint = lv_1[0]
y_adjoint = lv_1[1]""",
    ),
    "names for names": (
        X,
        "lv = x; lv1 = R.add(x, lv); lv2 = lv1; gv = R.sum(lv2)",
        """lv2_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
lv1_adjoint = lv2_adjoint
x_adjoint = lv1_adjoint
lv_adjoint = lv1_adjoint
x_adjoint1 = R.add(x_adjoint, lv_adjoint)""",
    ),
    "an integer, and a parameter that does not matter": (
        f'{X}, {Y}, i: R.Tensor((2,), "int32")',
        "lv = R.take(x, i, axis=1); gv = R.sum(lv)",
        """lv_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 2]))
x_adjoint = R.grad.take_backward(lv_adjoint, x, i, axis=1)
y_adjoint = R.zeros(R.shape([3, 4]), dtype="float32")
i_adjoint = R.zeros(R.shape([2]), dtype="int32")""",
    ),
    "no gradient": (
        f"{X}, {Y}",
        "lv = R.grad.no_grad(x); lv1 = R.multiply(lv, y); gv = R.sum(lv1)",
        """lv1_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
y_adjoint = R.multiply(lv1_adjoint, lv)
x_adjoint = R.zeros(R.shape([3, 4]), dtype="float32")""",
    ),
    "checkpoint": (
        f"{X}, {Y}",
        "a = R.grad.start_checkpoint(x); lv = R.sin(a); lv1 = R.exp(lv); e = R.grad.end_checkpoint(lv1);"
        " m = R.multiply(e, y); z = R.exp(m); gv = R.sum(z)",
        """z_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
m_adjoint = R.multiply(z_adjoint, z)
lv_cp = R.sin(x)
lv1_cp = R.exp(lv_cp)
lv1_adjoint = R.multiply(m_adjoint, y)
y_adjoint = R.multiply(m_adjoint, lv1_cp)
lv_adjoint = R.multiply(lv1_adjoint, lv1_cp)
lv_1 = R.cos(x)
x_adjoint = R.multiply(lv_adjoint, lv_1)""",
    ),
    "checkpoints in a row": (
        f"{X}, {Y}",
        "a = R.grad.start_checkpoint(x); b = R.grad.start_checkpoint(y); p = R.multiply(a, b); q = R.cos(p);"
        " e = R.grad.end_checkpoint(q); f = R.grad.start_checkpoint(e); r = R.sin(f); t = R.multiply(r, x);"
        " g = R.grad.end_checkpoint(t); gv = R.sum(g)",
        """r_cp = R.sin(q)
t_adjoint = R.broadcast_to(gv_adjoint, R.shape([3, 4]))
r_adjoint = R.multiply(t_adjoint, x)
x_adjoint = R.multiply(t_adjoint, r_cp)
lv = R.cos(q)
q_adjoint = R.multiply(r_adjoint, lv)
p_cp = R.multiply(x, y)
lv1 = R.negative(q_adjoint)
lv2 = R.sin(p_cp)
p_adjoint = R.multiply(lv1, lv2)
lv3 = R.multiply(p_adjoint, y)
x_adjoint1 = R.add(x_adjoint, lv3)
y_adjoint = R.multiply(p_adjoint, x)""",
    ),
}


@pytest.mark.parametrize(("params", "bindings", "expected"), TEXTS.values(), ids=TEXTS)
def test_the_text_of_gradients(params: str, bindings: str, expected: str) -> None:
    assert backward(function(params, bindings)) == expected


def test_checkpoints_change_no_number() -> None:
    params, with_checkpoint, _ = TEXTS["checkpoints in a row"]
    plain = re.sub(r"R\.grad\.\w+_checkpoint\((\w)\)", r"\1", with_checkpoint)
    rng = np.random.default_rng(0)
    args = [rng.standard_normal((3, 4)).astype("float32") for _ in range(2)]
    actual, expected = (
        interpret(Gradient("main")(function(params, b)).op, "main_adjoint", args) for b in (with_checkpoint, plain)
    )
    np.testing.assert_array_equal(actual[0], expected[0])
    for a, b in zip(actual[1], expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_some_parameters_and_another_result() -> None:
    module = function(f"{X}, {Y}", "lv = R.multiply(x, y); gv = R.sum(lv); gv1 = R.sum(x)", "gv, gv1", "(gv, gv1)")
    x, y = module["main"].params
    assert backward(module, require_grads=y).splitlines()[-1] == "y_adjoint = R.multiply(lv_adjoint, x)"
    result = Gradient("main", require_grads=[x, y], target_index=1)(module)
    text = result["main_adjoint"].script()
    assert "gv1_adjoint" in text and "lv_adjoint" not in text
    assert "return ((gv, gv1), (x_adjoint_out, y_adjoint_out))" in text
    assert backward(module, require_grads=["y"]) == backward(module, require_grads=y)


def test_constants_in_tuples_inside_of_tuples() -> None:
    bindings = """lv = R.multiply(x, x); lv1 = (R.const(2.0, "float32"), (R.const(3.0, "float32"), lv)); lv2 = lv1[1];
        lv3 = lv2[1]; lv4 = R.multiply(lv3, lv2[0]); gv = R.sum(lv4)"""
    module = Gradient("main")(function(X, bindings.replace("\n        ", "")))
    x = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    _, (result,) = interpret(module.op, "main_adjoint", [x])
    np.testing.assert_allclose(result, 6 * x, rtol=1e-6)


def test_gradients_by_variables_of_the_block() -> None:
    module = function(f"{X}, {Y}", "lv = R.multiply(x, x); lv1 = R.multiply(lv, y); gv = R.sum(lv1)")
    result = Gradient("main", require_grads=["lv", "x", "gv"])(module)
    x, y = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")
    _, (by_lv, by_x, by_gv) = interpret(result.op, "main_adjoint", [x, y])
    np.testing.assert_allclose(by_lv, y, rtol=1e-6)
    np.testing.assert_allclose(by_x, 2 * x * y, rtol=1e-5)
    assert by_gv == 1


def test_tuples_inside_of_tuples_and_as_parameters() -> None:
    pair = 'R.Tuple(R.Tensor((2,), "float64"), R.Tensor((2,), "float64"))'
    module = function(
        f't: {pair}, x: R.Tensor((2,), "float64")',
        "a = (t, x); b = a[0]; c = b[0]; d = a[1]; e = R.multiply(c, d); f = t[1]; g = R.multiply(e, f); gv = R.sum(g)",
    )
    result = Gradient("main")(module)
    verify_module(result.op)
    t, x = (np.array([1.0, 2.0]), np.array([3.0, 4.0])), np.array([5.0, 6.0])
    value, (by_t, by_x) = interpret(result.op, "main_adjoint", [t, x])
    assert value == (t[0] * t[1] * x).sum()
    np.testing.assert_allclose(by_t[0], t[1] * x)
    np.testing.assert_allclose(by_t[1], t[0] * x)
    np.testing.assert_allclose(by_x, t[0] * t[1])


def with_tensor_function(name: str = "test.gradient.scaled") -> Any:
    """main(x, y) = sum(x * y * 2), the product being a tensor function with a gradient."""

    def product(a: Any, b: Any) -> Any:
        return te.compute(a.shape, lambda i: a(i) * b(i) * 2.0, name="product")

    bb = relax.BlockBuilder()
    x, y = (relax.Var(n, relax.TensorStructInfo(("n",), "float32")) for n in "xy")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            call = bb.call_te(product, x, y)
            result = relax.op.call_tir_with_grad(call.args[0], [x, y], call.sinfo_args[0], name, {"k": 2.0})
            out = bb.emit_output(relax.op.sum(bb.emit(result)))
        bb.emit_func_output(out)
    return bb.get()


@register_te_gradient("test.gradient.scaled")
def scaled(g: Any, a: Any, b: Any, k: float) -> Any:
    first = te.compute(a.shape, lambda i: g(i) * b(i) * k, name="by_a")
    return [first, te.compute(a.shape, lambda i: g(i) * a(i) * k, name="by_b")]


def test_a_tensor_function_with_a_gradient() -> None:
    module = with_tensor_function()
    result = Gradient("main")(module)
    verify_module(result.op)
    assert result.script().count("R.call_tir_with_grad") == module.script().count("R.call_tir_with_grad") == 1
    assert 'te_grad_kwargs={"k": T.float32(2.0)}' in module.script()
    executable = relax.build(result)
    for n in (3, 1, 0):
        x, y = np.arange(n, dtype="float32"), np.arange(n, dtype="float32") + 1
        value, (by_x, by_y) = executable["main_adjoint"](tirax.runtime.array(x), tirax.runtime.array(y))
        np.testing.assert_allclose(value.numpy(), (x * y * 2).sum())
        np.testing.assert_allclose(by_x.numpy(), 2 * y)
        np.testing.assert_allclose(by_y.numpy(), 2 * x)


def test_a_gradient_that_nobody_registered() -> None:
    with pytest.raises(NameLookupError, match="did you mean 'test.gradient.scaled'"):
        Gradient("main")(with_tensor_function("test.gradient.scald"))


def test_all_operators_without_a_gradient_are_named() -> None:
    module = from_source(
        f"""{HEAD}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), "float32"), i: R.Tensor((1, 4), "int64")):
        with R.dataflow():
            a = R.image.resize2d(x, (8, 8))
            b = R.call_pure_packed("f", a, sinfo_args=R.Tensor((1, 4), "float32"))
            c = R.image.resize2d(R.const([[[[1.0]]]], "float32"), (8, 8))
            d = R.scatter_elements(b, i, b, axis=0, reduction="max")
            e = R.sum(d)
            f = R.sum(c)
            gv = R.add(e, f)
            R.output(gv)
        return gv
"""
    )
    before = module.script()
    with pytest.raises(UnsupportedError) as error:
        Gradient("main")(module)
    text = str(error.value)
    assert ":8:" in text.splitlines()[0] and "relax.image.resize2d has no gradient" in text
    assert "relax.call_pure_packed has no gradient" in error.value.notes[0]
    assert 'relax.scatter_elements has no gradient with reduction="max"' in error.value.notes[1]
    assert len(error.value.notes) == 3  # and the pass; what comes of constants alone needs no gradient
    assert module.script() == before and "main_adjoint" not in module.names


def test_a_shape_that_is_unknown() -> None:
    with pytest.raises(UnsupportedError, match="where a shape is unknown, that of 'x'") as error:
        Gradient("main")(function('x: R.Tensor("float32", ndim=2)', "lv = R.exp(x); gv = R.sum(lv)"))
    first, place = error.value.notes
    assert "that of 'lv'" in first and place == "in the pass gradient"


REFUSED = {
    "no scalar": (function, (X, "gv = R.exp(x)"), {}, DTypeError, "only a scalar can be differentiated"),
    "no float": (
        function,
        ('x: R.Tensor((3,), "int64")', "gv = R.sum(x)"),
        {},
        DTypeError,
        "only a scalar can be differentiated",
    ),
    "no such result": (function, (X, "gv = R.sum(x)"), {"target_index": 1}, TiraxError, "target_index is out of range"),
    "no such parameter": (
        function,
        (X, "gv = R.sum(x)"),
        {"require_grads": "xx"},
        NameLookupError,
        "unknown variable of 'main' 'xx'",
    ),
    "twice": (function, (X, "gv = R.sum(x)"), {"require_grads": ["x", "x"]}, TiraxError, "is given twice"),
    "no tensor": (
        function,
        (f"{X}, s: R.Shape([3, 4])", "lv = R.reshape(x, s); gv = R.sum(lv)"),
        {"require_grads": "s"},
        DTypeError,
        "'s' is no tensor",
    ),
}


@pytest.mark.parametrize(("make", "args", "options", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(make: Any, args: Any, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Gradient("main", **options)(make(*args))


def test_a_function_that_is_no_single_dataflow_block() -> None:
    module = from_source(
        f"{HEAD}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({X}):\n"
        "        lv = R.exp(x)\n        gv = R.sum(lv)\n        return gv\n"
    )
    with pytest.raises(TiraxError, match="ConvertToDataflow") as error:
        Gradient("main")(module)
    assert error.value.location is not None and error.value.location.line == 7
    with pytest.raises(NameLookupError, match="unknown Relax function 'mian'"):
        Gradient("mian")(module)
    result = Gradient("main")(function(X, "gv = R.sum(x)"))
    with pytest.raises(TiraxError, match="there is a function 'main_adjoint' already"):
        Gradient("main")(result)


def test_calls_are_to_be_inlined_and_tensor_functions_to_have_a_gradient() -> None:
    module = from_source(
        f"""{HEAD}
@I.ir_module
class Module:
    @R.function(private=True)
    def double(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        cls = Module
        with R.dataflow():
            a = cls.double(x)
            gv = R.sum(a)
            R.output(gv)
        return gv
"""
    )
    with pytest.raises(UnsupportedError, match="relax.call has no gradient") as error:
        Gradient("main")(module)
    assert "InlinePrivateFunctions" in str(error.value)
    inlined = relax.transform.ConvertToDataflow()(relax.transform.InlinePrivateFunctions()(module))
    assert interpret(Gradient("main")(inlined).op, "main_adjoint", [np.ones(3, "float32")])[1][0].tolist() == [2] * 3
    with pytest.raises(UnsupportedError, match="relax.call_tir of @sum has no gradient") as error:
        Gradient("main")(relax.transform.LegalizeOps()(inlined))
    assert "before LegalizeOps" in str(error.value)


def test_sizes_that_are_computed_inside() -> None:
    bindings = 'k, m = T.int64(), T.int64(); a = R.match_cast(x, R.Tensor((k, m), "float32")); gv = R.sum(R.exp(a))'
    module = function('x: R.Tensor("float32", ndim=2), y: R.Tensor("float32", ndim=1)', bindings)
    x, y = np.ones((2, 3), "float32"), np.ones(4, "float32")
    result = Gradient("main")(module)
    verify_module(result.op)
    _, (by_x, by_y) = interpret(result.op, "main_adjoint", [x, y])
    np.testing.assert_allclose(by_x, np.exp(x), rtol=1e-5)
    np.testing.assert_array_equal(by_y, np.zeros(4))
    executable = relax.build(Gradient("main", require_grads="x")(module))
    _, (by_x,) = executable["main_adjoint"](tirax.runtime.array(x), tirax.runtime.array(y))
    np.testing.assert_allclose(by_x.numpy(), np.exp(x), rtol=1e-5)


WIDER = {
    "matmul": ("float16", 'R.matmul(x, x, out_dtype="float32")', (3, 3)),
    "conv2d": ("float16", 'R.nn.conv2d(x, x, out_dtype="float32")', (1, 1, 2, 2)),
    "cumsum": ("float32", 'R.cumsum(x, axis=0, dtype="float64")', (3, 3)),
    "cumprod": ("float32", 'R.cumprod(x, axis=0, dtype="float64")', (3, 3)),
    "astype": ("float32", 'R.astype(x, "float64")', (3, 3)),
}


@pytest.mark.parametrize(("dtype", "text", "shape"), WIDER.values(), ids=WIDER)
def test_gradients_have_the_type_of_the_parameter(dtype: str, text: str, shape: tuple[int, ...]) -> None:
    module = Gradient("main")(function(f'x: R.Tensor({shape}, "{dtype}")', f"a = {text}; gv = R.sum(a)"))
    verify_module(module.op)
    x = np.ones(shape, dtype)
    _, (by_x,) = interpret(module.op, "main_adjoint", [x])
    assert by_x.dtype == dtype and by_x.shape == shape and by_x.any()


def test_nothing_flows_through_integers() -> None:
    bindings = 'a = R.astype(x, "int32"); b = R.astype(a, "float32"); c = R.multiply(b, x); gv = R.sum(c)'
    module = Gradient("main")(function(X, bindings))
    x = np.full((3, 4), 2.5, "float32")
    assert interpret(module.op, "main_adjoint", [x])[1][0].tolist() == [[2.0] * 4] * 3


@register_te_gradient("test.gradient.too_few")
def too_few(g: Any, a: Any, b: Any, k: float) -> Any:
    return [te.compute(a.shape, lambda i: g(i) * b(i) * k, name="by_a")]


@register_te_gradient("test.gradient.doubled")
def doubled(g: Any, a: Any, k: float) -> Any:
    return [te.compute(a.shape, lambda i: g(i) * k, name="by_a")]


def test_the_one_gradient_of_a_tensor_function_is_bound_before_it_is_added() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            result = bb.call_te_with_grad(
                lambda a: te.compute(a.shape, lambda i: a(i) * 2.0, name="y"),
                x,
                primfunc_name_hint="double",
                te_grad_name="test.gradient.doubled",
                te_grad_kwargs={"k": 2.0},
            )
            out = bb.emit_output(relax.op.sum(bb.emit(result)))
        bb.emit_func_output(out)
    adjoint = Gradient("main")(bb.get())
    text = adjoint["main_adjoint"].script()
    assert "lv_1 = R.call_tir(" in text and 'x_adjoint: R.Tensor((n,), dtype="float32") = lv_1' in text
    for extent in (3, 1, 0):
        value, (by_x,) = interpret(adjoint.op, "main_adjoint", [np.ones(extent, "float32")])
        assert value == 2 * extent
        np.testing.assert_array_equal(by_x, np.full(extent, 2, "float32"))


def test_a_tensor_function_that_gives_too_few_gradients() -> None:
    with pytest.raises(TiraxError, match="gives too few or too many") as error:
        Gradient("main")(with_tensor_function("test.gradient.too_few"))
    assert "2 tensors" in str(error.value)
