"""What a schedule rule is."""

from __future__ import annotations

from ...schedule import BlockRV, Schedule
from ..context import TuneContext


class ScheduleRule:
    """Gives, for a block of a schedule, the schedules to go on with; the schedule itself where the rule does not fit.

    A rule owns the schedule that it is given: it may change it and give it back.
    """

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The rules of a kind: `llvm`, `avx512`, `vnni`, `bf16`. Raises `NameLookupError`, `UnsupportedError`."""
        from ..defaults import rules_of

        return rules_of(kind)

    def initialize(self, context: TuneContext) -> None:
        """Get to know the task; called before the first `apply`."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        raise NotImplementedError(type(self).__name__)
