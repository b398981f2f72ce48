"""ONNX's own tests of operators: each passes, or is in the table of reasons and does not pass.

All are interpreted, and one of eight of a module runs as native code; `python tests/frontend/onnx/node_tests.py` runs
all of them so.
"""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

import node_tests  # noqa: E402
from node_test_reasons import REASONS, is_specified, reason_of  # noqa: E402
from strength import evenly, only_full, some, thinned  # noqa: E402

MOST_AT_DISTANCES = 6


def worth_running(names, nodes_of):
    """Of those written out in other operators, which have cases of their own, a few, and all with a reason.

    Every third at even distances, but no more of a module, all of whose write one function out; and each that has an
    operator, or one with other attributes, that none before it has.
    """
    written_out = [name for name in names if "_expanded" in name]
    few = evenly(len(written_out), min(MOST_AT_DISTANCES, -(-len(written_out) // 3)))
    left = {*(written_out[i] for i in few), *filter(reason_of, written_out)}
    seen = set()
    for name in written_out:
        nodes = nodes_of(name)
        left |= set() if nodes <= seen else {name}
        seen |= nodes
    return [name for name in names if name not in written_out or name in left]


def chosen(module):
    """The names of the cases of a module that are worth running."""
    cases = node_tests.cases_of(module)
    return worth_running(sorted(cases), lambda name: node_tests.kinds_of_nodes(cases[name].model.graph))


def test_those_written_out_are_few_and_have_all_operators():
    nodes = {f"{i}_expanded": {"Add"} | ({"Mul"} if i > 6 else set()) for i in range(30)} | {"plain": {"Attention"}}
    assert len(worth_running(sorted(nodes), nodes.get)) in range(3, MOST_AT_DISTANCES + 4)
    assert "plain" in worth_running(sorted(nodes), nodes.get)
    for names in ([f"{i}_expanded" for i in range(30)], ["0_expanded"]):
        left = worth_running(sorted(names), nodes.get)
        assert set().union(*map(nodes.get, left)) == set().union(*map(nodes.get, names))


@pytest.mark.thinned
@thinned("module", node_tests.modules(), 24)
def test_the_cases_of_a_module_pass_or_have_a_reason(module):
    names = some(chosen(module), 1)  # all of them at full strength
    assert names
    outcomes = [node_tests.run_case(name, module, native=False) for name in names]
    outcomes += [node_tests.run_case(name, module) for name in names[::8] if is_specified(name)]
    problems = [node_tests.unexpected(outcome) for outcome in outcomes]
    assert not [problem for problem in problems if problem is not None]


@only_full  # ONNX makes all its cases for it, which takes ten seconds
def test_every_reason_is_of_a_case_and_at_most_a_twentieth_has_one():
    names = node_tests.cases()
    assert not [pattern for pattern in REASONS if not any(reason_of(name) == REASONS[pattern] for name in names)]
    assert sum(reason_of(name) is not None for name in names) <= len(names) / 20
