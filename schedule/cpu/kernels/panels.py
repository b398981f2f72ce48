"""The rule for products with one operand copied into panels: large matrices, transposed ones, convolutions.

    C[i, j] += A[i, k] * B(k, j)

If consecutive k of B lie pages apart, or consecutive j are not contiguous in memory (a transposed matrix, an image
that is read with stride two, short rows of an image), a strip of columns is copied first. The panel stays in the
second-level cache while all rows use it, and the tiles of `register_tiles` read it like a small matrix:

    for j in N / width:
        for k in K: panel[k, :] = B(k, j * width : (j + 1) * width)
        for i in M / rows:
            acc[rows, width] = init
            for k: acc[r, c] += A[i * rows + r, k] * panel[k, c]
            C[i * rows + r, j * width + c] = epilogue(acc[r, c])

If consecutive k are contiguous in memory, as in a transposed matrix, the panel is filled by squares that are
transposed in registers (`transpose`).

Short rows of an image, h x w, are placed side by side in a strip: j is the pair (h, w). A panel that would exceed
the cache is copied and used in parts along the outermost k; the partial sums are then kept in a strip [M, width],
and each sum keeps its order.

If the rows of A are not in a near cache, several panels are copied side by side, and each tile uses all of them
before the next tile starts: panel[strip, k, c]. The panels then come from the last-level cache, which is fast
enough for products of narrow vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.ir import OpResult, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, SymExpr, Var, mul, product
from ....dialects.sym.operators import minimum, select
from ...loop_builder import Bindings, Cloner, LoopBuilder, captured
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, Update, constant_slope, element_type, memory_bits, slope, update_of
from ..library import microkernel as mk
from ..library.crowded_rows import conflicts_in_l2, is_crowded_when, span_of
from ..library.epilogue import Epilogue
from ..library.fuse_iters import moves_alike
from ..library.interleaved_rows import InterleavedRows, interleaved_rows
from ..library.packed import panels_of
from ..library.panel_strip import PanelStrip, is_transposed
from ..policy.limits import (
    L3_BYTES_PER_CYCLE,
    MANY_PAGES,
    MANY_REGISTERS,
    MANY_ROWS,
    MAX_PANELS_ABREAST,
    MAX_SQUARE,
    MIN_GROUPS_OF_PANELS,
    MIN_PANEL_BYTES,
    MIN_PANEL_ROWS,
    PANEL_PARTS,
    SHORT_IMAGE_ROW,
)


@dataclass
class PanelPlan(mk.SumPlan):
    """A plan that copies `operand` for strips of `column`, which is `lane`, or (group, lane); tiles have `rows` of
    `row`.

    A panel that would be larger than `panel_bytes` is copied in parts.
    """

    operand: SSAValue
    outer: list[Iter]
    above: list[Iter]
    row: Iter
    group: Iter | None
    lane: Iter
    groups: int
    lanes: int
    vectors: int
    rows: int
    panel_bytes: int
    blocks: InterleavedRows | None
    strips: int = 1
    crowded: SymExpr | None = None
    """Whether the operand is slow to read in its layout, if that depends on sizes that are not known."""

    @property
    def is_turned(self) -> bool:
        """True if the operand is a matrix whose rows run along the sum, so that the panel is filled by transposed
        squares.
        """
        inner, *others = self.stage.reduce
        if others or inner.parts or self.group is not None or not 2 <= self.lanes <= MAX_SQUARE:
            return False
        return is_transposed(self.operand.owner, inner, self.lane)

    @property
    def all_rows(self) -> SymExpr:
        """The number of rows that use a panel."""
        return product(it.extent for it in (*self.above, self.row))

    @property
    def served_rows(self) -> SymExpr:
        """The number of rows that a panel is faster for: none if the operand is fast to read in place."""
        rows = self.all_rows
        return rows if self.crowded is None else select(self.crowded, rows, 0)

    @property
    def column(self) -> Iter:
        if self.group is None:
            return self.lane
        return _pair(self.group, self.lane)


def _pair(group: Iter, lane: Iter) -> Iter:
    return replace(lane, extent=mul(group.extent, lane.extent), parts=(group, lane))


def plan_panels(epilogue: Epilogue, machine: Machine) -> PanelPlan | None:
    """Return the plan for a product, or None if this rule does not fit or does not pay off."""
    stage = epilogue.stage
    update = update_of(stage)
    if update is None:
        return reject("it is no reduction C = combine(C, term)")
    term = update.term.owner
    if not isinstance(update.combiner, tir.AddOp) or not isinstance(term, tir.MulOp):
        return reject("it is no sum of products")
    for other, operand in ((term.lhs, term.rhs), (term.rhs, term.lhs)):
        plan = _plan(epilogue, update, other, operand, machine)
        if plan is not None:
            return plan
    return None


def _plan(epilogue: Epilogue, update: Update, other: SSAValue, operand: SSAValue, machine: Machine) -> PanelPlan | None:
    stage = epilogue.stage
    mine, others = _varies_with(stage, operand), _varies_with(stage, other)
    several = [it for it in stage.spatial if it.extent.constant != 1]
    rows = [it for it in several if it in others and it not in mine]
    columns = [it for it in several if it in mine and it not in others]
    lane = next(
        (it for it in reversed(columns) if constant_slope(epilogue.last.store, epilogue.iter_of(it)) == 1), None
    )
    if lane is None or not rows:
        return reject("it is no product of rows and of columns that lie along the result")
    if any(r.extent.constant is None for r in stage.reduce[1:]):
        return reject("an inner extent that is summed over is not known")
    lanes = max(1, machine.vector_bits // mk.element_bits(stage))
    if panels_of(stage, lane, lanes) is not None:
        return reject("the operand is packed in panels already")
    group, groups = _groups(epilogue, columns, lane, lanes, machine)
    crowded = None
    if not _is_profitable(stage, operand, lane, group, rows, machine):
        crowded = None if group is not None else _crowded_when(stage, operand, rows, machine)
        if crowded is None:
            return reject("panels do not pay: few rows use them, or the operand is fast to read in place")
    width = lane.extent.constant
    vectors, tile = mk.tile_size(machine, width, lanes, rows[-1])
    if group is not None and width is not None:
        vectors = -(-groups * width // lanes)
        tile = mk.tile_rows(machine, vectors, rows[-1])
    fixed = [it for it in stage.spatial if it not in rows and it is not lane and it is not group]
    blocks = interleaved_rows(stage, lane, lanes)
    strips = _side_by_side(stage, lane, product(it.extent for it in rows), machine, (vectors, tile))
    return PanelPlan(
        epilogue, update, operand, fixed, rows[:-1], rows[-1], group, lane, groups, lanes, vectors, tile,
        max(MIN_PANEL_BYTES, machine.caches.l2 // PANEL_PARTS), blocks, strips, crowded,
    )  # fmt: skip


def _varies_with(stage: Stage, value: SSAValue) -> set[Iter]:
    """Return the iterators of a stage that `value` depends on."""
    by_var = {part.var: it for it in stage.iters for part in (it.parts or (it,))}
    return {by_var[v] for v in _computed_from(value) if v in by_var}


def _computed_from(value: SSAValue) -> list[SSAValue]:
    """Return the values that a value is computed from, including itself and those in lazy expressions."""
    values: dict[SSAValue, None] = {}
    todo = [value]
    while todo:
        v = todo.pop()
        if v not in values:
            values[v] = None
            todo.extend(captured(v.op) if isinstance(v, OpResult) else ())
    return list(values)


def _groups(
    epilogue: Epilogue, columns: list[Iter], lane: Iter, lanes: int, machine: Machine
) -> tuple[Iter | None, int]:
    """Return the iterator whose rows are placed side by side in a strip, and their number; (None, 1) if rows are
    long.
    """
    width = lane.extent.constant
    widest = lanes * (4 if machine.registers >= MANY_REGISTERS else 2)
    group = columns[columns.index(lane) - 1] if lane in columns[1:] else None
    if width is None or group is None or 2 * width > widest or lane.parts or group.parts or lane.dtype != group.dtype:
        return None, 1
    ends = epilogue.iter_of(group), epilogue.iter_of(lane)
    if not moves_alike([epilogue.last.store], *ends):
        return None, 1
    if epilogue.consumer is not None and not moves_alike(epilogue.consumer.accesses, *ends):
        return None, 1
    most = min(widest // width, group.extent.constant or widest // width)
    rows = group.extent.constant or MANY_ROWS
    return group, min(range(most, 0, -1), key=lambda n: _cost(rows, n, width, lanes))


def _cost(rows: int, groups: int, width: int, lanes: int) -> tuple[int, int]:
    """Return (computed columns, kinds of strips) of all rows with `groups` of them side by side."""
    full, rest = divmod(rows, groups)
    return full * stepped(groups * width, lanes) + stepped(rest * width, lanes), 1 + (rest > 0)


def stepped(width: int, lanes: int) -> int:
    """Return the number of columns with the last vector shortened to a power of two."""
    rest = width % lanes
    return width - rest + (1 << (rest - 1).bit_length() if rest else 0)


def _is_profitable(
    stage: Stage, operand: SSAValue, lane: Iter, group: Iter | None, rows: list[Iter], machine: Machine
) -> bool:
    """Return whether enough rows use a panel, and the operand is slow to read in its layout."""
    count = product(it.extent for it in rows).constant
    if count is not None and count < MIN_PANEL_ROWS:
        return False
    loads = [op for op in _loads(operand) if op.buffer is not stage.buffer]
    if not loads or any(constant_slope(load, lane) not in (0, 1) for load in loads):
        return bool(loads)
    if _is_converted(operand) and group is None:
        return True
    if group is not None and (lane.extent.constant or SHORT_IMAGE_ROW) < SHORT_IMAGE_ROW:
        return True
    inner = next((it for it in reversed(stage.reduce) if it.extent.constant != 1), None)
    if inner is None:
        return False
    return any(
        span_of(load, inner) >= MANY_PAGES or conflicts_in_l2(load, inner, count or 0, machine) for load in loads
    )


def _crowded_when(stage: Stage, operand: SSAValue, rows: list[Iter], machine: Machine) -> SymExpr | None:
    """Return when rows of unknown length are slow to read in place: they are pages apart, or share sets of a cache.

    None if no row is of unknown length, or too few use a panel.
    """
    inner = next((it for it in reversed(stage.reduce) if it.extent.constant != 1), None)
    count = product(it.extent for it in rows).constant
    loads = [op for op in _loads(operand) if op.buffer is not stage.buffer]
    if inner is None or (count or MIN_PANEL_ROWS) < MIN_PANEL_ROWS:
        return None
    for load in loads:
        distance = slope(load, inner)
        if distance.constant is None and all(v.value is None for v in distance.free_vars()):
            return is_crowded_when(distance * memory_bits(load.buffer) // 8, inner.extent, machine)
    return None


def _is_converted(operand: SSAValue) -> bool:
    """Return whether an operand is a converted byte: a panel is converted once, instead of for each tile of rows."""
    conversion = operand.owner
    return isinstance(conversion, tir.CastOp) and bit_width(conversion.value.type) == 8 < bit_width(operand.type)


def _side_by_side(stage: Stage, lane: Iter, rows: SymExpr, machine: Machine, tile: tuple[int, int]) -> int:
    """Return the number of strips that a tile of rows uses: several if rows are far and panels are fast enough.

    Many times as many strips remain for threads.
    """
    width, (k, *others), (vectors, height) = lane.extent.constant, stage.reduce, tile
    if width is None or others or machine.vector_bits // 4 > L3_BYTES_PER_CYCLE * height:
        return 1
    columns = width // (vectors * machine.vector_bits // mk.element_bits(stage))
    far = (rows * k.extent).constant
    if far is not None and far * mk.element_bits(stage) <= 8 * machine.caches.l2:
        return 1
    return max(1, min(MAX_PANELS_ABREAST, columns // MIN_GROUPS_OF_PANELS))


def _loads(value: SSAValue) -> list[tir.LoadOp]:
    """Return every load that `value` depends on, including those in lazy expressions."""
    ops = {op: None for v in _computed_from(value) if isinstance(v, OpResult) for op in v.op.walk()}
    return [op for op in ops if isinstance(op, tir.LoadOp)]


def emit_panels(loops: LoopBuilder, plan: PanelPlan) -> None:
    """Emit the loops of a plan."""
    loops.nest(plan.outer, {}, lambda where: _strips(loops, plan, where))


def _strips(loops: LoopBuilder, plan: PanelPlan, where: Bindings) -> None:
    """Emit full strips, then the remaining columns."""
    along = plan.lane if plan.group is None else plan.group
    full, tail = (plan.lanes * plan.vectors, plan.lanes) if plan.group is None else (plan.groups, 1)
    name = mk.tile_name(along, "j", "strip")
    several = plan.strips if plan.group is None and plan.blocks is None else 1
    sizes = [(full * n, None) for n in dict.fromkeys((several, 1))]

    def strips(strip: mk.Strip) -> None:
        _Strips(plan, where, strip, max(1, strip.size // full)).emit()

    mk.strips(loops, along, sizes, strips, tail=tail, name=name)


@dataclass(frozen=True)
class _Part:
    """A range of steps of the outermost k: `steps` from `begin`."""

    begin: SymExpr
    extent: SymExpr


@dataclass
class _Strips:
    """`count` strips side by side, all of which a tile of rows uses before the next tile starts.

    If there are several, the first index of their buffers is the strip.
    """

    plan: PanelPlan
    where: Bindings
    full: mk.Strip
    count: int

    def __post_init__(self) -> None:
        self.loops, self.size = self.full.loops, self.full.size // self.count
        self.one = self._strip(replace(self.full, size=self.size), [])

    def _strip(self, columns: mk.Strip, number: list[SSAValue]) -> _Strip:
        return _Strip(self.where, columns, self.plan.lanes, self.plan, number)

    def each(self, body: Callable[[_Strip], object]) -> None:
        """Emit `body` for each strip."""
        if self.count == 1:
            body(self.one)
            return

        def strip(number: SSAValue) -> None:
            first = Var(self.full.first, dtype) + Var(number, dtype) * self.size
            columns = replace(self.full, first=self.loops.value(first), size=self.size)
            body(self._strip(columns, [number]))

        dtype = self.plan.lane.dtype
        self.loops.loop(self.count, strip, dtype=dtype, name=mk.tile_name(self.plan.lane, "j"))

    def emit(self) -> None:
        """Copy the panels, then emit all tiles of rows; in parts along the outermost k if a panel would be too
        large.
        """
        plan, loops = self.plan, self.loops
        outermost, *inner = plan.stage.reduce
        steps = self.one.steps_of_a_part()
        several = [self.count] if self.count > 1 else []
        panel = loops.scratch([*several, steps, *(it.extent for it in inner), self.one.padded], plan.operand.type)
        if outermost.extent.constant == steps:
            self._use(panel, _Part(Const(0, outermost.dtype), outermost.extent), None)
            return
        rows = [*plan.above, plan.row]
        sums = loops.scratch([*several, *(it.extent for it in rows), self.one.padded], element_type(plan.stage.buffer))

        def part(first: SymExpr, steps: int) -> None:
            extent = minimum(outermost.extent - first, Const(steps, outermost.dtype))
            self._use(panel, _Part(first, extent), sums)

        def begin(strip: _Strip) -> None:
            columns, update = strip.columns, plan.update
            strip.each_row(strip.begun, sums, lambda where, to: mk.begin(columns, plan.stage, update, where, to))

        def finish(strip: _Strip) -> None:
            strip.each_row(strip.width, sums, lambda where, of: mk.finish(strip.columns, plan.epilogue, where, of))

        self.each(begin)
        count = (outermost.extent + (steps - 1)) // steps
        mk.run_pieces(
            loops, outermost, (Const(0, outermost.dtype), count, steps), part, mk.tile_name(outermost, "k", "part")
        )
        self.each(finish)

    def _use(self, panel: SSAValue, part: _Part, sums: SSAValue | None) -> None:
        plan, loops = self.plan, self.loops
        self._fill(panel, part)

        def tile(strip: _Strip, above: Bindings, rows: mk.Rows) -> None:
            partial = None if sums is None else strip.partial(sums)
            _Tile(plan, strip.columns, above, rows, strip, panel, part, partial=partial).emit()

        def tiles(above: Bindings) -> None:
            def rows_of_all(rows: mk.Rows) -> None:
                self.each(lambda strip: tile(strip, above, rows))

            mk.row_tiles(loops, plan.row, plan.lane, (plan.rows, plan.vectors), rows_of_all)

        loops.nest(plan.above, self.where, tiles)

    def _fill(self, panel: SSAValue, part: _Part) -> None:
        """Copy a part; if nothing is unpacked or transposed, a row of all strips is copied before the next row."""
        if self.plan.blocks is not None or self.one.turned:
            self.each(lambda strip: strip.fill(panel, part))
            return

        def row(ks: Bindings, at: list[SSAValue]) -> None:
            self.each(lambda strip: strip.copy_row(panel, ks, [*strip.number, *at], 0))

        self.one.each_step(part, row)


@dataclass
class _Strip(PanelStrip):
    """A strip of columns: lanes, or rows of lanes; `number` is its index among several.

    `width` is the number of its columns, and `stepped` the number of computed ones.
    """

    plan: PanelPlan
    number: list[SSAValue]

    def __post_init__(self) -> None:
        super().__post_init__()
        plan = self.plan
        each = 1 if plan.group is None else plan.lane.extent.constant or 1
        self.width = self.strip.size * each
        self.stepped = stepped(self.width, plan.lanes)
        start = self.loops.value(Var(self.strip.first, plan.lane.dtype) * each)
        self.columns = replace(self.strip, it=plan.column, first=start, size=self.width)

    def each_row(self, width: int, sums: SSAValue, body: Callable[[Bindings, mk.Place], None]) -> None:
        """Emit `body` for `width` columns of each row, with their positions among the sums."""
        partial, columns = self.partial(sums), self.columns

        def row(where: Bindings) -> None:
            columns.vectors(lambda c: body({**where, columns.it: columns.at(c)}, partial.place(where, c)), width)

        self.loops.nest(partial.rows, self.where, row)

    def partial(self, sums: SSAValue) -> mk.PartialSums:
        """Return the strip's part of the partial sums."""
        return mk.PartialSums(sums, [*self.plan.above, self.plan.row], self.number)

    @property
    def begun(self) -> int:
        """The number of columns that are initialized: full vectors if the initial values are not read from memory."""
        init = self.plan.stage.init
        return self.width if init is None or _loads(init.value) else self.stepped

    def steps_of_a_part(self) -> int:
        """Return the number of steps of the outermost k in a panel: all, or equal parts that fit the cache."""
        plan = self.plan
        outermost, *inner = plan.stage.reduce
        each = self.padded * max(8, bit_width(plan.operand.type)) // 8
        for it in inner:
            each *= it.extent.constant or 1
        most, known = max(1, plan.panel_bytes // each), outermost.extent.constant
        if known is None:
            return most
        steps = known if 2 * known <= 3 * most else -(-known // -(-known // most))
        return steps if plan.blocks is None else mk.round_to_vectors(steps, plan.blocks.format.size)

    @property
    def turned(self) -> int:
        """The number of columns that are filled by squares of a transposed matrix."""
        return self.in_squares if self.plan.is_turned else 0

    def fill(self, panel: SSAValue, part: _Part) -> None:
        """Fill a part: unpacked blocks, or squares of a transposed matrix with the remainder element by element."""
        plan, size, turned = self.plan, self.plan.lanes, self.turned
        if plan.blocks is not None:
            plan.blocks.unpack(self.strip, panel, part.begin, part.extent)
            return
        k = plan.stage.reduce[0]
        count = part.extent // size
        squares = mk.Squares(self.strip, k, cast(tir.LoadOp, plan.operand.owner), size)
        squares.fill(panel, self.number, part.begin, self.where, count)
        if turned < self.width:
            self.each_step(part, lambda ks, at: self.copy_row(panel, ks, at, turned))
        self.each_step(part, lambda ks, at: self.copy_row(panel, ks, at, 0), count * size)

    def each_step(
        self, part: _Part, body: Callable[[Bindings, list[SSAValue]], object], done: SymExpr | None = None
    ) -> None:
        """Emit loops over the steps of a part, without those that are `done`.

        `body` takes the values of the iterators and the position in the panel.
        """
        outermost, *inner = self.plan.stage.reduce
        done = Const(0, outermost.dtype) if done is None else done

        def over(i: SSAValue) -> None:
            v = self.loops.value(done + Var(i, outermost.dtype), outermost.dtype)
            here = self.loops.value(part.begin + Var(v, outermost.dtype), outermost.dtype)
            self.loops.nest(inner, {outermost: here}, lambda ks: body(ks, [*self.number, v, *(ks[it] for it in inner)]))

        self.loops.loop(part.extent - done, over, dtype=outermost.dtype, name=name_of(outermost.var))

    def copy_row(self, panel: SSAValue, ks: Bindings, at: list[SSAValue], begin: int) -> None:
        """Copy one row of the panel from a column on; lanes of its last vector beyond the columns are 0."""
        plan, loops, lane, group = self.plan, self.loops, self.plan.lane, self.plan.group
        self.clear(panel, at, self.padded - plan.lanes)

        def column(c: SSAValue) -> None:
            place = self.place(c, begin)
            here = {**self.where, **ks, lane: self.strip.at(place)}
            self.copy(plan.operand, (panel, [*at, place]), [here], self.strip.guard(here))

        if group is None:
            self.strip.vectors(column, self.width - begin)
            return
        each = lane.extent.constant or 1

        def row(g: SSAValue) -> None:
            where = {**self.where, **ks, group: self.strip.at(g)}
            first = loops.value(Var(g, lane.dtype) * each)

            def column_of_row(c: SSAValue) -> None:
                to = panel, [*at, self.place(c, Var(first, lane.dtype))]
                self.copy(plan.operand, to, [{**where, lane: c}])

            loops.vectors(lane, each, column_of_row)

        loops.unrolled(lane.dtype, self.strip.size, row)


@dataclass
class _Tile(mk.RowTile):
    """Rows of a strip, with one operand read from the panel."""

    columns: _Strip
    panel: SSAValue
    part: _Part

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of columns rounded up to full vectors."""
        return self.rows.size, self.columns.padded

    def start(self, acc: SSAValue) -> None:
        """Initialize full vectors if that reads nothing beyond the end."""
        width = self.columns.begun if self.partial is None else self.columns.stepped
        self.elements(lambda where, at: self.begin(where, (acc, at)), width)

    def end(self, acc: SSAValue) -> None:
        """Finish the columns, or keep the partial sums."""
        width = self.columns.width if self.partial is None else self.columns.stepped
        self.elements(lambda where, at: self.finish(where, (acc, at)), width)

    def reduce(self, acc: SSAValue) -> None:
        """Emit the steps of a part; those of a matrix product in blocks."""
        loops, part, (k, *inner) = self.loops, self.part, self.plan.stage.reduce

        def step(ks: Bindings, place: Sequence[SSAValue]) -> None:
            def operands(cloner: Cloner, at: Sequence[SSAValue]) -> Mapping[SSAValue, tir.LoadOp]:
                return {self.columns.plan.operand: tir.LoadOp(self.panel, [*place, at[1]])}

            self.step(ks, acc, operands, self.columns.stepped)

        def at(number: SymExpr) -> None:
            here = {k: loops.value(part.begin + number, k.dtype)}
            step(here, [*self.columns.number, loops.value(number, k.dtype)])

        if inner:
            self.columns.each_step(part, step)
        else:
            mk.in_blocks(loops, k, part.extent, at)
