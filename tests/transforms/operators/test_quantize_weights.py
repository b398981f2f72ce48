"""`quantize-weights`: what becomes blocks, what stays, and how far results are from the float model's."""

import numpy as np
import pytest
from strength import thinned

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, NameLookupError
from tirax.dialects.block_formats import BLOCK_FORMATS
from tirax.driver.build import build
from tirax.frontend import nn
from tirax.interpreter import interpret
from tirax.transforms.operators.quantize_weights import QuantizeWeights
from tirax.tvm_api import relax

RNG = np.random.default_rng(5)
LARGEST = {
    "q4_0": 1 / 8,
    "q4_1": 1 / 15,
    "q8_0": 1 / 253,
    "int4": 1 / 15,
    "int8": 1 / 254,
    "q4_k": 1 / 10,
    "q6_k": 1 / 50,
}
"""How far a weight may be from what was given, as a part of the largest magnitude of its block."""


class Model(nn.Module):
    """An embedding that is the last product, too, a norm, and two linear maps."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(48, 256)
        self.norm = nn.RMSNorm(256, -1, bias=False)
        self.up = nn.Linear(256, 64)
        self.down = nn.Linear(64, 256, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x + self.down(nn.op.silu(self.up(self.norm(x))))
        return nn.op.matmul(x, nn.op.permute_dims(self.embed.weight))


@pytest.fixture(scope="module")
def model():
    mod, params = Model().export_tvm({"forward": {"tokens": nn.spec.Tensor(("n",), "int64")}})
    scale = {name: np.float32(1 / np.sqrt(p.shape[-1])) for name, p in params}
    weights = {n.replace(".", "_"): RNG.standard_normal(p.shape).astype("f4") * scale[n] for n, p in params}
    tokens = np.array([3, 47, 0])
    return mod, weights, tokens, interpret(mod, "forward", [tokens, *weights.values()])


def of(mod, name):
    """How often an operator stands in a module."""
    return str(mod).count(f"R.{name}(")


@thinned("name", [*BLOCK_FORMATS], lambda name: name[:3])
def test_parameters_become_bytes(model, name: str):
    mod, weights, tokens, exact = model
    quantize = QuantizeWeights(name)
    smaller = quantize(mod)
    # rows of 64 are no whole blocks of 256, nor of 128
    full = [n for n, w in weights.items() if w.ndim == 2 and w.shape[1] % BLOCK_FORMATS[name].size == 0]
    stored = quantize.quantized(weights, smaller)
    assert [n for n, w in stored.items() if w.dtype == np.uint8] == full
    assert of(smaller, "matmul_blocks") == len(full) and of(smaller, "take_blocks") == 1
    y = interpret(smaller, "forward", [tokens, *stored.values()])
    bits = 8 if name in ("q8_0", "q6_k") or name.startswith("int8") else 4
    assert np.linalg.norm(y - exact) <= {4: 0.2, 8: 0.04}[bits] * np.linalg.norm(exact)


def test_constants_become_bytes(model):
    mod, weights, tokens, _ = model
    quantize = QuantizeWeights("q4_1", activation="int8")
    bound = quantize(relax.transform.BindParams("forward", weights)(mod))
    smaller = quantize(mod)
    y = interpret(smaller, "forward", [tokens, *quantize.quantized(weights, smaller).values()])
    np.testing.assert_array_equal(interpret(bound, "forward", [tokens]), y)
    np.testing.assert_allclose(build(bound)["forward"](tokens).numpy(), y, rtol=0, atol=1e-5)


def product(weights: np.ndarray, turned: bool):
    x = relax.Var("x", relax.TensorStructInfo((tvm.tir.Var("n", "int64"), weights.shape[turned]), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        w = relax.const(weights)
        bb.emit_func_output(bb.emit(relax.op.matmul(x, bb.emit(relax.op.permute_dims(w)) if turned else w)))
    return bb.finalize()


@pytest.mark.parametrize("turned", [False, True])
@thinned("name", [*BLOCK_FORMATS], lambda name: name[:3])
def test_errors_are_bounded(name: str, turned: bool):
    row = BLOCK_FORMATS[name]
    weights = RNG.standard_normal((8, 512)).astype("f4")
    mod = product(weights if turned else np.ascontiguousarray(weights.T), turned)
    largest = np.abs(weights.reshape(8, -1, row.size)).max(-1).repeat(row.size, -1)
    for n in (1, 3):
        x = RNG.standard_normal((n, 512)).astype("f4")
        exact = x.astype("f8") @ weights.T.astype("f8")
        of_weights = LARGEST[name.partition("_g")[0]] * (np.abs(x) @ largest.T)
        # a byte is off by half a 127th of the largest of its neighbours
        together = np.abs(x.reshape(n, -1, row.rounded_together))
        steps = together.max(-1).repeat(row.rounded_together, -1) / 253
        of_bytes = steps @ (np.abs(weights) + LARGEST[name.partition("_g")[0]] * largest).T
        for activation, bound in (("float32", of_weights), ("int8", of_weights + of_bytes)):
            y = interpret(QuantizeWeights(name, activation)(mod), "main", [x])
            assert (np.abs(y - exact) <= bound + 1e-4).all()


def test_what_is_no_weight_stays():
    tall, infinite = np.ones((33, 64), "f4"), np.full((64, 8), np.inf, "f4")
    assert of(QuantizeWeights("q8_0")(product(tall, False)), "matmul_blocks") == 0  # 33 are no whole blocks
    assert of(QuantizeWeights("q8_0")(product(infinite, False)), "matmul_blocks") == 0
    mod = tvm.script.from_source(
        """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 64), "float32"), y: R.Tensor((8, 64), "float32"), w: R.Tensor((8, 64), "float32")):
        R.func_attr({"num_input": 2})
        a = R.matmul(x, R.permute_dims(y))
        b = R.matmul(x, R.permute_dims(w))
        return (a, b, R.add(w, R.const(1, "float32")))
"""
    )
    assert str(QuantizeWeights("q8_0")(mod)) == str(mod)  # y is an input, w is used otherwise, too


def test_unknown_options_are_reported(model):
    with pytest.raises(NameLookupError, match="unknown block format 'q3_0'"):
        QuantizeWeights("q3_0")(model[0])
    with pytest.raises(DTypeError, match="the activation is unknown"):
        QuantizeWeights("q8_0", activation="int4")(model[0])
