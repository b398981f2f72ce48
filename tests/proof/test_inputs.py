"""Inputs that show differences which numbers between -1 and 1 do not."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.interpreter.compare import Disagreement
from tirax.interpreter.scalars import InterpreterError
from tirax.proof import Verdict, validate
from tirax.proof.inputs import is_rounding
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


CANCELLING = np.array([1e6, -1e6, 1.0], np.float32)


def fails(_values):
    raise InterpreterError("no")


ROUNDING = {
    "a last bit": (np.sum, np.float32(1.0), np.float32(1.0625), True),
    "more than that": (np.sum, np.float32(1.0), np.float32(100.0), False),
    "not a number": (np.sum, np.float32(1.0), np.float32(np.nan), False),
    "infinite": (np.sum, np.float32(1.0), np.float32(np.inf), False),
    "another infinity": (np.sum, np.float32(-np.inf), np.float32(np.inf), False),
    "no longer infinite": (np.sum, np.float32(np.inf), np.float32(1.0), False),
    "an integer": (np.sum, np.int32(1), np.int32(2), False),
    "another shape": (np.sum, np.ones(2, np.float32), np.ones(3, np.float32), False),
    "an error": (np.sum, np.float32(1.0), "it fails", False),
    "no judge": (fails, np.float32(1.0), np.float32(1.0625), False),
}  # fmt: skip


@pytest.mark.parametrize("row", ROUNDING)
def test_what_is_rounding(row):
    function, before, after, expected = ROUNDING[row]
    found = Disagreement("main", {}, [CANCELLING], before, after)
    assert is_rounding(lambda values: function(values[0]), found) is expected
