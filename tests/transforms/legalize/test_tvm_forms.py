"""Operators as TVM writes them: the text, and what they mean beside the exact forms."""

import numpy as np
import pytest

from tirax.dialects import tir
from tirax.handles.module import IRModule
from tirax.interpreter import interpret
from tirax.ir.buffers.reshape_pattern import is_reshape
from tirax.script import parse_source
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax as tvm_relax

SIZES = (0, 1, 2, 5)
VECTORS = (("g", "(6,)"), ("b", "(6,)"))


def program(call, params='x: R.Tensor(("n", 6), "float32")'):
    return parse_source(f"@R.function\ndef main({params}):\n    n = T.int64()\n    return {call}\n")


def run(module, *arrays):
    return interpret(module, "main", list(arrays))


def legal(call, **inputs):
    module = program(call, **inputs)
    return LegalizeOps()(module), LegalizeOps(tvm_forms=True)(module)


SAME = {
    "max": "R.max(x, axis=0)",
    "min": "R.min(x)",
    "mean": "R.mean(x, axis=1)",
    "variance": "R.variance(x, axis=1, keepdims=True)",
    "std": "R.std(x, axis=[1])",
    "argmax": "R.argmax(x, axis=0)",
    "argmax_all": "R.argmax(x, keepdims=True)",
    "argmin": "R.argmin(x, axis=1)",
    "floor_divide": "R.floor_divide(x, R.const(0.75, 'float32'))",
    "floor_mod": "R.floor_mod(x, R.const(0.75, 'float32'))",
    "where": "R.where(R.greater(x, R.const(0, 'float32')), x, R.const(1, 'float32'))",
    "reshape": "R.reshape(x, (n * 2, 3))",
    "reshape_first": "R.reshape(x, (2, n, 3))",
    "reshape_ones": "R.reshape(x, (1, 3, 1, n, 2))",
    "flatten": "R.flatten(x)",
    "repeat": "R.repeat(x, 2)",
    "repeat_axis": "R.repeat(x, 3, axis=1)",
    "concat": "R.concat((x, x, x), axis=0)",
    "concat_last": "R.concat((x, x), axis=1)",
    "tril": "R.tril(x, 2)",
    "triu": "R.triu(x, -1)",
    "arange": "R.arange(2, 9, 3, dtype='int32')",
    "arange_down": "R.arange(5, 0, -2)",
    "arange_sized": "R.arange(0, n, 2)",
    "astype": "R.astype(R.const(-1.5, 'float32'), 'int8')",
    "softmax": "R.nn.softmax(x, axis=1)",
}


@pytest.mark.parametrize("name", SAME)
def test_of_finite_numbers_they_mean_the_same(name):
    exact, forms = legal(SAME[name])
    for n in SIZES:
        if n == 0 and SAME[name].startswith(("R.max", "R.min(", "R.argmax", "R.argmin")):
            continue  # of no values TVM's are other ones
        x = np.random.default_rng(n).normal(size=(n, 6)).astype("float32")
        x[x > 1] = 1  # some are equal
        np.testing.assert_allclose(run(forms, x), run(exact, x), rtol=1e-6, strict=True)


def test_greatest_of_infinities_and_of_nothing_are_as_in_tvm():
    least = np.finfo("float32").min
    _, forms = legal("R.max(x, axis=0)")
    assert (run(forms, np.full((2, 6), -np.inf, "float32")) == least).all()
    assert (run(forms, np.empty((0, 6), "float32")) == least).all()
    _, forms = legal("R.argmin(x)")
    assert run(forms, np.empty((0, 6), "float32")) == -1
    assert run(forms, np.array([[5, 1, np.inf, 1, 7, 9]], "float32")) == 1
    exact, forms = legal("R.nn.max_pool2d(x, 3, padding=1)", params='x: R.Tensor((1, 1, 2, "n"), "float32")')
    x = np.full((1, 1, 2, 3), -np.inf, "float32")
    assert (run(exact, x) == -np.inf).all()
    assert (run(forms, x) == least).all()


def test_division_by_a_number_is_a_product():
    exact, forms = (module for module in legal("R.divide(x, R.const(3, 'float32'))"))
    assert "tir.div" in str(exact) and "tir.mul" not in str(exact)
    assert "tir.mul" in str(forms) and "tir.div" not in str(forms)
    x = np.arange(30, dtype="float32").reshape(5, 6)
    np.testing.assert_allclose(run(forms, x), x / 3, rtol=2e-7)
    for other in ("R.const(0, 'float32')", "R.const(float('inf'), 'float32')"):
        assert "tir.div" in str(legal(f"R.divide(x, {other})")[1])


def test_floor_divisions_of_floats_round_the_quotient():
    for operator, number in (("floor_divide", 10), ("floor_mod", 1 - 10 * np.float32(0.1))):
        exact, forms = legal(f"R.{operator}(x, R.const(0.1, 'float32'))")
        x = np.ones((1, 6), "float32")
        np.testing.assert_array_equal(
            run(exact, x), {"floor_divide": np.floor_divide, "floor_mod": np.mod}[operator](x, np.float32(0.1))
        )
        np.testing.assert_allclose(run(forms, x), number, rtol=1e-6)
        assert str(exact) != str(forms)


def test_reshape_still_compares_extents():
    _, forms = legal("R.reshape(x, (n, 3, 2))", params='x: R.Tensor(("m", 6), "float32"), s: R.Shape(("n",))')
    assert "match_cast" in str(forms)


@pytest.mark.parametrize(
    "norm",
    [
        "layer_norm(x, g, b, axes=[-1])",
        "group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[])",
        "instance_norm(x, g, b, channel_axis=1, axes=[0])",
    ],
)
def test_norms_of_16_bits_round_before_gamma_and_beta(norm):
    params = ", ".join(f'{name}: R.Tensor({shape}, "float16")' for name, shape in (("x", "(4, 6)"), *VECTORS))
    modules = legal(f"R.nn.{norm}", params=params)
    rng = np.random.default_rng(0)
    x, g, b = (rng.normal(size=size).astype("float16") for size in ((4, 6), 6, 6))
    exact, unscaled = (
        run(m, x, *p) for m, p in zip(modules, ((g, b), (np.ones_like(g), np.zeros_like(b))), strict=True)
    )
    np.testing.assert_array_equal(run(modules[1], x, g, b), unscaled * g + b)
    assert (exact != unscaled * g + b).any()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dequantize_stays_finite(dtype):
    call = f"R.dequantize(x, R.const(600, '{dtype}'), R.const(-1, 'int8'), axis=0, out_dtype='{dtype}')"
    _, forms = legal(call, params='x: R.Tensor(("n",), "int8")')
    assert "R.const" not in IRModule(forms).script()
    x = np.array([-128, -1, 0, 127], "int8")
    expected = np.clip((x.astype("int32") + 1) * 600.0, np.finfo(dtype).min, np.finfo(dtype).max)
    np.testing.assert_array_equal(run(forms, x), expected.astype(dtype))


def test_what_integers_do_not_have_is_no_constant():
    for number, dtype in (("1000", "int8"), ("float('nan')", "int32")):
        assert "call_tir" in str(legal(f"R.astype(R.const({number}, 'float32'), '{dtype}')")[1])
    assert "call_tir" not in str(legal("R.astype(R.const(1000, 'float32'), 'float16')")[1])


def test_fields_of_a_concatenated_tuple_name_the_parameters():
    parameters = 't: R.Tuple(R.Tensor(("n", 2), "float32"), R.Tensor((3, 2), "float32"))'
    module = parse_source(f"@R.function\ndef main({parameters}):\n    gv = R.concat(t, axis=0)\n    return gv\n")
    forms = LegalizeOps(tvm_forms=True)(module)
    text = IRModule(forms).script()
    assert "def concatenate(var_gv: T.handle, gv1: T.Buffer((T.int64(3), T.int64(2))" in text
    assert "= t[0]" in text and "= t[1]" in text
    for n in SIZES:
        fields = np.ones((n, 2), "float32"), np.zeros((3, 2), "float32")
        np.testing.assert_array_equal(run(forms, fields), np.concatenate(fields))


def test_under_tvm_s_name():
    module = IRModule(program("R.max(x)"))
    assert "-inf" not in tvm_relax.transform.LegalizeOps()(module).script()
    assert "-inf" in LegalizeOps()(module).script()


def test_reshapes_are_known_as_such():
    for shape in ("(n * 2, 3)", "(2, n, 3)", "(n * 6,)"):
        _, forms = legal(f"R.reshape(x, {shape})")
        (func,) = (op for op in forms.walk() if isinstance(op, tir.FuncOp))
        assert is_reshape(func)
    parameters = 'x: R.Tensor(("n * 16",), "float32"), s: R.Prim(value="n")'
    (func,) = (
        op for op in legal("R.reshape(x, (n * 4, 4))", params=parameters)[1].walk() if isinstance(op, tir.FuncOp)
    )
    assert is_reshape(func) and len(func.params) == 3  # n is a parameter
    _, forms = legal("R.reshape(R.concat((x, x), axis=1), (n * 4, 3))")
    assert [is_reshape(op) for op in forms.walk() if isinstance(op, tir.FuncOp)].count(True) == 1
