"""Mixed precision: TVM's text, what stays as it is, accuracy, native code in float16 and bfloat16."""

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from relax_programs import dataflow_program
from strength import thinned

from tirax.diagnostics import DTypeError, NameLookupError
from tirax.dialects import relax as rx
from tirax.interpreter import assert_same_meaning
from tirax.interpreter.compare import random_inputs
from tirax.transforms.bindings.fold_constant import FoldConstant
from tirax.transforms.operators.mixed_precision_policy import POLICIES, Policy, policy_of
from tirax.transforms.operators.to_mixed_precision import ToMixedPrecision
from tirax.tvm_api import IRModule, relax
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"
CASES = json.loads((Path(__file__).parent / "Inputs" / "tvm_mixed_precision.json").read_text())
"""Programs, and what TVM 0.27 makes of their dataflow blocks."""

ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
NUMPY = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def lines(module):
    """The bindings of the dataflow block, long numbers shortened."""
    text = [line.strip() for line in IRModule(module).script().splitlines()]
    start = text.index("with R.dataflow():") + 1
    end = next(i for i, line in enumerate(text) if line.startswith("R.output"))
    return [shortened(line) for line in text[start:end]]


def shortened(line):
    return re.sub(r"\d\.\d{12,}(e-?\d+)?", lambda m: repr(round(float(m[0]), 12)), line)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_text_is_that_of_tvm(case):
    before = dataflow_program(case["params"], *case["bindings"], outputs=case["outputs"]).op
    one = ToMixedPrecision(**case["options"])
    after = one(before)
    assert lines(after) == [shortened(line) for line in case["tvm"]]
    after.verify()


X = 'x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")'


def inputs_of_low_precision(func, sizes, seed):
    """Inputs that float16 and bfloat16 can hold, so that converting them loses nothing."""
    return [v.astype(ml_dtypes.bfloat16).astype(np.float16).astype(v.dtype) for v in random_inputs(func, sizes, seed)]


@pytest.mark.parametrize("low", NUMPY)
def test_what_is_exact_in_low_precision_means_the_same(low):
    before = dataflow_program(
        'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")',
        "s = R.split(x, 2, axis=1)",
        "t = (s[1], s[0])",
        "c = R.concat((t[0], t[1]), axis=1)",
        "p = R.matmul(c, w)",
        "y = R.nn.relu(c)",
        outputs="p, y",
    ).op
    after = ToMixedPrecision(dtype=low)(before)
    assert f"T.{low}" in str(after) or low.replace("bfloat", "bf").replace("float", "f") in str(after)
    assert_same_meaning(before, after, inputs=inputs_of_low_precision)


@pytest.mark.parametrize("low", NUMPY)
@pytest.mark.parametrize("wide", [True, False], ids=["sums in float32", "sums in low precision"])
def test_accuracy_of_a_product(low, wide):
    """Against float64: each factor is rounded once; sums of k products are exact to k roundings of `out_dtype`."""
    k, rng = 256, np.random.default_rng(1)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((16, k), (k, 8)))
    before = dataflow_program(
        f'x: R.Tensor((16, {k}), "float32"), w: R.Tensor(({k}, 8), "float32")', "y = R.matmul(x, w)", outputs="y"
    ).op
    out_dtype = "float32" if wide else low
    run = relax.build(ToMixedPrecision(out_dtype, dtype=low)(before))["main"]
    exact = x.astype(np.float64) @ w.astype(np.float64)
    scale = np.abs(x).astype(np.float64) @ np.abs(w)
    u, sums = ROUNDOFF[low], ROUNDOFF[out_dtype]
    error = np.abs(np.asarray(run(x, w)).astype(np.float64) - exact)
    assert (error <= (2.01 * u + 1.01 * k * sums) * scale).all()
    assert error.max() > 8 * ROUNDOFF["float32"]  # it was not computed in float32


NETWORK = (
    'x: R.Tensor(("n", 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), p: R.Tensor((144, 16), "float32")',
    "n = T.int64()",
    "c = R.nn.conv2d(x, w)",
    'd = R.add(c, R.const(0.25, "float32"))',
    "r = R.nn.relu(d)",
    "f = R.reshape(r, (n, 144))",
    "m = R.matmul(f, p)",
    "q = R.reshape(m, (1, n, 2, 8))",
    "t = R.nn.attention(q, q, q)",
    "s = R.nn.softmax(t)",
)


@pytest.fixture(scope="module")
def network():
    """The program, and its executable."""
    program = dataflow_program(*NETWORK, outputs="s").op
    return program, relax.build(program)


@thinned("low, names", list(zip(NUMPY, ((), ("w", "p")), strict=True)), 1)
def test_a_network_runs(network, low, names):
    before, run = network
    after = ToMixedPrecision(dtype=low, fp16_input_names=names)(before)
    after.verify()
    rng = np.random.default_rng(2)
    shapes = {"x": (3, 3, 8, 8), "w": (4, 3, 3, 3), "p": (144, 16)}
    args = {n: (rng.standard_normal(s) / 4).astype(np.float32) for n, s in shapes.items()}
    exact = np.asarray(run["main"](*args.values()))
    array = [v.astype(NUMPY[low]) if n in names else v for n, v in args.items()]
    result = relax.build(after)["main"](*array)
    assert result.dtype == np.float32
    assert np.abs(np.asarray(result) - exact).max() <= 4 * ROUNDOFF[low]
    assert np.abs(np.asarray(result) - exact).max() > 0


def test_conversions_of_constants_are_folded():
    before = dataflow_program(
        X, "a = R.matmul(x, w)", "b = R.add(a, R.const(1.5, 'float32'))", "c = R.matmul(b, w)", outputs="c"
    ).op
    after = FoldConstant()(ToMixedPrecision()(before))
    assert 'R.const(1.5, "float16")' in IRModule(after).script()
    assert 'R.const(1.5, "float32")' not in IRModule(after).script()


def test_bfloat16_holds_great_constants():
    before = dataflow_program(X, "a = R.matmul(x, w)", "b = R.add(a, R.const(1e30, 'float32'))", outputs="b").op
    assert "R.astype(R.const(1" in IRModule(ToMixedPrecision(dtype="bfloat16")(before)).script()
    assert "R.astype(R.const(1" not in IRModule(ToMixedPrecision()(before)).script()


def test_out_dtype_bfloat16_implies_the_dtype():
    before = dataflow_program(X, "a = R.matmul(x, w)", outputs="a").op
    assert str(ToMixedPrecision("bfloat16")(before)) == str(ToMixedPrecision("bfloat16", dtype="bfloat16")(before))
    assert 'out_dtype="bfloat16"' in IRModule(ToMixedPrecision("bfloat16")(before)).script()


@pytest.mark.parametrize("dtype", ["float64", "int32", "int8"])
def test_other_dtypes_stay(dtype):
    params = X.replace("float32", dtype)
    before = dataflow_program(params, "a = R.matmul(x, w)", "b = R.add(a, x)", outputs="b").op
    assert str(ToMixedPrecision()(before)) == str(before)


def test_fields_of_an_output_are_converted_back():
    before = dataflow_program(
        X, "a = R.matmul(x, w)", "t = (a, x)", "g = R.split(a, 2, axis=0)", "m = g[0]", outputs="t, m"
    ).op
    after = ToMixedPrecision()(before)
    after.verify()
    assert_same_meaning(before, after, inputs=inputs_of_halves)


def inputs_of_halves(func, sizes, seed):
    """Small multiples of 1/8: products and sums of them are exact in float16."""
    rng = np.random.default_rng(seed)
    return [(rng.integers(-8, 8, v.shape) / 8).astype(v.dtype) for v in random_inputs(func, sizes, seed)]


BRANCHES = f"""{HEAD}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), c: R.Tensor((), "bool")):
        s = R.nn.relu(w)
        if c:
            a = R.matmul(x, w)
            r = R.add(a, s)
        else:
            with R.dataflow():
                b = R.matmul(x, w)
                d = R.add(b, b)
                R.output(d)
            r = R.add(d, s)
        return r
"""


def test_only_dataflow_blocks_are_rewritten():
    before = from_source(BRANCHES).op
    after = ToMixedPrecision()(before)
    after.verify()
    assert [op.attr("out_dtype") is None for op in after.walk() if op.name == "relax.matmul"] == [True, False]
    assert_same_meaning(before, after, inputs=lambda f, s, n: [*inputs_of_halves(f, s, n)[:2], np.array(n % 2 == 0)])


def test_inputs_outside_of_dataflow_blocks_are_converted_back():
    before = from_source(BRANCHES).op
    after = ToMixedPrecision(fp16_input_names=["w"])(before)
    after.verify()
    (func,) = (f for f in after.ops if isinstance(f, rx.FuncOp))
    assert [str(p.type) for p in func.params][:2] == ["!relax.tensor<[4, 4], f32>", "!relax.tensor<[4, 4], f16>"]
    rng = np.random.default_rng(0)
    x, w = ((rng.integers(-8, 8, (4, 4)) / 8).astype(np.float32) for _ in range(2))
    run = relax.build(after)["main"]
    for c in (True, False):
        expected = np.maximum(w, 0) + (x @ w if c else 2 * (x @ w))
        np.testing.assert_array_equal(run(x, w.astype(np.float16), np.array(c)), expected)


def test_callers_convert_what_they_pass():
    before = from_source(
        f"""{HEAD}
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        cls = Module
        a = cls.inner(x, y)
        return a

    @R.function(private=True)
    def inner(x: R.Tensor((4, 4), "float32"), weight: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, weight)
            R.output(a)
        return a
"""
    ).op
    after = ToMixedPrecision(fp16_input_names=["weight"])(before)
    after.verify()
    assert 'R.astype(y, dtype="float16")' in IRModule(after).script()
    assert_same_meaning(before, after, inputs=inputs_of_halves)


def test_what_a_closure_uses_is_converted_back(parse):
    text = """relax.func @main(%x: !relax.tensor<[4, 4], f32>, %w: !relax.tensor<[4, 4], f32>)
      -> !relax.tensor<[4, 4], f32> {
      %gv = relax.dataflow {
        %a = relax.matmul %x, %w : !relax.tensor<[4, 4], f32>
        %f = relax.closure (%y: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32> {
          %s = relax.add %y, %a : !relax.tensor<[4, 4], f32>
          relax.return %s : !relax.tensor<[4, 4], f32>
        }
        %gv = relax.call_value %f(%w) : !relax.tensor<[4, 4], f32>
        relax.output %gv : !relax.tensor<[4, 4], f32>
      }
      relax.return %gv : !relax.tensor<[4, 4], f32> }"""
    before = parse(text)
    after = ToMixedPrecision()(before)
    after.verify()
    assert str(after).count("relax.astype") == 4
    assert_same_meaning(before, after, inputs=inputs_of_halves)


def test_every_operator_has_a_policy():
    core = {name for name, cls in rx.OPERATORS.items() if cls.__module__.startswith("tirax.dialects.")}
    assert not core - POLICIES.keys(), "these want a row in mixed_precision_policy.py"


def test_an_operator_without_a_row_keeps_its_types():
    class Other:
        name = "relax.acme.other"

    assert policy_of(Other()) is Policy.NEVER


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float8_e4m3fn"}, "expected float16 or bfloat16"),
        ({"dtype": "float32"}, "expected float16 or bfloat16"),
        ({"out_dtype": "float64"}, "expected float32 or float16"),
        ({"out_dtype": "float16", "dtype": "bfloat16"}, "expected float32 or bfloat16"),
    ],
)
def test_dtypes_that_there_are_not(options, message):
    with pytest.raises(DTypeError, match=message.replace("expected ", "expected:? ?")):
        ToMixedPrecision(**options)


def test_inputs_that_are_no_parameters():
    before = dataflow_program(X, "a = R.matmul(x, w)", outputs="a").op
    with pytest.raises(NameLookupError, match="unknown parameter 'u, y'"):
        ToMixedPrecision(fp16_input_names=["u", "w", "y"])(before)


def test_inputs_of_other_types():
    before = dataflow_program('i: R.Tensor((4,), "int32"), s: R.Shape([4])', "a = R.add(i, i)", outputs="a").op
    with pytest.raises(DTypeError, match="fp16_input_names: i, s"):
        ToMixedPrecision(fp16_input_names=["i", "s"])(before)


def floats(*shapes):
    return ", ".join(f'x{i}: R.Tensor({shape}, "float32")' for i, shape in enumerate(shapes))


ALWAYS = {
    "matmul of batches": (floats("(2, 3, 4)", "(4, 5)"), "R.matmul(x0, x1)"),
    "matmul of vectors": (floats("(4,)", "(4,)"), "R.matmul(x0, x1)"),
    "outer": (floats("(3,)", "(4,)"), "R.outer(x0, x1)"),
    "conv1d": (floats("(1, 4, 8)", "(6, 2, 3)"), "R.nn.conv1d(x0, x1, padding=1, groups=2)"),
    "conv1d_transpose": (floats("(1, 4, 6)", "(4, 3, 3)"), "R.nn.conv1d_transpose(x0, x1, strides=2)"),
    "conv2d": (floats("(1, 6, 6, 3)", "(3, 3, 3, 4)"), "R.nn.conv2d(x0, x1, data_layout='NHWC', kernel_layout='HWIO')"),
    "conv2d_transpose": (floats("(1, 3, 4, 4)", "(3, 2, 3, 3)"), "R.nn.conv2d_transpose(x0, x1)"),
    "conv3d": (floats("(1, 2, 4, 4, 4)", "(3, 2, 2, 2, 2)"), "R.nn.conv3d(x0, x1)"),
    "conv3d_transpose": (floats("(1, 2, 3, 3, 3)", "(2, 2, 2, 2, 2)"), "R.nn.conv3d_transpose(x0, x1)"),
    "attention": (floats("(1, 4, 2, 8)", "(1, 5, 2, 8)"), "R.nn.attention(x0, x1, x1, causal_mask='TopLeft')"),
    "attention with a bias": (floats("(1, 4, 2, 8)", "(1, 2, 4, 4)"), "R.nn.attention(x0, x0, x0, x1)"),
}


@thinned("low, case", [(low, case) for case in ALWAYS for low in NUMPY], 7)
def test_what_is_always_converted_runs(low, case):
    params, call = ALWAYS[case]
    before = dataflow_program(params, f"y = {call}", outputs="y").op
    after = ToMixedPrecision(dtype=low)(before)
    assert str(after).count("relax.astype") >= 2
    (func,) = (f for f in before.ops if isinstance(f, rx.FuncOp))
    args = [v / 4 for v in random_inputs(func, {}, seed=3)]
    exact = np.asarray(relax.build(before)["main"](*args))
    result = np.asarray(relax.build(after)["main"](*args))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, exact, rtol=0, atol=8 * ROUNDOFF[low] * max(1.0, np.abs(exact).max()))
