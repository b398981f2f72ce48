"""Windows with padding: tiles in the middle of an image ask for nothing, those at the border do, all are right."""

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.dialects import tir
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential
from tirax.target import Target
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

TARGETS = ["llvm"] + (["llvm -mcpu=x86-64-v3"] if {"avx2", "fma"} <= Target().features else [])
PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({shape}, "float32"), w: R.Tensor((3, 3, 1, {channels}), "float32")):
        h = T.int64()
        v = T.int64()
        with R.dataflow():
            y = {body}
            z = R.nn.relu(y)
            R.output(z)
        return z
"""
DEPTHWISE = (
    'R.nn.conv2d(x, w, padding={padding}, strides={stride}, groups={channels}, data_layout="NHWC",'
    ' kernel_layout="HWIO")'
)
POOL = 'R.nn.max_pool2d(x, pool_size=3, padding={padding}, strides={stride}, layout="NHWC")'


def program(body, shape='(2, "h", "v", 40)', channels=40, padding="[1, 1, 1, 1]", stride=1):
    body = body.format(channels=channels, padding=padding, stride=stride)
    return from_source(PROGRAM.format(shape=shape, channels=channels, body=body))


def windows(x, padding, stride, fill):
    """[3, 3, n, rows, columns, channels] in double precision."""
    up, left, down, right = padding
    x = np.pad(x.astype(np.float64), [(0, 0), (up, down), (left, right), (0, 0)], constant_values=fill)
    actual = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::stride, ::stride]
    return actual.transpose(4, 5, 0, 1, 2, 3)


@thinned("padded, target", [(p, t) for p in [((0, 2, 1, 0), 2), ((1, 1, 1, 1), 1)] for t in TARGETS], 1)
def test_symbolic_extents(padded, target):
    padding, stride = padded
    calls = [
        relax.build(program(body, padding=str(list(padding)), stride=stride), target=target)["main"]
        for body in (DEPTHWISE, POOL)
    ]
    rng = np.random.default_rng(0)
    w = rng.standard_normal((3, 3, 1, 40)).astype(np.float32)
    for rows, columns in ((2, 2), (3, 17), (16, 3), (14, 15)):
        x = rng.standard_normal((2, rows, columns, 40)).astype(np.float32)
        convolved = np.einsum("yxnhwc,yxc->nhwc", windows(x, padding, stride, 0), w[:, :, 0])
        np.testing.assert_allclose(calls[0](x, w), np.maximum(convolved, 0), rtol=1e-5, atol=1e-5)
        greatest = windows(x, padding, stride, -np.inf).max((0, 1))
        np.testing.assert_allclose(calls[1](x, w), np.maximum(greatest, 0), rtol=1e-6)


def scheduled(mod):
    """The operations of the module after the default schedule for AVX-512."""
    names = (*OPTIMIZE, *SCHEDULE)
    passes = make_passes(names[: names.index("default-schedule") + 1], "llvm -mcpu=skylake-avx512 -vector-width=512")
    return Sequential(passes)(mod.op)


def choices(region):
    return [op for op in region.walk() if isinstance(op, tir.IfThenElseOp)]


@pytest.mark.parametrize(
    ("body", "rows", "asks_by_row"), [(DEPTHWISE, 8, True), (DEPTHWISE, 28, False), (POOL, 28, False)]
)
def test_the_middle_asks_for_nothing(body, rows, asks_by_row):
    mod = scheduled(program(body, shape=f"(1, {rows}, 28, 64)", channels=64))
    branches = [op for op in mod.walk() if isinstance(op, tir.IfOp)]
    within = [op for branch in branches for op in branch.then_region.walk() if isinstance(op, tir.IfOp)]
    assert set(within) < set(branches) and bool(within) is asks_by_row
    for branch in branches:
        assert not choices(branch.then_region) and bool(choices(branch.else_region)) is (branch not in within)


@only_full
def test_rows_of_padding_are_prefetched_once_where_sizes_are_computed():
    """The second convolution's extents are (h + 1) // 2 and (v + 1) // 2: few rows, none of them in the middle."""
    first = DEPTHWISE.format(padding="[1, 1, 1, 1]", stride=2, channels=40)
    mod = program(DEPTHWISE.replace("conv2d(x", "conv2d(" + first))
    branches = [op for op in scheduled(mod).walk() if isinstance(op, tir.IfOp)]
    assert any(isinstance(op, tir.IfOp) for branch in branches for op in branch.then_region.walk())
    main = relax.build(mod, target=TARGETS[0])["main"]
    rng = np.random.default_rng(0)
    w = rng.standard_normal((3, 3, 1, 40)).astype(np.float32)
    for rows, columns in ((1, 1), (4, 70), (5, 33), (6, 64)):
        x = rng.standard_normal((2, rows, columns, 40)).astype(np.float32)
        half = np.einsum("yxnhwc,yxc->nhwc", windows(x, (1, 1, 1, 1), 2, 0), w[:, :, 0])
        expected = np.einsum("yxnhwc,yxc->nhwc", windows(half, (1, 1, 1, 1), 1, 0), w[:, :, 0])
        np.testing.assert_allclose(main(x, w), np.maximum(expected, 0), rtol=1e-5, atol=1e-4)


def test_padding_times_nan_is_nan():
    x, w = np.ones((1, 2, 32, 40), np.float32), np.ones((3, 3, 1, 40), np.float32)
    w[0, 1] = np.nan
    assert np.isnan(relax.build(program(DEPTHWISE, shape='(1, "h", "v", 40)'))["main"](x, w)).all()


@pytest.mark.parametrize("shape", ["(1, 28, 3, 64)", "(1, 2, 2, 64)"])
def test_an_image_without_a_middle_has_one_version(shape):
    mod = scheduled(program(DEPTHWISE, shape=shape, channels=64))
    assert choices(mod) and not [op for op in mod.walk() if isinstance(op, tir.IfOp)]
