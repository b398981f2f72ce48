"""Candidates at random: without learning from what was measured."""

from __future__ import annotations

from ...schedule import Schedule, Trace
from .strategy import SearchStrategy


class ReplayTrace(SearchStrategy):
    """Replay the traces of the design spaces, all decisions drawn anew.

    A round ends after `max_fail_count` candidates in a row that were refused, or known already.
    """

    def __init__(self, max_fail_count: int = 100):
        super().__init__()
        self.max_fail_count = max_fail_count

    def _propose(self, count: int) -> list[Schedule]:
        spaces = [space.trace.simplified(remove_postproc=True) for space in self.trials.design_spaces]
        return self.collect(count, self.max_fail_count, lambda: self._drawn(spaces))

    def _drawn(self, spaces: list[Trace]) -> Schedule:
        return replayed(self, spaces[self.random.integer(0, len(spaces))], keep_decisions=False)


class ReplayFunc(SearchStrategy):
    """Make the design space again and again; whatever its generator samples is drawn anew."""

    def __init__(self, max_fail_count: int = 100):
        super().__init__()
        self.max_fail_count = max_fail_count

    def _propose(self, count: int) -> list[Schedule]:
        return self.collect(count, self.max_fail_count, self._drawn)

    def _drawn(self) -> Schedule:
        spaces = self.task.generate_design_space()
        return spaces[self.random.integer(0, len(spaces))]


def replayed(strategy: SearchStrategy, trace: Trace, *, keep_decisions: bool) -> Schedule:
    """The task's module with a trace applied. Raises `ScheduleError` where a step refuses.

    The schedule keeps no way back: after an error it is of no use.
    """
    sch = Schedule(strategy.task.mod, seed=strategy.random.fork(), error_render_level="none", restore=False)
    provider = None if keep_decisions else (lambda *_: None)
    trace.apply_to_schedule(sch, remove_postproc=True, decision_provider=provider)
    return sch
