"""argmax and argmin along contiguous memory as vectors: ties, NaN, infinities, and the types that are compared."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.target import Target
from tirax.tvm_api import relax, tir, topi

TARGETS = ["llvm"] + (["llvm -mcpu=haswell"] if {"avx2", "fma"} <= Target().features else [])
RNG = np.random.default_rng(5)
SIZES = ((0, 3), (3, 1), (4, 33), (5, 200), (2, 64), (1, 1027))


def module(compute, shape, dtype="float32"):
    """`compute` of one tensor; strings in its shape are symbolic sizes."""
    builder = relax.BlockBuilder()
    dims = [tir.Var(d, "int64") if isinstance(d, str) else d for d in shape]
    x = relax.Var("x", relax.TensorStructInfo(dims, dtype))
    with builder.function("main", [x]):
        builder.emit_func_output(compute(builder, x))
    return builder.get()


def chosen(name, axis=-1):
    return lambda builder, x: builder.emit(getattr(relax.op, name)(x, axis=axis))


def build(compute, shape, dtype="float32", target=TARGETS[0]):
    return relax.VirtualMachine(relax.build(module(compute, shape, dtype), target=target), tvm.cpu())["main"]


def scheduled(compute, shape):
    passes = make_passes([*OPTIMIZE, *SCHEDULE], "llvm -mcpu=x86-64-v4 -vector-width=512")
    return str(Sequential(passes)(module_op(module(compute, shape))))


def check(function, array, expected):
    np.testing.assert_array_equal(function(tvm.nd.array(array)).numpy(), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_that_the_first_of_equals_wins(name, target):
    function = build(chosen(name), ("n", "m"), target=target)
    for shape in SIZES:
        array = RNG.integers(0, 7, shape).astype("float32")
        check(function, array, getattr(np, name)(array, axis=-1))


@pytest.mark.parametrize("length", [64, 150])
def test_nan_and_infinities_are_what_they_were(length):
    """Rows with a NaN at each end of a vector, behind and before the greatest, in what is left; rows of infinities."""
    function = build(chosen("argmax"), ("n", length))
    array = RNG.standard_normal((12, length)).astype("float32")
    for row, places in enumerate(((0,), (15,), (16,), (length - 1,), (3, 40), tuple(range(length)))):
        array[row, list(places)] = np.nan
    array[6] = -np.inf
    array[7, ::3] = -np.inf
    array[8, [5, 50]] = np.inf
    array[9], array[9, 7] = -np.inf, np.nan
    array[10], array[10, 20] = np.finfo("float32").min, -np.inf
    array[11], array[11, ::2] = 0.0, -0.0
    check(function, array, array.argmax(-1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float64"])
def test_other_elements(dtype):
    function = build(chosen("argmin"), (3, 139), dtype)
    array = RNG.integers(0 if dtype == "uint8" else -9, 9, (3, 139)).astype(dtype)
    check(function, array, array.argmin(-1))


def test_several_axes():
    """The position among all elements is that of the flattened array."""
    function = build(chosen("argmax", None), (3, "n", 40))
    for n in (1, 5):
        array = RNG.integers(0, 50, (3, n, 40)).astype("float32")
        check(function, array, array.argmax())


def test_the_last_of_equals():
    last = build(lambda builder, x: builder.emit_te(topi.argmax, x, axis=1, select_last_index=True), (4, 100))
    array = RNG.integers(0, 7, (4, 100)).astype("float32")
    check(last, array, 99 - array[:, ::-1].argmax(-1))


def test_what_is_written():
    """Vectors of elements and of steps side by side; few elements, and those that are not neighbours, stay scalar."""
    text = scheduled(chosen("argmax"), (8, 256))
    assert "tir.for vectorized" in text and text.count('!tir.buffer<[64], i32, scope = "local">') >= 3, text
    assert "llvm.vector.reduce.fmax" in text and "llvm.vector.reduce.smin" in text
    for shape in ((8, 20), (8, 1)):
        text = scheduled(chosen("argmax"), shape)
        assert "vector.reduce" not in text
