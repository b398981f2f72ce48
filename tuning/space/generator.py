"""Space generators: a function of the user's, or rules applied to every block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import TiraxError
from ...dialects import tir
from ...ir.module import IRModule
from ...schedule import Schedule
from ...transforms.tir.walk import functions
from ..context import TuneContext
from ..defaults import Defaults, default_rules

Rules = Sequence[Any] | str | None


class SpaceGenerator:
    """Makes schedules of a module; they sample, so that each stands for many.

    `sch_rules`, `postprocs` and `mutator_probs` are given, or `from-target`: those that fit the target.
    """

    def __init__(
        self, sch_rules: Rules = "from-target", postprocs: Rules = "from-target", mutator_probs: Any = "from-target"
    ):
        self._given = Defaults(sch_rules, postprocs, mutator_probs)
        self.sch_rules: list[Any] = []
        self.postprocs: list[Any] = []
        self.mutator_probs: dict[Any, float] = {}

    def initialize(self, context: TuneContext) -> None:
        """Get to know the task: choose the rules, and let them know it."""
        self.context = context
        self.sch_rules, self.postprocs, self.mutator_probs = default_rules(self._given, context)
        for part in (*self.sch_rules, *self.postprocs, *self.mutator_probs):
            part.initialize(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        raise NotImplementedError(type(self).__name__)

    def _schedule(self, mod: IRModule) -> Schedule:
        return Schedule(mod, seed=self.context.random.fork())


class ScheduleFn(SpaceGenerator):
    """A design space that a function makes: `sch_fn(sch)` changes the schedule, or gives one or several."""

    def __init__(self, sch_fn: Callable[[Schedule], Any], **options: Any):
        super().__init__(**{"sch_rules": (), "postprocs": (), "mutator_probs": "from-target", **options})
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        sch = self._schedule(mod)
        given = self.sch_fn(sch)
        if given is None:
            return [sch]
        found = [given] if isinstance(given, Schedule) else list(given)
        if not all(isinstance(s, Schedule) for s in found):
            raise TiraxError("sch_fn gives schedules", expected="None, a Schedule or a list of them", found=given)
        return found


class PostOrderApply(SpaceGenerator):
    """A design space made by rules: each is applied to every block, consumers after what they read.

    `f_block_filter(block)` chooses the blocks.
    """

    def __init__(self, f_block_filter: Callable[[Any], bool] | None = None, **options: Any):
        super().__init__(**options)
        self.f_block_filter = f_block_filter

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        states = [self._schedule(mod)]
        for rule in self.sch_rules:
            states = [out for sch in states for out in self._apply(rule, sch)]
        return states

    def _apply(self, rule: Any, sch: Schedule) -> list[Schedule]:
        """One rule on all blocks of a schedule."""
        todo = [(sch, self._blocks(sch))]
        done: list[Schedule] = []
        while todo:
            current, names = todo.pop(0)
            if not names:
                done.append(current)
                continue
            (func, name), rest = names[0], names[1:]
            if not _has_block(current, func, name):
                todo.append((current, rest))
                continue
            made = rule.apply(current, current.get_block(name, func))
            todo += [(out, rest) for out in made]
        return done

    def _blocks(self, sch: Schedule) -> list[tuple[str, str]]:
        """The blocks in post order: those inside of a block before it, the root last."""
        found: list[tuple[str, str]] = []
        for func in functions(sch.mod.op):
            every = [op for op in func.walk() if isinstance(op, tir.BlockOp)]
            kept = [b for b in reversed(every) if self.f_block_filter is None or self.f_block_filter(b)]
            names = [b.block_name.data for b in kept if b.block_name.data != "root"]
            found += [(func.sym_name.data, name) for name in [*names, "root"]]
        return found


def _has_block(sch: Schedule, func: str, name: str) -> bool:
    if name == "root":
        return True
    blocks = (op for op in sch.state.function(func).walk() if isinstance(op, tir.BlockOp))
    return sum(1 for b in blocks if b.block_name.data == name) == 1


class SpaceGeneratorUnion(SpaceGenerator):
    """The design spaces of several generators."""

    def __init__(self, space_generators: Sequence[SpaceGenerator], **options: Any):
        super().__init__(**options)
        self.space_generators = list(space_generators)

    def initialize(self, context: TuneContext) -> None:
        super().initialize(context)
        for generator in self.space_generators:
            generator.initialize(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        return [sch for generator in self.space_generators for sch in generator.generate_design_space(mod)]
