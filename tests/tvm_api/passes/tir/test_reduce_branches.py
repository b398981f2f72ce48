"""Branches that go because one side does no harm where the other is taken, and those that stay."""

from __future__ import annotations

import textwrap

import pytest

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.transform import ReduceBranchingThroughOvercompute, UseAssumeToReduceBranches

LATER = "for i in range(16):\n    if i >= 14:\n        A[i] = {}"
GOES = {
    "an addition of zero": (
        "for i in range(16):\n    if i > 0:\n        A[0] = A[0] + i * i",
        "for i in range(16):\n    A[0] = A[0] + i * i",
    ),
    "sides that differ by nothing": (
        "for i in range(16):\n    if i < 14:\n        A[i] = 1\n        T.evaluate(0)\n    else:\n        A[i] = 1",
        "for i in range(16):\n    A[i] = 1\n    T.evaluate(0)",
    ),
    "a store that is overwritten": (
        "for i in range(16):\n    if i < 14:\n        A[i] = 1\n" + LATER.format(2),
        "for i in range(16):\n    A[i] = 1\n" + LATER.format(2),
    ),
    "a store that is overwritten in tiles": (
        "for i in range(16):\n    if i < 14:\n        A[i] = 1\n"
        "for i, j in T.grid(4, 4):\n    if i == 3 and j >= 2:\n        A[4 * i + j] = 2",
        "for i in range(16):\n    A[i] = 1\n"
        "for i, j in T.grid(4, 4):\n    if i == 3 and j >= 2:\n        A[4 * i + j] = 2",
    ),
}
STAYS = {
    "what is read later": "for i in range(16):\n    if i < 14:\n        A[i] = 1\n" + LATER.format("A[i] + 1"),
    "what is overwritten in part": "for i in range(16):\n    if i < 13:\n        A[i] = 1\n" + LATER.format(2),
    "what is outside of the buffer": "for i in range(20):\n    if i < 16:\n        A[i] = A[i] * 1",
    "another value": "for i in range(16):\n    if i > 1:\n        A[0] = A[0] + i",
}
HEAD = "from tvm.script import ir as I, tir as T\n\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
CONFIG = {"tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": True}}


def program(body: str):
    params = '    def main(A: T.Buffer((16,), "int32")):\n'
    return from_source(HEAD + params + textwrap.indent(body, " " * 8) + "\n")


def reduced(module):
    with tvm.transform.PassContext(config=CONFIG):
        return ReduceBranchingThroughOvercompute()(module)


@pytest.mark.parametrize("name", GOES)
def test_what_goes(name):
    before, after = map(program, GOES[name])
    changed = reduced(before)
    assert changed.script() == after.script()
    assert_same_meaning(before.op, changed.op)


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name):
    module = program(STAYS[name])
    assert reduced(module).script() == module.script()


PADDED = """
    def main(A: T.Buffer((4, 8), "uint8"), C: T.Buffer((4, 8), "uint8")):
        T.func_attr({{"op_pattern": {pattern}}})
        for i, j in T.grid(4, 8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes()
                T.assume(not (vi == 3 and 4 <= vj) or A[vi, vj] == T.uint8({value}))
        for i, j in T.grid(4, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = {stored}
"""
CHOICE = "T.if_then_else(vi == 3 and 4 <= vj, T.uint8(0), A[vi, vj] + A[vi, vj])"


def padded(stored, pattern=0, value=0):
    return from_source(HEAD + PADDED.format(stored=stored, pattern=pattern, value=value).lstrip("\n"))


def test_a_choice_goes_where_the_padding_has_its_value():
    changed = UseAssumeToReduceBranches()(padded(CHOICE))
    assert changed.script() == padded("A[vi, vj] + A[vi, vj]").script()


@pytest.mark.parametrize(
    "options",
    [
        {"stored": CHOICE, "pattern": 2},
        {"stored": CHOICE, "value": 1},
        {"stored": CHOICE.replace("4 <=", "3 <=")},
    ],
    ids=["no elementwise function", "another value", "more than the padding"],
)
def test_a_choice_stays(options):
    module = padded(**options)
    assert UseAssumeToReduceBranches()(module).script() == module.script()
