"""Products of bytes with AVX2: pairs are summed in 16 bits, which must not overflow where bytes are the greatest."""

import numpy as np
import pytest
from strength import thinned

import tirax.tvm_api as tvm
from tirax.dialects.block_formats import block_format
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.target import Target
from tirax.tvm_api import relax

TARGET = "llvm -mcpu=haswell" if "avx2" in Target().features else "llvm"
N, K = 8, 256
FILLS = {"least": 0x80, "most": 0x7F, "ones": 0xFF, "drawn": None}
"""What the bytes of all numbers are."""


def rows(name: str, fill: int | None) -> np.ndarray:
    """Blocks whose scales are those of numbers that were rounded."""
    row, rng = block_format(name), np.random.default_rng(1)
    packed = row.quantize(rng.standard_normal((N, K))).reshape(N, -1, row.block_bytes)
    for field in (field for field in row.fields if field.name in ("q", "ql", "qh")):
        part = packed[..., field.offset : field.offset + field.count * field.width]
        part[...] = rng.integers(0, 256, part.shape) if fill is None else fill
    return packed.reshape(N, -1)


@pytest.mark.parametrize("fill", FILLS)
@thinned("name", ["q8_0", "int8_g64", "q6_k", "q4_0", "int4_g32"], 1)
def test_the_greatest_bytes_are_summed_exactly(name: str, fill: str):
    x = relax.Var("x", relax.TensorStructInfo((tvm.tir.Var("m", "int64"), K), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        packed = relax.const(rows(name, FILLS[fill]), "uint8")
        bb.emit_func_output(bb.emit(relax.op.matmul_blocks(x, packed, name, activation="int8")))
    mod = bb.finalize()
    run, signs = build(mod, Target(TARGET))["main"], np.random.default_rng(2).choice([-1, 1], (2, K))
    for values in (np.ones((1, K)), -np.ones((5, K)), signs, np.ones((0, K))):
        array = values.astype(np.float32)  # bytes of 127 and -127
        expected = np.asarray(interpret(mod, "main", [array]))
        np.testing.assert_allclose(run(array).numpy(), expected, rtol=1e-5, atol=1e-4 * np.abs(expected).max(initial=0))
