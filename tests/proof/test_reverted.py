"""Wrong results that once were, each put back into what a step makes: a proof finds it, with inputs that show it.

The table has each kind of them that a transformation of programs can have: lost predicates, booleans as indices,
remainders by a formula, clamps in the other order, sums in 16 bits. No pass changes what front ends read (dropout, the
negative bit of tensors), and a right program that is refused is no wrong one.
"""

from __future__ import annotations

from itertools import product

import pytest
from predicate_table import STEPS, Program
from strength import thinned

from tirax import tvm_api as tvm
from tirax.dialects import tir
from tirax.ir.passes.transform import module_op
from tirax.proof import Level, Verdict, validate
from tirax.schedule import Schedule, ScheduleError
from tirax.script import parse_source
from tirax.tvm_api.script import from_source

PREDICATES = (">=", "%", "!=", "a sum", "a buffer", "two parts")
PRIMITIVES = {
    "consumer": ("reverse_compute_at", "split", "cache_write", "reindex, write", "reindex_cache_write", "blockize"),
    "reduced": ("compute_at", "decompose_reduction", "rfactor", "split, rfactor", "split"),
    "both": ("reverse_compute_at", "compute_at"),
}
LOST = [(k, step, p) for k, steps in PRIMITIVES.items() for step, p in product(steps, PREDICATES)]


def is_lost(op):
    """Return whether a comparison is one of those that were not understood: it is no bound of a split."""
    if not isinstance(op, tuple(tir.BINARY[n] for n in ("lt", "le", "gt", "ge", "eq", "ne"))):
        return False
    bound = op.operands[1].owner
    has_load = any(isinstance(v.owner, tir.LoadOp) for v in op.operands)
    return has_load or not isinstance(op, tir.BINARY["lt"]) or getattr(bound, "py_value", None) == 7


def without_predicates(module):
    """Return a copy in which conditions of blocks and branches hold where the predicate once was lost."""
    copy, lost = module.clone(), 0
    for op in [o for o in copy.walk() if is_lost(o)]:
        true = tir.ConstOp(True, op.results[0].type)
        op.parent.insert_op_before(true, op)
        op.results[0].replace_all_uses_with(true.result)
        lost += 1
    return copy, lost


@thinned("row", LOST, lambda row: row[1], lambda row: ": ".join(row))
def test_a_lost_predicate_is_found(row):
    kind, step, predicate = row
    before = tvm.IRModule({"main": from_source(Program(kind, predicate).source())})
    schedule = Schedule(before)
    try:
        STEPS[kind][step](schedule)
    except ScheduleError:
        return  # a predicate that a primitive does not understand is refused now
    after = module_op(schedule.mod)
    assert validate(before, after).verdict is not Verdict.WRONG
    faulty, lost = without_predicates(after)
    is_defined = validate(before, before).verdict is Verdict.PROVED  # not where the first step of a sum is left out
    if lost and is_defined:
        result = validate(before, faulty)
        assert result.verdict is Verdict.WRONG, str(result)


FUNCTION = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((6,), "{dtype}"), P: T.Buffer((6,), "bool"), B: T.Buffer((6,), "{dtype}")):
        for i in range(6):
            B[i] = {value}
"""
VALUES = {
    "a boolean that is an index, with a sign": ("float32", "A[T.Cast('int32', P[i])]", "A[0 - T.Cast('int32', P[i])]"),
    "a remainder by a formula": (
        "float32",
        "T.floormod(A[i], T.float32(0.1))",
        "A[i] - T.floor(A[i] / T.float32(0.1)) * T.float32(0.1)",
    ),
    "a clamp with reversed bounds": (
        "float32",
        "T.min(T.max(A[i], T.float32(2)), T.float32(1))",
        "T.max(T.min(A[i], T.float32(1)), T.float32(2))",
    ),
    "a quotient of integers that is rounded to 0": ("int32", "A[i] // 4", "T.truncdiv(A[i], 4)"),
    "a remainder of integers with the other sign": ("int32", "A[i] % 4", "T.truncmod(A[i], 4)"),
}  # fmt: skip


@pytest.mark.parametrize("row", list(VALUES))
def test_a_wrong_value_is_found(row):
    dtype, right, wrong = VALUES[row]
    modules = [parse_source(FUNCTION.format(dtype=dtype, value=v)) for v in (right, wrong)]
    assert validate(modules[0], modules[0]).verdict is not Verdict.WRONG
    result = validate(*modules)
    assert result.verdict is Verdict.WRONG, str(result)


SUM = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((5,), "bfloat16"), B: T.Buffer((1,), "bfloat16")):
        S = T.alloc_buffer((1,), "float32")
        S[0] = T.float32(0)
        for i in range(5):
            S[0] = {sum}
        B[0] = T.Cast("bfloat16", S[0])
"""


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("S[0] + T.Cast('float32', A[4 - i])", Level.REASSOCIATED),
        ("T.Cast('float32', T.Cast('bfloat16', S[0] + T.Cast('float32', A[i])))", Level.REAL),
    ],
)
def test_sums_that_are_rounded_in_between_are_equal_for_real_numbers_only(text, level):
    right, other = (parse_source(SUM.format(sum=t)) for t in ("S[0] + T.Cast('float32', A[i])", text))
    assert validate(right, other).findings[0].level is level
