"""How much of a function may run in parallel, as vectors, and unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...schedule import BlockRV, Schedule
from .. import analysis
from ..context import TuneContext
from .rule import ScheduleRule


@dataclass
class ParallelizeVectorizeUnroll(ScheduleRule):
    """Mark the root of a function; `RewriteParallelVectorizeUnroll` does what the marks say.

    There are to be at most `max_jobs_per_core` parallel iterations for each core, vectors of at most
    `max_vectorize_extent` lanes, and unrolling up to a sampled one of `unroll_max_steps`, in the IR where
    `unroll_explicit`; a function without reductions is not unrolled. -1 and None leave a mark out.
    """

    max_jobs_per_core: int = 16
    max_vectorize_extent: int = 16
    unroll_max_steps: Sequence[int] | None = None
    unroll_explicit: bool = True

    def initialize(self, context: TuneContext) -> None:
        self.context = context

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        if not analysis.is_root(sch.get(block)):
            return [sch]
        if self.max_jobs_per_core != -1:
            sch.annotate(block, analysis.PARALLEL, self.max_jobs_per_core * self.context.cores)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, analysis.VECTORIZE, self.max_vectorize_extent)
        if self.unroll_max_steps and not analysis.is_all_spatial(sch, block):
            steps = list(self.unroll_max_steps)
            chosen = sch.sample_categorical(steps, [1.0 / len(steps)] * len(steps))
            key = analysis.UNROLL_EXPLICIT if self.unroll_explicit else analysis.UNROLL_IMPLICIT
            sch.annotate(block, key, chosen)
        return [sch]
