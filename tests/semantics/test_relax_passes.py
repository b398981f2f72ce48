"""Passes on Relax programs keep the meaning of random ones, and what they give can be printed and read."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from random_programs import Program, programs
from strength import drawn

from tirax.dev.fuzz import checks
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.passes.bindings.topological_sort import DIRECTIONS, ORDERS, TopologicalSort

PASSES = (
    "to-non-dataflow", "convert-to-dataflow", "inline-private-functions", "expand-tuple-arguments",
    "remove-unused-parameters", "remove-unused-outputs", "remove-redundant-reshape", "expand-matmul-of-sum",
    "reorder-permute-dims-after-concat", "reorder-take-after-matmul", "decompose-ops-for-inference",
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@drawn(12, quick=1)
@given(programs())
def test_passes(program: Program) -> None:
    for name in PASSES:
        checks.texts(checks.passes_keep_meaning(program.module, [name]))
    checks.texts(checks.passes_keep_meaning(program.module, PASSES))


@drawn(12, quick=3)
@given(programs())
def test_orders(program: Program) -> None:
    for order, direction in product(ORDERS, DIRECTIONS):
        after = TopologicalSort(order, direction)(program.module)
        assert_same_meaning(program.module, after)
        checks.texts(after)
