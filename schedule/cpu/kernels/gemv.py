"""The rule for reductions into one long row: a vector times a large matrix, sums over the leading axis.

    for j: for k: C[j] += A[k] * B[k, j]
        ->
    for k in K / 8: for j in J / 16:
        prefetch B[8 k, 16 j + 512], …, B[8 k + 7, 16 j + 512]
        for c in 16: S[16 j + c] = (S[16 j + c] + A[8 k] * B[8 k, 16 j + c]) + … + A[8 k + 7] * B[8 k + 7, 16 j + c]
    for j: C[j] = epilogue(S[j])

Only the row of sums is reused, so the speed is that of reading B. Eight rows at a time are eight streams through
memory, whereas a tile in registers would jump from page to page. Hardware prefetchers do not follow eight streams
at a time, so each stream prefetches its lines into the second-level cache; in the first level they would evict the
row of sums. Vectors of less than 512 bits read four rows at a time, and prefetch little. Each element is summed in
the original order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of
from ....dialects.sym.expr import SymExpr, Var
from ....dialects.sym.operators import minimum
from ....dialects.tir import BufferType
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..analysis.stages import Iter, constant_slope, element_type
from ..library.epilogue import Epilogue
from ..library.microkernel import SumPlan, pieces, tile_name
from ..library.prefetch import prefetch_load
from ..policy.limits import LINE_BITS, NARROW_STREAMS, WIDE_STREAMS
from .register_tiles import plan_register_tiles


class Streams(NamedTuple):
    """The number of rows read at a time, the prefetch distance, and the minimal length of a row."""

    count: int
    prefetch_bytes: int
    row_bytes: int


@dataclass
class RowStreamPlan(SumPlan):
    """A plan that sums a row along `lane`, from `streams` steps of `inner` at a time.

    Lines are prefetched `prefetch_bytes` ahead of the reads.
    """

    lane: Iter
    inner: Iter
    far: list[tir.LoadOp]
    """The loads of long rows that are read from memory."""
    streams: int = WIDE_STREAMS.count
    prefetch_bytes: int = WIDE_STREAMS.prefetch_bytes


def plan_row_streams(epilogue: Epilogue, machine: Machine) -> RowStreamPlan | None:
    """Return the plan for a reduction, or None if this rule does not fit or `register_tiles` reads full rows as
    well.
    """
    tiles = plan_register_tiles(epilogue, machine)
    if tiles is None:
        return None
    if tiles.row is not None or tiles.panels is not None:
        return reject("the operand is used by several rows, or is packed in panels")
    if epilogue.stage.init is None:
        return reject("it does not say what it begins with")
    inner = [it for it in epilogue.stage.reduce if it.extent.constant != 1][-1:]
    width = tiles.lane.extent.constant
    if width is not None and width <= tiles.width:
        return reject("a tile is as wide as the result")
    streams = WIDE_STREAMS if machine.vector_bits >= 512 else NARROW_STREAMS
    if not inner or (inner[0].extent.constant or streams.count) < streams.count:
        return reject("there are too few rows to read at once")
    loads = [load for load in epilogue.stage.loads if load is not tiles.update.old]
    far = [load for load in loads if _is_far(load, inner[0], streams.row_bytes)]
    if not far:
        return reject("the rows that are read lie close together")
    return RowStreamPlan(epilogue, tiles.update, tiles.lane, inner[0], far, streams.count, streams.prefetch_bytes)


def emit_row_streams(loops: LoopBuilder, plan: RowStreamPlan) -> None:
    """Emit the loops of a plan."""
    outer = [it for it in plan.stage.spatial if it is not plan.lane]
    loops.nest(outer, {}, lambda where: _row(loops, plan, where))


def _row(loops: LoopBuilder, plan: RowStreamPlan, where: Bindings) -> None:
    """Emit one row of results."""
    sums = loops.op(tir.AllocBufferOp(BufferType.of([plan.lane.extent], element_type(plan.stage.buffer))))
    init, lane, inner = plan.stage.init, plan.lane, plan.inner
    assert init is not None

    def along(body: Callable[[SSAValue], object]) -> None:
        loops.vectors(lane, lane.extent, body, name_of(lane.var))

    def begin(j: SSAValue) -> None:
        loops.store(loops.cloner({**where, lane: j})(init.value), sums, [j])

    def steps(ks: Bindings) -> None:
        def some(first: SymExpr, count: int) -> None:
            places = [loops.value(first + step, inner.dtype) for step in range(count)]
            _lines(loops, plan, {**where, **ks}, sums, places)

        def one(v: SSAValue) -> None:
            place = loops.value(done + Var(v, inner.dtype), inner.dtype)
            along(lambda j: _add(loops, plan, {**where, **ks, lane: j}, sums, [place]))

        done = pieces(loops, inner, [(plan.streams, None)], some, tile_name(inner, "k"))
        loops.loop(inner.extent - done, one, dtype=inner.dtype, name=name_of(inner.var))

    along(begin)
    loops.nest([it for it in plan.stage.reduce if it is not inner], {}, steps)
    along(lambda j: plan.epilogue.store(loops, {**where, lane: j}, loops.load(sums, [j])))


def _lines(loops: LoopBuilder, plan: RowStreamPlan, where: Bindings, sums: SSAValue, places: list[SSAValue]) -> None:
    """Emit all elements for the steps of `inner` at `places`, one cache line at a time, then the remainder."""
    lane = plan.lane
    width = LINE_BITS // max(bit_width(element_type(load.buffer)) for load in plan.far)

    def part(begin: SymExpr, size: SymExpr | int) -> None:
        first = loops.value(begin, lane.dtype)
        loops.vectors(lane, size, lambda c: _add(loops, plan, {**where, lane: loops.sum(first, c)}, sums, places))

    def line(begin: SymExpr, size: int) -> None:
        following = minimum(begin + 8 * plan.prefetch_bytes * width // LINE_BITS, lane.extent - 1)
        for place in places:
            _prefetch(loops, plan, {**where, plan.inner: place, lane: loops.value(following, lane.dtype)})
        part(begin, size)

    done = pieces(loops, lane, [(width, None)], line, tile_name(lane, "j", "line"))
    part(done, lane.extent - done)


def _prefetch(loops: LoopBuilder, plan: RowStreamPlan, where: Bindings) -> None:
    """Prefetch the lines of the operands at `where` that are function arguments."""
    for load in plan.far:
        if not isinstance(load.buffer.owner, tir.AllocBufferOp):
            prefetch_load(loops, load, loops.cloner(where))


def _add(loops: LoopBuilder, plan: RowStreamPlan, where: Bindings, sums: SSAValue, places: list[SSAValue]) -> None:
    """Emit one element for the steps of `inner` at `places`."""
    j = where[plan.lane]
    total = loops.load(sums, [j])
    for place in places:
        cloner = loops.cloner({**where, plan.inner: place})
        cloner.replace(plan.update.old.result, total)
        total = cloner(plan.update.combiner.result)
    loops.store(total, sums, [j])


def _is_far(load: tir.LoadOp, it: Iter, least: int) -> bool:
    """Return whether the step of an iterator is at least `least` bytes."""
    step = constant_slope(load, it)
    return step is not None and abs(step) * bit_width(element_type(load.buffer)) >= 8 * least
