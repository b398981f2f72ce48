"""Design spaces: the schedules from which a search begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..diagnostics import TiraxError, unknown_name
from ..dialects import tir
from ..handles.module import IRModule
from ..schedule import BlockRV, Schedule
from ..transforms.tir.walk import functions
from . import analysis
from .defaults import DEVICE_KINDS, KINDS, device_kind_for, intrinsics_for
from .mutators import Mutator, default_mutators
from .postprocessors import Postproc, default_postprocessors
from .schedule_rules import ScheduleRule, default_rules
from .types import Task

# Space generators: a user-defined function, or rules applied to every block.

Rules = Sequence[Any] | str | None


class SpaceGenerator:
    """Generates schedules of a module with sampling instructions, so that each represents many schedules.

    `sch_rules`, `postprocs` and `mutator_probs` are the rules themselves, a kind (see `ScheduleRule.create`),
    or `from-target` to choose by the target.
    """

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **options: Any) -> SpaceGenerator:
        """Return `kind` if it is a generator, or a new one.

        The kinds are `post-order-apply` and `union`; a sampling function makes a `ScheduleFn`, and a kind of rules
        such as `vnni` a generator with these rules. Raises `NameLookupError`, `UnsupportedError`.
        """
        if isinstance(kind, SpaceGenerator):
            return kind
        if callable(kind):
            return ScheduleFn(kind, *args, **options)
        kinds: dict[str, Callable[..., SpaceGenerator]] = {
            "post-order-apply": PostOrderApply,
            "union": SpaceGeneratorUnion,
        }
        if kind in kinds:
            return kinds[kind](*args, **options)
        if kind not in KINDS and kind not in DEVICE_KINDS:
            raise unknown_name("design space", str(kind), [*kinds, *KINDS])
        return PostOrderApply(sch_rules=kind, postprocs=kind, mutator_probs=kind)

    def __init__(
        self, sch_rules: Rules = "from-target", postprocs: Rules = "from-target", mutator_probs: Any = "from-target"
    ):
        self._choices = (sch_rules, postprocs, mutator_probs)
        self.sch_rules: list[Any] = []
        self.postprocs: list[Any] = []
        self.mutator_probs: dict[Any, float] = {}

    def initialize(self, context: Task) -> None:
        """Bind the generator to a task: choose the rules and initialize them."""
        self.context = context
        sch_rules, postprocs, mutator_probs = self._choices
        device = device_kind_for(context.target)
        if device is None:
            for_target = partial(default_rules, intrinsics_for(context.target))
            own = (for_target, default_postprocessors, default_mutators)
        else:
            own = (device.rules, device.postprocessors, device.mutators)
        self.sch_rules = list(_chosen(sch_rules, own[0], ScheduleRule.create))
        self.postprocs = list(_chosen(postprocs, own[1], Postproc.create))
        self.mutator_probs = dict(_chosen(mutator_probs, own[2], Mutator.create))
        for part in (*self.sch_rules, *self.postprocs, *self.mutator_probs):
            part.initialize(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        raise NotImplementedError(type(self).__name__)

    def _schedule(self, mod: IRModule) -> Schedule:
        return Schedule(mod, seed=self.context.random.fork())


def _chosen(choice: Any, for_target: Callable[[], Any], of_kind: Callable[[str], Any]) -> Any:
    """Return the rules: those passed, those of a kind or of the target, or none for None."""
    if not isinstance(choice, str):
        return () if choice is None else choice
    return for_target() if choice == "from-target" else of_kind(choice)


class ScheduleFn(SpaceGenerator):
    """A design space defined by a function: `sch_fn(sch)` changes the schedule or returns one or several."""

    def __init__(
        self,
        sch_fn: Callable[[Schedule], Any],
        sch_rules: Rules = (),
        postprocs: Rules = (),
        mutator_probs: Any = "from-target",
    ):
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        sch = self._schedule(mod)
        result = self.sch_fn(sch)
        if result is None:
            return [sch]
        schedules: list[Any] = list(result) if isinstance(result, list | tuple) else [result]
        if not all(isinstance(s, Schedule) for s in schedules):
            raise TiraxError("sch_fn gives schedules", expected="None, a Schedule or a list of them", found=result)
        return schedules


class PostOrderApply(SpaceGenerator):
    """A design space defined by rules, each applied to every block, consumers before their producers.

    `f_block_filter(block)` selects the blocks.
    """

    def __init__(self, f_block_filter: Callable[[Any], bool] | None = None, **options: Any):
        super().__init__(**options)
        self.f_block_filter = f_block_filter

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        first = self._schedule(mod)
        blocks = self._blocks(first)
        states = [first]
        for rule in self.sch_rules:
            states = _applied(rule, states, blocks)
        return states

    def _blocks(self, sch: Schedule) -> list[BlockRV]:
        """Return handles of the blocks: nested blocks before the enclosing one, the root of a function last."""
        handles: list[BlockRV] = []
        for func in functions(sch.mod.op):
            kept = [b for b in _post_order(func) if self.f_block_filter is None or self.f_block_filter(b)]
            handles += [sch.get_block(name, func.sym_name.data) for name in _unique(kept)]
            handles.append(sch.get_block("root", func.sym_name.data))
        return handles


def _applied(rule: Any, states: Sequence[Schedule], blocks: Sequence[BlockRV]) -> list[Schedule]:
    """Apply one rule to all blocks of all schedules, last block first, in depth-first order."""
    todo = [(sch, len(blocks)) for sch in states]
    done: list[Schedule] = []
    while todo:
        sch, left = todo.pop()
        if not left:
            done.append(sch)
            continue
        block = blocks[left - 1]
        schedules = rule.apply(sch, block) if analysis.is_there(sch, block) else [sch]
        todo += [(out, left - 1) for out in schedules]
    return done


def _post_order(func: tir.FuncOp) -> Iterator[tir.BlockOp]:
    blocks = (op for op in func.walk(region_first=True) if isinstance(op, tir.BlockOp))
    return (b for b in blocks if b.block_name.data != "root")


def _unique(blocks: Sequence[tir.BlockOp]) -> list[str]:
    """Return the block names that are unique; other blocks cannot be addressed by name."""
    count = Counter(b.block_name.data for b in blocks)
    return [name for name, times in count.items() if times == 1]


class SpaceGeneratorUnion(SpaceGenerator):
    """The union of the design spaces of several generators."""

    def __init__(self, space_generators: Sequence[SpaceGenerator], **options: Any):
        super().__init__(**options)
        self.space_generators = list(space_generators)

    def initialize(self, context: Task) -> None:
        super().initialize(context)
        for generator in self.space_generators:
            generator.initialize(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        return [sch for generator in self.space_generators for sch in generator.generate_design_space(mod)]
