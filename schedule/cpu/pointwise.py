"""The rule for stages without reduction: loops in their order, vectors along the iterator that is stored contiguously.

for i: for j: Y[i, j] = f(X[i, j])   ->   for i: for vectorized j: Y[i, j] = f(X[i, j])

Where a row is divided by a value that the function computed for it, as in softmax, it is multiplied by the reciprocal,
of which there is one for each row (`reciprocals`).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.tir import ForKind
from .epilogue import Finish
from .machine import Machine
from .reciprocals import Reciprocals
from .rewrite import Loops, Where
from .stages import Iter, Stage, constant_slope


def plan_pointwise(finish: Finish, machine: Machine) -> Stage | None:
    """The stage where it has no reduction."""
    stage = finish.stage
    return None if stage.reduce or stage.init is not None else stage


def emit_pointwise(loops: Loops, stage: Stage) -> None:
    """The loops of a stage without reduction."""
    lane = next((it for it in reversed(stage.iters) if _fits(stage, it)), None)
    outer = [it for it in stage.iters if it is not lane]
    loops.nest(outer, {}, lambda where: _along(loops, stage, lane, where))


def _fits(stage: Stage, it: Iter) -> bool:
    return it.extent.constant != 1 and constant_slope(stage.store, it) == 1


def _along(loops: Loops, stage: Stage, lane: Iter | None, where: Where) -> None:
    if lane is None:
        _element(loops, stage, where, None)
        return

    def row(factors: Reciprocals | None) -> None:
        def body(v: SSAValue) -> None:
            _element(loops, stage, {**where, lane: v}, factors)

        loops.loop(lane.extent, body, dtype=lane.dtype, kind=ForKind.VECTORIZED, name=name_of(lane.var))

    factors = Reciprocals.of(stage.store.value, lane)
    if factors is None:
        row(None)
    else:
        factors.emit(loops, where, row)


def _element(loops: Loops, stage: Stage, where: Where, factors: Reciprocals | None) -> None:
    cloner = loops.cloner(where)
    if factors is not None:
        factors.put(loops, cloner)
    value = cloner(stage.store.value)
    loops.insert(tir.StoreOp(value, stage.buffer, [cloner(i) for i in stage.store.indices]))
