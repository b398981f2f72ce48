"""Inputs that show differences which numbers between -1 and 1 do not."""

from __future__ import annotations

import pytest

from tirax.proof import Verdict, validate
from tirax.script import parse_source

FUNCTION = """
@I.ir_module
class M:
    @T.prim_func
    def main(I: T.Buffer((4,), "{dtype}"), A: T.Buffer((9,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = {value}
"""
PAIRS = {
    "a lost clamp": ("float32", "T.min(A[i], T.float32(700))", "A[i]"),
    "a clamp that is near": ("float32", "T.min(A[i], T.float32(700))", "T.min(A[i], T.float32(700.5))"),
    "a strict comparison": (
        "float32",
        "T.if_then_else(A[i] < T.float32(-37.5), A[i], T.float32(0))",
        "T.if_then_else(A[i] <= T.float32(-37.5), A[i], T.float32(0))",
    ),
    "the last index": ("int64", "A[I[i]]", "A[T.min(I[i], T.int64(7))]"),
}  # fmt: skip


@pytest.mark.parametrize("row", list(PAIRS))
def test_a_difference_far_from_zero_is_shown(row):
    dtype, before, after = PAIRS[row]
    result = validate(*(parse_source(FUNCTION.format(dtype=dtype, value=v)) for v in (before, after)))
    assert result.verdict is Verdict.WRONG, str(result)


def test_a_small_number_that_is_added_is_shown_where_all_others_are_zero():
    value = "A[i] * A[i + 1] + T.float32({})"
    result = validate(*(parse_source(FUNCTION.format(dtype="float32", value=value.format(c))) for c in (0, 2e-5)))
    assert result.verdict is Verdict.WRONG, str(result)
