"""A task of tuning: the module, the target, where candidates come from and how they are searched."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ir.module import IRModule
from ..schedule.random import Random
from ..target import Target

if TYPE_CHECKING:
    from .space.generator import SpaceGenerator


@dataclass
class TuneContext:
    """A module that is tuned for a target.

    `space_generator` gives the design space, `search_strategy` chooses from it; either may be None where it is not
    needed. `rand_state` -1 is drawn from the system. `num_threads` is how many threads tuning itself may use.
    """

    mod: IRModule | None = None
    target: Target | str | None = None
    space_generator: SpaceGenerator | None = None
    search_strategy: Any = None
    task_name: str = "main"
    rand_state: int = -1
    num_threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("tirax.tuning"))

    def __post_init__(self) -> None:
        self.target = Target(self.target) if isinstance(self.target, str) else self.target or Target("llvm")
        self.random = Random(self.rand_state)
        if self.space_generator is not None:
            self.space_generator.initialize(self)

    @property
    def cores(self) -> int:
        """The number of cores of the target."""
        assert isinstance(self.target, Target)
        return self.target.cores

    def generate_design_space(self) -> list[Any]:
        """The schedules that the space generator makes of the module."""
        if self.space_generator is None or self.mod is None:
            return []
        return self.space_generator.generate_design_space(self.mod)
