"""Quantized chains of convolutions change their layout as a whole."""

import numpy as np
import pytest

from tirax.dialects.relax import CallTIROp
from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import Sequential
from tirax.target import Target
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams, ConvertLayout
from tirax.tvm_api.script import from_source

CHAIN = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 3, 6, 5), "float32"), w: R.Tensor((3, 3, 3, 3), "float32"), s: R.Tensor((3,), "float32")):
        with R.dataflow():
            c = R.nn.conv2d(x, w)
            q = R.quantize(c, s, R.const(7, "uint8"), axis=1, out_dtype="uint8")
            p = R.nn.pad(q, pad_width=[0, 0, 0, 0, 1, 1, 2, 0], pad_value=7.0)
            a = R.dequantize(p, s, R.const(7, "uint8"), axis=1)
            y = R.nn.conv2d(a, w)
            R.output(y)
        return y
"""


def test_quantize_pad_and_dequantize_follow():
    """Nothing is transposed between the convolutions; axes and widths go where their dimensions are."""
    weights = np.random.default_rng(0).integers(-9, 10, (3, 3, 3, 3)).astype("float32")
    before = BindParams("main", {"w": weights, "s": np.full(3, 0.25, "float32")})(from_source(CHAIN))
    after = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(before)
    text = after.script()
    chain = text[text.index("R.nn.conv2d") : text.rindex("R.nn.conv2d")]
    assert "R.permute_dims" not in chain.replace("R.permute_dims(metadata", "")
    assert "pad_width=[0, 0, 1, 1, 2, 0, 0, 0]" in chain and chain.count("axis=3") == 2
    assert_same_meaning(before.op, after.op)


KERNELS = {"expand": (48, 3, 1, 1), "each": (48, 1, 3, 3), "groups": (32, 12, 3, 3), "project": (16, 32, 1, 1)}


def block_of_groups(zero):
    """Convolutions of all kinds in NCHW with bytes between them; scales are powers of two, so that floats are exact."""
    shapes = ", ".join(f"{name}: R.Tensor({shape}, 'int8')" for name, shape in KERNELS.items())
    lines, x = [], "x"
    for at, (name, (outputs, inputs, size, _)) in enumerate(KERNELS.items()):
        groups = {"each": 48, "groups": 4}.get(name, 1)
        lines += [
            f"a{at} = R.dequantize({x}, R.const(0.0625, 'float32'), R.const({zero}, 'uint8'))",
            f"k{at} = R.dequantize({name}, R.const(0.0078125, 'float32'), R.const(0, 'int8'))",
            f"c{at} = R.nn.conv2d(a{at}, k{at}, groups={groups}, padding={size // 2})",
            f"d{at} = R.round(R.divide(R.nn.relu(c{at}), R.const(0.0625, 'float32')))",
            f"r{at} = R.add(d{at}, R.const({zero}.0, 'float32'))",
            f"m{at} = R.minimum(R.maximum(r{at}, R.const(0.0, 'float32')), R.const(255.0, 'float32'))",
            f"q{at} = R.astype(m{at}, dtype='uint8')",
        ]
        x = f"q{at}"
    body = "".join(f"            {line}\n" for line in [*lines, f"y = R.reshape({x}, R.shape([1, 16, 56]))"])
    source = (
        "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main(x: R.Tensor((1, 3, 8, 7), 'uint8'), {shapes}):\n        with R.dataflow():\n{body}"
        "            R.output(y)\n        return y\n"
    )
    rng = np.random.default_rng(1)
    weights = {name: rng.integers(-127, 128, shape).astype("int8") for name, shape in KERNELS.items()}
    return BindParams("main", weights)(from_source(source))


@pytest.mark.skipif("avx512vnni" not in Target().features, reason="this machine has no products of bytes")
@pytest.mark.parametrize("zero", [0, 9])
def test_groups_stay_bytes_bit_for_bit(zero):
    """Nothing but bytes is between kernels; results are those of floats, as the interpreter has them."""
    before = block_of_groups(zero)
    after = Sequential(make_passes(OPTIMIZE))(before)
    calls = [op for op in after.op.walk() if isinstance(op, CallTIROp)]
    assert {str(call.result.type.element) for call in calls} == {"ui8"} and len(calls) <= 4 + 3
    x = np.random.default_rng(2).integers(0, 256, (1, 3, 8, 7)).astype("uint8")
    result = np.asarray(relax.build(before)["main"](x))
    assert len(np.unique(result)) > 9
    np.testing.assert_array_equal(result, interpret(before.op, "main", [x]))
