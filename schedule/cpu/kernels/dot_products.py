"""The rule for products and convolutions of bfloat16, int16 and int8 by instructions that add several products at once.

    C[i, j] += A[i, k] * B[k, j]        of bfloat16 in float32 (or bfloat16), of bytes and words in int32

An element of 32 bits holds `group` steps of k: two bfloat16 (`vdpbf16ps`) or words (`vpmaddwd`), or four bytes
(`vpdpbusd`). Those of A are contiguous in memory. Those of B are packed for a strip of columns into a panel that is
used by all rows, or with few rows step by step:

    for j in N / width:
        for s in K / group: panel[s, :] = B[s * group : (s + 1) * group, j * width : (j + 1) * width]
        for i in M / rows:
            acc[rows, width] = 0
            for s: acc[r, :] = dot(acc[r, :], A[i * rows + r, s * group : (s + 1) * group], panel[s, :])
            C[i * rows + r, j * width + c] = epilogue(acc[r, c])

The remainder of K is one step padded with 0; if K is unknown, the remainder takes steps of one k.

A convolution also sums over the taps of a window, which are loops around the steps; its channels are k. If channels
are contiguous in memory (NHWC), A is the image; otherwise (NCHW) A is the weights, whose channels must be
contiguous. If consecutive k of B are contiguous (a transposed matrix), the panel is filled by squares that are
transposed in registers. Constant weights are already in panels (`pack-weights`, `DotPanels`); while tiles read a
large panel, they prefetch the next one.

`vpdpbusd` multiplies unsigned by signed bytes. If both have the same signedness, those of A are shifted by 128, and
an additional row of 128s computes the excess to subtract. Sums wrap around, so the result is exact.

Pairs of bytes (`vpmaddubsw`) are first summed in 16 bits, for panels whose block is annotated that these sums fit;
16 bytes of A are permuted to the order of the panel's rows by `vpshufb`.

The sums of `vpmaddwd` are accumulated by a separate instruction, each after a fence: LLVM would otherwise add the
sums of consecutive steps first, which needs more registers than there are.

Sums of bfloat16 are float32, regardless of the dtype that they are stored in, and are rounded once at the end.
Targets without the instruction compute bfloat16 as float32 with a `group` of one; other dtypes are left to other
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import VectorType, i8, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.dtypes import ui8
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, SymExpr, Var, product
from ....dialects.tir import BufferType
from ....transforms.operators.byte_pairs import ROWS
from ....transforms.operators.dot_products import PAIRED, PAIRS_FIT, Dot, best_dot
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..analysis.stages import (
    Iter,
    Stage,
    Update,
    element_type,
    is_in_order,
    update_of,
)
from ..library import microkernel as mk
from ..library.byte_pairs import BYTES
from ..library.dot_form import (
    is_reused,
    known_max_extent,
    lane_of,
    max_extent,
    moves_along,
    reduction_iters,
    starts_at_zero,
    strip_cast,
)
from ..library.dot_panels import DotPanels, add_products, dot_panels, packed_element
from ..library.epilogue import Epilogue
from ..library.fold_requantize import fold_requantize
from ..library.microkernel import Place
from ..library.panel_strip import PanelStrip, is_transposed
from ..library.prefetch_distribution import PrefetchShare, prefetch_share
from ..library.row_blocks import Block, block_size, in_row_blocks
from ..library.unpack_blocks import SIGN
from ..policy.limits import (
    MANY_WINDOWS,
    MAX_PAIRED_ROWS,
    MAX_SHIFTED_ROWS,
    MIN_PANEL_ROWS,
)
from .matrix_tiles import MatrixTiles, Operands, TiledStrip, matrix_tiles

_REARRANGED = "llvm.x86.avx2.pshuf.b"


@dataclass
class DotProductPlan(mk.SumPlan):
    """A plan in which A is `rows`, one load, and B is `columns`, any expression, or panels.

    A tile has `tile` rows of `vectors` vectors. The sum runs over `taps` and `k`; all values of `above` and of
    `row` use the same B. With `asks_ahead`, tiles that read a panel prefetch the next one. All strips process
    `block` values of the first iterator of `shared`, then the next ones.
    """

    dot: Dot
    rows: tir.LoadOp
    columns: SSAValue
    panels: DotPanels | None
    taps: list[Iter]
    k: Iter
    lane: Iter
    above: list[Iter]
    row: Iter | None
    lanes: int
    vectors: int
    tile: int
    asks_ahead: bool = False
    block: int | None = None
    tiles: MatrixTiles | None = None

    @property
    def shared(self) -> list[Iter]:
        """The iterators whose values all use the same B, outermost first."""
        return [*self.above, *([] if self.row is None else [self.row])]

    @property
    def outer(self) -> list[Iter]:
        """The iterators outside of the strips: those that B depends on besides the lanes, and those with a single
        value.
        """
        inside = [self.lane, *self.shared]
        ones = [it for it in self.stage.reduce if it.extent.constant == 1]
        return [*(it for it in self.stage.spatial if it not in inside), *ones]

    @property
    def in_a_row(self) -> bool:
        """True if several steps are unrolled in machine code; those of words have no register to spare."""
        return self.dot.is_plain or self.dot is PAIRED

    @property
    def is_turned(self) -> bool:
        """True if consecutive k of B are contiguous in memory, as in a transposed matrix, and columns are not."""
        copied = self.panels is None and self.dot.group > 1
        return copied and is_transposed(self.columns.owner, self.k, self.lane)

    @property
    def problem(self) -> str | None:
        """Return why no loops can be emitted with these numbers, or None if they can."""
        if self.dot.intrinsic is not None and self.lanes != self.dot.bits // 32:
            return f"lanes = {self.dot.bits // 32}, as the instruction has"
        if self.panels is not None and self.panels.width != self.lanes * self.vectors:
            return f"vectors = {self.panels.width // self.lanes}, as wide as the panels are"
        return None

    @property
    def all_rows(self) -> SymExpr:
        """The number of rows that use a strip of B."""
        return product(it.extent for it in self.shared)


def plan_dot_products(epilogue: Epilogue, machine: Machine) -> DotProductPlan | None:
    """Return the plan for a product, or None if this rule does not fit or the target has no such instruction."""
    stage = epilogue.stage
    update = update_of(stage)
    if update is None:
        return reject("it is no reduction C = combine(C, term)")
    if not isinstance(update.combiner, tir.AddOp) or not starts_at_zero(stage):
        return reject("it is no sum that starts at 0")
    term, ks = update.term.owner, reduction_iters(stage)
    if not isinstance(term, tir.MulOp) or not ks:
        return reject("it does not sum several products")
    if any(k.extent.constant == 0 or max_extent(k) is None for k in ks):
        return reject("nothing is summed, or there is no bound of how much")
    for rows, columns in ((term.lhs, term.rhs), (term.rhs, term.lhs)):
        plan = _plan(epilogue, update, strip_cast(rows), strip_cast(columns), ks, machine)
        if plan is not None:
            return plan
    return None


def _plan(
    epilogue: Epilogue, update: Update, rows: SSAValue, columns: SSAValue, ks: list[Iter], machine: Machine
) -> DotProductPlan | None:
    stage, load = epilogue.stage, rows.owner
    sums = cast(BufferType, stage.buffer.type).dtype
    dot = best_dot(rows.type, columns.type, sums, machine.features, machine.vector_bits)
    if dot is None and _pairs_fit(stage, machine) and (rows.type, columns.type, sums) == (ui8, i8, i32):
        dot = PAIRED
    k = next((k for k in reversed(ks) if isinstance(load, tir.LoadOp) and is_in_order(load, k)), None)
    if dot is None:
        return reject("the target has no instruction for products of these types")
    if k is None or not isinstance(load, tir.LoadOp):
        return reject("the operand for rows is not loaded in the order of the sum")
    lane = lane_of(epilogue, load, columns, dot.group)
    if lane is None:
        return reject("no iterator of several lies along the result while the operand for rows stays")
    if not moves_along(columns, lane):
        return reject("the operand for columns has branches, or stays along the result")
    shared = [it for it in stage.spatial if it is not lane and is_reused(columns, load, it)]
    row, lanes = shared[-1] if shared else None, machine.vector_bits // 32
    panels = dot_panels(columns, lane, k, dot.group)
    if dot is PAIRED and (panels is None or panels.order is None):
        return reject("pairs of bytes are in no panels")
    if row is None and dot.sums == sums and panels is None:
        return reject("what is read is read once")  # `row_streams` reads memory in order
    vectors, tile = _tile_size(dot, panels, lane, row, lanes, machine)
    if panels is not None and panels.width != vectors * lanes:
        return reject("the panels of packed weights are not as wide as the tiles")
    taps, ahead = [it for it in ks if it is not k], panels is not None and _are_far(panels, machine)
    read, width = (None, 0) if panels is None else (panels.load, panels.width)
    tiles = matrix_tiles(dot, Operands(load, columns.type, read, width, taps, k, shared), machine)
    plan = DotProductPlan(
        epilogue, update, dot, load, columns, panels, taps, k, lane, shared[:-1], row, lanes, vectors, tile, ahead,
        tiles=tiles,
    )  # fmt: skip
    if dot.adds or panels is None or any(it.extent.constant != 1 for it in plan.outer):
        return plan
    block = block_size(epilogue.last, shared, load.buffer, panels.load.buffer, machine)
    many = dot is PAIRED and bool(taps) and (plan.all_rows.constant or 0) >= MANY_WINDOWS
    return replace(plan, block=block, asks_ahead=ahead and not many)


def _pairs_fit(stage: Stage, machine: Machine) -> bool:
    """Return whether the target sums pairs of bytes, and a block is annotated that all sums fit."""
    notes = stage.block.annotations
    return notes is not None and PAIRS_FIT in notes.data and PAIRED.fits(machine.features, machine.vector_bits)


def _are_far(panels: DotPanels, machine: Machine) -> bool:
    """Return whether panels take so much of the second-level cache that they are evicted before they are reused."""
    size = mk.byte_count(panels.load.buffer)
    return size is None or 4 * size > machine.caches.l2


def _tile_size(
    dot: Dot, panels: DotPanels | None, lane: Iter, row: Iter | None, lanes: int, machine: Machine
) -> tuple[int, int]:
    """Return (vectors, rows) of a tile; with `shifted` there is an additional row of 128s."""
    vectors, tile = mk.tile_size(machine, lane.extent.constant if panels is None else panels.width, lanes, row)
    if dot is PAIRED and row is not None:
        tile = min(tile, MAX_PAIRED_ROWS)
    if dot.shifted:
        vectors = min(vectors, dot.vectors(machine.registers))
        tile = 1 if row is None else min(MAX_SHIFTED_ROWS, mk.tile_rows(machine, vectors, row))
    return vectors, tile


def emit_dot_products(loops: LoopBuilder, plan: DotProductPlan) -> None:
    """Emit the loops of a plan."""
    if not plan.dot.adds:
        fold_requantize(plan.epilogue.last)

    def blocks(where: Bindings) -> None:
        in_row_blocks(loops, plan.shared, plan.block, lambda block: _strips(loops, plan, where, block))

    loops.nest(plan.outer, {}, blocks)


def _strips(loops: LoopBuilder, plan: DotProductPlan, where: Bindings, block: Block) -> None:
    """Emit full strips of columns, then the remainder."""
    full, name = plan.lanes * plan.vectors, mk.tile_name(plan.lane, "j", "strip")

    def strip(columns: mk.Strip) -> None:
        _Strip(where, columns, plan.lanes, plan, block).emit()

    mk.strips(loops, plan.lane, [(full, None)], strip, tail=plan.lanes, name=name)


@dataclass(frozen=True)
class _Step:
    """A step of the sum: its taps, its number, its first k, and the number of k that it takes."""

    taps: Bindings
    at: SSAValue
    first: SSAValue
    taken: int

    @property
    def place(self) -> list[SSAValue]:
        """The position of the step in a panel."""
        return [*self.taps.values(), self.at]


@dataclass
class _Strip(PanelStrip):
    """A strip of columns by the rows of a block."""

    plan: DotProductPlan
    block: Block

    def __post_init__(self) -> None:
        super().__post_init__()
        self.packed = i32 if self.plan.dot.group > 1 else self.plan.dot.sums

    def emit(self) -> None:
        """Emit the strip with a panel if there are enough rows; if that is unknown, emit both versions."""
        plan, count = self.plan, self.plan.all_rows
        turned = plan.is_turned and not self.strip.masked
        if count.constant is not None or plan.panels is not None or turned:
            filled = plan.panels is None and (turned or (count.constant or 0) >= MIN_PANEL_ROWS)
            self._by_panel(turned) if filled else self._tiles(None)
        else:
            self.loops.branch_at_least(count, MIN_PANEL_ROWS, self._by_panel, lambda: self._tiles(None))

    def _by_panel(self, turned: bool = False) -> None:
        """Fill a panel with all steps, then emit all tiles."""
        k, group, lanes, taps = self.plan.k, self.plan.dot.group, self.plan.lanes, self.plan.taps
        panel = self.loops.scratch([*map(known_max_extent, taps), self._room(), self.padded], self.packed)
        done: SymExpr = Const(0, k.dtype)
        if turned:
            blocks, square_width = k.extent // (lanes * group), self.in_squares
            squares = mk.Squares(self.strip, k, cast(tir.LoadOp, self.plan.columns.owner), lanes, group, i32)

            def fill(taps: Bindings) -> None:
                squares.fill(panel, list(taps.values()), Const(0, k.dtype), {**self.where, **taps}, blocks)

            self.loops.nest(taps, {}, fill)
            done = blocks * lanes
            if square_width < self.width:
                self.each_step(lambda step: self.pack(panel, step.place, step, square_width), end=done)
        self.each_step(lambda step: self.pack(panel, step.place, step), done)
        self._tiles(panel)

    def _room(self) -> SymExpr:
        """Return an upper bound of the number of steps for each tap."""
        k, group = self.plan.k, self.plan.dot.group
        most = known_max_extent(k)
        if k.extent.constant is not None:
            return (most + (group - 1)) // group
        return most // group + (group - 1 if most.constant is not None else most % group)

    def _tiles(self, panel: SSAValue | None) -> None:
        """Emit the tiles of all rows of the block."""
        plan, size, block = self.plan, (self.plan.tile, self.plan.vectors), self.block
        if plan.tiles is not None and (panel is not None or plan.panels is not None):
            self._matrix_tiles(plan.tiles, panel)
            return
        iters = block.iters

        def tiles(outer: Bindings) -> None:
            where = {**self.where, **block.placed(self.loops, outer)}

            def tile(rows: mk.Rows) -> None:
                self._tile(where, rows, panel, prefetch_share(outer, rows))

            mk.row_tiles(self.loops, iters[-1] if iters else None, plan.lane, size, tile)

        self.loops.nest(iters[:-1], {}, tiles)

    def _tile(self, where: Bindings, rows: mk.Rows, panel: SSAValue | None, share: PrefetchShare | None) -> None:
        """Emit a tile of rows of the block."""
        _Tile(self.plan, self.strip, where, self.block.rows_of(self.loops, rows), self, panel, share).emit()

    def _matrix_tiles(self, tiles: MatrixTiles, panel: SSAValue | None) -> None:
        """Emit the tiles of all rows with matrix registers."""
        plan, loops, strip, panels = self.plan, self.loops, self.strip, self.plan.panels

        def column(taps: Bindings, at: SSAValue, vector: int) -> Place:
            if panel is None:
                return self.place_in(cast(DotPanels, panels), taps, at, vector)
            return panel, [*taps.values(), at, loops.const(vector * plan.lanes, plan.lane.dtype)]

        def finish(rows: Bindings, c: SSAValue, value: SSAValue) -> None:
            self.finish({**self.where, **rows, plan.lane: strip.at(c)}, value)

        def prefetch_next(taps: Bindings, steps: Sequence[SymExpr]) -> None:
            lines, merged = range(cast(DotPanels, panels).lines_of_step), tiles.merged
            for at in steps:
                if merged is not None:
                    count = plan.k.extent // plan.dot.group
                    taps, at = {**taps, merged: loops.value(at // count, merged.dtype)}, at % count
                self.prefetch_next(cast(DotPanels, panels), taps, [(Const(n, plan.k.dtype), at) for n in lines])

        def rest(outer: Bindings, done: SymExpr) -> None:
            def tile(first: SymExpr, size: int) -> None:
                rows = mk.Rows(loops, plan.row, loops.value(first), size, cast(Iter, plan.row).dtype)
                where = {**self.where, **self.block.placed(loops, outer)}
                self._tile(where, rows, panel, prefetch_share(outer, rows))

            mk.rest_of_rows(loops, self.block.iters[-1], done, (plan.tile, plan.vectors), tile)

        stride = (self.padded if panels is None else panels.width) * 4
        ahead = prefetch_next if panels is not None and plan.asks_ahead else None
        TiledStrip(
            self.where, strip, plan.lanes, tiles, self.block, plan.dot.sums, stride, column, finish, ahead, rest
        ).emit()

    def finish(self, where: Bindings, value: SSAValue) -> None:
        """Finish and store a sum for these values of the iterators."""
        dtype = element_type(self.plan.stage.buffer)
        if dtype != value.type:
            value = self.loops.op(tir.CastOp(value, dtype))
        self.plan.epilogue.store(self.loops, where, value, self.strip.guard(where))

    def each_step(
        self,
        body: Callable[[_Step], object],
        done: SymExpr | None = None,
        end: SymExpr | None = None,
        before: Callable[[Bindings, SymExpr, int], object] | None = None,
    ) -> None:
        """Emit loops over the taps and their steps, from `done` on and up to `end` if specified.

        With `before` the steps are in blocks: it is called with the taps, the number of a block and the number of
        its steps. Steps of shifted sums stay loops, because they have no register to spare.
        """
        begin = Const(0, self.plan.k.dtype) if done is None else done
        self.loops.nest(self.plan.taps, {}, lambda taps: self._steps(taps, body, begin, end, before))

    def _steps(
        self,
        taps: Bindings,
        body: Callable[[_Step], object],
        begin: SymExpr,
        end: SymExpr | None,
        before: Callable[[Bindings, SymExpr, int], object] | None,
    ) -> None:
        k, group, loops = self.plan.k, self.plan.dot.group, self.loops
        count, left = k.extent // group, k.extent % group

        def step(at: SymExpr, first: SymExpr, taken: int) -> None:
            body(_Step(taps, loops.value(at, k.dtype), loops.value(first, k.dtype), taken))

        def single(v: SSAValue) -> None:
            step(count + Var(v, k.dtype), count * group + Var(v, k.dtype), 1)

        def emit_step(number: SymExpr) -> None:
            at = begin + number
            step(at, at * group, group)

        steps = (count if end is None else end) - begin
        if before is None:
            loops.loop(steps, lambda v: emit_step(Var(v, k.dtype)), dtype=k.dtype, name=name_of(k.var))
        else:
            mk.in_blocks(loops, k, steps, emit_step, lambda block, size: before(taps, block, size), self.plan.in_a_row)
        if end is not None:
            return
        if left.constant is None:
            loops.loop(left, single, dtype=k.dtype, name=name_of(k.var))
        elif left.constant:
            step(count, count * group, left.constant)

    # B

    def pack(self, panel: SSAValue, at: list[SSAValue], step: _Step, begin: int = 0) -> None:
        """Store a row of the panel: the elements that a step takes of each column from `begin`, padded with 0."""
        plan = self.plan

        def column(c: SSAValue) -> None:
            c = self.place(c, begin)
            place: Bindings = {**self.where, **step.taps, plan.lane: self.strip.at(c)}
            steps: list[Bindings] = [{**place, plan.k: v} for v in self.ks(step)]
            self.copy(plan.columns, (panel, [*at, c]), steps, self.strip.guard(place), self.together)

        self.clear(panel, at, begin)
        self.strip.vectors(column, self.width - begin)

    def ks(self, step: _Step) -> list[SSAValue]:
        """Return the k that a step takes."""
        return [self.loops.value(Var(step.first, self.plan.k.dtype) + n) for n in range(step.taken)]

    def together(self, values: Sequence[SSAValue]) -> SSAValue:
        """Return the values of consecutive k as one element."""
        return packed_element(self.loops, self.plan.dot, values)

    def columns(self, panel: SSAValue | None, step: _Step) -> list[SSAValue]:
        """Return the vectors of B at a step."""
        number = self.padded // self.plan.lanes
        if panel is None and self.plan.panels is not None:
            return [self._of_panels(self.plan.panels, step, v) for v in range(number)]
        place = step.place
        if panel is None:
            panel, place = self.loops.registers([self.padded], self.packed), []
            self.pack(panel, place, step)
        return [self.loops.load(panel, [*place, self.vector(v)]) for v in range(number)]

    def _of_panels(self, panels: DotPanels, step: _Step, vector: int) -> SSAValue:
        """Return a vector of existing panels; the bits of unused k are 0."""
        plan, loops, group = self.plan, self.loops, self.plan.dot.group
        buffer, (*place, first) = self.place_in(panels, step.taps, step.at, vector)
        value = loops.load(buffer, [*place, loops.ramp(first, plan.lanes * group)])
        value = loops.op(tir.ReinterpretOp(value, VectorType(i32, [plan.lanes])))
        if step.taken == group:
            return value
        mask = (1 << step.taken * (32 // group)) - 1
        return loops.op(tir.CallIntrinOp("bitwise_and", [value, self.spread(mask)], value.type))

    def place_in(self, panels: DotPanels, taps: Bindings, at: SSAValue, vector: int) -> Place:
        """Return the position of a vector in existing panels at a step."""
        column = vector * self.plan.lanes
        return panels.place(self.loops, {**self.where, **taps}, self.strip.first, at, column)

    def prefetch_next(self, panels: DotPanels, taps: Bindings, lines: Sequence[tuple[SymExpr, SymExpr]]) -> None:
        """Prefetch lines of the next panel: (which line, of which step)."""
        panels.prefetch_next(self.loops, {**self.where, **taps}, self.strip.first, lines)

    def spread(self, value: int) -> SSAValue:
        """Return a constant of the panels' dtype in every lane."""
        return self.loops.op(tir.BroadcastOp(self.loops.const(value, self.packed), self.plan.lanes))

    def vector(self, number: int) -> SSAValue:
        """Return the position of a vector in a row."""
        lanes = self.plan.lanes
        return self.loops.ramp(self.loops.const(number * lanes, self.plan.lane.dtype), lanes)


@dataclass
class _Tile(mk.RowTile):
    """A tile of rows of a strip; with `shifted` it has an additional row for the excess."""

    plan: DotProductPlan
    columns: _Strip
    panel: SSAValue | None
    share: PrefetchShare | None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, including the excess row, and of columns, rounded up to full vectors."""
        return self.rows.size + self.plan.dot.shifted, self.columns.padded

    @property
    def dtype(self) -> Attribute:
        """The type of the sums, which may differ from the type they are stored in."""
        return self.plan.dot.sums

    def start(self, acc: SSAValue) -> None:
        """Initialize the sums of products with 0."""
        self.clear(acc)

    def reduce(self, acc: SSAValue) -> None:
        """Multiply the columns of each step by all rows."""

        def step(at: _Step) -> None:
            columns = self.columns.columns(self.panel, at)
            self.rows.each(lambda r: self._add(acc, r, self._row(r, at), columns))
            if self.plan.dot.shifted:
                self._add(acc, self._correction(), self.columns.spread(SIGN), columns)

        self.columns.each_step(step, before=self._prefetch_next if self._prefetches or self.plan.in_a_row else None)

    def finish(self, where: Bindings, of: Place) -> None:
        """Subtract the excess, then finish and store."""
        buffer, (_, c) = of
        value = self.loops.load(*of)
        if self.plan.dot.shifted:
            value = self.loops.op(tir.SubOp(value, self.loops.load(buffer, [self._correction(), c])))
        self.columns.finish(where, value)

    @property
    def _prefetches(self) -> bool:
        return self.plan.panels is not None and self.plan.asks_ahead

    def _prefetch_next(self, taps: Bindings, block: SymExpr, size: int) -> None:
        """Prefetch lines of the next panel, but not in the remaining steps."""
        plan = self.plan
        if plan.panels is not None and plan.asks_ahead and self.share is not None:
            steps = plan.k.extent // plan.dot.group
            lines = self.share.lines(plan.panels.lines_of_step, steps, block, size)
            self.columns.prefetch_next(plan.panels, taps, lines)

    def _row(self, r: SSAValue, step: _Step) -> SSAValue:
        """Return the elements that a step takes of a row of A, in every lane."""
        plan, loops, k = self.plan, self.loops, self.plan.k
        place: Bindings = {plan.lane: self.strip.first, **self.outer, **self.rows.at(r), **step.taps}
        if plan.dot.group == 1 or step.taken < plan.dot.group:
            ks = self.columns.ks(step)
            value = self.columns.together([loops.cloner({**place, k: at})(plan.rows.result) for at in ks])
        else:
            if plan.dot is PAIRED:
                return self._in_order(place, step)
            cloner = loops.cloner({**place, k: step.first})
            *outer, last = (cloner(i) for i in plan.rows.indices)
            neighbours = loops.load(plan.rows.buffer, [*outer, loops.ramp(last, step.taken)])
            value = loops.op(tir.ReinterpretOp(neighbours, i32))
        lanes = loops.op(tir.BroadcastOp(value, plan.lanes))
        if not plan.dot.shifted:
            return lanes
        return loops.op(tir.CallIntrinOp("bitwise_xor", [lanes, self.columns.spread(SIGN)], lanes.type))

    def _in_order(self, place: Bindings, step: _Step) -> SSAValue:
        """Return the bytes that a step takes of a row, in every lane, in the order of the panel."""
        plan, loops, k = self.plan, self.loops, self.plan.k
        cloner = loops.cloner({**place, k: loops.value(Var(step.first, k.dtype) // ROWS * ROWS)})
        *outer, last = (cloner(i) for i in plan.rows.indices)
        block = loops.load(plan.rows.buffer, [*outer, loops.ramp(last, ROWS)])
        twice = loops.op(tir.ShuffleOp([block], [*range(ROWS), *range(ROWS)]))
        here = {**self.columns.where, **step.taps, plan.lane: self.strip.first, k: step.first}
        order = cast(DotPanels, plan.panels).byte_order(loops, here, step.taken, plan.lanes)
        factors = [loops.op(tir.ReinterpretOp(value, BYTES)) for value in (twice, order)]
        value = loops.op(tir.CallLLVMIntrinOp(_REARRANGED, factors, BYTES))
        return loops.op(tir.ReinterpretOp(value, VectorType(i32, [plan.lanes])))

    def _add(self, acc: SSAValue, r: SSAValue, row: SSAValue, columns: list[SSAValue]) -> None:
        """Add products to the sums of a row."""
        for v, column in enumerate(columns):
            place = [r, self.columns.vector(v)]
            total = add_products(self.loops, self.plan.dot, self.loops.load(acc, place), row, column)
            self.loops.store(total, acc, place)

    def _correction(self) -> SSAValue:
        """Return the index of the excess row."""
        return self.loops.const(self.rows.size, self.rows.dtype)
