"""The proof: both functions run each block where it must, in an order that respects what is read, and define the same.

For all values of the symbolic sizes,

- each iteration of a block is in the block's domain, and each element that it reads is within its buffer;
- each element that is read has been written before, wholly: a witness, the iteration that writes it, is computed from
  the map of loops to iterators and checked; the same of each element of an output;
- an iteration of a reduction runs once, its first step first, and after the element's start;
- iterations of parallel and vectorized loops update different elements.

Elements are then values, whatever the order: those of the outputs are the same if their terms are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import tir
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.affine.iter_map import IterMapLevel, NotAffineError, detect_iter_map
from ..terms import NotCoveredError
from .definitions import Definitions, Indices, parts_of, written_back
from .facts import Facts, all_of, any_of, compared, within
from .nests import Program, Read, Stage, read_program, require_indices


@dataclass(frozen=True)
class Outcome:
    """Whether two functions are proved equal for all sizes; `reason` says why not. `by_solver` is z3's share."""

    is_proved: bool
    reason: str = ""
    by_solver: int = 0
    reduces: bool = False


def prove_sizes(before: tir.FuncOp, after: tir.FuncOp) -> Outcome:
    """Prove that two tensor functions compute the same for all values of their symbolic sizes.

    Both must be structured blocks in loops; their parameters must have equal types.
    """
    try:
        programs = [read_program(f) for f in (before, after)]
        facts = Facts(programs[0].size_conditions)
        for program in programs:
            _Order(program, facts).require()
        sides = [Definitions(p, facts) for p in programs]
        _require_same(sides[0], sides[1], facts)
    except NotCoveredError as error:
        return Outcome(False, error.message)
    return Outcome(True, "", facts.by_solver, any(s.reduces for s in sides))


def _require_same(one: Definitions, other: Definitions, facts: Facts) -> None:
    params = zip(one.program.func.params, other.program.func.params, strict=True)
    outputs = [(a, b) for a, b in params if a in one.program.writers or b in other.program.writers]
    if not outputs:
        raise NotCoveredError("nothing is written")
    for a, b in outputs:
        if a not in one.program.writers or b not in other.program.writers:
            raise NotCoveredError("a buffer is written on one side only")
        at = element_of(a.type)
        if one.element(a, at) != other.element(b, at):
            raise NotCoveredError("the blocks compute other terms, which are compared at sizes only")


def element_of(t: Any) -> Indices:
    """Return variables for the indices of an element."""
    return tuple(Var(f"element {i}", d.dtype) for i, d in enumerate(t.dims))


class _Order:
    """The proof that a function runs each iteration that it must, in a right order."""

    def __init__(self, program: Program, facts: Facts):
        self.program = program
        self.facts = facts
        self.definitions = Definitions(program, facts)

    def require(self) -> None:
        """Raise `NotCoveredError` for what is not proved."""
        for stage in self.program.stages:
            require_indices([*stage.conditions, *stage.bindings.values(), *stage.places])
            here = self.facts.having(stage.conditions)
            _require(here, stage.in_domain(stage.bindings), f'iterators of block "{stage.block.block_name.data}"')
            for read in stage.reads:
                if read.buffer is not stage.buffer:
                    self._require_read(stage, read)
        for buffer, writers in self.program.writers.items():
            first, update = parts_of(writers)
            if update is not None:
                self._require_reduction(first, update)
            if buffer in self.program.func.params:
                self._require_covered(writers[-1], element_of(buffer.type))

    def _require_read(self, stage: Stage, read: Read) -> None:
        require_indices([*read.indices, *read.conditions])
        bound = stage.bindings
        at = tuple(i.substitute(bound) for i in read.indices)
        conditions = [*stage.conditions, *(c.substitute(bound) for c in read.conditions)]
        here = self.facts.having(conditions)
        dims = read.buffer.type.dims  # pyright: ignore[reportAttributeAccessIssue]
        inside = [c for i, d in zip(at, dims, strict=True) for c in within(i, Const(0), d)]
        _require(here, inside, "an index that is read")
        writers = self.program.writers.get(read.buffer)
        if writers is not None:
            producer = parts_of(writers)[1] or writers[0]
            self._require_written(producer, at, conditions, stage)

    def _require_covered(self, stage: Stage, at: Indices) -> None:
        """Prove that each element of an output is written."""
        dims = stage.buffer.type.dims  # pyright: ignore[reportAttributeAccessIssue]
        inside = [c for i, d in zip(at, dims, strict=True) for c in within(i, Const(0), d)]
        self._require_written(stage, at, inside, None)

    def _require_written(
        self, producer: Stage, at: Indices, conditions: Sequence[SymExpr], reader: Stage | None
    ) -> None:
        """Prove that an element has been written before it is read, by an iteration in the same shared loops.

        For a reduction, all its steps: those of its domain.
        """
        shared = 0 if reader is None else producer.common(reader)
        if reader is not None and not producer.path < reader.path:
            raise NotCoveredError("a block reads what a later one writes")
        values = self.definitions.iterators(producer, at)
        facts = self.facts.having(conditions)
        _require(facts, written_back(producer, values, at), "an element that is used")
        steps = {v: Var(f"step {i}", v.dtype) for i, v in enumerate(producer.reduced)}
        self._require_iteration(producer, {**values, **steps}, shared, facts.having(producer.in_domain(steps)))

    def _require_iteration(self, stage: Stage, values: Mapping[Var, SymExpr], shared: int, facts: Facts) -> None:
        """Prove that an iteration of the loops inside the shared ones has these iterators."""
        inner = stage.loops[shared:]
        witness: dict[Var, SymExpr] = {}
        if inner:
            ranges = {loop.var: (loop.first, loop.extent) for loop in inner}
            targets = [values[v] for v in stage.iters]
            witness = _witness([stage.bindings[v] for v in stage.iters], targets, ranges, self._own(stage))
            for loop in inner:
                witness.setdefault(loop.var, loop.first.substitute(witness))
        needed = [c.substitute(witness) for c in (*(c for loop in inner for c in loop.conditions), *self._own(stage))]
        same = [compared("eq", stage.bindings[v].substitute(witness), values[v]) for v in stage.iters]
        _require(facts, [*needed, *same], f'the iteration of block "{stage.block.block_name.data}"')

    def _own(self, stage: Stage) -> list[SymExpr]:
        of_loops = {c for loop in stage.loops for c in loop.conditions}
        return [c for c in stage.conditions if c not in of_loops]

    def _require_reduction(self, first: Stage, update: Stage) -> None:
        renamed, again = _renamed(update, "again")
        both = self.facts.having([*update.conditions, *again])
        there = {v: e.substitute(renamed) for v, e in update.bindings.items()}
        same = [compared("eq", update.bindings[v], there[v]) for v in update.spatial]
        steps = [compared("eq", update.bindings[v], there[v]) for v in update.reduced]
        differ = [compared("ne", loop.var, renamed[loop.var]) for loop in update.loops]
        if not both.excludes([*same, *steps, any_of(differ)]):
            raise NotCoveredError("a step of a reduction may run twice")
        for loop in update.loops:
            if loop.is_at_once and not both.excludes([*same, compared("ne", loop.var, renamed[loop.var])]):
                raise NotCoveredError("iterations of a parallel loop update the same element")
        if first is update:
            least = [compared("eq", update.bindings[v], update.domain[v][0]) for v in update.reduced]
            later = [compared("ne", there[v], update.domain[v][0]) for v in update.reduced]
            if not both.excludes([*same, *least, any_of(later), _earlier(update, renamed)]):
                raise NotCoveredError("the first step of a reduction may not run first")
            return
        self._require_started(first, update)

    def _require_started(self, first: Stage, update: Stage) -> None:
        """Prove that an element is set to its start before it is updated, and not again after that."""
        self._require_written(
            first, tuple(p.substitute(update.bindings) for p in update.places), update.conditions, update
        )
        shared = first.common(update)
        if not shared:
            return
        renamed, again = _renamed(first, "start")
        there = {v: e.substitute(renamed) for v, e in first.bindings.items()}
        places = zip(update.places, first.places, strict=True)
        same = [compared("eq", p.substitute(update.bindings), q.substitute(there)) for p, q in places]
        differ = [compared("ne", loop.var, renamed[loop.var]) for loop in update.loops[:shared]]
        if not self.facts.having([*update.conditions, *again]).excludes([*same, any_of(differ)]):
            raise NotCoveredError("an element may be started again")


def _witness(
    bindings: Sequence[SymExpr],
    targets: Sequence[SymExpr],
    ranges: Mapping[Var, tuple[SymExpr, SymExpr]],
    conditions: Sequence[SymExpr],
) -> dict[Var, SymExpr]:
    """Return loops for iterators: a guess, which is checked. Raises `NotCoveredError` if there is none."""
    mapped = [(b, t) for b, t in zip(bindings, targets, strict=True) if any(v in ranges for v in b.free_vars())]
    for assumed in (conditions, ()):
        try:
            found = detect_iter_map([b for b, _ in mapped], ranges, assumed, IterMapLevel.NO_CHECK)
            return dict(found.inverse([t for _, t in mapped]))
        except NotAffineError:
            continue
    raise NotCoveredError("the iterators of a block are no affine map of its loops")


def _renamed(stage: Stage, word: str) -> tuple[dict[Var, SymExpr], list[SymExpr]]:
    """Return other variables for the loops of a stage, and its conditions on them."""
    names: dict[Var, SymExpr] = {v: Var(f"{word} {i}", v.dtype) for i, v in enumerate(loop.var for loop in stage.loops)}
    return names, [c.substitute(names) for c in stage.conditions]


def _earlier(stage: Stage, renamed: Mapping[Var, SymExpr]) -> SymExpr:
    """Return the condition that the renamed iteration runs before the other one."""
    cases = list[SymExpr]()
    for i, loop in enumerate(stage.loops):
        equal = [compared("eq", renamed[outer.var], outer.var) for outer in stage.loops[:i]]
        cases.append(all_of([*equal, compared("lt", renamed[loop.var], loop.var)]))
    return any_of(cases)


def _require(facts: Facts, goals: Sequence[SymExpr], what: str) -> None:
    for goal in goals:
        if not facts.entails(goal):
            raise NotCoveredError(f"{what}: {goal} is not proved for all sizes")
