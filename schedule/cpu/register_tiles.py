"""The rule for reductions into rows of neighbouring elements: matrix products, convolutions, sums over leading axes.

A tile of `rows` x `width` elements is accumulated in registers while the reduction runs, then finished and stored;
each element is summed in its own order, as the tir says. Vectors run along an iterator in which the result and the
operands are contiguous; rows run along another one, in which one of the vectors is reused:

    for j in N / width: for i in M / rows:
        acc[rows, width] = init
        for k: acc[r, c] = acc[r, c] + A[i * rows + r, k] * B[k, j * width + c]
        C[i * rows + r, j * width + c] = epilogue(acc[r, c])

What is left of M and N is done by smaller tiles. Where B stands in panels (`packed`) and is small, the loop over i is
the outer one: rows of A and C are gone through once; where B is large, the loop over j is outside of all others, and
while the tiles read one panel they ask for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.ir import Block, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var, add, floordiv, mul, product
from ...dialects.tir import BufferType, ForKind
from ...ir.affine.values import sym_expr_of
from ..loop_builder import Bindings, LoopBuilder
from .epilogue import Epilogue, Guard, hoist_uniform
from .machine import Machine
from .packed import Panels, panels_of
from .plan import Plan
from .prefetch import LINE_BITS, ask_for
from .stages import Iter, Stage, Update, constant_slope, update_of
from .unswitch_padding import Interior, interior_of, range_of

_WIDEST_GEMV = 8
_MOST_ROWS = 16
_FEWEST_SUMS = 12
"""So many vectors have to be summed side by side that no multiplication waits for another one."""


@dataclass
class RegisterTilePlan(Plan):
    """Along which iterators the tile lies, and its size: `rows` elements by `vectors` vectors of `lanes`.

    `order` is that of the loops over tiles, outermost first; those over all other iterators are outermost where it
    does not say otherwise. `far` is what is asked for when a tile begins, to be there when it is finished.
    """

    update: Update
    epilogue: Epilogue
    lane: Iter
    row: Iter | None
    lanes: int
    vectors: int
    rows: int
    panels: Panels | None = None
    order: str = "columns, rows"
    interior: Interior | None = None
    far: tuple[tir.LoadOp | tir.StoreOp, ...] = ()

    @property
    def stage(self) -> Stage:
        return self.epilogue.stage

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def problem(self) -> str | None:
        """What numbers the plan has to have, None where it can have these."""
        if self.panels is not None and self.panels.width != self.width:
            return f"vectors = {self.panels.width // self.lanes}, as wide as the panels are"
        return None if self.order in _ORDERS else " or ".join(f'order = "{order}"' for order in _ORDERS)


def element_bits(stage: Stage) -> int:
    """The widest element that the vectors of a stage hold, in memory."""
    buffers = {load.buffer for load in stage.loads} | {stage.buffer}
    return max(max(8, bit_width(cast(BufferType, b.type).dtype)) for b in buffers)


NEIGHBOURS = frozenset[int | None]((0, 1))
STEPS = frozenset[int | None]((0, 1, 2, 3, 4))
"""Places of which vectors are picked out of what lies between."""


def plan_register_tiles(
    epilogue: Epilogue, machine: Machine, allowed: frozenset[int | None] | None = NEIGHBOURS
) -> RegisterTilePlan | None:
    """The plan for a reduction, None where this rule does not fit.

    `allowed` are the steps in memory that operands may take along the lanes; None is any, also such that change.
    """
    stage = epilogue.stage
    update = update_of(stage)
    if update is None or not stage.reduce:
        return None
    lanes = max(1, machine.vector_bits // element_bits(stage))
    lane = _lane_iter(stage, epilogue, allowed, lanes)
    if lane is None:
        return None
    row = _row_iter(stage, update, lane)
    panels = panels_of(stage, lane, lanes)
    vectors, rows = tile_size(machine, lane.extent.constant if panels is None else panels.width, lanes, row)
    if panels is not None and vectors * lanes != panels.width:
        if allowed is not None:
            return None
        panels = None
    order, interior = _order(machine, stage, lane, row, panels), interior_of(stage, update.term)
    far = () if panels is None or row is None else tuple(_far_results(machine, epilogue, lane))
    return RegisterTilePlan(update, epilogue, lane, row, lanes, vectors, rows, panels, order, interior, far)


def _far_results(machine: Machine, epilogue: Epilogue, lane: Iter) -> Iterator[tir.LoadOp | tir.StoreOp]:
    """Where results are stored, and what is read for each of them, in buffers that do not fit the cache."""
    last, mine = epilogue.last, epilogue.iter_of(lane)
    others = [] if epilogue.consumer is None else [op for op in last.loads if op.buffer is not epilogue.stage.buffer]
    for access in (last.store, *others):
        size = _byte_count(access.buffer)
        if constant_slope(access, mine) == 1 and (size is None or 2 * size > machine.caches.l2):
            yield access


def _lane_iter(stage: Stage, epilogue: Epilogue, allowed: frozenset[int | None] | None, lanes: int) -> Iter | None:
    """The innermost iterator in which the result is contiguous, and every operand takes a step that is allowed."""
    for it in reversed(stage.spatial):
        mine = epilogue.iter_of(it)
        if it.extent.constant == 1 or constant_slope(epilogue.last.store, mine) != 1:
            continue
        operands = [s for load in stage.loads if load.buffer is not stage.buffer for s in [constant_slope(load, it)]]
        fits = allowed is None or all(s in allowed for s in operands) or panels_of(stage, it, lanes) is not None
        if fits and any(s != 0 for s in operands):
            return it
    return None


def _row_iter(stage: Stage, update: Update, lane: Iter) -> Iter | None:
    """The innermost other iterator in which an operand that lies along the lanes does not move."""
    vectors = [op for op in stage.loads if op is not update.old and constant_slope(op, lane) != 0]
    for it in reversed(stage.spatial):
        if it is not lane and it.extent.constant != 1 and any(constant_slope(op, it) == 0 for op in vectors):
            return it
    return None


def tile_size(machine: Machine, extent: int | None, lanes: int, row: Iter | None) -> tuple[int, int]:
    """(vectors, rows) so that rows * vectors accumulators, a row of vectors and one operand fit the registers."""
    needed = 4 if extent is None else max(1, -(-extent // lanes))
    if row is None:
        return min(needed, _WIDEST_GEMV), 1
    widest = 4 if machine.registers >= 32 else 2
    vectors = needed if needed <= widest else next((v for v in range(widest, 1, -1) if needed % v == 0), widest)
    return vectors, tile_rows(machine, vectors, row)


def tile_rows(machine: Machine, vectors: int, row: Iter) -> int:
    """How many rows of so many vectors fit the registers."""
    rows = min(_MOST_ROWS, (machine.registers - 1 - vectors) // vectors)
    return max(1, min(rows, row.extent.constant or rows))


def emit_register_tiles(loops: LoopBuilder, plan: RegisterTilePlan) -> None:
    """The loops of a plan."""
    outer = [it for it in plan.stage.spatial if it is not plan.lane and it is not plan.row]
    _ORDERS[plan.order](loops, plan, outer)


def _columns_rows(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    loops.nest(outer, {}, lambda where: _columns(loops, plan, lambda strip: strip.rows(where)))


def _columns_others_rows(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    _columns(loops, plan, lambda strip: loops.nest(outer, {}, strip.rows))


def _rows_columns(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    def tiles(where: Bindings) -> None:
        def tile(rows: int, first: SSAValue | None) -> None:
            _columns(loops, plan, lambda strip: strip.tile(where, rows, first))

        _rows(loops, plan, tile)

    loops.nest(outer, {}, tiles)


_PANEL_BY_PANEL = "columns, others, rows"
_ORDERS: dict[str, Callable[[LoopBuilder, RegisterTilePlan, list[Iter]], None]] = {
    "columns, rows": _columns_rows,
    _PANEL_BY_PANEL: _columns_others_rows,
    "rows, columns": _rows_columns,
}


def _order(machine: Machine, stage: Stage, lane: Iter, row: Iter | None, panels: Panels | None) -> str:
    """What lies along the lanes is read once where it does not fit the cache; else panels pass by each tile of rows."""
    loads = [load for load in stage.loads if load.buffer is not stage.buffer and constant_slope(load, lane) != 0]
    if panels is None and (row is None or len(loads) != 1 or _moves(stage, loads[0], lane, row)):
        return "columns, rows"
    size = _byte_count(loads[0].buffer)
    if size is None or 2 * size > machine.caches.l2:
        return _PANEL_BY_PANEL
    return "columns, rows" if panels is None else "rows, columns"


def _moves(stage: Stage, load: tir.LoadOp, lane: Iter, row: Iter) -> bool:
    """Whether an operand moves with an iterator that is neither along the tile nor summed over."""
    others = [it for it in stage.spatial if it is not lane and it is not row and it.extent.constant != 1]
    return any(constant_slope(load, it) != 0 for it in others)


def _byte_count(buffer: SSAValue) -> int | None:
    """The size of a buffer, where it is known."""
    t = cast(BufferType, buffer.type)
    elements = product(t.dims).constant
    return None if elements is None else elements * max(8, bit_width(t.dtype)) // 8


def _rows(loops: LoopBuilder, plan: RegisterTilePlan, tile: Callable[[int, SSAValue | None], object]) -> None:
    """Tiles of all rows: `tile` is given the rows of each, and its first row."""
    if plan.row is None:
        tile(1, None)
    else:
        row_tiles(loops, plan.row, plan.rows, plan.vectors, tile)


def _columns(loops: LoopBuilder, plan: RegisterTilePlan, body: Callable[[_Strip], object]) -> None:
    """Full tiles, then what is left of the lanes: one narrower tile, or vectors with a mask where that is not known."""
    lane, width = plan.lane, plan.width
    full = floordiv(lane.extent, Const(width, lane.dtype))

    def strips(count: SymExpr, start: SymExpr, width: int, masked: bool = False) -> None:
        def strip(v: SSAValue) -> None:
            first = add(start, mul(Var(v, lane.dtype), Const(width, lane.dtype)))
            body(_Strip(loops, plan, loops.value(first, lane.dtype), width, masked))

        loops.loop(count, strip, dtype=lane.dtype, name=f"{name_of(lane.var) or 'j'}_tile")

    strips(full, Const(0, lane.dtype), width)
    done = mul(full, Const(width, lane.dtype))
    rest = lane.extent - done
    if rest.constant is None:
        count = floordiv(add(rest, plan.lanes - 1), Const(plan.lanes, lane.dtype))
        strips(count, done, plan.lanes, masked=True)
    elif rest.constant:
        strips(Const(1, lane.dtype), done, rest.constant)


def _turn(outer: Bindings, first_row: SSAValue, rows: int) -> SymExpr:
    """A number that is another one for the tile that comes next, or for those of the next iteration around them."""
    several = [sym_expr_of(value) for it, value in outer.items() if it.extent.constant not in (1, 2, 3)]
    return several[-1] if several else floordiv(sym_expr_of(first_row), rows)


@dataclass
class _Strip:
    """A strip of columns: from `first`, `width` wide; `masked` where it may reach over the end."""

    loops: LoopBuilder
    plan: RegisterTilePlan
    first: SSAValue
    width: int
    masked: bool

    def rows(self, where: Bindings) -> None:
        """Tiles of all rows."""
        _rows(self.loops, self.plan, lambda rows, first: self.tile(where, rows, first))

    def tile(self, outer: Bindings, rows: int, first_row: SSAValue | None) -> None:
        """One tile; where it may be in the middle of an image, or at its border, one for each."""
        inside = self._inside(outer, rows, first_row)
        if inside is None:
            self._tile(outer, rows, first_row, None)
            return
        border = Block()
        with self.loops.inside(border):
            self._tile(outer, rows, first_row, None)
        self.loops.branch(inside, lambda: self._tile(outer, rows, first_row, self.plan.interior), border)

    def _inside(self, outer: Bindings, rows: int, first_row: SSAValue | None) -> SSAValue | None:
        """Whether nothing that a tile reads is padding; None where that is not asked for, or cannot be known."""
        plan = self.plan
        if plan.interior is None or self.masked:
            return None
        ranges = {it: range_of(value) for it, value in outer.items()}
        ranges |= {it: (Const(0, it.dtype), it.extent - 1) for it in plan.stage.reduce}
        ranges[plan.lane] = range_of(self.first, self.width)
        if plan.row is not None and first_row is not None:
            ranges[plan.row] = range_of(first_row, rows)
        return plan.interior.holds(self.loops, ranges)

    def _tile(self, outer: Bindings, rows: int, first_row: SSAValue | None, interior: Interior | None) -> None:
        """Accumulate and epilogue one tile."""
        loops, plan = self.loops, self.plan
        padded = -(-self.width // plan.lanes) * plan.lanes
        dtype = cast(BufferType, plan.stage.buffer.type).dtype
        acc = loops.op(tir.AllocBufferOp(BufferType.of([rows, padded], dtype, scope="local"), padded=True))
        if first_row is not None and not self.masked:
            self._ask_for_results(outer, rows, first_row)
        elements = partial(self._elements, outer, rows, first_row)
        elements(lambda where, at: self._start(where, at, acc))

        def step(ks: Bindings) -> None:
            if plan.panels is not None and plan.order == _PANEL_BY_PANEL and first_row is not None:
                plan.panels.ask_for_next(loops, {**outer, **ks}, self.first, _turn(outer, first_row, rows))
            elements(lambda where, at: self._step({**where, **ks}, at, acc, interior))

        loops.nest(plan.stage.reduce, {}, step)
        elements(lambda where, at: self._end(where, at, acc))

    def _ask_for_results(self, outer: Bindings, rows: int, first_row: SSAValue) -> None:
        """Ask for the lines that the elements of a tile are stored to, and for those that are read when they are."""
        loops, plan = self.loops, self.plan
        row, lane = cast(Iter, plan.row), plan.lane

        def line(access: tir.LoadOp | tir.StoreOp, size: int, r: SSAValue, at: SSAValue) -> None:
            column = loops.value(add(sym_expr_of(self.first), mul(Var(at, lane.dtype), size)), lane.dtype)
            cloner = plan.epilogue.cloner(loops, {**outer, row: loops.sum(first_row, r), lane: column})
            indices = [cloner(index) for index in access.indices]
            ask_for(loops.insert, access.buffer, indices, write=isinstance(access, tir.StoreOp))

        for access in plan.far:
            size = max(1, LINE_BITS // bit_width(cast(BufferType, access.buffer.type).dtype))
            count = -(-self.width // size)

            def lines(
                r: SSAValue, access: tir.LoadOp | tir.StoreOp = access, size: int = size, count: int = count
            ) -> None:
                loops.loop(count, lambda at: line(access, size, r, at), dtype=lane.dtype)

            loops.loop(rows, lines, dtype=row.dtype)

    def _elements(
        self,
        outer: Bindings,
        rows: int,
        first_row: SSAValue | None,
        body: Callable[[Bindings, tuple[SSAValue, SSAValue]], None],
    ) -> None:
        """Unrolled rows of vectors: `body` is given where the element is in the result, and in the accumulators."""
        loops, lane = self.loops, self.plan.lane
        row_type = self.plan.row.dtype if self.plan.row is not None else lane.dtype

        def columns(r: SSAValue) -> None:
            def element(c: SSAValue) -> None:
                where = {**outer, lane: loops.sum(self.first, c)}
                if self.plan.row is not None and first_row is not None:
                    where[self.plan.row] = loops.sum(first_row, r)
                body(where, (r, c))

            loops.loop(self.width, element, dtype=lane.dtype, kind=ForKind.VECTORIZED)

        loops.loop(rows, columns, dtype=row_type, kind=ForKind.UNROLLED)

    def _guard(self, where: Bindings) -> Guard | None:
        if not self.masked:
            return None
        lane = self.plan.lane
        end = self.loops.value(lane.extent, lane.dtype)
        return Guard(lane, self.loops.op(tir.LtOp(where[lane], end)))

    def _start(self, where: Bindings, at: tuple[SSAValue, SSAValue], acc: SSAValue) -> None:
        """The accumulators begin with the init value, or with what is in the result where there is none."""
        init = self.plan.stage.init
        cloner = self.loops.cloner(where)
        value = self.plan.update.old.result if init is None else init.value
        guard = self._guard(where) if init is None else None
        if guard is None:
            self.loops.insert(tir.StoreOp(cloner(value), acc, at))
        else:
            self.loops.branch(guard.cond, lambda: self.loops.insert(tir.StoreOp(cloner(value), acc, at)))

    def _step(self, where: Bindings, at: tuple[SSAValue, SSAValue], acc: SSAValue, interior: Interior | None) -> None:
        update, loops = self.plan.update, self.loops
        cloner = loops.cloner(where)
        old = tir.LoadOp(acc, at)
        cloner.replace(update.old.result, old.result)
        if self.plan.panels is not None:
            self.plan.panels.put(loops, cloner, self.first, at[1])
        if interior is not None:
            interior.take(cloner)
        guard = self._guard(where)
        if guard is not None:
            hoist_uniform(cloner, update.term, self.plan.lane)

        def build() -> None:
            loops.insert(old)
            loops.insert(tir.StoreOp(cloner(update.combiner.result), acc, at))

        if guard is None:
            build()
        else:
            loops.branch(guard.cond, build)

    def _end(self, where: Bindings, at: tuple[SSAValue, SSAValue], acc: SSAValue) -> None:
        guard = self._guard(where)
        value = self.loops.op(tir.LoadOp(acc, at))
        self.plan.epilogue.store(self.loops, where, value, guard)


def row_tiles(loops: LoopBuilder, row: Iter, full: int, vectors: int, tile: Callable[[int, SSAValue], object]) -> None:
    """Loops over tiles of up to `full` rows of vectors: `tile` is given the rows of a tile and its first row."""
    done: SymExpr = Const(0, row.dtype)
    for rows, count in _row_sizes(row, full, -(-_FEWEST_SUMS // vectors)):
        number = floordiv(row.extent - done, Const(rows, row.dtype)) if count is None else Const(count, row.dtype)

        def body(v: SSAValue, rows: int = rows, done: SymExpr = done) -> None:
            first = add(done, mul(Var(v, row.dtype), Const(rows, row.dtype)))
            tile(rows, loops.value(first, row.dtype))

        loops.loop(number, body, dtype=row.dtype, name=f"{name_of(row.var) or 'i'}_tile")
        done = add(done, mul(number, Const(rows, row.dtype)))


def _row_sizes(row: Iter, full: int, fewest: int) -> Sequence[tuple[int, int | None]]:
    """(rows of a tile, how many tiles).

    Tiles of one size where at least `fewest` and more than half of what fits divide the rows (less code, as fast); else
    even ones, 197 rows in 12s and 11s; of an unknown number full ones, then smaller ones.
    """
    extent = row.extent.constant
    if extent is None:
        return [(full, None)] + [(size, None) for size in (4, 1) if size < full]
    even = next((size for size in range(full, max(full // 2, fewest - 1), -1) if extent % size == 0), None)
    if even is not None:
        return [(even, extent // even)]
    tiles = -(-extent // full)
    larger = -(-extent // tiles)
    many = extent - tiles * (larger - 1)
    return [(larger, many), (larger - 1, tiles - many)] if many < tiles else [(larger, tiles)]
