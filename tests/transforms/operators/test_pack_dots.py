"""Constant weights in steps of the instructions for bfloat16 and bytes: their panels, and that they mean the same."""

import ml_dtypes
import numpy as np
import pytest
from strength import thinned

from tirax.dialects import relax as ops
from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.pack_convolutions import PackConvolutions
from tirax.transforms.operators.pack_dots import in_panels
from tirax.transforms.operators.pack_weights import PackWeights
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams, ToMixedPrecision
from tirax.tvm_api.script import from_source

DOTS, PLAIN = "llvm -mcpu=cooperlake -vector-width=512", "llvm -mcpu=skylake-avx512 -vector-width=512"
RNG = np.random.default_rng(5)


def program(x, w, a, b, body, out="int32", bind=True):
    """A module of x and constant w, of the dtypes a and b."""
    mod = from_source(
        "from tvm.script import ir as I, relax as R, tir as T\n"
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main(x: R.Tensor({x}, '{a}'), w: R.Tensor({w}, '{b}')):\n        n = T.int64()\n"
        f"        with R.dataflow():\n            y = {body.format(out=out)}\n"
        "            R.output(y)\n        return y\n"
    )
    numbers = RNG.integers(-9, 9, w) if b == "int8" else RNG.integers(-128, 128, w) / 32
    return BindParams("main", {"w": numbers.astype(ml_dtypes.bfloat16 if b == "bfloat16" else b)})(mod) if bind else mod


def product(x=("n", 6), w=(6, 70), a="uint8", b="int8", out="int32", **options):
    return program(str(x), w, a, b, "R.matmul(x, w, out_dtype='{out}')", out, **options)


def convolution(x, w, layouts, a="int8", b="int8", out="int32", **options):
    body = (
        f"R.nn.conv2d(x, w, data_layout='{layouts[0]}', kernel_layout='{layouts[1]}', padding=1, out_dtype='{{out}}')"
    )
    return program(str(x), w, a, b, body, out, **options)


def grouped(w, groups, dtype, channels=6):
    layouts = f"data_layout='NHWC', kernel_layout='HWIO', groups={groups}"
    body, out = f"R.nn.conv2d(x, w, {layouts}, out_dtype='{{out}}')", "int32" if dtype == "int8" else "float32"
    return program(f"(1, 5, 4, {channels})", w, dtype, dtype, body, out)


def packed(mod, target=DOTS):
    return PackConvolutions(target)(PackWeights(target)(mod))


def constants(mod):
    """The shapes of the constants that tensor functions read."""
    calls = [c for c in mod.op.walk() if isinstance(c, ops.CallTIROp)]
    return [c.args[1].owner.value.data.shape for c in calls]


IMAGE, KERNEL = ((1, 5, 4, 6), (3, 3, 6, 20)), ("NHWC", "HWIO")
CASES = {
    "of two kinds": (product(), (2, 2, 256)),
    "of one kind, in narrower tiles": (product(a="int8"), (3, 2, 128)),
    "of few columns": (product(w=(6, 5)), (1, 2, 64)),
    "of no steps that are left": (product(x=("n", 8), w=(8, 33)), (1, 2, 192)),
    "batches": (product(x=(2, "n", 6)), (2, 2, 256)),
    "a vector": (product(x=(6,)), (2, 2, 256)),
    "bfloat16": (product(a="bfloat16", b="bfloat16", out="float32"), (2, 3, 128)),
    "stored as bfloat16": (product(a="bfloat16", b="bfloat16", out="bfloat16"), (2, 3, 128)),
    "transposed": (
        program("('n', 6)", (70, 6), "uint8", "int8", "R.matmul(x, R.permute_dims(w), out_dtype='{out}')"),
        (2, 2, 256),
    ),
    "a window": (convolution(*IMAGE, KERNEL), (1, 3, 3, 2, 128)),
    "a window of two kinds": (convolution(*IMAGE, KERNEL, a="uint8"), (1, 3, 3, 2, 128)),
    "a window of bfloat16": (
        convolution(*IMAGE, KERNEL, "bfloat16", "bfloat16", "float32"),
        (1, 3, 3, 3, 64),
    ),
    "another order": (convolution((2, 5, 4, 6), (20, 6, 3, 2), ("NHWC", "OIHW")), (1, 3, 2, 2, 128)),
    "channels first": (convolution((1, 6, 5, 4), (20, 6, 3, 3), ("NCHW", "OIHW")), (20, 3, 3, 6)),
    # Groups have whole vectors.
    "two of 32": (grouped((3, 3, 3, 64), 2, "int8"), (2, 3, 3, 1, 128)),
    "two of 48, panels of one vector": (grouped((1, 1, 3, 96), 2, "int8"), (6, 1, 1, 1, 64)),
    "eight of eight become four": (grouped((1, 1, 2, 64), 8, "int8", channels=16), (4, 1, 1, 1, 64)),
    "two of ten become one": (grouped((3, 3, 3, 20), 2, "int8"), (1, 3, 3, 2, 128)),
}


@pytest.mark.parametrize("case", CASES)
def test_packed(case):
    before, shape = CASES[case]
    after = packed(before)
    assert constants(after) == [shape]
    assert_same_meaning(before.op, after.op)


STAYS = {
    "given": product(bind=False),
    "given, of a convolution": convolution(*IMAGE, KERNEL, bind=False),
    "sums of bytes": product(a="int8", out="int8"),
    "shorts": product(a="int16", b="int16"),
    "depthwise": grouped((3, 3, 1, 6), 6, "int8"),
    "groups of bfloat16": grouped((3, 3, 3, 20), 2, "bfloat16"),
    "sums in another layout": program(
        "(1, 5, 4, 6)", (3, 3, 6, 20), "int8", "int8",
        "R.nn.conv2d(x, w, data_layout='NHWC', kernel_layout='HWIO', out_layout='NCHW', out_dtype='{out}')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STAYS)
def test_stays(case):
    assert packed(STAYS[case]).script() == STAYS[case].script()


NARROW = {
    "of two kinds": (product, {}, (5, 2, 64)),
    "of one kind, in narrower tiles": (product, {"a": "int8"}, (9, 2, 32)),
    "of few columns": (product, {"w": (6, 5)}, (1, 2, 32)),
}


@pytest.mark.parametrize("case", NARROW)
def test_packed_for_narrower_vectors(case):
    make, options, shape = NARROW[case]
    before = make(**options)
    after = packed(before, "llvm -mcpu=alderlake")
    assert constants(after) == [shape]
    assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize("case", ["of two kinds", "bfloat16", "a window", "channels first"])
def test_stays_where_there_are_no_instructions(case):
    before, _ = CASES[case]
    assert packed(before, PLAIN).script() == before.script()


def test_weights_that_mixed_precision_converts():
    """They are packed as what they are converted to."""
    mod = program("('n', 6)", (6, 70), "float32", "float32", "R.matmul(x, w)")
    half = ToMixedPrecision(dtype="bfloat16")(mod)
    assert "R.astype(metadata" in half.script()
    after = packed(half)
    assert constants(after) == [(2, 3, 128)]
    assert_same_meaning(half.op, after.op)


def test_panels():
    """Element [j // n, k // g, j % n * g + k % g] is that of row k and column j; zeros where there is nothing."""
    matrix = RNG.integers(1, 100, (7, 35))
    panels = in_panels(matrix, 16, 4)
    assert panels.shape == (3, 2, 64) and panels.flags.c_contiguous
    for k, j in np.ndindex(8, 48):
        expected = matrix[k, j] if k < 7 and j < 35 else 0
        assert panels[j // 16, k // 4, j % 16 * 4 + k % 4] == expected


@thinned("case", ["of one kind, in narrower tiles", "of few columns", "stored as bfloat16"], 1)
def test_products_run(case):
    mod, _ = CASES[case]
    weights = next(o.value.numpy() for o in mod["main"].op.walk() if isinstance(o, ops.ConstantOp))
    dtype = "uint8" if case == "of few columns" else weights.dtype
    main = relax.build(mod)["main"]
    for rows in (0, 1, 3, 40):
        x = RNG.integers(0 if dtype == "uint8" else -8, 8, (rows, 6)).astype(dtype)
        result = np.asarray(main(x))
        exact = x.astype("float64") @ weights.astype("float64")
        np.testing.assert_array_equal(result.astype("float64"), exact.astype(result.dtype).astype("float64"))
