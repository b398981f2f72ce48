"""Another place of computation."""

from __future__ import annotations

from ...schedule import Trace
from ...schedule.random import Random
from .mutator import Mutator

_DEEPEST = 8
"""Positions up to this one are drawn; the primitive takes the next one that is a candidate."""


class MutateComputeLocation(Mutator):
    """Draw where a block is computed again."""

    def apply(self, trace: Trace, random: Random) -> Trace | None:
        found = [inst for inst in trace.insts if inst.SPEC.name == "sample_compute_location"]
        if not found:
            return None
        inst = found[random.integer(0, len(found))]
        others = [k for k in range(-2, _DEEPEST) if k != inst.decision]
        return trace.with_decision(inst, others[random.integer(0, len(others))], remove_postproc=True)
