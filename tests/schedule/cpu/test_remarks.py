"""Why rules of the default schedule do not fit: each says so, and where what it names is otherwise, it does fit."""

from __future__ import annotations

import logging
import re

import pytest

from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.ir.passes.transform import Sequential
from tirax.schedule.cpu.analysis.remarks import collect_remarks, reject
from tirax.schedule.cpu.policy.rules import RULES
from tirax.script import parse_source

NAMES = [rule.name for rule in RULES]
NOTE = re.compile(r"the rule '(\w+)' (?:writes|does not fit)(?: the block '\w+' of)? '\w+'(?:: (.+))?")


def notes(caplog, result: str, **shapes: tuple) -> list[tuple[str, str]]:
    """What is told of the rules that are asked about a program that returns `result`; nothing of one that fits."""
    params = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in shapes.items())
    body = f"    with R.dataflow():\n        z = {result}\n        R.output(z)\n    return z"
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "tirax.schedule"):
        Sequential(make_passes([*OPTIMIZE, "plan-schedule"]))(parse_source(f"@R.function\ndef main({params}):\n{body}"))
    return [(m[1], m[2] or "") for m in map(NOTE.fullmatch, caplog.messages) if m]


@pytest.mark.parametrize(
    ("rule", "reason", "without", "fitting"),
    [
        (
            "argreduce", "what is compared does not lie along memory",
            ("R.argmax(x, axis=0)", {"x": (30, 50)}), ("R.argmax(x, axis=1)", {"x": (30, 100)}),
        ),
        (
            "argreduce", "it is less than two vectors, or more than 2^31 elements",
            ("R.argmax(x, axis=1)", {"x": (30, 4)}), ("R.argmax(x, axis=1)", {"x": (30, 100)}),
        ),
        (
            "multi_reduce", "there is no iterator along which everything is contiguous, or stays where it is",
            ("R.argmax(x, axis=1)", {"x": (30, 4)}), ("R.argmax(x, axis=0)", {"x": (30, 50)}),
        ),
        (
            "scan", "it is no running sum or product: one total, which a loop updates and stores",
            ("R.sort(x, axis=0)", {"x": (30, 50)}), ("R.cumsum(x, axis=0)", {"x": (30, 50)}),
        ),
        (
            "attention", "scores, or the result, are not read row by row",
            ("R.nn.attention(x, x, v)", {"x": (1, 8, 2, 16), "v": (1, 8, 2, 1)}),
            ("R.nn.attention(x, x, v)", {"x": (1, 8, 2, 16), "v": (1, 8, 2, 8)}),
        ),
    ],
)  # fmt: skip
def test_rules_for_nests_and_attention_tell_too(caplog, rule, reason, without, fitting):
    reported = dict(notes(caplog, without[0], **without[1]))
    assert reason in reported[rule].split("; "), reported
    assert (rule, "") in notes(caplog, fitting[0], **fitting[1])


STATEMENTS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    with T.block("statements"):
        for i in range(7):
            A[i + 1] = A[i] + B[i]
"""


def test_statements_tell_too(caplog):
    def remarks_of(text: str) -> dict[str, str]:
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "tirax.schedule"):
            Sequential(make_passes(["plan-schedule"]))(parse_source(text))
        return {m[1]: m[2] or "" for m in map(NOTE.fullmatch, caplog.messages) if m}

    assert remarks_of(STATEMENTS)["statements"] == "no loop's iterations are independent of each other"
    assert remarks_of(STATEMENTS.replace("A[i] + B[i]", "B[i]"))["statements"] == ""
    noalias = "the function does not say tir.noalias: its buffers may overlap"
    assert remarks_of(STATEMENTS.replace('"tir.noalias"', '"x"'))["statements"] == noalias


@pytest.mark.parametrize(
    ("rule", "reason", "without", "fitting", "others"),
    [
        (
            "vector_reduction", "fewer elements are reduced than this rule is for",
            ("R.sum(x, axis=[1])", {"x": (30, 5)}), "R.sum(x, axis=[1])", {"x": (30, 8)},
        ),
        (
            "row_streams", "the operand is used by several rows, or is packed in panels",
            ("R.matmul(x, w)", {"x": (7, 4000), "w": (4000, 4000)}),
            "R.matmul(x, w)", {"x": (1, 4000), "w": (4000, 4000)},
        ),
        (
            "row_streams", "the rows that are read lie close together",
            ("R.matmul(x, w)", {"x": (1, 900), "w": (900, 250)}),
            "R.matmul(x, w)", {"x": (1, 4000), "w": (4000, 4000)},
        ),
        (
            "panels", "panels do not pay: few rows use them, or the operand is fast to read in place",
            ("R.matmul(x, w)", {"x": (7, 2000), "w": (2000, 2000)}),
            "R.matmul(x, w)", {"x": (4000, 2000), "w": (2000, 2000)},
        ),
        (
            "register_tiles", "along no iterator of the result do operands move by steps that this rule takes",
            ("R.sum(x, axis=[1])", {"x": (30, 5)}), "R.sum(x, axis=[0])", {"x": (5, 30)},
        ),
        (
            "transpose", "nothing is read along one iterator and stored along another, each long enough for a square",
            ("R.permute_dims(x)", {"x": (2, 3)}), "R.permute_dims(x)", {"x": (70, 90)},
        ),
        (
            "transpose", "nothing is read along one iterator and stored along another, each long enough for a square",
            ("R.exp(x)", {"x": (70, 90)}), "R.exp(R.permute_dims(x))", {"x": (70, 90)},
        ),
    ],
)  # fmt: skip
def test_a_rule_fits_where_its_reason_does_not_hold(caplog, rule, reason, without, fitting, others):
    result, shapes = without
    reported = dict(notes(caplog, result, **shapes))
    assert reason in reported[rule].split("; "), reported
    assert notes(caplog, fitting, **others)[-1] == (rule, "")


PROGRAMS = (
    "R.matmul(x, y)", "R.sum(x)", "R.max(x, axis=[0])", "R.mean(x, axis=[1])", "R.nn.softmax(x)", "R.permute_dims(x)",
    "R.exp(x)", "R.concat([x, y], axis=1)", "R.repeat(x, 2, axis=1)", "R.prod(x)",
    "R.stack([x, y], axis=2)", "R.flip(x, axis=1)", "R.nn.layer_norm(x, R.zeros([48], \"float32\"), "
    "R.ones([48], \"float32\"), axes=[1])", "R.astype(x, \"float16\")", "R.greater(x, y)",
)  # fmt: skip


@pytest.mark.parametrize("result", PROGRAMS)
def test_each_rule_that_does_not_fit_says_why_in_the_order_of_the_table(caplog, result):
    reported = notes(caplog, result, x=(48, 48), y=(48, 48))
    assert reported and reported[-1][1] == ""
    at = 0
    for name, reason in reported:
        assert name == NAMES[at], reported
        at = at + 1 if reason else 0  # a rule that fits is the last one of its stage


def test_reasons_are_for_those_who_listen():
    assert reject("nobody") is None
    with collect_remarks() as outer:
        reject("first")
        with collect_remarks() as inner:
            reject("inside")
        reject("second")
        reject("first")
    assert (list(outer), list(inner)) == (["first", "second"], ["inside"])
