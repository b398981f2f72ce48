"""The rule for products and convolutions of bfloat16, and of bytes: instructions that add several products at once.

    C[i, j] += A[i, k] * B[k, j]        of bfloat16 in float32 (or bfloat16), of bytes in int32

An element of 32 bits holds `group` steps of k: two bfloat16 (`vdpbf16ps`), or four bytes (`vpdpbusd`). Those of A lie
behind each other in memory; those of B are put together, for a strip of columns, in a panel that all rows pass over,
or, where there are few rows, step by step:

    for j in N / width:
        for s in K / group: panel[s, :] = B[s * group : (s + 1) * group, j * width : (j + 1) * width]
        for i in M / rows:
            acc[rows, width] = 0
            for s: acc[r, :] = dot(acc[r, :], A[i * rows + r, s * group : (s + 1) * group], panel[s, :])
            C[i * rows + r, j * width + c] = epilogue(acc[r, c])

What is left of K is one step, the other places of which are 0; where it is not known how many, steps of one k.

A convolution sums over the taps of a window as well, which are loops around the steps; its channels are k. Where they
are neighbours in memory (NHWC), A is the image, else (NCHW) the weights, which then have to stand so that they are.
Where neighbouring k of B are neighbours in memory (a matrix that is transposed), the panel is filled by squares of
elements that are turned around in registers. Weights that are constant have their panels already (`pack-weights`,
`DotPanels`).

`vpdpbusd` multiplies unsigned bytes by signed ones. Where both are of one kind, those of A are shifted by 128 to the
other kind, and one row more, of 128 everywhere, gives what is too much: sums wrap, so that it is exact.

Sums of bfloat16 are float32 here, whatever dtype they are stored in: rounded once, at the end. Targets without the
instruction compute those as float32, with a `group` of one; all else is left to the other rules there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, ui8, ui16
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.affine.values import sym_expr_of
from ..loop_builder import Bindings, LoopBuilder
from .dot_products_plan import DotPanels, DotProductPlan, plan_dot_products, room
from .epilogue import hoist_uniform
from .microkernel import Squares, Strip, element_type, row_tiles, strips, tile_name, under, whole_vectors
from .panels import FEWEST_ROWS
from .stages import Iter

__all__ = ["emit_dot_products", "plan_dot_products"]

_SHIFT = -0x7F7F7F80
"""Four bytes, each 0x80."""


def emit_dot_products(loops: LoopBuilder, plan: DotProductPlan) -> None:
    """The loops of a plan."""
    loops.nest(plan.outer, {}, lambda where: _strips(loops, plan, where))


def _strips(loops: LoopBuilder, plan: DotProductPlan, where: Bindings) -> None:
    """Full strips of columns, then what is left."""
    full, name = plan.lanes * plan.vectors, tile_name(plan.lane, "j", "strip")
    strips(
        loops, plan.lane, [(full, None)], lambda strip: _Strip(plan, where, strip).emit(), tail=plan.lanes, name=name
    )


def _known_room(it: Iter) -> SymExpr:
    most = room(it)
    assert most is not None  # else there is no plan
    return most


@dataclass(frozen=True)
class _Step:
    """A step of the sum: at which taps, its number there, its first k, and how many k it takes."""

    taps: Bindings
    at: SSAValue
    first: SSAValue
    taken: int

    @property
    def place(self) -> list[SSAValue]:
        """Where it is in a panel."""
        return [*self.taps.values(), self.at]


@dataclass
class _Strip:
    """A strip of columns. Its buffers have whole vectors."""

    plan: DotProductPlan
    where: Bindings
    strip: Strip

    def __post_init__(self) -> None:
        self.loops, self.width = self.strip.loops, self.strip.size
        self.padded = whole_vectors(self.width, self.plan.lanes)
        self.packed = i32 if self.plan.dot.group > 1 else self.plan.dot.sums

    def emit(self) -> None:
        """With a panel where there are enough rows; both ways where that is known only when it runs."""
        plan, count = self.plan, self.plan.all_rows
        turned = plan.is_turned and not self.strip.masked
        if count.constant is not None or plan.panels is not None or turned:
            filled = plan.panels is None and (turned or (count.constant or 0) >= FEWEST_ROWS)
            self._by_panel(turned) if filled else self._tiles(None)
        else:
            self.loops.branch_at_least(count, FEWEST_ROWS, self._by_panel, lambda: self._tiles(None))

    def _by_panel(self, turned: bool = False) -> None:
        """Fill a panel of all steps, then all tiles."""
        k, group, lanes, taps = self.plan.k, self.plan.dot.group, self.plan.lanes, self.plan.taps
        panel = self.loops.scratch([*map(_known_room, taps), self._room(), self.padded], self.packed)
        done: SymExpr = Const(0, k.dtype)
        if turned:
            blocks, whole = k.extent // (lanes * group), self.width // lanes * lanes
            squares = Squares(self.strip, k, cast(tir.LoadOp, self.plan.columns.owner), lanes, group, i32)

            def fill(taps: Bindings) -> None:
                squares.fill(panel, list(taps.values()), Const(0, k.dtype), {**self.where, **taps}, blocks)

            self.loops.nest(taps, {}, fill)
            done = blocks * lanes
            if whole < self.width:
                self.each_step(lambda step: self.pack(panel, step.place, step, whole), end=done)
        self.each_step(lambda step: self.pack(panel, step.place, step), done)
        self._tiles(panel)

    def _room(self) -> SymExpr:
        """So many steps there may be for each tap."""
        k, group = self.plan.k, self.plan.dot.group
        most = _known_room(k)
        if k.extent.constant is not None:
            return (most + (group - 1)) // group
        return most // group + (group - 1 if most.constant is not None else most % group)

    def _tiles(self, panel: SSAValue | None) -> None:
        """The tiles of all rows."""

        def rows(where: Bindings) -> None:
            def tile(rows: int, first: SSAValue | None) -> None:
                _Tile(self, where, panel, rows, first).emit()

            row_tiles(self.loops, self.plan.row, self.plan.tile, self.plan.vectors, tile)

        self.loops.nest(self.plan.above, self.where, rows)

    def each_step(
        self, body: Callable[[_Step], object], done: SymExpr | None = None, end: SymExpr | None = None
    ) -> None:
        """Loops over the taps and the steps of each, but those that are `done`; to `end`, where that is given."""
        begin = Const(0, self.plan.k.dtype) if done is None else done
        self.loops.nest(self.plan.taps, {}, lambda taps: self._steps(taps, body, begin, end))

    def _steps(self, taps: Bindings, body: Callable[[_Step], object], begin: SymExpr, end: SymExpr | None) -> None:
        k, group, loops = self.plan.k, self.plan.dot.group, self.loops
        count, left = k.extent // group, k.extent % group

        def step(at: SymExpr, first: SymExpr, taken: int) -> None:
            body(_Step(taps, loops.value(at), loops.value(first), taken))

        def single(v: SSAValue) -> None:
            step(count + Var(v, k.dtype), count * group + Var(v, k.dtype), 1)

        def whole(v: SSAValue) -> None:
            at = begin + Var(v, k.dtype)
            step(at, at * group, group)

        loops.loop((count if end is None else end) - begin, whole, dtype=k.dtype, name=name_of(k.var))
        if end is not None:
            return
        if left.constant is None:
            loops.loop(left, single, dtype=k.dtype, name=name_of(k.var))
        elif left.constant:
            step(count, count * group, left.constant)

    # B

    def pack(self, panel: SSAValue, at: list[SSAValue], step: _Step, begin: int = 0) -> None:
        """A row of the panel: what a step takes of each column from `begin` on; what are no columns is 0."""
        plan, loops, lane, k = self.plan, self.loops, self.plan.lane, self.plan.k

        def from_begin(c: SSAValue) -> SSAValue:
            return loops.value(begin + Var(c, lane.dtype)) if begin else c

        def clear(c: SSAValue) -> None:
            loops.store(self.number(0), panel, [*at, from_begin(c)])

        def column(c: SSAValue) -> None:
            c = from_begin(c)
            place: Bindings = {**self.where, **step.taps, lane: self.strip.at(c)}
            ks = [loops.value(Var(step.first, k.dtype) + n) for n in range(step.taken)]
            cloners = [loops.cloner({**place, k: at}) for at in ks]
            guard = self.strip.guard(place)
            for cloner in [] if guard is None else cloners:
                hoist_uniform(cloner, plan.columns, lane)

            def store() -> None:
                value = self.together([cloner(plan.columns) for cloner in cloners])
                loops.store(value, panel, [*at, c])

            under(loops, guard, store)

        if self.strip.masked or self.width < self.padded:
            self.strip.vectors(clear, self.padded - begin)
        self.strip.vectors(column, self.width - begin)

    def columns(self, panel: SSAValue | None, step: _Step) -> list[SSAValue]:
        """The vectors of B at a step."""
        number = self.padded // self.plan.lanes
        if panel is None and self.plan.panels is not None:
            return [self._of_panels(self.plan.panels, step, v) for v in range(number)]
        place = step.place
        if panel is None:
            panel, place = self.loops.registers([self.padded], self.packed), []
            self.pack(panel, place, step)
        return [self.loops.load(panel, [*place, self.vector(v)]) for v in range(number)]

    def _of_panels(self, panels: DotPanels, step: _Step, vector: int) -> SSAValue:
        """A vector of panels that are there; of what is not taken the bits are 0."""
        plan, loops, group = self.plan, self.loops, self.plan.dot.group
        dtype, lanes = panels.load.indices[-1].type, self.plan.lanes * group
        cloner = loops.cloner({**self.where, **step.taps})
        middle = [cloner(i) for i in list(panels.load.indices)[1:-2]]
        places = loops.ramp(loops.const(vector * lanes, dtype), lanes)
        number = loops.value(sym_expr_of(self.strip.first) // panels.width)
        value = loops.load(panels.load.buffer, [number, *middle, step.at, places])
        value = loops.op(tir.ReinterpretOp(value, VectorType(i32, [plan.lanes])))
        if step.taken == group:
            return value
        mask = (1 << step.taken * (32 // group)) - 1
        return loops.op(tir.CallIntrinOp("bitwise_and", [value, self.spread(mask)], value.type))

    def together(self, values: list[SSAValue]) -> SSAValue:
        """Values of neighbouring k as one element; a number in float32 where there is one place."""
        if self.plan.dot.group == 1:
            return self.loops.op(tir.CastOp(values[0], self.packed))
        parts = [self._bits_at(value, n) for n, value in enumerate(values)]
        return reduce(lambda a, b: self.loops.op(tir.CallIntrinOp("bitwise_or", [a, b], self.packed)), parts)

    def _bits_at(self, value: SSAValue, place: int) -> SSAValue:
        """The bits of a bfloat16 or a byte, as an int32 that is not negative, at a place of it."""
        loops, bits = self.loops, bit_width(value.type)
        unsigned = ui8 if bits == 8 else ui16
        wide = value if value.type == unsigned else loops.op(tir.ReinterpretOp(value, unsigned))
        wide = loops.op(tir.CastOp(wide, i32))
        if place == 0:
            return wide
        return loops.op(tir.CallIntrinOp("shift_left", [wide, self.number(place * bits)], i32))

    # what panels and tiles are made of

    def number(self, value: int) -> SSAValue:
        """A constant of the panels' dtype."""
        return self.loops.const(value, self.packed)

    def spread(self, value: int) -> SSAValue:
        """It in every lane."""
        return self.loops.op(tir.BroadcastOp(self.number(value), self.plan.lanes))

    def vector(self, number: int) -> SSAValue:
        """The places of a vector in a row."""
        lanes = self.plan.lanes
        return self.loops.ramp(self.loops.const(number * lanes, self.plan.lane.dtype), lanes)


@dataclass
class _Tile:
    """So many rows of a strip, from `first` of the iterator `row`, which has one value where that is None."""

    strip: _Strip
    where: Bindings
    panel: SSAValue | None
    rows: int
    first: SSAValue | None

    def __post_init__(self) -> None:
        self.loops, self.plan = self.strip.loops, self.strip.plan
        self.row_type = (self.plan.row or self.plan.lane).dtype

    def emit(self) -> None:
        """Sum up and finish the rows; with `shifted` there is one more, of what is too much."""
        dot, strip, loops = self.plan.dot, self.strip, self.loops
        every = self.rows + dot.shifted
        acc = loops.registers([every, strip.padded], dot.sums)

        def clear(r: SSAValue, c: SSAValue) -> None:
            loops.store(loops.const(0, dot.sums), acc, [r, c])

        def step(at: _Step) -> None:
            columns = strip.columns(self.panel, at)
            loops.unrolled(self.row_type, self.rows, lambda r: self._add(acc, r, self._row(r, at), columns))
            if dot.shifted:
                self._add(acc, self._place(self.rows), strip.spread(_SHIFT), columns)

        self._elements(every, strip.padded, clear)
        strip.each_step(step)
        self._elements(self.rows, strip.width, lambda r, c: self._finish(acc, r, c))

    def _elements(self, rows: int, width: int, body: Callable[[SSAValue, SSAValue], object]) -> None:
        def columns(r: SSAValue) -> None:
            self.strip.strip.vectors(lambda c: body(r, c), width)

        self.loops.unrolled(self.row_type, rows, columns)

    def _row(self, r: SSAValue, step: _Step) -> SSAValue:
        """What a step takes of a row of A, in every lane."""
        plan, loops, k = self.plan, self.loops, self.plan.k
        place: Bindings = {**self._at_row(r), **step.taps}
        if plan.dot.group == 1 or step.taken < plan.dot.group:
            ks = [loops.value(Var(step.first, k.dtype) + n) for n in range(step.taken)]
            value = self.strip.together([loops.cloner({**place, k: at})(plan.rows.result) for at in ks])
        else:
            cloner = loops.cloner({**place, k: step.first})
            *outer, last = (cloner(i) for i in plan.rows.indices)
            neighbours = loops.load(plan.rows.buffer, [*outer, loops.ramp(last, step.taken)])
            value = loops.op(tir.ReinterpretOp(neighbours, i32))
        lanes = loops.op(tir.BroadcastOp(value, plan.lanes))
        if not plan.dot.shifted:
            return lanes
        return loops.op(tir.CallIntrinOp("bitwise_xor", [lanes, self.strip.spread(_SHIFT)], lanes.type))

    def _add(self, acc: SSAValue, r: SSAValue, row: SSAValue, columns: list[SSAValue]) -> None:
        """Add products to the sums of a row."""
        for v, column in enumerate(columns):
            place = [r, self.strip.vector(v)]
            total = self._dot(self.loops.load(acc, place), row, column)
            self.loops.store(total, acc, place)

    def _dot(self, old: SSAValue, row: SSAValue, column: SSAValue) -> SSAValue:
        dot, loops = self.plan.dot, self.loops
        if dot.intrinsic is None:
            return loops.op(tir.AddOp(old, loops.op(tir.MulOp(row, column))))
        factors = [column, row] if dot.swapped else [row, column]
        if dot.elements != i32:
            elements = VectorType(dot.elements, [dot.bits // bit_width(dot.elements)])
            factors = [loops.op(tir.ReinterpretOp(value, elements)) for value in factors]
        return loops.op(tir.CallLLVMIntrinOp(dot.intrinsic, [old, *factors], old.type))

    def _finish(self, acc: SSAValue, r: SSAValue, c: SSAValue) -> None:
        plan, loops, strip = self.plan, self.loops, self.strip.strip
        value = loops.load(acc, [r, c])
        if plan.dot.shifted:
            value = loops.op(tir.SubOp(value, loops.load(acc, [self._place(self.rows), c])))
        dtype = element_type(plan.stage.buffer)
        if dtype != value.type:
            value = loops.op(tir.CastOp(value, dtype))
        where: Bindings = {**self._at_row(r), plan.lane: strip.at(c)}
        plan.epilogue.store(loops, where, value, strip.guard(where))

    def _at_row(self, r: SSAValue) -> Bindings:
        row = self.plan.row
        return self.where if row is None or self.first is None else {**self.where, row: self.loops.sum(self.first, r)}

    def _place(self, row: int) -> SSAValue:
        return self.loops.const(row, self.row_type)
