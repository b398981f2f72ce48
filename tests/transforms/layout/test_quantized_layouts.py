"""Quantized chains of convolutions change their layout as a whole."""

import numpy as np

from tirax.interpreter import assert_same_meaning
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
