"""Transposed convolutions as products: which become so, and that they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.expand_transposed_convolutions import ExpandTransposedConvolutions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "float32"), w: R.Tensor({w}, "float32")):
        with R.dataflow():
            c = R.nn.conv2d_transpose(x, w, {attrs})
            y = R.nn.relu(c)
            R.output(y)
        return y
"""
NCHW = '("n", 3, "h", 4)'
NHWC = '("n", "h", "v", 3)'
LAST = 'data_layout="NHWC", kernel_layout="IOHW"'
SIZES = (1, 2, 3, 5)
"""Of images; the result of an empty one that is padded would have a negative extent."""
CASES = {
    "channels first": (NCHW, (3, 5, 2, 3), "strides=[2, 3]", True),
    "channels last": (NHWC, (3, 5, 2, 3), f"strides=[2, 3], {LAST}", True),
    "one output": (NHWC, (3, 1, 2, 2), f"strides=[2, 2], {LAST}", True),
    "another kernel": (NHWC, (2, 2, 5, 3), 'strides=[2, 2], data_layout="NHWC", kernel_layout="HWOI"', True),
    "overlapping": (NCHW, (3, 5, 3, 3), "strides=[2, 2]", True),
    "overlapping, channels last": (NHWC, (3, 5, 3, 4), f"strides=[2, 3], {LAST}", True),
    "twice the strides": (NCHW, (3, 5, 4, 4), "strides=[2, 2], padding=[1, 1, 1, 1]", True),
    "twice the strides, channels last": (NHWC, (3, 5, 4, 6), f"strides=[2, 3], padding=[0, 1, 2, 0], {LAST}", True),
    "gaps": (NCHW, (3, 5, 2, 2), "strides=[2, 3]", True),
    "large gaps": (NCHW, (3, 5, 2, 2), "strides=[3, 4]", False),
    "padded": (NCHW, (3, 5, 2, 2), "strides=[2, 2], padding=[1, 0, 0, 0]", True),
    "more at the end": (NCHW, (3, 5, 3, 3), "strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 1]", True),
    "zeros at the end": (NCHW, (3, 5, 2, 2), "strides=[2, 2], output_padding=[1, 0]", False),
    "without strides": (NCHW, (3, 5, 3, 3), "", False),
    "dilated": (NCHW, (3, 5, 2, 2), "strides=[2, 2], dilation=[2, 2]", False),
    "groups": (NCHW, (3, 1, 2, 2), "strides=[2, 2], groups=3", False),
}


def program(x: str, w: tuple[int, ...], attrs: str, bind: bool = True):
    module = from_source(PROGRAM.format(x=x, w=w, attrs=attrs))
    values = np.random.default_rng(0).integers(-3, 4, w).astype("float32")
    return (BindParams("main", {"w": values})(module) if bind else module), values


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    *inputs, changes = CASES[case]
    before, _ = program(*inputs)
    after = ExpandTransposedConvolutions()(before)
    names = {op.name for op in after.op.walk()}
    assert ("relax.nn.conv2d" in names) == changes and ("relax.nn.conv2d_transpose" in names) != changes
    assert_same_meaning(before.op, after.op, sizes=SIZES)


@pytest.mark.parametrize(
    ("rank", "layout", "window", "strides", "padding"),
    [
        (1, "NCW", (16,), [8], [4, 4]),
        (1, "NWC", (5,), [3], [0, 1]),
        (3, "NCDHW", (4, 2, 3), [2, 2, 2], [1, 0, 1, 1, 0, 0]),
    ],
)
def test_other_ranks(rank, layout, window, strides, padding) -> None:
    dims = {"N": "n", "C": 3, **{letter: f"{letter.lower()}_" for letter in layout if letter not in "NC"}}
    shape = ", ".join(f'"{dims[c]}"' if isinstance(dims[c], str) else str(dims[c]) for c in layout)
    attrs = f'strides={strides}, padding={padding}, data_layout="{layout}", kernel_layout="IO{"DHW"[3 - rank :]}"'
    text = PROGRAM.replace("conv2d", f"conv{rank}d").format(x=f"({shape})", w=(3, 5, *window), attrs=attrs)
    values = np.random.default_rng(0).integers(-3, 4, (3, 5, *window)).astype("float32")
    before = BindParams("main", {"w": values})(from_source(text))
    after = ExpandTransposedConvolutions()(before)
    assert f"relax.nn.conv{rank}d_transpose" not in {op.name for op in after.op.walk()}
    assert_same_meaning(before.op, after.op, sizes=SIZES)


def test_a_parameter_stays() -> None:
    before, _ = program(NCHW, (3, 5, 2, 2), "strides=[2, 2]", bind=False)
    assert ExpandTransposedConvolutions()(before).script() == before.script()


def test_native() -> None:
    module, w = program(NHWC, (3, 5, 2, 3), f"strides=[2, 3], {LAST}")
    main = relax.build(module)["main"]
    for n, h, v in ((0, 2, 2), (1, 1, 1), (2, 3, 7)):
        x = np.random.default_rng(n).standard_normal((n, h, v, 3), dtype=np.float32)
        expected = np.einsum("nhwc,copq->nhpwqo", x.astype(np.float64), w).reshape(n, 2 * h, 3 * v, 5)
        np.testing.assert_allclose(main(x), np.maximum(expected, 0), rtol=1e-5, atol=1e-5)
