"""Operators on rows of blocks: the reference interpreter against numpy, machine code against the reference."""

import numpy as np
import pytest
from strength import thinned

import tirax.tvm_api as tvm
from tirax.dialects.block_formats import BLOCK_FORMATS, block_format
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.tvm_api import relax


def program(fmt: str, packed_shape: tuple[int, int], k: int, activation: str, interleaved: int):
    m = tvm.tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((m, k), "float32"))
    packed = relax.Var("packed", relax.TensorStructInfo(packed_shape, "uint8"))
    indices = relax.Var("indices", relax.TensorStructInfo((m, 2), "int64"))
    block = {"interleaved": interleaved}
    bb = relax.BlockBuilder()
    with bb.function("main", [x, packed, indices]):
        y = bb.emit(relax.op.matmul_blocks(x, packed, fmt, activation=activation, **block))
        taken = bb.emit(relax.op.take_blocks(packed, indices, fmt, **block))
        bb.emit_func_output([y, taken, bb.emit(relax.op.dequantize_blocks(packed, fmt, out_dtype="float16", **block))])
    return bb.finalize()


CASES = [(fmt, act, rows) for fmt in BLOCK_FORMATS for act, rows in (("float32", 1), ("int8", 4))]


def instance(case: tuple[str, str, int]):
    """A program, its packed numbers, the numbers themselves, and random x and indices for some sizes."""
    name, activation, interleaved = case
    fmt, k, rng = block_format(name), 512, np.random.default_rng(3)
    packed = fmt.quantize(rng.standard_normal((8, k)))
    numbers = fmt.dequantize(packed)
    packed = fmt.interleave(packed, interleaved) if interleaved > 1 else packed
    array = [(rng.standard_normal((m, k)).astype(np.float32), rng.integers(0, 8, (m, 2))) for m in (0, 1, 3)]
    return program(name, packed.shape, k, activation, interleaved), packed, numbers, array


@pytest.mark.parametrize("case", CASES)
def test_the_reference(case: tuple[str, str, int]):
    mod, packed, numbers, inputs = instance(case)
    for x, indices in inputs:
        y, taken, plain = interpret(mod, "main", [x, packed, indices])
        assert np.array_equal(taken, numbers[indices]) and np.array_equal(plain, numbers.astype(np.float16))
        exact = x.astype(np.float64) @ numbers.T.astype(np.float64)
        # a byte is off by half a step at most, a step being 1/127 of the largest of the neighbours
        part = np.abs(x).max(-1, keepdims=True, initial=0) / 254
        bound = part * np.abs(numbers).sum(1) if case[1] == "int8" else 0
        assert (np.abs(y - exact) <= bound + 1e-5).all()


# Each format in one kind, each kind in every other format: with constant weights, schedule/cpu has all of both kinds.
@thinned("case", [case for i, case in enumerate(CASES) if i % 4 in (0, 3)], 1)
def test_machine_code(case: tuple[str, str, int]):
    mod, packed, _, inputs = instance(case)
    run = build(mod)["main"]
    for x, indices in inputs:
        expected = interpret(mod, "main", [x, packed, indices])
        for ours, reference, tolerance in zip(run(x, packed, indices), expected, (1e-4, 0, 0), strict=True):
            assert np.allclose(ours.numpy(), reference, rtol=0, atol=tolerance)


def test_an_index_outside_is_reported():
    mod = program("q8_0", (4, 34), 32, "float32", 1)
    args = [np.zeros((1, 32), np.float32), np.zeros((4, 34), np.uint8), np.array([[0, 4]])]
    with pytest.raises(Exception, match="outside"):
        interpret(mod, "main", args)
    with pytest.raises(Exception, match="outside"):
        build(mod)["main"](*args)
