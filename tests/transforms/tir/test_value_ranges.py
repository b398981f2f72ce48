"""Ranges of integers that are computed from data, and accesses that need no guard because of them."""

import pytest

from tirax.dialects import tir
from tirax.script.mlir_text import parse_mlir
from tirax.transforms.tir.guard_indices import GuardIndices
from tirax.transforms.tir.value_ranges import range_of_value

PROGRAM = """
tir.func @f(%A: !tir.buffer<[16], f32>, %I: !tir.buffer<[4], {dtype}>, %C: !tir.buffer<[4], f32>) {{
  tir.for %i = 0 to 4 {{
    %k = tir.load %I[%i] : {dtype}
    %w = tir.cast %k : {dtype} -> i64
    %c = tir.const {number} : i64
    {statement}
    %a = tir.load %A[%at] : f32
    tir.store %a, %C[%i]
  }}
}}
"""
ROWS = {
    "a byte": ("ui8", 0, "%at = tir.add %w, %c : i64", (0, 255)),
    "a signed byte": ("i8", 0, "%at = tir.add %w, %c : i64", (-128, 127)),
    "a minimum": ("ui32", 15, "%at = tir.min %w, %c : i64", (0, 15)),
    "a minimum of signed numbers": ("i32", 15, "%at = tir.min %w, %c : i64", (-(2**31), 15)),
    "bits": ("i64", 12, '%at = tir.call_intrin "bitwise_and"(%w, %c) : i64', (0, 12)),
    "some of the bits": ("i64", -2, '%at = tir.call_intrin "bitwise_and"(%w, %c) : i64', None),
    "a shift": ("ui8", 4, '%at = tir.call_intrin "shift_right"(%w, %c) : i64', (0, 15)),
    "a number of bits": ("ui8", 0, '%p = tir.call_intrin "popcount"(%w) : i64  %at = tir.add %p, %c : i64', (0, 64)),
    "a remainder": ("i64", 16, "%at = tir.floormod %w, %c : i64", (0, 15)),
    "a sum that may overflow": ("i64", 1, "%at = tir.add %w, %c : i64", None),
    "a product with a loop variable": (
        "ui8",
        3,
        '%b = tir.call_intrin "bitwise_and"(%w, %c) : i64  %d = tir.mul %b, %c : i64  %at = tir.add %d, %i : i64',
        (0, 12),
    ),
    "a choice": (
        "ui8",
        7,
        "%t = tir.lt %w, %c : i64  %m = tir.min %w, %c : i64  %at = tir.select %t, %m, %c : i64",
        (0, 7),
    ),
    "a name": ("ui8", 9, "%m = tir.min %w, %c : i64  %at = tir.let %m : i64 -> i64", (0, 9)),
}


@pytest.mark.parametrize("row", ROWS)
def test_ranges_and_guards(row: str):
    dtype, number, statement, expected = ROWS[row]
    module = parse_mlir(PROGRAM.format(dtype=dtype, number=number, statement=statement))
    (gather,) = [op for op in module.walk() if isinstance(op, tir.LoadOp) and op.indices[0].name_hint == "at"]
    values = range_of_value(gather.indices[0])
    assert values == (expected or (-(2**63), 2**63 - 1))
    index = gather.indices[0]
    GuardIndices().apply(None, module)
    assert (gather.indices[0] is index) == (expected is not None and expected[0] >= 0 and expected[1] < 16)
