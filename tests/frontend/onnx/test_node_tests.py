"""ONNX's own tests of operators: each passes as native code, or is in the table of reasons and does not pass."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

import node_tests  # noqa: E402
from node_test_reasons import REASONS, reason_of  # noqa: E402
from strength import thinned  # noqa: E402

NAMES = sorted(node_tests.cases())


@thinned("name", NAMES, 24)
def test_a_case_passes_or_has_a_reason(name):
    problem = node_tests.unexpected(node_tests.run_case(name))
    assert problem is None, problem


def test_every_reason_is_of_a_case():
    assert not [pattern for pattern in REASONS if not any(reason_of(name) == REASONS[pattern] for name in NAMES)]


def test_at_most_a_twentieth_has_a_reason():
    assert sum(reason_of(name) is not None for name in NAMES) <= len(NAMES) / 20
