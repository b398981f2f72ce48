"""Constants give way to one number, and to 1."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.ir.verification.verify import Verifier
from tirax.script import parse_source
from tirax.tools.reduce.program import Reduction

RELAX = """
@R.function
def main(x: R.Tensor((4, 3), "float32")):
    with R.dataflow():
        a = R.add(x, R.const([[1.5, 2, 3]], "float32"))
        b = R.take(a, R.const([2, 0], "int64"), axis=0)
        R.output(b)
    return b
"""
TIR = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] * T.float32(2.5) + T.float32(-3)
"""


def reduced(text: str, *needed: str) -> str:
    def has(modules: Sequence[ModuleOp]) -> list[str | None]:
        return ["here" if all(part in str(module) for part in needed) else None for module in modules]

    small = Reduction(has, "here").run(parse_source(text), 60)
    Verifier().verify(small)
    return str(small)


@pytest.mark.parametrize(
    ("text", "needed", "shown"),
    [
        (RELAX, ["relax.add", "relax.constant"], "relax.constant <f32 [] 1.0>"),
        (RELAX, ["relax.take", "relax.constant <i64 [2]"], "relax.constant <i64 [2] [1, 1]>"),
        (TIR, ["tir.mul", "e+00 : f32"], "tir.const 1.000000e+00 : f32"),
    ],
)
def test_numbers_are_simple(text, needed, shown):
    small = reduced(text, *needed)
    assert shown in small
    assert not any(number in small for number in ("1.5", "2.5", "-3.0", "2.500"))


def test_large_constants_become_parameters():
    text = RELAX.replace("[[1.5, 2, 3]]", repr([[1.5, 2, 3]] * 4 * 2)).replace("(4, 3)", "(8, 3)")
    small = reduced(text, "relax.add")
    assert "relax.constant" not in small
