"""Iterators of two digits: tiles, repeats and groups of channels beside numpy, with known and unknown sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.tvm_api import IRModule, script, te

RNG = np.random.default_rng(2)


def source(expression: str, *shapes: tuple[int | str, ...]) -> str:
    params = [
        f"{name}: R.Tensor(({', '.join(repr(d) for d in shape)},), 'float32')"
        for name, shape in zip("xwb", shapes, strict=False)
    ]
    return f"""
@I.ir_module
class Module:
    @R.function
    def main({", ".join(params)}):
        with R.dataflow():
            out = {expression}
            R.output(out)
        return out
"""


MOVES = {
    "tiled rows": ("R.tile(x, [3, 1])", lambda x: np.tile(x, (3, 1))),
    "tiled columns": ("R.tile(x, [1, 3])", lambda x: np.tile(x, (1, 3))),
    "both tiled": ("R.tile(x, [2, 2])", lambda x: np.tile(x, (2, 2))),
    "repeated rows": ("R.repeat(x, 2, 0)", lambda x: np.repeat(x, 2, 0)),
    "repeated and tiled": ("R.tile(R.repeat(x, 2, 0), [3, 1])", lambda x: np.tile(np.repeat(x, 2, 0), (3, 1))),
    "with an epilogue": ("R.nn.relu(R.negative(R.tile(x, [3, 1])))", lambda x: np.maximum(-np.tile(x, (3, 1)), 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_rows_of_tiles(name):
    text, reference = MOVES[name]
    unknown = build(script.from_source(source(text, ("n", "m"))))["main"]
    for n, m in ((0, 3), (1, 1), (5, 3), (3, 16), (4, 17), (2, 70)):
        x = RNG.integers(-4, 5, (n, m)).astype("float32")
        functions = [unknown] + ([build(script.from_source(source(text, (n, m))))["main"]] if n in (4, 5) else [])
        for function in functions:
            np.testing.assert_array_equal(np.asarray(function(x)), reference(x), err_msg=f"{n} {m}")


def grouped(x: np.ndarray, w: np.ndarray, b: np.ndarray, groups: int) -> np.ndarray:
    """A convolution without padding of [N, C, L], with a bias, and no negative results."""
    channels, size = x.shape[1] // groups, w.shape[2]
    columns = np.stack([x[:, :, i : i + x.shape[2] - size + 1] for i in range(size)], -1)
    parts = [
        np.einsum("nclk,ock->nol", columns[:, g * channels : (g + 1) * channels], part)
        for g, part in enumerate(np.split(w, groups))
    ]
    return np.maximum(np.concatenate(parts, 1) + b, 0)


@pytest.mark.parametrize(("channels", "outputs", "groups"), [(8, 8, 4), (8, 24, 2), (32, 32, 2), (6, 6, 3), (4, 8, 4)])
def test_channels_of_groups(channels, outputs, groups):
    """Grouped convolutions, with bias and activation in the nest that computes them."""
    text = f"R.nn.relu(R.add(R.nn.conv1d(x, w, groups={groups}), b))"
    shapes = ("n", channels, "l"), (outputs, channels // groups, 3), (1, outputs, 1)
    for n, length in ((1, 40), (2, 3), (3, 19)):
        arrays = [RNG.integers(-3, 4, s).astype("float32") for s in ((n, channels, length), *shapes[1:])]
        expected = grouped(*(a.astype("float64") for a in arrays), groups)
        for data in (shapes[0], (n, channels, length)):
            function = build(script.from_source(source(text, data, *shapes[1:])))["main"]
            np.testing.assert_array_equal(np.asarray(function(*arrays)), expected)


def test_an_epilogue_with_digits_of_its_own():
    """Its rows are divided by two other numbers than those of the sum before it."""
    x, w, b, c = (te.placeholder(s, "float32", n) for n, s in zip("xwbc", ((2, 5), (16, 5, 20), (4, 20), (8, 20))))
    k = te.reduce_axis((0, 5), "k")
    total = te.compute((16, 20), lambda o, i: te.sum(x[o // 8, k] * w[o, k, i], axis=k), "total")
    out = te.compute((16, 20), lambda o, i: total[o, i] + b[o // 4, i] + c[o // 2, i], "out")
    function = build(IRModule({"main": te.create_prim_func([x, w, b, c, out])}))["main"]
    arrays = [RNG.integers(-3, 4, s).astype("float32") for s in ((2, 5), (16, 5, 20), (4, 20), (8, 20))]
    result = np.empty((16, 20), "float32")
    function(*arrays, result)
    sums = np.einsum("ok,oki->oi", np.repeat(arrays[0], 8, 0), arrays[1])
    np.testing.assert_array_equal(result, sums + np.repeat(arrays[2], 4, 0) + np.repeat(arrays[3], 2, 0))


@pytest.mark.parametrize(
    ("text", "shapes", "extent"),
    [
        ("R.tile(x, [3, 1])", [(40, 5)], 3),
        ("R.tile(x, [1, 3])", [("n", "m")], 3),
        ("R.nn.relu(R.add(R.nn.conv1d(x, w, groups=2), b))", [(1, 8, 40), (16, 4, 3), (1, 16, 1)], 2),
    ],
)
def test_the_higher_digit_has_a_loop(text, shapes, extent):
    """Nothing is stored between a convolution and its epilogue."""
    passes = make_passes([*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("default-schedule") + 1]], "llvm -num-cores=1")
    module = module_op(Sequential(passes)(script.from_source(source(text, *shapes))))
    assert extent in [op.extent.constant for op in module.walk() if isinstance(op, tir.ForOp)]
    buffers = [op.result.type for op in module.walk() if isinstance(op, tir.AllocBufferOp)]
    assert {buffer.scope.data for buffer in buffers} <= {"local"}
