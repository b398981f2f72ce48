"""What a mutator is."""

from __future__ import annotations

from ...schedule import Trace
from ...schedule.random import Random
from ..context import TuneContext


class Mutator:
    """Gives a trace with one decision changed."""

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """The mutators of a kind and how probable each is; kinds and errors as of `ScheduleRule.create`."""
        from ..defaults import mutators_of

        return mutators_of(kind)

    def initialize(self, context: TuneContext) -> None:
        """Get to know the task; called before the first `apply`."""

    def apply(self, trace: Trace, random: Random) -> Trace | None:
        """Another trace, None where there is nothing to change."""
        raise NotImplementedError(type(self).__name__)

    def __hash__(self) -> int:
        return id(self)
