"""Mutators: one decision is changed, and the trace still fits."""

from __future__ import annotations

from math import prod

import pytest
from spaces import CHAIN, SMALL, candidates_of, context_of, finished
from strength import only_full, thinned

from tirax.dialects import tir
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Trace
from tirax.schedule.random import Random
from tirax.tuning.mutators import MutateComputeLocation, MutateParallel, MutateTileSize, MutateUnroll
from tirax.tuning.postprocessors import enough


def differing(a: Trace, b: Trace) -> list[tuple[str, object, object]]:
    """The instructions that differ in the decision or the annotation, with both."""
    results = []
    for x, y in zip(a.insts, b.insts, strict=True):
        assert x.SPEC is y.SPEC
        for mine, theirs in ((x.decision, y.decision), (x.args.get("ann_val"), y.args.get("ann_val"))):
            if mine != theirs and not hasattr(mine, "owner"):
                results.append((x.SPEC.name, mine, theirs))
    return results


@thinned(
    ("mutator", "step"),
    [
        (MutateTileSize(), "sample_perfect_tile"),
        (MutateUnroll(), "sample_categorical"),
        (MutateParallel(16), "annotate"),
        (MutateComputeLocation(), "sample_compute_location"),
    ],
    2,
    ids=lambda m: type(m).__name__ if not isinstance(m, str) else m,
)
def test_one_decision_is_changed(mutator, step: str) -> None:
    context, candidates = candidates_of(CHAIN if step == "sample_compute_location" else SMALL, 4)
    mutator.initialize(context)
    random = Random(7)
    tried = 0
    for candidate in candidates:
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


def _parallel_extents(mod) -> tuple[int | None, ...]:
    loops = [op for op in mod.op.walk() if isinstance(op, tir.ForOp) and op.kind is tir.ForKind.PARALLEL]
    return tuple(op.extent.constant for op in loops)


@only_full
def test_each_number_of_parallel_iterations_lets_other_loops_run_in_parallel() -> None:
    mutator = MutateParallel(16)
    context, candidates = candidates_of(SMALL, 4)
    mutator.initialize(context)
    compared = 0
    for candidate in candidates:
        trace = candidate.sch.trace.simplified(remove_postproc=True)
        now = _parallel_extents(finished(context, trace).mod)
        drawn: dict[str, tuple[int | None, ...]] = {}
        for seed in range(12):
            changed = mutator.apply(trace, Random(seed + 1))
            if changed is not None:
                drawn[str(changed)] = _parallel_extents(finished(context, changed).mod)
        assert now not in drawn.values()
        assert len(set(drawn.values())) == len(drawn)
        compared += len(drawn)
    assert compared


@pytest.mark.parametrize(
    ("iterations", "expected", "count"),
    [
        ([4, 32, 1024, 4096], 4, 1),
        ([4, 32, 1024, 4096], 5, 2),
        ([4, 32, 1024, 4096], 64, 3),
        ([4, 32, 1024, 4096], 10**6, 4),
        ([1, 8], 1, 2),
        ([1, 1], 4, 0),
        ([], 4, 0),
        ([8], 0, 0),
        ([8], -1, 0),
    ],
)
def test_as_many_loops_as_it_takes(iterations: list[int], expected: int, count: int) -> None:
    assert enough(iterations, expected) == count
