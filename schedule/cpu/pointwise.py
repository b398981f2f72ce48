"""The rule for stages without reduction: loops in their order, vectors along the iterator that is stored contiguously.

for i: for j: Y[i, j] = f(X[i, j])   ->   for i: for vectorized j: Y[i, j] = f(X[i, j])
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.tir import ForKind
from .epilogue import Finish
from .rewrite import Loops, Where
from .stages import Iter, Stage, constant_slope
from .tiles import Machine


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
        _element(loops, stage, where)
        return

    def body(v: SSAValue) -> None:
        _element(loops, stage, {**where, lane: v})

    loops.loop(lane.extent, body, dtype=lane.dtype, kind=ForKind.VECTORIZED, name=name_of(lane.var))


def _element(loops: Loops, stage: Stage, where: Where) -> None:
    cloner = loops.cloner(where)
    value = cloner(stage.store.value)
    loops.insert(tir.StoreOp(value, stage.buffer, [cloner(i) for i in stage.store.indices]))
