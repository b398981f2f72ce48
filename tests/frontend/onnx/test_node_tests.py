"""ONNX's own tests of operators: each passes as native code, or is in the table of reasons and does not pass."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

import node_tests  # noqa: E402
from node_test_reasons import REASONS, reason_of  # noqa: E402
from strength import only_full, some, thinned  # noqa: E402


def worth_running(names):
    """Every third of those written out in other operators, which have cases of their own, and all with a reason."""
    written_out = [name for name in names if "_expanded" in name]
    left = {*written_out[::3], *filter(reason_of, written_out)}
    return [name for name in names if name not in written_out or name in left]


@pytest.mark.thinned
@thinned("module", node_tests.modules(), 24)
def test_the_cases_of_a_module_pass_or_have_a_reason(module):
    names = some(worth_running(sorted(node_tests.cases_of(module))), 1)  # all of them at full strength
    assert names
    problems = [node_tests.unexpected(node_tests.run_case(name, module)) for name in names]
    assert not [problem for problem in problems if problem is not None]


@only_full  # ONNX makes all its cases for it, which takes ten seconds
def test_every_reason_is_of_a_case_and_at_most_a_twentieth_has_one():
    names = node_tests.cases()
    assert not [pattern for pattern in REASONS if not any(reason_of(name) == REASONS[pattern] for name in names)]
    assert sum(reason_of(name) is not None for name in names) <= len(names) / 20
