"""Products with constant blocks by the rule `block_products`: what they give, and that they are made of bytes."""

import re

import numpy as np
from strength import thinned
from xdsl.context import Context

import tirax.tvm_api as tvm
from tirax.dialects.block_formats import BLOCK_FORMATS, block_format
from tirax.driver.build import build
from tirax.driver.pipelines import pipeline_passes
from tirax.interpreter import interpret
from tirax.ir.passes.transform import module_op
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import emit_assembly
from tirax.target import Target
from tirax.tvm_api import relax

RNG = np.random.default_rng(11)
HAS_DOTS = "avx512vnni" in Target().features or "avxvnni" in Target().features


def program(name: str, n: int, k: int, shape: tuple, epilogue: bool = True):
    packed = relax.const(block_format(name).quantize(RNG.standard_normal((n, k))), "uint8")
    x = relax.Var("x", relax.TensorStructInfo((*shape, k), "float32"))
    indices = relax.Var("indices", relax.TensorStructInfo((3,), "int64"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, indices]):
        y = bb.emit(relax.op.matmul_blocks(x, packed, name, activation="int8"))
        y = bb.emit(relax.op.nn.relu(y)) if epilogue else y
        taken = bb.emit(relax.op.take_blocks(packed, indices, name))
        bb.emit_func_output([y, taken])
    return bb.finalize()


def dims(*shape):
    return tuple(tvm.tir.Var(d, "int64") if isinstance(d, str) else d for d in shape)


CASES = [
    *((name, 32, 512, ("m",)) for name in BLOCK_FORMATS),
    ("q4_1", 48, 96, (2, "m")),
    ("q8_0", 50, 64, ("m", 3)),
    ("q4_0", 16, 32, (1,)),
    ("q4_0", 3, 32, (5,)),
]


@thinned("case", CASES, 2)
def test_products(case: tuple):
    name, n, k, shape = case
    mod = program(name, n, k, dims(*shape))
    run, indices = build(mod)["main"], RNG.integers(0, n, 3)
    for m in (0, 1, 2, 4, 19) if "m" in shape else (1,):
        x = RNG.standard_normal([m if d == "m" else d for d in shape] + [k]).astype(np.float32)
        y, taken = run(x, indices)
        reference, rows = interpret(mod, "main", [x, indices])
        # the sums of bytes are exact, those of the blocks are of float32
        np.testing.assert_allclose(y.numpy(), reference, rtol=0, atol=1e-4)
        np.testing.assert_array_equal(taken.numpy(), rows)


def test_what_is_not_finite_becomes_nan():
    mod = program("q4_1", 16, 64, (3,), epilogue=False)
    x = np.ones((3, 64), np.float32)
    x[0, 3], x[1, 40] = np.inf, np.nan
    for y in (interpret(mod, "main", [x, np.arange(3)])[0], build(mod)["main"](x, np.arange(3))[0].numpy()):
        assert np.isnan(y[:2]).all() and np.isfinite(y[2]).all()


def assembly(name: str, target: str, rows: int = 1) -> str:
    module = module_op(program(name, 32, 256, (rows,)))
    for p in pipeline_passes("default-cpu", target):
        p.apply(Context(), module)
    return emit_assembly(print_llvm(module), Target(target))


@thinned(
    ("name", "target", "instruction"),
    [
        ("q4_0", "llvm -mcpu=sapphirerapids", r"vpdpbusd\s.*zmm"),
        ("q8_0", "llvm -mcpu=alderlake", r"vpdpbusd\s.*ymm"),
        ("q8_0", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=+dotprod", r"sdot\s"),
        ("q8_0", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -mattr=+dotprod,+i8mm", r"usdot\s"),
        ("q6_k", "llvm -mcpu=haswell", r"vpmaddubsw\s.*ymm(.|\n)*vpmaddwd\s.*ymm"),
        ("q8_0", "llvm -mcpu=haswell", r"vpsignb\s.*ymm(.|\n)*vpmaddubsw\s.*ymm"),
        ("q8_0", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", r"fmla\s"),
    ],
    2,
)
def test_instructions(name: str, target: str, instruction: str):
    assert re.search(instruction, assembly(name, target))


def test_one_row_asks_for_what_comes_next():
    target = "llvm -mcpu=sapphirerapids"
    assert "prefetch" in assembly("q4_1", target) and "prefetch" not in assembly("q4_1", target, rows=2)
