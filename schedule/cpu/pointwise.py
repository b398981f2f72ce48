"""The rule for stages without reduction: loops in their order, with vectors along the iterator that is stored
contiguously."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.tir import ForKind
from .rewrite import Loops
from .stages import Iter, Stage, constant_slope


def emit_pointwise(loops: Loops, stage: Stage) -> None:
    """The loops of a stage without reduction."""
    lane = next((it for it in reversed(stage.iters) if _fits(stage, it)), None)
    outer = [it for it in stage.iters if it is not lane]
    _nest(loops, stage, outer, lane, {})


def _fits(stage: Stage, it: Iter) -> bool:
    return it.extent.constant != 1 and constant_slope(stage.store, it) == 1


def _nest(loops: Loops, stage: Stage, outer: list[Iter], lane: Iter | None, where: dict[Iter, SSAValue]) -> None:
    if not outer and lane is None:
        _element(loops, stage, where)
        return
    it = outer[0] if outer else lane
    assert it is not None
    rest, inner = (outer[1:], lane) if outer else ([], None)
    loops.loop(
        it.extent,
        lambda v: _nest(loops, stage, rest, inner, {**where, it: v}),
        dtype=it.dtype,
        kind=ForKind.SERIAL if outer else ForKind.VECTORIZED,
        name=name_of(it.var),
    )


def _element(loops: Loops, stage: Stage, where: dict[Iter, SSAValue]) -> None:
    cloner = loops.cloner()
    for it, value in where.items():
        cloner.replace(it.var, value)
    value = cloner(stage.store.value)
    loops.insert(tir.StoreOp(value, stage.buffer, [cloner(i) for i in stage.store.indices]))
