"""The rule for reductions into one long row: a vector times a large matrix, sums over the leading axis.

    for j: for k: C[j] += A[k] * B[k, j]
        ->
    for k in K / 8: for j: S[j] = (S[j] + A[8 k] * B[8 k, j]) + … + A[8 k + 7] * B[8 k + 7, j]
    for j: C[j] = finish(S[j])

Nothing is used twice but the row of sums, so that the speed is that of reading B: eight rows side by side are eight
streams through memory, where a tile of `tiles` would jump from page to page. Each element is summed in its own order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, Var, add, floordiv, mul
from ...dialects.tir import BufferType, ForKind
from .epilogue import Finish
from .rewrite import Loops, Where
from .stages import Iter, Stage, Update, constant_slope
from .tiles import Machine, plan_tiles

_STREAMS = 8
_PAGE_BYTES = 1 << 12


@dataclass
class StreamPlan:
    """Sums of a row of `lane`, `_STREAMS` steps of `inner` at a time."""

    update: Update
    finish: Finish
    lane: Iter
    inner: Iter

    @property
    def stage(self) -> Stage:
        return self.finish.stage


def plan_streams(finish: Finish, machine: Machine) -> StreamPlan | None:
    """The plan for a reduction, None where this rule does not fit or `tiles` reads whole rows as well."""
    tiles = plan_tiles(finish, machine)
    if tiles is None or tiles.row is not None or tiles.panels is not None or finish.stage.init is None:
        return None
    inner = [it for it in finish.stage.reduce if it.extent.constant != 1][-1:]
    width = tiles.lane.extent.constant
    if not inner or (width is not None and width <= tiles.width) or (inner[0].extent.constant or _STREAMS) < _STREAMS:
        return None
    loads = [load for load in finish.stage.loads if load is not tiles.update.old]
    if not any(_is_far(load, inner[0]) for load in loads):
        return None
    return StreamPlan(tiles.update, finish, tiles.lane, inner[0])


def emit_streams(loops: Loops, plan: StreamPlan) -> None:
    """The loops of a plan."""
    outer = [it for it in plan.stage.spatial if it is not plan.lane]
    loops.nest(outer, {}, lambda where: _row(loops, plan, where))


def _row(loops: Loops, plan: StreamPlan, where: Where) -> None:
    """One row of results."""
    dtype = cast(BufferType, plan.stage.buffer.type).dtype
    sums = loops.op(tir.AllocBufferOp(BufferType.of([plan.lane.extent], dtype)))
    init, lane, inner = plan.stage.init, plan.lane, plan.inner
    assert init is not None

    def along(body: Callable[[SSAValue], object]) -> None:
        loops.loop(lane.extent, body, dtype=lane.dtype, kind=ForKind.VECTORIZED, name=name_of(lane.var))

    def begin(j: SSAValue) -> None:
        loops.insert(tir.StoreOp(loops.cloner({**where, lane: j})(init.value), sums, [j]))

    def steps(ks: Where) -> None:
        count = floordiv(inner.extent, Const(_STREAMS, inner.dtype))
        done = mul(count, Const(_STREAMS, inner.dtype))

        def some(v: SSAValue) -> None:
            first = mul(Var(v, inner.dtype), Const(_STREAMS, inner.dtype))
            places = [loops.value(add(first, step), inner.dtype) for step in range(_STREAMS)]
            along(lambda j: _add(loops, plan, {**where, **ks, lane: j}, sums, places))

        def one(v: SSAValue) -> None:
            place = loops.value(add(done, Var(v, inner.dtype)), inner.dtype)
            along(lambda j: _add(loops, plan, {**where, **ks, lane: j}, sums, [place]))

        loops.loop(count, some, dtype=inner.dtype, name=f"{name_of(inner.var) or 'k'}_tile")
        loops.loop(inner.extent - done, one, dtype=inner.dtype, name=name_of(inner.var))

    along(begin)
    loops.nest([it for it in plan.stage.reduce if it is not inner], {}, steps)
    along(lambda j: plan.finish.store(loops, {**where, lane: j}, loops.op(tir.LoadOp(sums, [j]))))


def _add(loops: Loops, plan: StreamPlan, where: Where, sums: SSAValue, places: list[SSAValue]) -> None:
    """One element for the steps of `inner` at `places`."""
    j = where[plan.lane]
    total = loops.op(tir.LoadOp(sums, [j]))
    for place in places:
        cloner = loops.cloner({**where, plan.inner: place})
        cloner.replace(plan.update.old.result, total)
        total = cloner(plan.update.combiner.result)
    loops.insert(tir.StoreOp(total, sums, [j]))


def _is_far(load: tir.LoadOp, it: Iter) -> bool:
    """Whether a step of an iterator is one of a page of memory or more."""
    step = constant_slope(load, it)
    return step is not None and abs(step) * bit_width(cast(BufferType, load.buffer.type).dtype) >= 8 * _PAGE_BYTES
