"""`interleave-blocks` of parameters: the same results of arrays that are arranged once."""

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend import nn
from tirax.interpreter import interpret
from tirax.transforms.operators.interleave_blocks import InterleaveBlocks
from tirax.transforms.operators.quantize_weights import QuantizeWeights

RNG = np.random.default_rng(5)
AVX512 = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512"


class Model(nn.Module):
    """A table that is the last product, too, and a linear map to 20 numbers: no multiple of any vector's lanes."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(48, 64)
        self.few = nn.Linear(64, 20)
        self.table = nn.Embedding(20, 64)

    def forward(self, tokens):
        x = self.embed(tokens) + self.table(tokens)
        return self.few(x), nn.op.matmul(x, nn.op.permute_dims(self.embed.weight))


@pytest.fixture(scope="module")
def model():
    mod, params = Model().export_tvm({"forward": {"tokens": nn.spec.Tensor(("n",), "int64")}})
    weights = {name.replace(".", "_"): RNG.standard_normal(p.shape).astype("f4") for name, p in params}
    quantize = QuantizeWeights("q4_0", activation="int8")
    smaller = quantize(mod)
    return smaller, quantize.quantized(weights, smaller)


@pytest.mark.parametrize("target", ["llvm", AVX512, "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"])
@pytest.mark.parametrize("tokens", [[], [3], [19, 0, 7]])
def test_results_stay(model, target, tokens):
    mod, stored = model
    arrange = InterleaveBlocks(target, parameters=True)
    after = arrange(mod)
    inputs = np.array(tokens, "int64")
    expected = interpret(mod, "forward", [inputs, *stored.values()])
    results = interpret(after, "forward", [inputs, *arrange.interleaved(stored, after).values()])
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, value)


def test_which_parameters_are_interleaved(model):
    mod, stored = model
    arrange = InterleaveBlocks(AVX512, parameters=True)
    arranged = arrange.interleaved(stored, arrange(mod))
    row = stored["embed_weight"].shape[1]
    assert arranged["embed_weight"].shape == (3, 16 * row)
    assert arranged["few_weight"].shape == (2, 16 * row)  # 12 rows of zeros
    assert arranged["table_weight"] is stored["table_weight"] and arranged["few_bias"] is stored["few_bias"]
    assert InterleaveBlocks(AVX512)(mod).script() == mod.script()


def test_all_functions_take_the_same_parameters():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.BlockLinear(64, 32, "q4_0", bias=False)

        def forward(self, x):
            return self.linear(x)

        def bytes_of(self, x):
            return self.linear.weight + x

    numbers = {"x": nn.spec.Tensor((1, 64), "float32")}, {"x": nn.spec.Tensor((1,), "uint8")}
    mod, _ = Two().export_tvm({"forward": numbers[0]})
    assert "interleaved=16" in InterleaveBlocks(AVX512, parameters=True)(mod).script()
    mod, _ = Two().export_tvm({"forward": numbers[0], "bytes_of": numbers[1]})
    assert "interleaved=16" not in InterleaveBlocks(AVX512, parameters=True)(mod).script()


def test_native_code_takes_them(model):
    mod, stored = model
    arrange = InterleaveBlocks(parameters=True)
    after = arrange(mod)
    tokens = np.array([19, 0, 7])
    expected = interpret(mod, "forward", [tokens, *stored.values()])
    results = build(after)["forward"](tokens, *arrange.interleaved(stored, after).values())
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), value, rtol=1e-5, atol=1e-5)
