"""Batch normalization folded into the weights of the convolution before it."""

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning, interpret
from tirax.tvm_api.relax.transform import BindParams, DecomposeOpsForInference, FoldBatchnormToConv2D, FoldConstant
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({data}, "float32"), w: R.Tensor({weight}, "float32"), g: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32"), m: R.Tensor((8,), "float32"), v: R.Tensor((8,), "float32")):
        n = T.int64()
        with R.dataflow():
            c = R.nn.conv2d(x, w{conv})
            t = R.nn.batch_norm(c, g, b, m, v, {norm})
            o = t[0]
            R.output({out})
        return {out}
"""  # noqa: E501


def program(
    data='("n", 3, 6, 6)', weight="(8, 3, 3, 3)", conv="", norm="axis=1, training=False", out="o", bound="wgbmv"
):
    rng = np.random.default_rng(0)
    mod = from_source(PROGRAM.format(data=data, weight=weight, conv=conv, norm=norm, out=out))
    arrays = {p: rng.random(8, "float32") + 0.5 for p in "gbmv"}
    arrays["w"] = rng.random(tuple(map(int, weight.strip("()").split(","))), "float32") - 0.5
    return BindParams("main", {k: arrays[k] for k in bound})(mod)


FOLDED = {
    "plain": {},
    "options of both": {
        "conv": ", strides=2, padding=1", "norm": "axis=1, epsilon=1e-2, center=False, scale=False, training=False",
    },
    "another layout": {
        "data": '("n", 6, 6, 3)', "weight": "(3, 3, 3, 8)", "conv": ", data_layout='NHWC', kernel_layout='HWIO'",
        "norm": "axis=-1, scale=False, training=False",
    },
    "groups": {"data": '("n", 4, 6, 6)', "weight": "(8, 2, 3, 3)", "conv": ", groups=2"},
}  # fmt: skip
LEFT = {
    "no constants": {"bound": ""},
    "one that is no constant": {"bound": "wgbm"},
    "another axis": {"data": '("n", 3, 6, 10)', "norm": "axis=3, training=False"},
    "a convolution that is used besides": {"out": "o, c"},
    "a tuple that is used besides": {"out": "o, t"},
}


@pytest.mark.parametrize("case", FOLDED)
def test_folded(case):
    before = program(**FOLDED[case])
    after = FoldBatchnormToConv2D()(before)
    assert "batch_norm" not in after.script()
    assert_same_meaning(before.op, after.op)
    assert_same_meaning(before.op, FoldConstant()(after).op)


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    before = program(**LEFT[case])
    assert FoldBatchnormToConv2D()(before).script() == before.script()


def test_text():
    lines = [line.strip() for line in FoldBatchnormToConv2D()(program()).script(show_meta=False).splitlines()]
    operators = [line.split(" = ")[1].split("(")[0] for line in lines if " = R." in line]
    assert operators == [
        "R.add", "R.sqrt", "R.divide", "R.reshape", "R.multiply", "R.nn.conv2d", "R.multiply", "R.subtract",
        "R.reshape", "R.add",
    ]  # fmt: skip
    assert any(line.startswith("o: R.Tensor((n, 8, 4, 4)") for line in lines)


def test_as_at_inference_whatever_training_says():
    before = program(norm="axis=1, training=True")
    x = np.random.default_rng(1).random((2, 3, 6, 6), "float32")
    expected = interpret(DecomposeOpsForInference()(before).op, "main", [x])
    np.testing.assert_allclose(
        interpret(FoldBatchnormToConv2D()(before).op, "main", [x]), expected, rtol=1e-4, atol=1e-5
    )
