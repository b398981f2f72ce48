"""Norms and Gelu that are written out: what becomes an operator, what stays, that the meaning is the same."""

import re
from functools import partial

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor

import tirax.tvm_api as tvm
from tirax.driver.pipelines import PIPELINES, make_passes
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import Sequential
from tirax.tvm_api import relax

program = partial(dataflow_program, sizes="nm")
N, M = '"n"', '"m"'
X, G, B = tensor("x", N, 3, 8), tensor("g", 8), tensor("b", 8)


def fused(mod):
    return Sequential(make_passes(["fuse-layers"]))(mod)


def operators(mod):
    """The operators of a program, in order."""
    return [
        name
        for name in re.findall(r"R\.((?:nn\.)?\w+)\(", mod.script())
        if name not in ("dataflow", "output", "Tensor")
    ]


MEAN = ["m = R.mean(x, axis=[-1], keepdims=True)", "c = R.subtract(x, m)"]
SQUARES = ["s = R.multiply(c, c)", "v = R.mean(s, axis=[2], keepdims=True)"]
EPSILON = ["e = R.add(v, R.const(1e-5))"]
AFFINE = ["y = R.multiply(q, g)", "z = R.add(y, b)", "z"]
DIVIDED = ["d = R.sqrt(e)", "q = R.divide(c, d)"]
RMS = ["s = R.multiply(x, x)", "v = R.mean(s, axis=[-1], keepdims=True)"]

LAYER_NORM = {
    "squares": ([X, G, B], *MEAN, *SQUARES, *EPSILON, *DIVIDED, *AFFINE),
    "a power, as PyTorch exports it": (
        [X, G, B], *MEAN, "s = R.power(c, R.const(2.0))", SQUARES[1], *EPSILON, *DIVIDED, *AFFINE,
    ),
    "differences twice": (
        [X, G, B], *MEAN, "m2 = R.mean(x, axis=[2], keepdims=True)", "c2 = R.subtract(x, m2)",
        "s = R.multiply(c2, c2)", SQUARES[1], *EPSILON, *DIVIDED, *AFFINE,
    ),
    "two differences multiplied": (
        [X, G, B], *MEAN, "c2 = R.subtract(x, m)", "s = R.multiply(c, c2)", SQUARES[1], *EPSILON, *DIVIDED, *AFFINE,
    ),
    "exchanged operands": (
        [X, G, B], *MEAN, "s = R.square(c)", SQUARES[1], "e = R.add(R.const([1e-5]), v)", "d = R.rsqrt(e)",
        "q = R.multiply(d, c)", "y = R.multiply(g, q)", "z = R.add(b, y)", "z",
    ),
    "a reciprocal": (
        [X, G, B], *MEAN, *SQUARES, *EPSILON, "d = R.sqrt(e)", "r = R.divide(R.const(1.0), d)", "q = R.multiply(c, r)",
        *AFFINE,
    ),
    "powers for roots": (
        [X, G, B], *MEAN, *SQUARES, *EPSILON, "d = R.power(e, R.const(0.5))", "q = R.divide(c, d)", *AFFINE,
    ),
    "a power for an inverse root": (
        [X, G, B], *MEAN, *SQUARES, *EPSILON, "d = R.power(e, R.const(-0.5))", "q = R.multiply(c, d)", *AFFINE,
    ),
    "the variance": (
        [X, G, B], *MEAN, "v = R.variance(x, axis=[-1], keepdims=True)", *EPSILON, *DIVIDED, *AFFINE,
    ),
    "two axes of unknown size": (
        [tensor("x", 2, N, M), tensor("g", N, M), tensor("b", N, M)],
        "m1 = R.mean(x, axis=[2, 1], keepdims=True)", "c = R.subtract(x, m1)", "s = R.multiply(c, c)",
        "v = R.mean(s, axis=[1, 2], keepdims=True)", *EPSILON, *DIVIDED, *AFFINE,
    ),
    "channels in front": (
        [tensor("x", N, 4, 3, 2), tensor("g", 4, 1, 1), tensor("b", 1, 4, 1, 1)],
        "m1 = R.mean(x, axis=[1], keepdims=True)", "c = R.subtract(x, m1)", "s = R.multiply(c, c)",
        "v = R.mean(s, axis=[1], keepdims=True)", *EPSILON, *DIVIDED, *AFFINE,
    ),
    "no parameters": ([tensor("x", N, 3, M)], *MEAN, *SQUARES, *EPSILON, *DIVIDED, "q"),
    "gamma alone": ([X, G], *MEAN, *SQUARES, *EPSILON, *DIVIDED, *AFFINE[:1], "y"),
    "beta alone": ([X, B], *MEAN, *SQUARES, *EPSILON, *DIVIDED, "z = R.add(q, b)", "z"),
    "the mean is a result": ([X, G, B], *MEAN, *SQUARES, *EPSILON, *DIVIDED, *AFFINE[:2], "z, m"),
}  # fmt: skip
RMS_NORM = {
    "a product": ([X, G], *RMS, *EPSILON, "d = R.rsqrt(e)", "q = R.multiply(x, d)", "y = R.multiply(g, q)", "y"),
    "a quotient": (
        [X, G], "s = R.power(x, R.const(2.0))", RMS[1], *EPSILON, "d = R.sqrt(e)", "q = R.divide(x, d)",
        "y = R.multiply(q, g)", "y",
    ),
    "a reciprocal": (
        [X, G], "s = R.square(x)", RMS[1], *EPSILON, "d = R.sqrt(e)", "r = R.divide(R.const(1.0), d)",
        "q = R.multiply(x, r)", "y = R.multiply(q, g)", "y",
    ),
    "no weight": ([tensor("x", N, M, 8)], *RMS, *EPSILON, "d = R.rsqrt(e)", "q = R.multiply(x, d)", "q"),
    "of what is centered along another axis": (
        [X, G], "m = R.mean(x, axis=[1], keepdims=True)", *MEAN[1:], *SQUARES, *EPSILON, *DIVIDED,
        "y = R.multiply(q, g)", "y",
    ),
}  # fmt: skip
ERF = ["a = R.divide(x, R.const(1.4142135))", "t = R.erf(a)", "e = R.add(t, R.const(1.0))"]
TANH = ["u = R.multiply(p, R.const(0.7978845608))", "t = R.tanh(u)", "e = R.add(R.const(1.0), t)"]
HALVED = ["h = R.multiply(x, R.const(0.5))", "y = R.multiply(h, e)", "y"]
GELU = {
    "half of x first": ([X], *ERF, *HALVED),
    "the half last": ([X], *ERF, "y = R.multiply(x, e)", "z = R.multiply(R.const(0.5), y)", "z"),
    "divided by two": ([X], *ERF, "y = R.multiply(e, x)", "z = R.divide(y, R.const(2.0))", "z"),
    "half of the sum": ([X], *ERF, "h = R.multiply(e, R.const(0.5))", "y = R.multiply(x, h)", "y"),
    "halves added": (
        [X], "a = R.multiply(R.const(0.70710677), x)", "t = R.erf(a)", "h = R.multiply(t, R.const(0.5))",
        "e = R.add(h, R.const(0.5))", "y = R.multiply(x, e)", "y",
    ),
    "products added": (
        [X], *ERF[:2], "h = R.multiply(x, R.const(0.5))", "p = R.multiply(h, t)", "y = R.add(h, p)", "y",
    ),
    "of what is scaled": ([tensor("w", N, M)], "x = R.multiply(w, R.const(3.0))", *ERF, *HALVED),
    "double precision": (
        [tensor("x", N, M, dtype="float64")], 'a = R.multiply(x, R.const(0.7071067811865476, "float64"))',
        "t = R.erf(a)", 'e = R.add(t, R.const(1.0, "float64"))', 'h = R.multiply(x, R.const(0.5, "float64"))',
        "y = R.multiply(h, e)", "y",
    ),
}  # fmt: skip
GELU_TANH = {
    "a power": (
        [X], "k = R.power(x, R.const(3.0))", "k2 = R.multiply(k, R.const(0.044715))", "p = R.add(x, k2)", *TANH,
        *HALVED,
    ),
    "products": (
        [X], "k = R.multiply(x, x)", "k1 = R.multiply(k, x)", "k2 = R.multiply(R.const(0.044715), k1)",
        "p = R.add(x, k2)", *TANH, *HALVED,
    ),
    "x taken out": (
        [X], "k = R.multiply(R.const(0.044715), x)", "k1 = R.multiply(k, x)", "k2 = R.add(k1, R.const(1.0))",
        "p = R.multiply(x, k2)", *TANH, "y = R.multiply(x, e)", "z = R.multiply(y, R.const(0.5))", "z",
    ),
}  # fmt: skip
LEFT = {
    "epsilon beside the root": (
        [X], *MEAN, *SQUARES, "d = R.sqrt(v)", "e = R.add(d, R.const(1e-5))", "q = R.divide(c, e)", "q",
    ),
    "other axes": (
        [X], *MEAN, SQUARES[0], "v = R.mean(s, axis=[1], keepdims=True)", *EPSILON, *DIVIDED[:1],
        "q = R.divide(x, d)", "q",
    ),
    "x itself divided by the deviation": ([X], *MEAN, *SQUARES, *EPSILON, "d = R.sqrt(e)", "q = R.divide(x, d)", "q"),
    "a cube": (
        [X], "s = R.power(x, R.const(3.0))", RMS[1], *EPSILON, "d = R.sqrt(e)", "q = R.divide(x, d)", "q",
    ),
    "a sum": ([X], RMS[0], "v = R.sum(s, axis=[-1], keepdims=True)", *EPSILON, *DIVIDED[:1], "q = R.divide(x, d)", "q"),
    "the deviation is a result": (
        [X], *RMS, *EPSILON, "d = R.sqrt(e)", "q = R.divide(x, d)", "q, d",
    ),
    "an epsilon for each row": (
        [X, tensor("r", 3, 1)], *RMS, "e = R.add(v, r)", "d = R.sqrt(e)", "q = R.divide(x, d)", "q",
    ),
    "the reciprocal of another number": (
        [X], *RMS, *EPSILON, "d = R.sqrt(e)", "r = R.divide(R.const(2.0), d)", "q = R.multiply(x, r)", "q",
    ),
    "sigmoid for erf": (
        [X], "a = R.divide(x, R.const(1.4142135))", "t = R.sigmoid(a)", "e = R.add(t, R.const(1.0))", *HALVED,
    ),
    "another number in erf": (
        [X], "a = R.divide(x, R.const(1.41))", "t = R.erf(a)", "e = R.add(t, R.const(1.0))", *HALVED,
    ),
    "another value is multiplied": (
        [X, tensor("w", N, 3, 8)], *ERF, "h = R.multiply(w, R.const(0.5))", "y = R.multiply(h, e)", "y",
    ),
    "no half": ([X], *ERF, "y = R.multiply(x, e)", "y"),
    "less one": (
        [X], *ERF[:2], "e = R.add(t, R.const(-1.0))", *HALVED,
    ),
    "the sum is a result": ([X], *ERF[:2], "e = R.add(t, R.const(1.0))", *HALVED[:2], "y, t"),
    "tanh of x": ([X], "t = R.tanh(x)", "e = R.add(t, R.const(1.0))", *HALVED),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(
    "operator, case",
    [
        *(("layer_norm", case) for case in LAYER_NORM.values()),
        *(("rms_norm", case) for case in RMS_NORM.values()),
        *(("gelu", case) for case in GELU.values()),
        *(("gelu_tanh", case) for case in GELU_TANH.values()),
    ],
    ids=[f"{name}-{case}" for name, cases in zip(
        ("layer_norm", "rms_norm", "gelu", "gelu_tanh"), (LAYER_NORM, RMS_NORM, GELU, GELU_TANH), strict=True
    ) for case in cases],
)  # fmt: skip
def test_written_out(operator, case):
    """At sizes 0 and 1, too."""
    before = program(*case)
    after = fused(before)
    assert operators(after).count(f"nn.{operator}") == 1
    assert not {"sqrt", "rsqrt", "divide", "variance", "erf", "tanh"} & set(operators(after))
    assert_same_meaning(before.op, after.op, sizes=(0, 1, 5))


@pytest.mark.parametrize("case", ["squares", "a power, as PyTorch exports it", "exchanged operands", "the variance"])
def test_parameters_are_taken_in(case):
    assert operators(fused(program(*LAYER_NORM[case]))) == ["nn.layer_norm"]


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    before = program(*LEFT[case])
    assert fused(before).script() == before.script()


@pytest.mark.parametrize(
    "g", [tensor("g", 3, 8), tensor("g", N, 1, 8), tensor("g", N, 3, 8), tensor("g", 1, 1, 1, 8), tensor("g", 1)]
)
def test_factors_that_are_no_gamma(g):
    """They are multiplied afterwards."""
    before = program([X, g], *MEAN, *SQUARES, *EPSILON, *DIVIDED, "y = R.multiply(q, g)", "y")
    after = fused(before)
    assert "nn.layer_norm" in operators(after) and "multiply" in operators(after)
    assert_same_meaning(before.op, after.op, sizes=(0, 1, 5))


RUN = [LAYER_NORM["squares"], LAYER_NORM["no parameters"], RMS_NORM["no weight"], GELU_TANH["products"]]


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("case", RUN)
def test_runs(case):
    mod = program(*case)
    function = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())["main"]
    for n in (0, 1, 70):
        rng = np.random.default_rng(n)
        shapes = [[d if isinstance(d, int) else n for d in p.struct_info.shape.values] for p in mod["main"].params]
        arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
        expected = interpret(mod.op, "main", arrays)
        np.testing.assert_allclose(function(*map(tvm.nd.array, arrays)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_parameters_that_are_not_read_are_gone():
    """The default pipeline computes no ones and zeros for a norm without parameters."""
    mod = Sequential(make_passes(PIPELINES["optimize"]))(program(*LAYER_NORM["no parameters"]))
    assert len(re.findall(r"R\.call_tir\(", mod.script())) == len(re.findall("prim_func", mod.script())) == 1
