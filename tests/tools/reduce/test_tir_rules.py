"""Statements and expressions of tensor functions give way to what the fault needs of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.script import parse_source
from tirax.tools.reduce.edits import operations
from tirax.tools.reduce.program import Reduction

LOOPS = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    C = T.alloc_buffer((8, 6))
    for i, j in T.grid(8, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vi < 4, A[vi, vj], T.exp(A[vi, vj]))
    for i in range(8):
        if i > 2:
            for j in range(6):
                B[i, j] = T.max(C[i, j], T.float32(0)) + T.Cast("float32", j % 4)
"""


def reduced(text: str, *names: str) -> ModuleOp:
    def has(modules: Sequence[ModuleOp]) -> list[str | None]:
        return ["here" if set(names) <= {op.name for op in module.walk()} else None for module in modules]

    return Reduction(has, "here").run(parse_source(text), 60)


@pytest.mark.parametrize(
    ("names", "most"),
    [
        (("tir.store",), 5),
        (("tir.if_then_else",), 13),
        (("tir.max",), 7),
        (("tir.block",), 7),
        (("tir.if",), 4),
        (("tir.for", "tir.floormod"), 10),
        (("tir.load", "tir.cast"), 9),
    ],
)
def test_little_is_left(names, most):
    small = reduced(LOOPS, *names)
    assert set(names) <= {op.name for op in small.walk()}
    assert operations(small) <= most < operations(parse_source(LOOPS))
