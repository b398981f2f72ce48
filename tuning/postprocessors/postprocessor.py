"""What a postprocessor is."""

from __future__ import annotations

from ...schedule import Schedule
from ..context import TuneContext


class Postproc:
    """Finishes a schedule."""

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The postprocessors of a kind; kinds and errors as of `ScheduleRule.create`."""
        from ..defaults import postprocessors_of

        return postprocessors_of(kind)

    def initialize(self, context: TuneContext) -> None:
        """Get to know the task; called before the first `apply`."""

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule; False where it is not to be measured."""
        raise NotImplementedError(type(self).__name__)
