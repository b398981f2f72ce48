"""Mutators: one decision is changed, and the trace still fits."""

from __future__ import annotations

from math import prod

import pytest
from spaces import CHAIN, SMALL, candidates_of, context_of, finished

from tirax.interpreter import assert_same_meaning
from tirax.schedule import Trace
from tirax.schedule.random import Random
from tirax.tuning.mutators import MutateComputeLocation, MutateParallel, MutateTileSize, MutateUnroll


def differing(a: Trace, b: Trace) -> list[tuple[str, object, object]]:
    """The instructions that differ in the decision or the annotation, with both."""
    found = []
    for x, y in zip(a.insts, b.insts, strict=True):
        assert x.SPEC is y.SPEC
        for mine, theirs in ((x.decision, y.decision), (x.args.get("ann_val"), y.args.get("ann_val"))):
            if mine != theirs and not hasattr(mine, "owner"):
                found.append((x.SPEC.name, mine, theirs))
    return found


@pytest.mark.parametrize(
    ("mutator", "step"),
    [
        (MutateTileSize(), "sample_perfect_tile"),
        (MutateUnroll(), "sample_categorical"),
        (MutateParallel(16), "annotate"),
        (MutateComputeLocation(), "sample_compute_location"),
    ],
    ids=lambda m: type(m).__name__ if not isinstance(m, str) else m,
)
def test_one_decision_is_changed(mutator, step: str) -> None:
    context, found = candidates_of(CHAIN if step == "sample_compute_location" else SMALL, 4)
    mutator.initialize(context)
    random = Random(7)
    tried = 0
    for candidate in found:
        trace = candidate.sch.trace.simplified(remove_postproc=True)
        before = str(trace)
        changed = mutator.apply(trace, random)
        assert str(trace) == before
        if changed is None:
            continue
        tried += 1
        ((name, old, new),) = differing(trace, changed)
        assert name == step
        if step == "sample_perfect_tile":
            assert prod(old) == prod(new)
            assert new[-1] <= 64
        assert_same_meaning(context.mod.op, finished(context, changed).mod.op)
    assert tried


@pytest.mark.parametrize("mutator", [MutateTileSize(), MutateUnroll(), MutateParallel(), MutateComputeLocation()])
def test_where_there_is_nothing_to_change(mutator) -> None:
    mutator.initialize(context_of(SMALL))
    assert mutator.apply(Trace(), Random(1)) is None
