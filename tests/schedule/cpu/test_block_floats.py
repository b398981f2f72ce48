"""Products of floats with constant blocks: few rows by the rule `block_floats`, many by `panels`."""

import numpy as np
import pytest
from strength import only_full, thinned

import tirax.tvm_api as tvm
from tirax.dialects.block_formats import BLOCK_FORMATS, block_format
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.target import Target
from tirax.tvm_api import relax

RNG = np.random.default_rng(12)
OLDER = "llvm -mcpu=haswell"
"""It has AVX2, and no products of bytes."""


def program(name: str, packed: np.ndarray, k: int, shape: tuple, activation: str = "float32"):
    dims = [tvm.tir.Var(d, "int64") if isinstance(d, str) else d for d in shape]
    x = relax.Var("x", relax.TensorStructInfo((*dims, k), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit(relax.op.matmul_blocks(x, relax.const(packed, "uint8"), name, activation=activation))
        bb.emit_func_output(bb.emit(relax.op.nn.relu(y)))
    return bb.finalize()


CASES = [
    *((name, 32, 512, ("m",), "llvm") for name in BLOCK_FORMATS),
    ("q4_1", 80, 64, (2, "m"), "llvm"),
    ("q8_0", 50, 64, ("m", 3), "llvm"),
    ("q4_0", 3, 32, (1,), "llvm"),
    ("q8_0", 16, 64, ("m",), OLDER),
]


@thinned("case", CASES, 1)
def test_products(case: tuple):
    name, n, k, shape, target = case
    if target == OLDER and not {"avx2", "fma"} <= Target().features:
        pytest.skip("this processor has no AVX2")
    layout = block_format(name)
    packed = layout.quantize(RNG.standard_normal((n, k)))
    run, numbers = build(program(name, packed, k, shape), target=target)["main"], layout.dequantize(packed)
    for m in (0, 1, 2, 19, 45) if "m" in shape else (1,):
        x = RNG.standard_normal([m if d == "m" else d for d in shape] + [k]).astype(np.float32)
        reference = np.maximum(x.astype(np.float64) @ numbers.T.astype(np.float64), 0)
        np.testing.assert_allclose(run(x).numpy(), reference, rtol=0, atol=3e-4)


def test_a_long_sum_is_taken_in_parts_of_full_blocks():
    layout, k = block_format("q4_k"), 256 * 41
    packed = layout.quantize(RNG.standard_normal((64, k)))
    x = RNG.standard_normal((30, k)).astype(np.float32)
    y = build(program("q4_k", packed, k, (30,)))["main"](x).numpy()
    reference = np.maximum(x.astype(np.float64) @ layout.dequantize(packed).T.astype(np.float64), 0)
    np.testing.assert_allclose(y, reference, rtol=0, atol=5e-3)


def test_what_is_not_finite_stays_so():
    packed = block_format("q4_1").quantize(RNG.standard_normal((16, 64)))
    x = np.ones((3, 64), np.float32)
    x[0, 3], x[1, 40] = np.inf, np.nan
    y = build(program("q4_1", packed, 64, (3,)))["main"](x).numpy()
    assert not np.isfinite(y[1]).any() and np.isfinite(y[2]).all()


@only_full
def test_large_numbers_are_right_or_not_finite():
    layout = block_format("int8_g32")
    packed = layout.quantize(np.abs(RNG.standard_normal((16, 64))) / 100)  # bytes up to 255
    run, numbers = build(program("int8_g32", packed, 64, ("m",)))["main"], layout.dequantize(packed)
    for few in (1, 30):  # by `block_floats`, by `panels`
        x = np.full((few, 64), 4e34, np.float32)
        reference = x.astype(np.float64) @ numbers.T.astype(np.float64)
        np.testing.assert_allclose(run(x).numpy(), reference, rtol=1e-5)
        y = run(x * np.float32(100)).numpy()
        right = np.isclose(y, 100 * reference, rtol=1e-5)
        assert (right | ~np.isfinite(y)).all() and (few == 1) == (not right.any())


@pytest.mark.skipif(not {"avx2", "fma"} <= Target().features, reason="this processor has no AVX2")
@thinned("name", ["q6_k", "q8_0"], 1)
def test_bytes_where_there_are_no_instructions_for_their_products(name: str):
    packed = block_format(name).quantize(RNG.choice([-1.0, 1.0], (16, 256)))  # the largest products
    x, mod = np.ones((2, 256), np.float32), program(name, packed, 256, (2,), "int8")
    x[1] = RNG.choice([-1, 1], 256)
    reference = interpret(mod, "main", [x])
    np.testing.assert_allclose(build(mod, target=OLDER)["main"](x).numpy(), reference, rtol=0, atol=1e-4)
