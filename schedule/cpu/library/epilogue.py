"""Epilogues: the elementwise stage that follows a reduction, computed on each element before it is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.sym.expr import SymExpr, Var
from ....ir.affine.values import sym_expr_of
from ...accesses import is_intermediate, loads_of
from ...checks import step_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ..analysis.stages import Iter, Stage, constant_slope, loads_below
from .inline import unchanged_after, written_elsewhere


@dataclass
class Epilogue:
    """The epilogue of a reduction: `stage` stores its elements, or `consumer` does, which loads them by `loads`.

    `iters` maps the iterators of the reduction's elements to those of the epilogue.
    """

    stage: Stage
    consumer: Stage | None = None
    iters: tuple[tuple[Iter, Iter], ...] = ()

    @property
    def last(self) -> Stage:
        """The stage that contains the store."""
        return self.consumer or self.stage

    def iter_of(self, it: Iter) -> Iter:
        """Return the iterator of the storing stage that corresponds to one of the reduction."""
        if it.parts:
            return replace(it, var=self.iter_of(it.parts[-1]).var, parts=tuple(self.iter_of(p) for p in it.parts))
        return next((e for r, e in self.iters if r is it), it)

    def _single_values(self) -> list[Iter]:
        """Return the epilogue's iterators that have a single value and no counterpart in the reduction."""
        known = {e for _, e in self.iters}
        return [] if self.consumer is None else [it for it in self.consumer.iters if it not in known]

    def cloner(self, loops: LoopBuilder, where: Bindings) -> Cloner:
        """Return a cloner of the storing stage's expressions at `where`, a value for each spatial iterator of the
        reduction.
        """
        cloner = loops.cloner({self.iter_of(it): at for it, at in where.items()})
        for it in self._single_values():
            cloner.replace(it.var, cloner.constant(0, it.dtype))
        return cloner

    def store(self, loops: LoopBuilder, where: Bindings, value: SSAValue, guard: Guard | None = None) -> None:
        """Store the element at `where` (a value for each spatial iterator of the reduction), computed from `value`."""
        cloner, last = self.cloner(loops, where), self.last
        if self.consumer is not None:
            for load in loads_of(self.stage.buffer):
                if load in last.loads:
                    cloner.replace(load.result, value)
            if guard is not None:
                hoist_uniform(cloner, last.store.value, self.iter_of(guard.lane), self.stage.buffer)

        under(loops, guard, lambda: cloner.store(last.store, value if self.consumer is None else None))


@dataclass
class Guard:
    """The condition under which a lane of the iterator `lane` is active."""

    lane: Iter
    cond: SSAValue


def under(loops: LoopBuilder, guard: Guard | None, body: Callable[[], object]) -> None:
    """Emit `body` for the active lanes."""
    if guard is None:
        body()
    else:
        loops.branch(guard.cond, body)


def hoist_uniform(cloner: Cloner, value: SSAValue, lane: Iter, but: SSAValue | None = None) -> None:
    """Copy the loads below `value` that do not vary with `lane`, so that they run unconditionally."""
    for load in loads_below(value):
        if load.buffer is not but and constant_slope(load, lane) == 0:
            cloner(load.result)


def find_epilogue(stage: Stage, later: list[Stage]) -> Epilogue:
    """Return the epilogue of a reduction, if one stage reads all of its elements, each once and at its own position."""
    plain = Epilogue(stage)
    readers = [s for s in later if stage.buffer in s.inputs()]
    if len(readers) != 1 or not is_intermediate(stage.buffer) or written_elsewhere(stage):
        return plain
    reader = readers[0]
    between = later[: later.index(reader) + 1]
    if reader.reduce or reader.init is not None or not unchanged_after(stage, between):
        return plain
    loads = [load for load in reader.loads if load.buffer is stage.buffer]
    if len(loads) != len([load for load in loads_of(stage.buffer) if load not in stage.loads]):
        return plain
    pairs = _pairs(stage, loads, reader)
    return plain if pairs is None else Epilogue(stage, reader, pairs)


def _pairs(stage: Stage, loads: list[tir.LoadOp], reader: Stage) -> tuple[tuple[Iter, Iter], ...] | None:
    """Return (iterator, reader's iterator) pairs if every load is at the reader's own position; None otherwise."""
    places = {tuple(sym_expr_of(i) for i in load.indices) for load in loads}
    if len(places) != 1:
        return None
    mine, theirs = ({it.expr: it for it in s} for s in (stage.spatial, reader.iters))
    pairs: list[tuple[Iter, Iter]] = []
    for stored, read in zip(map(sym_expr_of, stage.store.indices), next(iter(places)), strict=True):
        single = stored.constant == 0 and isinstance(read, Var) and read in theirs and theirs[read].extent.constant == 1
        matched = [] if single else _same_form(stored, read)
        if matched is None or not all(a in mine and b in theirs for a, b in matched):
            return None
        pairs += [(mine[a], theirs[b]) for a, b in matched]
    ends = [{pair[k].expr for pair in pairs} for k in (0, 1)]
    if any(len(end) < len(pairs) for end in ends) or any(a.extent != b.extent or a.dtype != b.dtype for a, b in pairs):
        return None
    left = [it for all_, end in ((mine, ends[0]), (theirs, ends[1])) for v, it in all_.items() if v not in end]
    return None if any(it.extent.constant != 1 for it in left) else tuple(pairs)


def _same_form(stored: SymExpr, read: SymExpr) -> list[tuple[Var, Var]] | None:
    """Return the iterators of an index and those in their places in another one; None if it has another form.

    i, j  ->  [(i, j)];   i * 16 + k, j * 16 + l  ->  [(i, j), (k, l)]
    """
    steps = [{step_of(e, v): v for v in e.free_vars() if v.value is not None} for e in (stored, read)]
    if None in steps[0] or steps[0].keys() != steps[1].keys():
        return None
    pairs = [(v, steps[1][step]) for step, v in steps[0].items()]
    return pairs if stored.substitute(dict(pairs)) == read else None
