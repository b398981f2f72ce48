"""The rule for products of bfloat16, and of bytes: instructions that multiply and add several steps of k at once.

    C[i, j] += A[i, k] * B[k, j]        of bfloat16 in float32 (or bfloat16), of bytes in int32

An element of 32 bits holds `group` steps of k: two bfloat16 (`vdpbf16ps`), or four bytes (`vpdpbusd`). Those of A lie
behind each other in memory; those of B are put together, for a strip of columns, in a panel that all rows pass over,
or, where there are few rows, step by step:

    for j in N / width:
        for s in K / group: panel[s, :] = B[s * group : (s + 1) * group, j * width : (j + 1) * width]
        for i in M / rows:
            acc[rows, width] = 0
            for s: acc[r, :] = dot(acc[r, :], A[i * rows + r, s * group : (s + 1) * group], panel[s, :])
            C[i * rows + r, j * width + c] = finish(acc[r, c])

What is left of K is done by steps of one k, the other places of which are 0.

`vpdpbusd` multiplies unsigned bytes by signed ones. Where both are of one kind, those of A are shifted by 128 to the
other kind, and one row more, of 128 everywhere, gives what is too much: sums wrap, so that it is exact.

Sums of bfloat16 are float32 here, whatever dtype they are stored in: rounded once, at the end. Targets without the
instruction compute those as float32, with a `group` of one; all else is left to the other rules there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import cast

from xdsl.dialects.builtin import IntegerType, VectorType, bf16, f32, i8, i32
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, ui8, ui16
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var, add, floordiv, floormod, mul
from ...dialects.tir import BufferType, ForKind
from ...ir.affine import expr_of
from .epilogue import Finish, Guard, hoist_uniform
from .panels import FEWEST_ROWS
from .rewrite import Cloner, Loops, Where
from .stages import Iter, Stage, constant_slope, tree, update_of
from .tiles import Machine, row_tiles, tile_rows, tile_size

_MOST_SHIFTED = 12
_SHIFT = -0x7F7F7F80
"""Four bytes, each 0x80."""


@dataclass(frozen=True)
class Dot:
    """How `group` steps of k are added to a vector of sums of dtype `sums`.

    `intrinsic` is given the sums, A and B, or the sums, B and A with `swapped`; None is a product of two numbers.
    With `shifted` the bytes of A are of the other kind.
    """

    group: int
    sums: Attribute
    intrinsic: str | None = None
    feature: str | None = None
    swapped: bool = False
    shifted: bool = False


_BYTES = partial(Dot, 4, i32, "llvm.x86.avx512.vpdpbusd.512", "avx512vnni")
_BRAINS = Dot(2, f32, "llvm.x86.avx512bf16.dpbf16ps.512", "avx512bf16")
_WIDENED = Dot(1, f32)

_DOTS: dict[tuple[Attribute, Attribute, Attribute], tuple[Dot, ...]] = {
    (bf16, bf16, f32): (_BRAINS,),
    (bf16, bf16, bf16): (_BRAINS, _WIDENED),
    (ui8, i8, i32): (_BYTES(),),
    (i8, i8, i32): (_BYTES(shifted=True),),
    (i8, ui8, i32): (_BYTES(swapped=True),),
    (ui8, ui8, i32): (_BYTES(swapped=True, shifted=True),),
}
"""Dtypes of A, B and C -> what may be used, the best first."""


@dataclass
class DotPlan:
    """A is `rows`, one load; B is `columns`, any expression. `tile` rows of `vectors` vectors make a tile."""

    dot: Dot
    finish: Finish
    rows: tir.LoadOp
    columns: SSAValue
    k: Iter
    lane: Iter
    row: Iter | None
    lanes: int
    vectors: int
    tile: int

    @property
    def stage(self) -> Stage:
        return self.finish.stage


def plan_dots(finish: Finish, machine: Machine) -> DotPlan | None:
    """The plan for a product, None where this rule does not fit or the target has no such instruction."""
    stage = finish.stage
    update = update_of(stage)
    if update is None or not isinstance(update.combiner, tir.AddOp) or not _starts_at_zero(stage):
        return None
    term, ks = update.term.owner, [it for it in stage.reduce if it.extent.constant != 1]
    if not isinstance(term, tir.MulOp) or len(ks) != 1 or ks[0].parts or ks[0].extent.constant == 0:
        return None
    for rows, columns in ((term.lhs, term.rhs), (term.rhs, term.lhs)):
        plan = _plan(finish, _narrow(rows), _narrow(columns), ks[0], machine)
        if plan is not None:
            return plan
    return None


def _starts_at_zero(stage: Stage) -> bool:
    start = None if stage.init is None else stage.init.value.owner
    return isinstance(start, tir.ConstOp) and start.py_value == 0


def _narrow(value: SSAValue) -> SSAValue:
    """What is converted before it is multiplied."""
    return value.owner.value if isinstance(value.owner, tir.CastOp) else value


def _plan(finish: Finish, rows: SSAValue, columns: SSAValue, k: Iter, machine: Machine) -> DotPlan | None:
    stage = finish.stage
    dot = _dot(rows.type, columns.type, cast(BufferType, stage.buffer.type).dtype, machine)
    load = rows.owner
    if dot is None or not isinstance(load, tir.LoadOp) or not _in_order(load, k):
        return None
    lane = _lane(finish, load)
    if lane is None or not _in_lanes(columns, lane):
        return None
    row = next((it for it in reversed(stage.spatial) if it is not lane and _reused(columns, load, it)), None)
    if row is None and dot.sums == cast(BufferType, stage.buffer.type).dtype:
        return None  # read once: `streams` reads memory in order
    lanes = machine.vector_bits // 32
    vectors, tile = tile_size(machine, lane.extent.constant, lanes, row)
    if dot.shifted:  # one row more, and 128s
        vectors = min(vectors, 2)
        tile = 1 if row is None else min(_MOST_SHIFTED, tile_rows(machine, vectors, row))
    return DotPlan(dot, finish, load, columns, k, lane, row, lanes, vectors, tile)


def _dot(a: Attribute, b: Attribute, c: Attribute, machine: Machine) -> Dot | None:
    """The best that there is for these dtypes."""
    for dot in _DOTS.get((a, b, c), ()):
        if dot.feature is None or (dot.feature in machine.features and machine.vector_bits == 512):
            return dot
    return None


def _in_order(load: tir.LoadOp, k: Iter) -> bool:
    """Whether neighbouring k are neighbours in memory, along the last dimension."""
    if not load.indices or constant_slope(load, k) != 1:
        return False
    return all(k.expr not in expr_of(i).free_vars() for i in list(load.indices)[:-1])


def _lane(finish: Finish, rows: tir.LoadOp) -> Iter | None:
    """The iterator along which the result is contiguous and A does not move."""
    for it in reversed(finish.stage.spatial):
        contiguous = constant_slope(finish.last.store, finish.iter_of(it)) == 1
        if contiguous and it.extent.constant not in (0, 1) and constant_slope(rows, it) == 0:
            return it
    return None


def _in_lanes(columns: SSAValue, lane: Iter) -> bool:
    """Whether B is an expression without branches, parts of which vary with the lanes."""
    ops = tree(columns)
    moves = any(isinstance(op, tir.LoadOp) and constant_slope(op, lane) != 0 for op in ops)
    return moves and not any(op.regions for op in ops)


def _reused(columns: SSAValue, rows: tir.LoadOp, it: Iter) -> bool:
    """Whether all of an iterator's values use the same B."""
    loads = [op for op in tree(columns) if isinstance(op, tir.LoadOp)]
    return it.extent.constant != 1 and constant_slope(rows, it) != 0 and all(constant_slope(b, it) == 0 for b in loads)


def emit_dots(loops: Loops, plan: DotPlan) -> None:
    """The loops of a plan."""
    outer = [it for it in plan.stage.spatial if it is not plan.lane and it is not plan.row]
    loops.nest(outer, {}, lambda where: _strips(loops, plan, where))


def _strips(loops: Loops, plan: DotPlan, where: Where) -> None:
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


@dataclass
class _Strip:
    """A strip of columns: `width` from `first`, `masked` where it may reach over the end.

    Its buffers have whole vectors.
    """

    loops: Loops
    plan: DotPlan
    where: Where
    first: SSAValue
    width: int
    masked: bool

    def __post_init__(self) -> None:
        self.count = -(-self.width // self.plan.lanes)
        self.padded = self.count * self.plan.lanes
        self.packed = i32 if self.plan.dot.group > 1 else self.plan.dot.sums

    def emit(self) -> None:
        """With a panel where there are enough rows; both ways where that is known only when it runs."""
        row, loops = self.plan.row, self.loops
        known = 1 if row is None else row.extent.constant
        if known is not None or row is None:
            self._by_panel() if known is not None and known >= FEWEST_ROWS else self._tiles(None)
            return
        few = Block()
        with loops.inside(few):
            self._tiles(None)
        count, least = loops.value(row.extent, row.dtype), loops.value(Const(FEWEST_ROWS, row.dtype), row.dtype)
        loops.branch(loops.op(tir.GeOp(count, least)), self._by_panel, few)

    def _by_panel(self) -> None:
        """Fill a panel of all steps, then all tiles."""
        k, group = self.plan.k, self.plan.dot.group
        steps = add(floordiv(k.extent, Const(group, k.dtype)), floormod(k.extent, Const(group, k.dtype)))
        panel = self._buffer([steps, Const(self.padded)], self.packed)
        self._each_step(lambda at, first, taken: self._pack(panel, [at], first, taken))
        self._tiles(panel)

    def _tiles(self, panel: SSAValue | None) -> None:
        row = self.plan.row
        if row is None:
            self._tile(1, None, panel)
        else:
            row_tiles(self.loops, row, self.plan.tile, self.plan.vectors, lambda n, first: self._tile(n, first, panel))

    def _buffer(self, shape: list[SymExpr], dtype: Attribute, scope: str = "global") -> SSAValue:
        return self.loops.op(tir.AllocBufferOp(BufferType.of(shape, dtype, scope=scope), padded=True))

    def _each_step(self, body: Callable[[SSAValue, SSAValue, int], object]) -> None:
        """Loops over the steps: `body` is given the number of a step, its first k, and how many k it takes."""
        k, group, loops = self.plan.k, Const(self.plan.dot.group, self.plan.k.dtype), self.loops
        count = floordiv(k.extent, group)

        def whole(v: SSAValue) -> None:
            body(v, loops.value(mul(Var(v, k.dtype), group), k.dtype), self.plan.dot.group)

        def rest(v: SSAValue) -> None:
            at, first = add(count, Var(v, k.dtype)), add(mul(count, group), Var(v, k.dtype))
            body(loops.value(at, k.dtype), loops.value(first, k.dtype), 1)

        loops.loop(count, whole, dtype=k.dtype, name=name_of(k.var))
        if group.constant != 1:
            loops.loop(floormod(k.extent, group), rest, dtype=k.dtype, name=name_of(k.var))

    # B

    def _pack(self, panel: SSAValue, at: list[SSAValue], first: SSAValue, taken: int) -> None:
        """One row of the panel: `taken` k from `first`; what are no columns is 0."""
        plan, loops = self.plan, self.loops
        if self.masked or self.width < self.padded:
            self._vectorized(self.padded, lambda c: loops.insert(tir.StoreOp(self._number(0), panel, [*at, c])))

        def column(c: SSAValue) -> None:
            place: Where = {**self.where, plan.lane: loops.sum(self.first, c)}
            steps = [loops.value(add(Var(first, plan.k.dtype), step), plan.k.dtype) for step in range(taken)]
            cloners = [loops.cloner({**place, plan.k: step}) for step in steps]
            guard = self._guard(place)
            if guard is None:
                loops.insert(tir.StoreOp(self._together(cloners), panel, [*at, c]))
                return
            for cloner in cloners:
                hoist_uniform(cloner, plan.columns, plan.lane)
            loops.branch(guard.cond, lambda: loops.insert(tir.StoreOp(self._together(cloners), panel, [*at, c])))

        self._vectorized(self.width, column)

    def _guard(self, where: Where) -> Guard | None:
        """The condition for a lane where the strip may reach over the end."""
        if not self.masked:
            return None
        lane = self.plan.lane
        return Guard(lane, self.loops.op(tir.LtOp(where[lane], self.loops.value(lane.extent, lane.dtype))))

    def _together(self, cloners: list[Cloner]) -> SSAValue:
        """B at several steps of k, each copied by its cloner, as one element of the panel."""
        parts = [self._shifted_bits(cloner(self.plan.columns), step) for step, cloner in enumerate(cloners)]
        return reduce(lambda a, b: self.loops.op(tir.CallIntrinOp("bitwise_or", [a, b], self.packed)), parts)

    def _shifted_bits(self, value: SSAValue, step: int) -> SSAValue:
        """The bits of B at the place of a step; a number in float32 where there is one step."""
        loops, bits = self.loops, bit_width(value.type)
        if self.plan.dot.group == 1:
            return loops.op(tir.CastOp(value, self.packed))
        wide = self._bits(value)
        if step == 0:
            return wide
        return loops.op(tir.CallIntrinOp("shift_left", [wide, self._number(step * bits)], i32))

    def _bits(self, value: SSAValue) -> SSAValue:
        """The bits of a bfloat16 or a byte as an int32 that is not negative."""
        unsigned = ui8 if bit_width(value.type) == 8 else ui16
        bits = value if value.type == unsigned else self.loops.op(tir.ReinterpretOp(value, unsigned))
        return self.loops.op(tir.CastOp(bits, i32))

    def _number(self, value: int) -> SSAValue:
        return self.loops.op(tir.ConstOp(value, self.packed))

    # tiles

    def _tile(self, rows: int, first_row: SSAValue | None, panel: SSAValue | None) -> None:
        """Sum up and finish one tile; with `shifted` its last row is what is too much."""
        dot, loops = self.plan.dot, self.loops
        all_rows = rows + dot.shifted
        acc = self._buffer([Const(all_rows), Const(self.padded)], dot.sums, "local")
        self._rows(all_rows, lambda r: self._vectorized(self.padded, lambda c: self._clear(acc, r, c)))

        def step(at: SSAValue, first: SSAValue, taken: int) -> None:
            source, place = panel, [at]
            if source is None:
                source, place = self._buffer([Const(self.padded)], self.packed, "local"), []
                self._pack(source, place, first, taken)
            columns = [loops.op(tir.LoadOp(source, [*place, self._ramp(v)])) for v in range(self.count)]
            self._rows(rows, lambda r: self._add(acc, r, self._row(first_row, r, first, taken), columns))
            if dot.shifted:
                too_much = loops.op(tir.BroadcastOp(self._number(_SHIFT), self.plan.lanes))
                self._add(acc, self._place(rows), too_much, columns)

        self._each_step(step)
        self._rows(rows, lambda r: self._vectorized(self.width, lambda c: self._finish(acc, rows, first_row, r, c)))

    def _clear(self, acc: SSAValue, r: SSAValue, c: SSAValue) -> None:
        self.loops.insert(tir.StoreOp(self.loops.op(tir.ConstOp(0, self.plan.dot.sums)), acc, [r, c]))

    def _row(self, first_row: SSAValue | None, r: SSAValue, first: SSAValue, taken: int) -> SSAValue:
        """`taken` k of a row of A, from `first`, in every lane."""
        plan, loops = self.plan, self.loops
        cloner = loops.cloner({**self._at_row(first_row, r), plan.k: first})
        if plan.dot.group == 1:
            value = loops.op(tir.CastOp(cloner(plan.rows.result), plan.dot.sums))
        elif taken == 1:
            value = self._bits(cloner(plan.rows.result))
        else:
            *outer, last = (cloner(i) for i in plan.rows.indices)
            ramp = loops.op(tir.RampOp(last, loops.op(tir.ConstOp(1, last.type)), taken))
            value = loops.op(tir.ReinterpretOp(loops.op(tir.LoadOp(plan.rows.buffer, [*outer, ramp])), i32))
        lanes = loops.op(tir.BroadcastOp(value, plan.lanes))
        if not plan.dot.shifted:
            return lanes
        shift = loops.op(tir.BroadcastOp(self._number(_SHIFT), plan.lanes))
        return loops.op(tir.CallIntrinOp("bitwise_xor", [lanes, shift], lanes.type))

    def _add(self, acc: SSAValue, r: SSAValue, row: SSAValue, columns: list[SSAValue]) -> None:
        """Add products to the sums of a row."""
        for v, column in enumerate(columns):
            place = [r, self._ramp(v)]
            total = self._step(self.loops.op(tir.LoadOp(acc, place)), row, column)
            self.loops.insert(tir.StoreOp(total, acc, place))

    def _step(self, old: SSAValue, row: SSAValue, column: SSAValue) -> SSAValue:
        dot, loops = self.plan.dot, self.loops
        if dot.intrinsic is None:
            return loops.op(tir.AddOp(old, loops.op(tir.MulOp(row, column))))
        given = [column, row] if dot.swapped else [row, column]
        if dot.sums == f32:
            pairs = VectorType(bf16, [2 * self.plan.lanes])
            given = [loops.op(tir.ReinterpretOp(value, pairs)) for value in given]
        return loops.op(tir.CallLLVMIntrinOp(dot.intrinsic, [old, *given], old.type))

    def _finish(self, acc: SSAValue, rows: int, first_row: SSAValue | None, r: SSAValue, c: SSAValue) -> None:
        plan, loops = self.plan, self.loops
        value = loops.op(tir.LoadOp(acc, [r, c]))
        if plan.dot.shifted:
            value = loops.op(tir.SubOp(value, loops.op(tir.LoadOp(acc, [self._place(rows), c]))))
        dtype = cast(BufferType, plan.stage.buffer.type).dtype
        if dtype != value.type:
            value = loops.op(tir.CastOp(value, dtype))
        where: Where = {**self._at_row(first_row, r), plan.lane: loops.sum(self.first, c)}
        plan.finish.store(loops, where, value, self._guard(where))

    def _at_row(self, first_row: SSAValue | None, r: SSAValue) -> Where:
        row = self.plan.row
        return self.where if row is None or first_row is None else {**self.where, row: self.loops.sum(first_row, r)}

    def _rows(self, rows: int, body: Callable[[SSAValue], object]) -> None:
        self.loops.loop(rows, body, dtype=self._row_type, kind=ForKind.UNROLLED)

    @property
    def _row_type(self) -> IntegerType:
        return (self.plan.row or self.plan.lane).dtype

    def _place(self, row: int) -> SSAValue:
        return self.loops.op(tir.ConstOp(row, self._row_type))

    def _vectorized(self, width: int, body: Callable[[SSAValue], object]) -> None:
        self.loops.loop(width, body, dtype=self.plan.lane.dtype, kind=ForKind.VECTORIZED)

    def _ramp(self, vector: int) -> SSAValue:
        """The places of a vector in a row."""
        dtype, lanes = self.plan.lane.dtype, self.plan.lanes
        first, stride = (self.loops.op(tir.ConstOp(number, dtype)) for number in (vector * lanes, 1))
        return self.loops.op(tir.RampOp(first, stride, lanes))
