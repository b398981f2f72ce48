"""Batch normalization with known parameters: folded into a convolution, or one product and one sum."""

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning, interpret
from tirax.transforms.bindings.fold_constant import FoldConstant
from tirax.transforms.operators.simplify_inference import SimplifyInference
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({data}, "float32"), w: R.Tensor({weight}, "float32"), g: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32"), m: R.Tensor((8,), "float32"), v: R.Tensor((8,), "float32")):
        n = T.int64()
        with R.dataflow():
            c = {before}
            t = R.nn.batch_norm(c, g, b, m, v, {norm})
            o = t[0]
            m1 = t[1]
            R.output({out})
        return {out}
"""  # noqa: E501
CONV2D = {"data": '("n", 3, 6, 6)', "weight": "(8, 3, 3, 3)", "before": "R.nn.conv2d(x, w)"}


def program(
    data='("n", 8, 5)', weight="(1,)", before="R.nn.relu(x)", norm="axis=1, training=False", out="o", bound="wgbmv"
):
    rng = np.random.default_rng(0)
    mod = from_source(PROGRAM.format(data=data, weight=weight, before=before, norm=norm, out=out))
    arrays = {p: rng.random(8, "float32") + 0.5 for p in "gbmv"}
    arrays["w"] = rng.random(tuple(int(d) for d in weight.strip("()").split(",") if d), "float32") - 0.5
    return BindParams("main", {k: arrays[k] for k in bound})(mod)


def operators(mod):
    """The operators of a program after its constants were folded."""
    lines = FoldConstant()(mod).script(show_meta=False).splitlines()
    return [line.split(" = R.")[1].split("(")[0] for line in lines if " = R." in line]


FOLDED = {
    "conv2d": CONV2D,
    "conv2d NHWC": {
        "data": '("n", 6, 6, 3)', "weight": "(3, 3, 3, 8)", "norm": "axis=-1, scale=False, training=False",
        "before": "R.nn.conv2d(x, w, data_layout='NHWC', kernel_layout='HWIO')",
    },
    "conv1d": {"data": '("n", 3, 6)', "weight": "(8, 3, 2)", "before": "R.nn.conv1d(x, w, strides=2)"},
    "conv3d": {
        "data": '("n", 3, 4, 4, 4)', "weight": "(8, 3, 2, 2, 2)", "before": "R.nn.conv3d(x, w)",
        "norm": "axis=1, center=False, epsilon=0.1, training=False",
    },
}  # fmt: skip
SPREAD = {
    "relu": {},
    "the last axis": {"data": '("n", 8)', "norm": "axis=-1, training=False"},
    "weights that are no constants": {**CONV2D, "bound": "gbmv"},
    "a convolution that is used besides": {**CONV2D, "out": "o, c"},
    "a moving mean that is returned": {"out": "o, m1"},
}
LEFT = {
    "training": {"norm": "axis=1, training=True"},
    "training a convolution": {**CONV2D, "norm": "axis=1, training=True"},
    "parameters that are no constants": {"bound": "gbm"},
    "a tuple that is used besides": {"out": "o, t"},
}


@pytest.mark.parametrize("case", FOLDED)
def test_folded_into_weights(case):
    before = program(**FOLDED[case])
    after = SimplifyInference()(before)
    assert len(operators(after)) == 2 and operators(after)[1] == "add"
    assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize("case", SPREAD)
def test_a_product_and_a_sum(case):
    before = program(**SPREAD[case])
    after = SimplifyInference()(before)
    assert operators(after)[1:] == ["multiply", "add"]
    assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    before = program(**LEFT[case])
    assert SimplifyInference()(before).script() == before.script()


def test_native():
    mod = program(**CONV2D)
    x = np.random.default_rng(1).standard_normal((2, 3, 6, 6), dtype=np.float32)
    result = relax.build(SimplifyInference()(mod))["main"](x)
    np.testing.assert_allclose(result, interpret(mod.op, "main", [x]), rtol=1e-4, atol=1e-5)
