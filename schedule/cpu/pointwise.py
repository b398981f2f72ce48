"""The rule for stages without reduction: loops in their order, vectors along the iterator that is stored contiguously.

Where every access runs through two iterators as through one (`X[i, j]` of a buffer [n, 10]), they become one, so that
short rows fill vectors.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var, floordiv, floormod, mul
from ...dialects.tir import ForKind
from .rewrite import Loops
from .stages import Iter, Stage, constant_slope

Where = dict[Iter, SSAValue]
_ACCESSES = (tir.LoadOp, tir.StoreOp, tir.ReadsOp, tir.WritesOp)


def emit_pointwise(loops: Loops, stage: Stage) -> None:
    """The loops of a stage without reduction."""
    lane = next((it for it in reversed(stage.iters) if _fits(stage, it)), None)
    outer = [it for it in stage.iters if it is not lane]
    _nest(loops, stage, outer, lane, {})


def _fits(stage: Stage, it: Iter) -> bool:
    return it.extent.constant != 1 and constant_slope(stage.store, it) == 1


def _nest(loops: Loops, stage: Stage, outer: list[Iter], lane: Iter | None, where: Where) -> None:
    """Loops over `outer`, then vectors along `lane`."""
    if outer and not (lane is not None and len(outer) == 1 and _as_one(stage, outer[0], lane)):
        first, *rest = outer
        _loop(loops, first, lambda v: _nest(loops, stage, rest, lane, {**where, first: v}), ForKind.SERIAL)
    elif lane is None:
        _element(loops, stage, where)
    elif outer:
        _both(loops, stage, outer[0], lane, where)
    else:
        _loop(loops, lane, lambda v: _element(loops, stage, {**where, lane: v}), ForKind.VECTORIZED)


def _loop(
    loops: Loops, it: Iter, body: Callable[[SSAValue], None], kind: ForKind, extent: SymExpr | None = None
) -> None:
    loops.loop(it.extent if extent is None else extent, body, dtype=it.dtype, kind=kind, name=name_of(it.var))


def _as_one(stage: Stage, outer: Iter, lane: Iter) -> bool:
    """Whether both are only indices, and a step of `outer` is `lane.extent` steps of `lane` in every access."""
    width = lane.extent.constant
    if width is None or outer.dtype != lane.dtype:
        return False
    if any(not isinstance(use.operation, _ACCESSES) for it in (outer, lane) for use in it.var.uses):
        return False
    slopes = [(constant_slope(op, outer), constant_slope(op, lane)) for op in (*stage.loads, stage.store)]
    return all(a is not None and b is not None and a == b * width for a, b in slopes)


def _both(loops: Loops, stage: Stage, outer: Iter, lane: Iter, where: Where) -> None:
    """One loop `t` for two iterators: `outer` is t // width, `lane` t % width."""
    width = Const(lane.extent.constant or 1, lane.dtype)

    def body(v: SSAValue) -> None:
        t = Var(v, lane.dtype)
        here = {outer: loops.value(floordiv(t, width), lane.dtype), lane: loops.value(floormod(t, width), lane.dtype)}
        _element(loops, stage, {**where, **here})

    _loop(loops, lane, body, ForKind.VECTORIZED, mul(outer.extent, lane.extent))


def _element(loops: Loops, stage: Stage, where: Where) -> None:
    cloner = loops.cloner()
    for it, value in where.items():
        cloner.replace(it.var, value)
    value = cloner(stage.store.value)
    loops.insert(tir.StoreOp(value, stage.buffer, [cloner(i) for i in stage.store.indices]))
