"""Products with weights in blocks on other processors: their bytes by dots of Neon and of AVX2, and floats."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from emulated import Call, run
from strength import thinned
from test_other_processors import PROCESSORS

import tirax.tvm_api as tvm
from tirax.dialects.block_formats import block_format
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.target import Target
from tirax.tvm_api import relax

MULTIPLIED = {
    "neon with matrices": "int8",
    "neon with dots": "int8",
    "x86-64-v3": "int8",
    "neon": "float32",
    "risc-v with vectors": "float32",
}
"""Processor -> what the products multiply."""
FORMATS = (("q8_0", "q4_0"), ("q4_1", "int4_g32", "int8_g64"), ("q4_k", "q6_k"))
CASES = list(itertools.product(MULTIPLIED, FORMATS))
K, N = 256, 20


def module(formats: tuple[str, ...], activation: str):
    """A function for each format: its product with rows of x and a constant matrix."""
    bb, rng = relax.BlockBuilder(), np.random.default_rng(3)
    for name in formats:
        packed = relax.const(block_format(name).quantize(rng.standard_normal((N, K))), "uint8")
        x = relax.Var("x", relax.TensorStructInfo((tvm.tir.Var("n", "int64"), K), "float32"))
        with bb.function(name, [x]):
            bb.emit_func_output(bb.emit(relax.op.matmul_blocks(x, packed, name, activation=activation)))
    return bb.finalize()


@thinned("case", CASES, 1)
def test_products_compute_what_the_interpreter_does(case: tuple[str, tuple[str, ...]], tmp_path: Path):
    name, formats = case
    processor = PROCESSORS[name]
    if processor.missing() is not None:
        pytest.skip(f"{processor.missing()}: see the head of test_other_processors.py")
    products, rng = module(formats, MULTIPLIED[name]), np.random.default_rng(5)
    calls: list[Call] = []
    for format, n in itertools.product(formats, (1, 5)):
        x = rng.standard_normal((n, K)).astype(np.float32)
        calls.append(Call(format, [x], [n], [np.asarray(interpret(products, format, [x]))]))
    results = run(build(products, Target(processor.target)), processor, calls, tmp_path)
    for call, actual in zip(calls, results, strict=True):
        np.testing.assert_allclose(actual[0], call.results[0], rtol=0, atol=1e-4, err_msg=call.function)
