"""The rule for reductions into rows of contiguous elements: matrix products, convolutions, sums over leading axes.

A tile of `rows` x `width` elements is accumulated in registers while the reduction runs, then finished and stored;
each element is summed in the order of the tir. Vectors run along an iterator in which the result and the operands
are contiguous; rows run along another iterator, in which one of the vectors is reused:

    for j in N / width: for i in M / rows:
        acc[rows, width] = init
        for k: acc[r, c] = acc[r, c] + A[i * rows + r, k] * B[k, j * width + c]
        C[i * rows + r, j * width + c] = epilogue(acc[r, c])

Smaller tiles compute the remainders of M and N. If B is in panels (`packed`) and small, the loop over i is the
outer one, so that rows of A and C are traversed once. If B is large, the loop over j is the outermost one, and
while the tiles read one panel they prefetch the next one, also if panels are a dimension of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.sym.expr import Const, SymExpr, Var, floordiv, floormod
from ....dialects.sym.operators import minimum
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, Update, constant_slope, element_type, has_no_aliases, update_of
from ..library import microkernel as mk
from ..library.epilogue import Epilogue
from ..library.packed import Panels, panels_of
from ..library.prefetch import prefetch, prefetch_load
from ..library.prefetch_distribution import prefetch_share
from ..library.sliding_windows import sliding_tap, sliding_tile
from ..library.unswitch_padding import Interior, interior_of, range_of
from ..policy.limits import BORDER_ROWS_PER_TAP, LINE_BITS, MIN_STEPS_OF_PART, NEIGHBOURS


@dataclass(frozen=True)
class _Parts:
    """The parts of `load`, iterated by `it`; each part is used for `steps` steps of the reduction at a time, or for
    all.
    """

    it: Iter
    load: tir.LoadOp
    steps: int | None = None


@dataclass
class RegisterTilePlan(mk.SumPlan):
    """A plan for tiles of `rows` elements by `vectors` vectors of `lanes`, along these iterators.

    `order` is that of the loops over tiles, outermost first; loops over other iterators are outermost unless it
    includes them. `far` is prefetched when a tile begins, for its end. The steps of `unrolled` are unrolled.
    `parts` are the parts of the operand along the lanes, if the next part is prefetched meanwhile.
    """

    lane: Iter
    row: Iter | None
    lanes: int
    vectors: int
    rows: int
    panels: Panels | None = None
    order: str = "columns, rows"
    interior: Interior | None = None
    far: tuple[tir.LoadOp | tir.StoreOp, ...] = ()
    unrolled: Iter | None = None
    parts: _Parts | None = None

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def problem(self) -> str | None:
        """Return which numbers the plan requires, or None if its numbers are valid."""
        if self.panels is not None and self.panels.width != self.width:
            return f"vectors = {self.panels.width // self.lanes}, as wide as the panels are"
        return None if self.order in _ORDERS else " or ".join(f'order = "{order}"' for order in _ORDERS)


def plan_register_tiles(
    epilogue: Epilogue, machine: Machine, allowed: frozenset[int | None] | None = NEIGHBOURS
) -> RegisterTilePlan | None:
    """Return the plan for a reduction, or None if this rule does not fit.

    `allowed` are the strides that operands may have along the lanes; None includes any, also variable ones.
    """
    stage = epilogue.stage
    update = update_of(stage)
    if update is None or not stage.reduce:
        return reject("it is no reduction C = combine(C, term)")
    lanes = max(1, machine.vector_bits // mk.element_bits(stage))
    lane = _lane_iter(stage, epilogue, allowed, lanes)
    if lane is None:
        return reject("along no iterator of the result do operands move by steps that this rule takes")
    row = _row_iter(stage, update, lane)
    panels = panels_of(stage, lane, lanes)
    vectors, rows = mk.tile_size(machine, lane.extent.constant if panels is None else panels.width, lanes, row)
    tap = sliding_tap(stage, lane, row)
    if tap is not None and row is not None:
        vectors, rows = sliding_tile(machine, row)
    if panels is not None and vectors * lanes != panels.width:
        if allowed is not None:
            return reject("the panels of packed weights are not as wide as the tiles")
        panels = None
    order, interior = _order(machine, stage, lane, row, panels), interior_of(stage, update.term)
    far = () if panels is None or row is None else tuple(_far_results(machine, epilogue, lane))
    parts = _parts(machine, stage, lane, row) if lane.extent.constant == lanes * vectors and interior is None else None
    tile = lane, row, lanes, vectors, rows
    return RegisterTilePlan(epilogue, update, *tile, panels, order, interior, far, tap, parts)


def _parts(machine: Machine, stage: Stage, lane: Iter, row: Iter | None) -> _Parts | None:
    """Return the parts, as wide as a tile, of one operand that does not fit the cache.

    Two parts must fit it together with the other operands, which are read once per part; otherwise they are read in
    pieces.
    """
    loads = _along_lanes(stage, lane)
    if len(loads) != 1 or row is None:
        return None
    moving = [it for it in stage.spatial if it not in (lane, row) and constant_slope(loads[0], it)]
    count = moving[0].extent.constant if len(moving) == 1 else None
    sizes = {load.buffer: mk.byte_count(load.buffer) for load in stage.loads if load.buffer is not stage.buffer}
    size, others = sizes.pop(loads[0].buffer), list(sizes.values())
    if count is None or size is None or 2 * size <= machine.caches.l2:
        return None
    unknown = machine.caches.l2 // 4
    if 2 * size // count + sum(unknown if other is None else other for other in others) <= machine.caches.l2:
        return _Parts(moving[0], loads[0])
    if None in others:
        return None
    steps = _steps(machine, stage, size // count)
    return None if steps is None else _Parts(moving[0], loads[0], steps)


def _steps(machine: Machine, stage: Stage, size: int) -> int | None:
    """Return the number of reduction steps for which a part of `size` bytes is read at a time: an eighth of the
    cache.
    """
    count, pieces = stage.reduce[-1].extent.constant, -(-8 * size // machine.caches.l2)
    if len(stage.reduce) != 1 or count is None or pieces < 2 or count % pieces or count // pieces < MIN_STEPS_OF_PART:
        return None
    return count // pieces


def _far_results(machine: Machine, epilogue: Epilogue, lane: Iter) -> Iterator[tir.LoadOp | tir.StoreOp]:
    """Yield the stores of results, and the loads for each of them, whose buffers do not fit the cache."""
    last, mine = epilogue.last, epilogue.iter_of(lane)
    others = [] if epilogue.consumer is None else [op for op in last.loads if op.buffer is not epilogue.stage.buffer]
    for access in (last.store, *others):
        size = mk.byte_count(access.buffer)
        if constant_slope(access, mine) == 1 and (size is None or 2 * size > machine.caches.l2):
            yield access


def _lane_iter(stage: Stage, epilogue: Epilogue, allowed: frozenset[int | None] | None, lanes: int) -> Iter | None:
    """Return the innermost iterator in which the result is contiguous and every operand has an allowed stride."""
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
    """Return the innermost other iterator in which an operand along the lanes is invariant."""
    vectors = [op for op in stage.loads if op is not update.old and constant_slope(op, lane) != 0]
    for it in reversed(stage.spatial):
        if it is not lane and it.extent.constant != 1 and any(constant_slope(op, it) == 0 for op in vectors):
            return it
    return None


def emit_register_tiles(loops: LoopBuilder, plan: RegisterTilePlan) -> None:
    """Emit the loops of a plan."""
    outer = [it for it in plan.stage.spatial if it is not plan.lane and it is not plan.row]
    _ORDERS[plan.order](loops, plan, outer)


def _columns_rows(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    loops.nest(outer, {}, lambda where: _columns(loops, plan, lambda strip: _rows(plan, strip, where)))


def _columns_others_rows(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    _columns(loops, plan, lambda strip: loops.nest(outer, {}, lambda where: _rows(plan, strip, where)))


def _heads_others_rows(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    loads = _along_lanes(plan.stage, plan.lane)
    stay = [it for it in outer if all(constant_slope(load, it) == 0 for load in loads)]
    _columns_rows(loops, plan, [it for it in outer if it not in stay] + stay)


def _rows_columns(loops: LoopBuilder, plan: RegisterTilePlan, outer: list[Iter]) -> None:
    def tiles(where: Bindings) -> None:
        def tile(rows: mk.Rows) -> None:
            _columns(loops, plan, lambda strip: _Tile(plan, strip, where, rows).emit())

        mk.row_tiles(loops, plan.row, plan.lane, (plan.rows, plan.vectors), tile, repeats=_may_repeat(plan))

    loops.nest(outer, {}, tiles)


_PANEL_BY_PANEL = "columns, others, rows"
_ORDERS: dict[str, Callable[[LoopBuilder, RegisterTilePlan, list[Iter]], None]] = {
    "columns, rows": _columns_rows,
    _PANEL_BY_PANEL: _columns_others_rows,
    "heads, others, rows": _heads_others_rows,
    "rows, columns": _rows_columns,
}


def _order(machine: Machine, stage: Stage, lane: Iter, row: Iter | None, panels: Panels | None) -> str:
    """Return the loop order: an operand along the lanes is read once if it exceeds the cache, otherwise per tile of
    rows.

    If it consists of parts (heads, or panels that are a dimension of the result), the parts are read one after the
    other.
    """
    loads = _along_lanes(stage, lane)
    if panels is None and (row is None or len(loads) != 1):
        return "columns, rows"
    size = mk.byte_count(loads[0].buffer)
    large = size is None or 2 * size > machine.caches.l2
    others = [it for it in stage.spatial if it is not lane and it is not row and it.extent.constant != 1]
    moves = {constant_slope(loads[0], it) != 0 for it in others}
    if panels is None and True in moves:
        return "heads, others, rows" if size is not None and large and False in moves else "columns, rows"
    if large:
        return _PANEL_BY_PANEL
    return "columns, rows" if panels is None else "rows, columns"


def _along_lanes(stage: Stage, lane: Iter) -> list[tir.LoadOp]:
    """Return the operands that vary with the lanes."""
    return [load for load in stage.loads if load.buffer is not stage.buffer and constant_slope(load, lane) != 0]


def _columns(loops: LoopBuilder, plan: RegisterTilePlan, body: Callable[[mk.Strip], object]) -> None:
    """Emit full strips, then the remaining lanes: a narrower strip, or masked vectors if their number is unknown."""
    lane = plan.lane
    mk.strips(loops, lane, [(plan.width, None)], body, tail=plan.lanes, name=mk.tile_name(lane, "j"))


def _rows(plan: RegisterTilePlan, strip: mk.Strip, where: Bindings) -> None:
    """Emit tiles of all rows of a strip."""
    if plan.row is not None and plan.parts is not None and plan.parts.steps is not None:
        _rows_in_pieces(plan, strip, where, plan.row, plan.parts.steps)
        return
    size, far = (plan.rows, plan.vectors), plan.panels is None

    def tile(rows: mk.Rows) -> None:
        _Tile(plan, strip, where, rows).emit()

    mk.row_tiles(strip.loops, plan.row, plan.lane, size, tile, far, _may_repeat(plan))


def _may_repeat(plan: RegisterTilePlan) -> bool:
    """Return whether a row may be computed and stored twice, because nothing reads a result."""
    consumer = plan.epilogue.consumer
    if plan.stage.init is None or plan.interior is not None:
        return False
    reads_own = consumer is not None and any(load.buffer is consumer.buffer for load in consumer.loads)
    return consumer is None or (not reads_own and has_no_aliases(plan.stage.root))


def _rows_in_pieces(plan: RegisterTilePlan, strip: mk.Strip, where: Bindings, row: Iter, steps: int) -> None:
    """Emit tiles of all rows for `steps` steps of the reduction at a time, with the sums in memory in between."""
    loops, k = strip.loops, plan.stage.reduce[0]
    sums = loops.scratch([row.extent, strip.size], element_type(plan.stage.buffer))

    def each(body: Callable[[Bindings, list[SSAValue]], None]) -> None:
        def columns(r: SSAValue) -> None:
            strip.vectors(lambda c: body({**where, row: r, plan.lane: strip.at(c)}, [r, c]))

        loops.loop(row.extent, columns, dtype=row.dtype)

    def piece(number: SSAValue) -> None:
        part = _Piece(number, steps)
        size = plan.rows, plan.vectors

        def tile(rows: mk.Rows) -> None:
            _Tile(plan, strip, where, rows, part, partial=mk.PartialSums(sums, [row])).emit()

        mk.row_tiles(loops, row, plan.lane, size, tile, True)

    each(lambda at, place: mk.begin(strip, plan.stage, plan.update, at, (sums, place)))
    loops.loop(k.extent // steps, piece, dtype=k.dtype, name=mk.tile_name(k, "k", "piece"))
    each(lambda at, place: plan.epilogue.store(loops, at, loops.load(sums, place)))


@dataclass(frozen=True)
class _Piece:
    """`steps` steps of a reduction, of which this is piece `number`."""

    number: SSAValue
    steps: int


@dataclass
class _Tile(mk.RowTile):
    """A tile that specializes choices for the interior of an image, and prefetches the lines needed next."""

    plan: RegisterTilePlan
    piece: _Piece | None = None
    interior: Interior | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of columns rounded up to full vectors."""
        return self.rows.size, mk.round_to_vectors(self.strip.size, self.plan.lanes)

    def emit(self) -> None:
        """Emit one tile, or two versions if it may be in the interior of an image or at its border."""
        interior, emit = self.plan.interior, mk.RowTile.emit
        inside = None if interior is None or not self._is_full else self._holds(interior.without(self._invariant))
        if inside is None:
            emit(self)
        else:
            self.loops.branch_either(inside, lambda: emit(replace(self, interior=interior)), lambda: emit(self))

    @property
    def _is_full(self) -> bool:
        """True if the tile justifies separate code for the interior of images; smaller tiles are few."""
        return not self.strip.masked and 2 * self.rows.size >= self.plan.rows

    @property
    def _invariant(self) -> Interior | None:
        """The padding conditions that are the same for the entire tile, if checking them separately pays off."""
        interior, moving = self.plan.interior, [it for it in (self.plan.lane, self.plan.row) if it is not None]
        steady = None if interior is None else interior.invariant(moving)
        return None if steady is None or _holds_mostly(self.plan.stage, steady) else steady

    def _holds(self, interior: Interior) -> SSAValue | None:
        """Return the condition that a tile reads no padding; None if that cannot be determined."""
        plan, strip = self.plan, self.strip
        ranges = {it: range_of(value) for it, value in self.outer.items()}
        ranges |= {it: (Const(0, it.dtype), it.extent - 1) for it in plan.stage.reduce}
        ranges[plan.lane] = range_of(strip.first, strip.size)
        if plan.row is not None and self.rows.first is not None:
            ranges[plan.row] = range_of(self.rows.first, self.rows.size)
        return interior.holds(self.loops, ranges)

    def start(self, acc: SSAValue) -> None:
        """Initialize all elements, while the operands of their epilogue are prefetched."""
        if not self.strip.masked:
            self._prefetch_results()
        super().start(acc)

    def reduce(self, acc: SSAValue) -> None:
        """Emit the loops of the reduction; a step that reads only padding does not access the image."""
        reduce, steady, interior = list(self.plan.stage.reduce), self._invariant, self.interior
        often = self._is_full and (interior is not None or self.plan.interior is None)
        if self.piece is not None:
            (k,), number, steps = reduce, Var(self.piece.number, reduce[0].dtype), self.piece.steps
            begin, count = number * steps, Const(steps, k.dtype)
            self._blocks(k, (begin, count), {}, lambda ks: self._step(ks, acc, _unchanged), often)
            return
        if steady is None or interior is None:
            taken = _unchanged if interior is None else interior.select
            self._taps(reduce, {}, lambda ks: self._step(ks, acc, taken), often)
            return
        depth = max((i + 1 for i, it in enumerate(reduce) if steady.uses(it)), default=0)

        def either(ks: Bindings) -> None:
            def rest(choose: Callable[[Cloner], None], often: bool = often) -> None:
                self._taps(reduce[depth:], ks, lambda all_ks: self._step(all_ks, acc, choose), often)

            there = steady.holds(self.loops, {it: range_of(value) for it, value in {**self.outer, **ks}.items()})
            if there is None:
                rest(_unchanged)
            else:
                padding = partial(interior.select, first=False)
                self.loops.branch_either(there, lambda: rest(interior.select), lambda: rest(padding, False))

        self.loops.nest(reduce[:depth], {}, either)

    def _taps(self, iters: list[Iter], ks: Bindings, body: Callable[[Bindings], object], often: bool) -> None:
        """Emit loops of the reduction, with the innermost one in blocks, or one of them unrolled.

        Code that does not run `often` is kept as small as possible.
        """
        tap, k = self.plan.unrolled, self.plan.stage.reduce[-1]
        if not iters:
            self._prefetch_next(ks, sym_expr_of(ks[k]), 1)
            body(ks)
            return
        if tap is None or tap not in iters:
            *outer, last = iters
            steps = Const(0, last.dtype), last.extent
            self.loops.nest(outer, ks, lambda where: self._blocks(last, steps, where, body, often))
            return

        def taps(where: Bindings) -> None:
            self.loops.unrolled(tap.dtype, tap.extent.constant or 0, lambda v: body({**where, tap: v}))

        self.loops.nest([it for it in iters if it is not tap], ks, taps)

    def _blocks(
        self,
        k: Iter,
        steps: tuple[SymExpr, SymExpr],
        where: Bindings,
        body: Callable[[Bindings], object],
        written_out: bool,
    ) -> None:
        """Emit steps (the first, their number) in blocks, in each of which tiles prefetch lines."""
        loops, (begin, count) = self.loops, steps

        def step(at: SymExpr) -> None:
            body({**where, k: loops.value(begin + at, k.dtype)})

        def before(block: SymExpr, size: int) -> None:
            self._prefetch_next(where, block, size)

        mk.in_blocks(loops, k, count, step, before, written_out)

    def _step(self, ks: Bindings, acc: SSAValue, choose: Callable[[Cloner], None]) -> None:
        """Add a term to each element; `choose` resolves the choices in it."""
        panels = self.plan.panels

        def operands(cloner: Cloner, at: Sequence[SSAValue]) -> Mapping[SSAValue, tir.LoadOp]:
            if panels is not None:
                panels.bind(self.loops, cloner, self.strip.first, at[1])
            choose(cloner)
            return {}

        self.step(ks, acc, operands)

    def _prefetch_next(self, ks: Bindings, block: SymExpr, size: int) -> None:
        """Prefetch lines of the next panel or part, if any, in a block of `size` steps of the last loop."""
        plan, row = self.plan, self.plan.row
        if row is not None and row.extent.constant is None and self.rows.size == 1:
            return  # a single row reads panels in order: the hardware prefetches
        if plan.panels is not None and plan.order == _PANEL_BY_PANEL:
            share = prefetch_share(self.outer, self.rows)
            if share is not None:
                step, where = plan.stage.reduce[-1], {**self.outer, **ks}
                plan.panels.prefetch_next(self.loops, where, self.strip.first, share, step, block, size)
        elif plan.parts is not None:
            self._prefetch_next_part(plan.parts, ks, block, size)

    def _prefetch_next_part(self, parts: _Parts, ks: Bindings, block: SymExpr, size: int) -> None:
        """Prefetch lines of the next part, along the last loop of the reduction."""
        loops, plan, share = self.loops, self.plan, prefetch_share({}, self.rows)
        if share is None:
            return
        it, load, k = parts.it, parts.load, plan.stage.reduce[-1]
        line = LINE_BITS // bit_width(element_type(load.buffer))
        ahead, begin, steps = Const(1, it.dtype), Const(0, k.dtype), k.extent
        if self.piece is not None:
            (ahead, begin), steps = self._next_piece(self.piece, it, k), Const(self.piece.steps, k.dtype)
        following = minimum(Var(self.outer[it], it.dtype) + ahead, it.extent - 1)
        for which, step in share.lines(max(1, plan.width // line), steps, block, size):
            where = {it: following, k: begin + step, plan.lane: which * line}
            cloner = loops.cloner({**self.outer, **ks, **{i: loops.value(e, i.dtype) for i, e in where.items()}})
            prefetch_load(loops, load, cloner)

    def _next_piece(self, piece: _Piece, it: Iter, k: Iter) -> tuple[SymExpr, SymExpr]:
        """Return how many parts further the next piece is, and its first step; the first piece follows the last."""
        count = (k.extent.constant or 0) // piece.steps
        following = Var(piece.number, k.dtype) + 1
        return floordiv(Var(piece.number, it.dtype) + 1, count), floormod(following, count) * piece.steps

    def _prefetch_results(self) -> None:
        """Prefetch the lines that the elements of a tile are stored to, and those read at that time."""
        loops, plan = self.loops, self.plan
        lane = plan.lane

        def line(access: tir.LoadOp | tir.StoreOp, size: int, r: SSAValue, at: SSAValue) -> None:
            column = loops.value(sym_expr_of(self.strip.first) + Var(at, lane.dtype) * size)
            cloner = plan.epilogue.cloner(loops, {**self.outer, **self.rows.at(r), lane: column})
            if isinstance(access, tir.LoadOp):
                prefetch_load(loops, access, cloner)
            else:
                prefetch(loops.insert, access.buffer, [cloner(index) for index in access.indices], write=True)

        for access in plan.far:
            size = max(1, LINE_BITS // bit_width(element_type(access.buffer)))
            count = -(-self.strip.size // size)

            def lines(
                r: SSAValue, access: tir.LoadOp | tir.StoreOp = access, size: int = size, count: int = count
            ) -> None:
                loops.loop(count, lambda at: line(access, size, r, at), dtype=lane.dtype)

            loops.loop(self.rows.size, lines, dtype=self.rows.dtype)


def _holds_mostly(stage: Stage, steady: Interior) -> bool:
    """Return whether few tiles violate these conditions, so that they are checked once per tile, not in each step."""
    taps = sum((it.extent.constant or 1) - 1 for it in stage.reduce if steady.uses(it))
    counts = [it.extent.constant for it in stage.spatial if steady.uses(it)]
    return all(count is not None and count >= BORDER_ROWS_PER_TAP * taps for count in counts)


def _unchanged(cloner: Cloner) -> None:
    """Leave choices unchanged."""
