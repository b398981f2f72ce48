"""Mutators: small changes to the decisions of a trace, for evolutionary search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from ..dialects import sched, tir
from ..schedule import Schedule, Trace
from ..schedule.primitives.sampling import prime_factors
from ..schedule.random import Random
from ..transforms.tir.walk import functions
from . import analysis
from .defaults import device_kind, intrinsics_of
from .postprocessors import Marks, iterations_of, marks_of, parallel_loops
from .types import Task


class Mutator:
    """Changes one decision of a trace."""

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """Return the mutators of a kind with their probabilities; the kinds and errors are those of
        `ScheduleRule.create`.
        """
        device = device_kind(kind)
        if device is not None:
            return device.mutators()
        intrinsics_of("mutators", kind)
        return default_mutators()

    def initialize(self, context: Task) -> None:
        """Bind the mutator to a task; called before the first `apply`."""

    def apply(self, trace: Trace, random: Random | None = None) -> Trace | None:
        """Return a changed trace, or None if nothing can change; `random` defaults to the mutator's own generator."""
        raise NotImplementedError(type(self).__name__)

    @cached_property
    def random(self) -> Random:
        """The generator used if `apply` gets none."""
        return Random(0)

    def __hash__(self) -> int:
        return id(self)


# Compute locations.

_DEEPEST = 8
"""The largest position that is drawn; the primitive uses the next valid candidate."""


class MutateComputeLocation(Mutator):
    """Sample the location of a computation again."""

    def apply(self, trace: Trace, random: Random | None = None) -> Trace | None:
        random = random or self.random
        choices = [inst for inst in trace.insts if inst.SPEC.name == "sample_compute_location"]
        if not choices:
            return None
        inst = choices[random.integer(0, len(choices))]
        others = [k for k in range(-2, _DEEPEST) if k != inst.decision]
        return trace.with_decision(inst, others[random.integer(0, len(others))], remove_postproc=True)


# Parallel iterations.


@dataclass(eq=False)
class MutateParallel(Mutator):
    """Sample the minimal number of parallel iterations again, up to `max_jobs_per_core` for each core.

    Numbers that parallelize the same loops of all nests are equivalent: only the smallest is a candidate, and
    the current choice is excluded.
    """

    max_jobs_per_core: int = 16

    def initialize(self, context: Task) -> None:
        self.context = context

    def apply(self, trace: Trace, random: Random | None = None) -> Trace | None:
        random = random or self.random
        most = self.max_jobs_per_core * self.context.cores
        for k, inst in enumerate(trace.insts):
            if inst.SPEC.name == "annotate" and inst.args["ann_key"] == analysis.PARALLEL:
                others = self._other_numbers(trace, most, int(inst.args["ann_val"]))
                if not others:
                    return None
                out = trace.with_decision(inst, None, remove_postproc=True)
                _set_argument(out.insts[k], "ann_val", others[random.integer(0, len(others))])
                return out
        return None

    def _other_numbers(self, trace: Trace, most: int, now: int) -> list[int]:
        """Return numbers up to `most` that parallelize the loops differently from each other and from `now`."""
        sch = Schedule(self.context.mod, error_render_level="none", restore=False)
        trace.apply_to_schedule(sch, remove_postproc=True)
        nests = list(_nests(sch))
        counts = {min(count, most) for _, loops, _ in nests for count in iterations_of(loops)}
        numbers: dict[tuple[int, ...], int] = {}
        for number in sorted(counts):
            numbers.setdefault(_plan(nests, number), number)
        numbers.pop(_plan(nests, now), None)
        return list(numbers.values())


_Nest = tuple[tir.BlockOp, list[tir.ForOp], Marks]


def _nests(sch: Schedule) -> Iterator[_Nest]:
    """Yield the blocks below each annotated root, with the loops around them."""
    for func in functions(sch.mod.op):
        root = sch.get_block("root", func.sym_name.data)
        marks = marks_of(sch, root)
        if marks is None:
            continue
        for block in sch.get_child_blocks(root):
            yield sch.operation(block), [sch.operation(loop) for loop in sch.get_loops(block)], marks


def _plan(nests: Sequence[_Nest], number: int) -> tuple[int, ...]:
    """Return the number of parallel iterations of each nest if `number` are required."""
    plan: list[int] = []
    for block, loops, marks in nests:
        count = parallel_loops(block, loops, replace(marks, parallel=number))
        plan.append(iterations_of(loops)[count - 1] if count else 0)
    return tuple(plan)


def _set_argument(inst: sched.Instruction, name: str, value: int) -> None:
    """Replace a numeric argument of an instruction."""
    changed = dict(inst.arguments.data)
    changed[name] = sched.encode(value, [])
    inst.properties["arguments"] = type(inst.arguments)(changed)


# Tile sizes.


class MutateTileSize(Mutator):
    """Move a prime factor between two tile sizes of a loop; their product stays the same."""

    def apply(self, trace: Trace, random: Random | None = None) -> Trace | None:
        random = random or self.random
        choices = []
        for inst in trace.insts:
            if inst.SPEC.name == "sample_perfect_tile" and inst.decision and len(inst.decision) > 1:
                weight = len(prime_factors(prod(inst.decision)))
                if weight:
                    choices.append((inst, weight))
        while choices:
            at = random.index([weight for _, weight in choices])
            inst, _ = choices.pop(at)
            tiles = _move_factor(list(inst.decision), int(inst.args["max_innermost_factor"]), random)
            if tiles is not None:
                return trace.with_decision(inst, tiles, remove_postproc=True)
        return None


def _move_factor(tiles: list[int], largest: int, random: Random) -> list[int] | None:
    """Return the tile sizes with a factor moved from one to another, or None if no factor can move."""
    moves = [
        (source, target, factor)
        for source, size in enumerate(tiles)
        for factor in dict.fromkeys(prime_factors(size))
        for target in range(len(tiles))
        if target != source and not (target == len(tiles) - 1 and 0 < largest < tiles[target] * factor)
    ]
    if not moves:
        return None
    source, target, factor = moves[random.integer(0, len(moves))]
    tiles[source] //= factor
    tiles[target] *= factor
    return tiles


# Unrolled steps.

_KEYS = (analysis.UNROLL_EXPLICIT, analysis.UNROLL_IMPLICIT)


class MutateUnroll(Mutator):
    """Sample the number of unrolled steps again."""

    def apply(self, trace: Trace, random: Random | None = None) -> Trace | None:
        random = random or self.random
        choices = []
        for inst in trace.insts:
            if inst.SPEC.name == "annotate" and inst.args["ann_key"] in _KEYS:
                sampled = getattr(inst.args["ann_val"], "owner", None)
                if sampled is not None:
                    choices.append(sampled)
        choices = [inst for inst in choices if len(inst.args["candidates"]) > 1]
        if not choices:
            return None
        inst = choices[random.integer(0, len(choices))]
        others = [k for k in range(len(inst.args["candidates"])) if k != inst.decision]
        chosen = others[random.index([inst.args["probs"][k] for k in others])]
        return trace.with_decision(inst, chosen, remove_postproc=True)


def default_mutators() -> dict[Mutator, float]:
    """Return the default mutators with their probabilities."""
    return {MutateTileSize(): 0.9, MutateComputeLocation(): 0.05, MutateUnroll(): 0.03, MutateParallel(16): 0.02}
