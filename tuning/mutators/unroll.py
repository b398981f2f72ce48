"""Another number of unrolled steps."""

from __future__ import annotations

from ...schedule import Trace
from ...schedule.random import Random
from .. import analysis
from .mutator import Mutator

_KEYS = (analysis.UNROLL_EXPLICIT, analysis.UNROLL_IMPLICIT)


class MutateUnroll(Mutator):
    """Draw the number of unrolled steps again."""

    def apply(self, trace: Trace, random: Random) -> Trace | None:
        found = []
        for inst in trace.insts:
            if inst.SPEC.name == "annotate" and inst.args["ann_key"] in _KEYS:
                sampled = getattr(inst.args["ann_val"], "owner", None)
                if sampled is not None:
                    found.append(sampled)
        found = [inst for inst in found if len(inst.args["candidates"]) > 1]
        if not found:
            return None
        inst = found[random.integer(0, len(found))]
        others = [k for k in range(len(inst.args["candidates"])) if k != inst.decision]
        chosen = others[random.index([inst.args["probs"][k] for k in others])]
        return trace.with_decision(inst, chosen, remove_postproc=True)
