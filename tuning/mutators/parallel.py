"""Another number of parallel iterations."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import sched
from ...schedule import Trace
from ...schedule.random import Random
from .. import analysis
from ..context import TuneContext
from .mutator import Mutator


@dataclass(eq=False)
class MutateParallel(Mutator):
    """Draw how many iterations may run in parallel, up to `max_jobs_per_core` for each core."""

    max_jobs_per_core: int = 16

    def initialize(self, context: TuneContext) -> None:
        self.context = context

    def apply(self, trace: Trace, random: Random) -> Trace | None:
        most = self.max_jobs_per_core * self.context.cores
        for k, inst in enumerate(trace.insts):
            if inst.SPEC.name == "annotate" and inst.args["ann_key"] == analysis.PARALLEL:
                others = [n for n in range(1, most + 1) if n != inst.args["ann_val"]]
                if not others:
                    return None
                out = trace.with_decision(inst, None, remove_postproc=True)
                _set_argument(out.insts[k], "ann_val", others[random.integer(0, len(others))])
                return out
        return None


def _set_argument(inst: sched.Instruction, name: str, value: int) -> None:
    """Change an argument of an instruction that is a number."""
    changed = dict(inst.arguments.data)
    changed[name] = sched.encode(value, [])
    inst.properties["arguments"] = type(inst.arguments)(changed)
