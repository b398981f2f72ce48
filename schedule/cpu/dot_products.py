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

from xdsl.dialects.builtin import IntegerType, VectorType, i32
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, ui8, ui16
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var, add, floordiv, floormod, mul
from ...dialects.tir import BufferType, ForKind
from ...ir.affine.values import sym_expr_of
from ..loop_builder import Bindings, Cloner, LoopBuilder
from .dot_products_plan import DotPanels, DotProductPlan, plan_dot_products, room
from .epilogue import Guard, hoist_uniform
from .panels import FEWEST_ROWS
from .register_tiles import row_tiles
from .stages import Iter
from .transpose import transposed

__all__ = ["emit_dot_products", "plan_dot_products"]

_SHIFT = -0x7F7F7F80
"""Four bytes, each 0x80."""


def emit_dot_products(loops: LoopBuilder, plan: DotProductPlan) -> None:
    """The loops of a plan."""
    loops.nest(plan.outer, {}, lambda where: _strips(loops, plan, where))


def _strips(loops: LoopBuilder, plan: DotProductPlan, where: Bindings) -> None:
    """Full strips of columns, then what is left."""
    lane, full = plan.lane, plan.lanes * plan.vectors
    count = floordiv(lane.extent, Const(full, lane.dtype))
    done = mul(count, Const(full, lane.dtype))
    left = lane.extent - done
    size, masked = (plan.lanes, True) if left.constant is None else (left.constant, False)
    rest = floordiv(add(left, size - 1), Const(size, lane.dtype)) if size else Const(0, lane.dtype)
    for number, start, width, may_end in ((count, Const(0, lane.dtype), full, False), (rest, done, size, masked)):

        def strip(v: SSAValue, start: SymExpr = start, width: int = width, may_end: bool = may_end) -> None:
            first = add(start, mul(Var(v, lane.dtype), Const(width, lane.dtype)))
            _Strip(loops, plan, where, loops.value(first, lane.dtype), width, may_end).emit()

        loops.loop(number, strip, dtype=lane.dtype, name=f"{name_of(lane.var) or 'j'}_strip")


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
    """A strip of columns: `width` from `first`, `masked` where it may reach over the end.

    Its buffers have whole vectors.
    """

    loops: LoopBuilder
    plan: DotProductPlan
    where: Bindings
    first: SSAValue
    width: int
    masked: bool

    def __post_init__(self) -> None:
        self.count = -(-self.width // self.plan.lanes)
        self.padded = self.count * self.plan.lanes
        self.packed = i32 if self.plan.dot.group > 1 else self.plan.dot.sums

    def emit(self) -> None:
        """With a panel where there are enough rows; both ways where that is known only when it runs."""
        plan, count, loops = self.plan, self.plan.all_rows, self.loops
        turned = plan.is_turned and not self.masked
        if count.constant is not None or plan.panels is not None or turned:
            filled = plan.panels is None and (turned or (count.constant or 0) >= FEWEST_ROWS)
            self._by_panel(turned) if filled else self._tiles(None)
            return
        few = Block()
        with loops.inside(few):
            self._tiles(None)
        dtype = plan.lane.dtype
        enough = loops.op(tir.GeOp(loops.value(count, dtype), loops.value(Const(FEWEST_ROWS, dtype), dtype)))
        loops.branch(enough, self._by_panel, few)

    def _by_panel(self, turned: bool = False) -> None:
        """Fill a panel of all steps, then all tiles."""
        k, group, lanes = self.plan.k, self.plan.dot.group, self.plan.lanes
        panel = self.buffer([*map(_known_room, self.plan.taps), self._room(), Const(self.padded)], self.packed)
        done: SymExpr = Const(0, k.dtype)
        if turned:
            blocks, whole = floordiv(k.extent, Const(lanes * group, k.dtype)), self.width // lanes * lanes
            self.loops.nest(self.plan.taps, {}, lambda taps: self._turn(panel, taps, blocks, whole // lanes))
            done = mul(blocks, Const(lanes, k.dtype))
            if whole < self.width:
                self.each_step(lambda step: self.pack(panel, step.place, step, whole), end=done)
        self.each_step(lambda step: self.pack(panel, step.place, step), done)
        self._tiles(panel)

    def _room(self) -> SymExpr:
        """So many steps there may be for each tap."""
        k, group = self.plan.k, Const(self.plan.dot.group, self.plan.k.dtype)
        most = _known_room(k)
        if k.extent.constant is not None:
            return floordiv(add(most, group - 1), group)
        if most.constant is not None:
            return add(floordiv(most, group), group - 1)
        return add(floordiv(most, group), floormod(most, group))

    def _turn(self, panel: SSAValue, taps: Bindings, blocks: SymExpr, across: int) -> None:
        """Fill so many blocks of steps, and of columns, by squares that are turned around in registers."""
        loops, plan, lanes = self.loops, self.plan, self.plan.lanes
        k, lane, load = plan.k, plan.lane, cast(tir.LoadOp, plan.columns.owner)

        def read(block: SSAValue, column: SymExpr) -> SSAValue:
            """As many steps of a column as a vector has lanes."""
            first = loops.value(mul(Var(block, k.dtype), Const(lanes * plan.dot.group, k.dtype)), k.dtype)
            at = loops.value(add(Var(self.first, lane.dtype), column), lane.dtype)
            cloner = loops.cloner({**self.where, **taps, k: first, lane: at})
            *outer, last = (cloner(index) for index in load.indices)
            ramp = loops.op(tir.RampOp(last, loops.op(tir.ConstOp(1, last.type)), lanes * plan.dot.group))
            value = loops.op(tir.LoadOp(load.buffer, [*outer, ramp]))
            return loops.op(tir.ReinterpretOp(value, VectorType(i32, [lanes])))

        def square(g: SSAValue, block: SSAValue) -> None:
            column = mul(Var(g, lane.dtype), Const(lanes, lane.dtype))
            rows = [read(block, add(column, at)) for at in range(lanes)]
            begin, one = loops.value(column, lane.dtype), loops.op(tir.ConstOp(1, lane.dtype))
            for at, value in enumerate(transposed(loops, rows)):
                step = loops.value(add(mul(Var(block, k.dtype), Const(lanes, k.dtype)), at), k.dtype)
                place = [*taps.values(), step, loops.op(tir.RampOp(begin, one, lanes))]
                loops.insert(tir.StoreOp(value, panel, place))

        def strip(g: SSAValue) -> None:
            loops.loop(blocks, lambda v: square(g, v), dtype=k.dtype, name=f"{name_of(k.var) or 'k'}_tile")

        loops.loop(across, strip, dtype=lane.dtype)

    def _tiles(self, panel: SSAValue | None) -> None:
        self.loops.nest(self.plan.above, self.where, lambda where: self._rows_of(where, panel))

    def _rows_of(self, where: Bindings, panel: SSAValue | None) -> None:
        """The tiles of all rows at a place of `above`."""
        row = self.plan.row

        def tile(rows: int, first: SSAValue | None) -> None:
            _Tile(self, where, panel, rows, first).emit()

        if row is None:
            tile(1, None)
        else:
            row_tiles(self.loops, row, self.plan.tile, self.plan.vectors, tile)

    def each_step(
        self, body: Callable[[_Step], object], done: SymExpr | None = None, end: SymExpr | None = None
    ) -> None:
        """Loops over the taps and the steps of each, but those that are `done`; to `end`, where that is given."""
        begin = Const(0, self.plan.k.dtype) if done is None else done
        self.loops.nest(self.plan.taps, {}, lambda taps: self._steps(taps, body, begin, end))

    def _steps(self, taps: Bindings, body: Callable[[_Step], object], begin: SymExpr, end: SymExpr | None) -> None:
        k, group, loops = self.plan.k, Const(self.plan.dot.group, self.plan.k.dtype), self.loops
        count, left = floordiv(k.extent, group), floormod(k.extent, group)

        def step(at: SymExpr, first: SymExpr, taken: int) -> None:
            body(_Step(taps, loops.value(at, k.dtype), loops.value(first, k.dtype), taken))

        def single(v: SSAValue) -> None:
            step(add(count, Var(v, k.dtype)), add(mul(count, group), Var(v, k.dtype)), 1)

        def whole(v: SSAValue) -> None:
            at = add(begin, Var(v, k.dtype))
            step(at, mul(at, group), self.plan.dot.group)

        loops.loop((count if end is None else end) - begin, whole, dtype=k.dtype, name=name_of(k.var))
        if end is not None:
            return
        if left.constant is None:
            loops.loop(left, single, dtype=k.dtype, name=name_of(k.var))
        elif left.constant:
            step(count, mul(count, group), left.constant)

    # B

    def pack(self, panel: SSAValue, at: list[SSAValue], step: _Step, begin: int = 0) -> None:
        """A row of the panel: what a step takes of each column from `begin` on; what are no columns is 0."""
        plan, loops = self.plan, self.loops

        def from_begin(c: SSAValue) -> SSAValue:
            return loops.value(add(Var(c, plan.lane.dtype), begin), plan.lane.dtype) if begin else c

        if self.masked or self.width < self.padded:
            self.vectorized(
                self.padded - begin,
                lambda c: loops.insert(tir.StoreOp(self.number(0), panel, [*at, from_begin(c)])),
            )

        def column(c: SSAValue) -> None:
            c = from_begin(c)
            place: Bindings = {**self.where, **step.taps, plan.lane: loops.sum(self.first, c)}
            ks = [loops.value(add(Var(step.first, plan.k.dtype), n), plan.k.dtype) for n in range(step.taken)]
            cloners = [loops.cloner({**place, plan.k: k}) for k in ks]
            guard = self.guard(place)
            if guard is None:
                loops.insert(tir.StoreOp(self._together(cloners), panel, [*at, c]))
                return
            for cloner in cloners:
                hoist_uniform(cloner, plan.columns, plan.lane)
            loops.branch(guard.cond, lambda: loops.insert(tir.StoreOp(self._together(cloners), panel, [*at, c])))

        self.vectorized(self.width - begin, column)

    def columns(self, panel: SSAValue | None, step: _Step) -> list[SSAValue]:
        """The vectors of B at a step."""
        if panel is None and self.plan.panels is not None:
            return [self._of_panels(self.plan.panels, step, v) for v in range(self.count)]
        place = step.place
        if panel is None:
            panel, place = self.buffer([Const(self.padded)], self.packed, "local"), []
            self.pack(panel, place, step)
        return [self.loops.op(tir.LoadOp(panel, [*place, self.ramp(v)])) for v in range(self.count)]

    def _of_panels(self, panels: DotPanels, step: _Step, vector: int) -> SSAValue:
        """A vector of panels that are there; of what is not taken the bits are 0."""
        plan, loops = self.plan, self.loops
        group, dtype = plan.dot.group, panels.load.indices[-1].type
        cloner = loops.cloner({**self.where, **step.taps})
        middle = [cloner(i) for i in list(panels.load.indices)[1:-2]]
        first = [loops.op(tir.ConstOp(n, dtype)) for n in (vector * plan.lanes * group, 1)]
        ramp = loops.op(tir.RampOp(first[0], first[1], plan.lanes * group))
        number = loops.value(floordiv(sym_expr_of(self.first), panels.width), plan.lane.dtype)
        value = loops.op(tir.LoadOp(panels.load.buffer, [number, *middle, step.at, ramp]))
        value = loops.op(tir.ReinterpretOp(value, VectorType(i32, [plan.lanes])))
        if step.taken == group:
            return value
        mask = (1 << step.taken * (32 // group)) - 1
        return loops.op(tir.CallIntrinOp("bitwise_and", [value, self.spread(mask)], value.type))

    def _together(self, cloners: list[Cloner]) -> SSAValue:
        """B at several steps of k, each copied by its cloner, as one element of the panel."""
        return self.together([cloner(self.plan.columns) for cloner in cloners])

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

    def buffer(self, shape: list[SymExpr], dtype: Attribute, scope: str = "global") -> SSAValue:
        """A buffer, the rows of which may be longer than what is used of them."""
        return self.loops.op(tir.AllocBufferOp(BufferType.of(shape, dtype, scope=scope), padded=True))

    def guard(self, where: Bindings) -> Guard | None:
        """The condition for a lane where the strip may reach over the end."""
        if not self.masked:
            return None
        lane = self.plan.lane
        return Guard(lane, self.loops.op(tir.LtOp(where[lane], self.loops.value(lane.extent, lane.dtype))))

    def number(self, value: int) -> SSAValue:
        """A constant of the panels' dtype."""
        return self.loops.op(tir.ConstOp(value, self.packed))

    def spread(self, value: int) -> SSAValue:
        """It in every lane."""
        return self.loops.op(tir.BroadcastOp(self.number(value), self.plan.lanes))

    def vectorized(self, width: int, body: Callable[[SSAValue], object]) -> None:
        """`body` for each of so many columns, as vectors."""
        self.loops.loop(width, body, dtype=self.plan.lane.dtype, kind=ForKind.VECTORIZED)

    def ramp(self, vector: int) -> SSAValue:
        """The places of a vector in a row."""
        dtype, lanes = self.plan.lane.dtype, self.plan.lanes
        first, stride = (self.loops.op(tir.ConstOp(number, dtype)) for number in (vector * lanes, 1))
        return self.loops.op(tir.RampOp(first, stride, lanes))


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

    def emit(self) -> None:
        """Sum up and epilogue the rows; with `shifted` there is one more, of what is too much."""
        dot, strip = self.plan.dot, self.strip
        every = self.rows + dot.shifted
        acc = strip.buffer([Const(every), Const(strip.padded)], dot.sums, "local")
        self._each_row(every, lambda r: strip.vectorized(strip.padded, lambda c: self._clear(acc, r, c)))

        def step(at: _Step) -> None:
            columns = strip.columns(self.panel, at)
            self._each_row(self.rows, lambda r: self._add(acc, r, self._row(r, at), columns))
            if dot.shifted:
                self._add(acc, self._place(self.rows), strip.spread(_SHIFT), columns)

        strip.each_step(step)
        self._each_row(self.rows, lambda r: strip.vectorized(strip.width, lambda c: self._finish(acc, r, c)))

    def _clear(self, acc: SSAValue, r: SSAValue, c: SSAValue) -> None:
        self.loops.insert(tir.StoreOp(self.loops.op(tir.ConstOp(0, self.plan.dot.sums)), acc, [r, c]))

    def _row(self, r: SSAValue, step: _Step) -> SSAValue:
        """What a step takes of a row of A, in every lane."""
        plan, loops = self.plan, self.loops
        place: Bindings = {**self._at_row(r), **step.taps}
        if plan.dot.group == 1 or step.taken < plan.dot.group:
            ks = [loops.value(add(Var(step.first, plan.k.dtype), n), plan.k.dtype) for n in range(step.taken)]
            value = self.strip.together([loops.cloner({**place, plan.k: k})(plan.rows.result) for k in ks])
        else:
            cloner = loops.cloner({**place, plan.k: step.first})
            *outer, last = (cloner(i) for i in plan.rows.indices)
            ramp = loops.op(tir.RampOp(last, loops.op(tir.ConstOp(1, last.type)), step.taken))
            value = loops.op(tir.ReinterpretOp(loops.op(tir.LoadOp(plan.rows.buffer, [*outer, ramp])), i32))
        lanes = loops.op(tir.BroadcastOp(value, plan.lanes))
        if not plan.dot.shifted:
            return lanes
        return loops.op(tir.CallIntrinOp("bitwise_xor", [lanes, self.strip.spread(_SHIFT)], lanes.type))

    def _add(self, acc: SSAValue, r: SSAValue, row: SSAValue, columns: list[SSAValue]) -> None:
        """Add products to the sums of a row."""
        for v, column in enumerate(columns):
            place = [r, self.strip.ramp(v)]
            total = self._dot(self.loops.op(tir.LoadOp(acc, place)), row, column)
            self.loops.insert(tir.StoreOp(total, acc, place))

    def _dot(self, old: SSAValue, row: SSAValue, column: SSAValue) -> SSAValue:
        dot, loops = self.plan.dot, self.loops
        if dot.intrinsic is None:
            return loops.op(tir.AddOp(old, loops.op(tir.MulOp(row, column))))
        given = [column, row] if dot.swapped else [row, column]
        if dot.elements != i32:
            elements = VectorType(dot.elements, [dot.bits // bit_width(dot.elements)])
            given = [loops.op(tir.ReinterpretOp(value, elements)) for value in given]
        return loops.op(tir.CallLLVMIntrinOp(dot.intrinsic, [old, *given], old.type))

    def _finish(self, acc: SSAValue, r: SSAValue, c: SSAValue) -> None:
        plan, loops = self.plan, self.loops
        value = loops.op(tir.LoadOp(acc, [r, c]))
        if plan.dot.shifted:
            value = loops.op(tir.SubOp(value, loops.op(tir.LoadOp(acc, [self._place(self.rows), c]))))
        dtype = cast(BufferType, plan.stage.buffer.type).dtype
        if dtype != value.type:
            value = loops.op(tir.CastOp(value, dtype))
        where: Bindings = {**self._at_row(r), plan.lane: loops.sum(self.strip.first, c)}
        plan.epilogue.store(loops, where, value, self.strip.guard(where))

    def _at_row(self, r: SSAValue) -> Bindings:
        row = self.plan.row
        return self.where if row is None or self.first is None else {**self.where, row: self.loops.sum(self.first, r)}

    def _each_row(self, rows: int, body: Callable[[SSAValue], object]) -> None:
        self.loops.loop(rows, body, dtype=self._row_type, kind=ForKind.UNROLLED)

    @property
    def _row_type(self) -> IntegerType:
        return (self.plan.row or self.plan.lane).dtype

    def _place(self, row: int) -> SSAValue:
        return self.loops.op(tir.ConstOp(row, self._row_type))
