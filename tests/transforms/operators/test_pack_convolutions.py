"""Constant kernels of convolutions in panels: what becomes so, how it is read, and that it means the same."""

import numpy as np
import pytest
from strength import thinned

from tirax.dialects import relax as ops
from tirax.dialects import tir
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import Sequential
from tirax.runtime import set_num_threads
from tirax.target import Target
from tirax.transforms.operators.pack_convolutions import PackConvolutions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{dtype}"), w: R.Tensor({w}, "{dtype}")):
        n = T.int64()
        with R.dataflow():
            {binding}y = R.nn.conv{rank}d(x, {kernel}, data_layout="{data}", kernel_layout="{layout}"{options})
            z = R.nn.relu(y)
            R.output(z)
        return z
"""
AVX512, AVX2 = "llvm -mcpu=skylake-avx512 -vector-width=512", "llvm -mcpu=x86-64-v3"
TARGETS = ["llvm"] + ([AVX2] if {"avx2", "fma"} <= Target().features else [])


def program(
    x="(1, 5, 6, 3)", w="(3, 3, 3, 64)", kernel="w", binding="", dtype="float32", rank=2, data="NHWC", layout="HWIO",
    options="", bind=True,
):  # fmt: skip
    names = {"x": x, "w": w, "kernel": kernel, "binding": binding, "dtype": dtype, "rank": rank, "data": data}
    text = PROGRAM.format(**names, layout=layout, options=options)
    shape = tuple(map(int, w.strip("()").split(",")))
    values = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    mod = from_source(text)
    return BindParams("main", {"w": values})(mod) if bind else mod


def panels(mod):
    """The shapes of the constants that convolutions read."""
    calls = [c for c in mod.op.walk() if isinstance(c, ops.CallTIROp)]
    return [c.args[1].owner.value.data.shape for c in calls]


OIHW = {
    "w": "(64, 3, 3, 3)", "binding": "k = R.permute_dims(w, axes=[2, 3, 1, 0])\n            ", "kernel": "k",
}  # fmt: skip
PACKED = {
    "a window": ({"options": ", padding=1"}, AVX512, (1, 3, 3, 3, 64)),
    "several panels": ({"w": "(1, 1, 3, 128)"}, AVX512, (2, 1, 1, 3, 64)),
    "the next panel fits beside it": ({"w": "(3, 3, 3, 128)"}, f"{AVX512} -l2-size=10000", (4, 3, 3, 3, 32)),
    "one panel, which has none beside it": ({"w": "(3, 3, 3, 64)"}, f"{AVX512} -l2-size=10000", (1, 3, 3, 3, 64)),
    "no two panels of two vectors fit": ({"w": "(3, 3, 3, 128)"}, f"{AVX512} -l2-size=6000", (4, 3, 3, 3, 32)),
    "narrow vectors": ({"w": "(1, 1, 3, 48)"}, AVX2, (3, 1, 1, 3, 16)),
    "three narrow vectors": ({"w": "(1, 1, 3, 24)"}, AVX2, (1, 1, 1, 3, 24)),
    "panels of three narrow vectors": ({"w": "(1, 1, 3, 72)"}, AVX2, (3, 1, 1, 3, 24)),
    "narrow vectors by ones": ({"w": "(1, 1, 3, 40)"}, AVX2, (5, 1, 1, 3, 8)),
    "narrow panels": ({"w": "(1, 1, 3, 80)"}, AVX512, (5, 1, 1, 3, 16)),
    "three vectors": ({"w": "(1, 1, 3, 48)"}, AVX512, (1, 1, 1, 3, 48)),
    "double": ({"dtype": "float64"}, AVX512, (2, 3, 3, 3, 32)),
    "strides and dilation": ({"options": ", strides=[2, 1], dilation=[1, 2], padding=[0, 1, 2, 3]"}, AVX512, None),
    "another layout of the kernel": ({"w": "(64, 3, 3, 2)", "layout": "OIHW"}, AVX512, None),
    "a transposed kernel": (OIHW, AVX512, (1, 3, 3, 3, 64)),
    "symbolic extents": ({"x": '("n", "n", "n", 3)', "options": ", padding=1"}, AVX512, None),
    "one dimension": ({"x": "(2, 9, 3)", "w": "(3, 3, 64)", "rank": 1, "data": "NWC", "layout": "WIO"}, AVX512, None),
    "three dimensions": (
        {"x": "(1, 3, 4, 3, 2)", "w": "(2, 3, 2, 2, 32)", "rank": 3, "data": "NDHWC", "layout": "DHWIO"}, AVX512, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PACKED)
def test_packed(case):
    options, target, shape = PACKED[case]
    before = program(**options)
    after = PackConvolutions(target)(before)
    assert "packed_conv" in after.script(show_meta=False) and "permute_dims" not in after.script(show_meta=False)
    assert shape is None or panels(after) == [shape]
    assert_same_meaning(before.op, after.op)


def test_panels_of_long_columns_are_narrower():
    widths = [
        panels(PackConvolutions(AVX512)(program(x=f"(1, 1, 1, {k})", w=f"(1, 1, {k}, 64)"))) for k in (3072, 3073)
    ]
    assert widths == [[(1, 1, 1, 3072, 64)], [(2, 1, 1, 3073, 32)]]


LEFT = {
    "a parameter": {"bind": False},
    "channels first": {"x": "(1, 3, 5, 6)", "data": "NCHW"},
    "groups": {"x": "(1, 5, 6, 6)", "options": ", groups=2"},
    "no whole vector of channels": {"w": "(3, 3, 3, 24)"},
    "no channels": {"x": "(1, 5, 6, 0)", "w": "(3, 3, 0, 64)"},
    "half precision": {"dtype": "float16"},
    "another dtype of the result": {"options": ", out_dtype='float64'"},
    "results with the channels first": {"options": ", out_layout='NCHW'"},
    "blocks": {"x": "(1, 2, 5, 6, 4)", "w": "(2, 2, 1, 1, 4, 8)", "data": "NCHW4c", "layout": "OIHW4i8o",
               "options": ", out_layout='NCHW8c'"},
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    before = program(**LEFT[case])
    assert PackConvolutions(AVX512)(before).script() == before.script()


def convolution(x, w, stride, pad):
    """In double precision, NHWC and HWIO."""
    x = np.pad(x.astype(np.float64), [(0, 0), (pad, pad), (pad, pad), (0, 0)])
    rows, columns = ((x.shape[a] - w.shape[a - 1]) // stride + 1 for a in (1, 2))
    out = np.zeros((x.shape[0], rows, columns, w.shape[3]))
    for dy, dx in np.ndindex(*w.shape[:2]):
        out += x[:, dy:, dx:][:, : rows * stride : stride, : columns * stride : stride] @ w[dy, dx].astype(np.float64)
    return np.maximum(out, 0)


@pytest.fixture
def one_or_two_threads():
    """Afterwards as many as before."""
    yield
    set_num_threads(None)


NATIVE = {
    "all columns for each tile of rows": ((1, 7, 13, 5), (3, 3, 5, 128), 1, 1),
    "strides": ((2, 9, 8, 5), (3, 3, 5, 64), 2, 1),
    "three vectors with 16 registers": ((2, 9, 8, 5), (3, 3, 5, 24), 2, 1),
    "panels of three vectors with 16 registers": ((1, 7, 13, 5), (3, 3, 5, 72), 1, 1),
    "rows as one": ((1, 7, 7, 33), (1, 1, 33, 192), 1, 0),
    "all rows for each panel": ((2, 5, 7, 1056), (1, 1, 1056, 192), 1, 0),
    "results that do not fit the cache": ((1, 61, 37, 5), (1, 1, 5, 128), 1, 0),
    "all rows for each panel of a window": ((1, 3, 9, 240), (3, 3, 240, 64), 1, 1),
}


@thinned("case, target", [(case, target) for case in NATIVE for target in TARGETS], 4)
def test_native(case, target, one_or_two_threads):
    shape, kernel, stride, pad = NATIVE[case]
    mod = program(x=str(shape), w=str(kernel), options=f", strides={stride}, padding={pad}")
    (weights,) = (c.value.numpy() for c in mod.op.walk() if isinstance(c, ops.ConstantOp) and c.value.data.shape)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = convolution(x, weights, stride, pad)
    call = relax.build(PackConvolutions(target)(mod), target=target)["main"]
    for threads in (1, 2):
        set_num_threads(threads)
        np.testing.assert_allclose(call(x), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_large_kernels_that_are_arguments(one_or_two_threads):
    shape, kernel, stride, pad = NATIVE["all rows for each panel of a window"]
    call = relax.build(program(x=str(shape), w=str(kernel), options=f", padding={pad}", bind=False))["main"]
    rng = np.random.default_rng(1)
    x, weights = (rng.standard_normal(s).astype(np.float32) for s in (shape, kernel))
    expected = convolution(x, weights, stride, pad)
    for threads in (1, 2):
        set_num_threads(threads)
        np.testing.assert_allclose(call(x, weights), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("target", TARGETS)
def test_symbolic_native(target):
    mod = PackConvolutions(target)(program(x='("n", "n", 6, 3)', w="(3, 3, 3, 64)", options=", padding=1"))
    (weights,) = (c.value.numpy() for c in program().op.walk() if isinstance(c, ops.ConstantOp))
    call = relax.build(mod, target=target)["main"]
    for n in (0, 1, 2, 7):
        x = np.random.default_rng(n).standard_normal((n, n, 6, 3)).astype(np.float32)
        np.testing.assert_allclose(call(x), convolution(x, weights, 1, 1), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("shape", "kernel", "asks"), [
    ((1, 3, 9, 240), (3, 3, 240, 128), True),
    ((1, 3, 9, 240), (3, 3, 240, 32), False),
    ((1, 3, 9, 24), (3, 3, 24, 128), False),
])  # fmt: skip
def test_a_panel_is_prefetched_while_the_one_before_is_read(shape, kernel, asks):
    """Where there is another one, and they do not fit the cache."""
    mod = PackConvolutions(AVX512)(program(x=str(shape), w=str(kernel), options=", padding=1"))
    names = (*OPTIMIZE, *SCHEDULE)
    scheduled = Sequential(make_passes(names[: names.index("default-schedule") + 1], AVX512))(mod.op)
    result = [op.func.data for op in scheduled.walk() if isinstance(op, tir.CallLLVMEffectOp)]
    assert set(result) == ({"llvm.prefetch"} if asks else set())
