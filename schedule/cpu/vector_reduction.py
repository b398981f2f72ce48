"""The rule for reductions along contiguous memory: sums of rows, products with a transposed matrix, dot products.

Vectors run along the reduction, so that partial results stand in the lanes and are combined at the end; floats are
added in another order than tir's. A tile of `rows` x `columns` elements shares its loads, or four elements side by
side where a matrix is multiplied by a vector:

    for i in M / rows: for j in N / columns:
        acc[rows, columns, width] = 0
        for k in K / width: acc[r, c, :] = acc[r, c, :] + A[i + r, k : k + width] * B[j + c, k : k + width]
        C[i + r, j + c] = epilogue(init + sum(acc[r, c, :]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import is_float, is_unsigned, lanes_of
from ...dialects.sym.expr import Const, SymExpr, Var, add, floordiv, mul
from ...dialects.tir import BufferType, ForKind
from ..loop_builder import Bindings, LoopBuilder
from .epilogue import Epilogue, hoist_uniform
from .plan import Plan
from .register_tiles import Machine, element_bits
from .stages import Iter, Stage, Update, constant_slope, update_of

_ROWS = 4
_SUMS = (4, 8, 1)
"""So many vectors are summed side by side in tiles of no, one, two iterators: an addition waits for the one before."""

_REDUCTIONS: dict[type[Operation], tuple[str, str, str]] = {
    tir.AddOp: ("fadd", "add", "add"),
    tir.MulOp: ("fmul", "mul", "mul"),
    tir.MaxOp: ("fmax", "smax", "umax"),
    tir.MinOp: ("fmin", "smin", "umin"),
}


_NOTHING: dict[type[Operation], int] = {tir.AddOp: 0, tir.MulOp: 1}
"""What changes nothing; for the others any value does that was there before."""


@dataclass
class VectorReductionPlan(Plan):
    """Along which iterator the vectors lie, the tile's iterators with their sizes, and vectors for each element."""

    update: Update
    epilogue: Epilogue
    lane: Iter
    tile: list[tuple[Iter, int]]
    lanes: int
    chains: int

    @property
    def stage(self) -> Stage:
        return self.epilogue.stage

    @property
    def width(self) -> int:
        return self.lanes * self.chains


def plan_vector_reduction(epilogue: Epilogue, machine: Machine, fewest: int = 1) -> VectorReductionPlan | None:
    """The plan for a reduction of at least `fewest` neighbours, None where this rule does not fit."""
    stage = epilogue.stage
    update = update_of(stage)
    if update is None or type(update.combiner) not in _REDUCTIONS or stage.init is None:
        return None
    lane = next((it for it in reversed(stage.reduce) if _contiguous(stage, update, it)), None)
    if lane is None or (lane.extent.constant or fewest) < fewest:
        return None
    tile = _tile(stage, lane, machine)
    chains = -(-_SUMS[len(tile)] // prod(size for _, size in tile))
    lanes = max(1, machine.vector_bits // element_bits(stage))
    if lane.extent.constant is not None:
        chains = max(1, min(chains, lane.extent.constant // lanes))
    return VectorReductionPlan(update, epilogue, lane, tile, lanes, chains)


def _contiguous(stage: Stage, update: Update, it: Iter) -> bool:
    slopes = [constant_slope(load, it) for load in stage.loads if load is not update.old]
    return it.extent.constant != 1 and all(s in (0, 1) for s in slopes) and 1 in slopes


def _tile(stage: Stage, lane: Iter, machine: Machine) -> list[tuple[Iter, int]]:
    """Two iterators, each of which leaves a vector of operands where it is, or one that does."""
    vectors = [load for load in stage.loads if constant_slope(load, lane) == 1]
    found = [
        it for it in stage.spatial if it.extent.constant != 1 and any(constant_slope(v, it) == 0 for v in vectors)
    ][-2:]
    size = 2 if len(found) == 2 and machine.registers < 32 else _ROWS
    return [(it, min(size, it.extent.constant or size)) for it in found]


def emit_vector_reduction(loops: LoopBuilder, plan: VectorReductionPlan) -> None:
    """The loops of a plan."""
    tiled = [it for it, _ in plan.tile]
    outer = [it for it in plan.stage.spatial if it not in tiled]
    loops.nest(outer, {}, lambda where: _tiles(loops, plan, list(plan.tile), where, []))


def _tiles(
    loops: LoopBuilder,
    plan: VectorReductionPlan,
    left: list[tuple[Iter, int]],
    where: Bindings,
    tile: list[tuple[Iter, int, SSAValue]],
) -> None:
    """Full tiles along each iterator, then one element at a time (or what is left, where that is known)."""
    if not left:
        _Tile(loops, plan, where, tile).emit()
        return
    (it, size), *rest = left
    done: SymExpr = Const(0, it.dtype)
    known = it.extent.constant
    for step in (size, 1 if known is None else known % size):
        if step == 0 or (known is None and step == size == 1 and done.constant != 0):
            continue
        count = floordiv(it.extent - done, Const(step, it.dtype))

        def strip(v: SSAValue, step: int = step, done: SymExpr = done) -> None:
            first = loops.value(add(done, mul(Var(v, it.dtype), Const(step, it.dtype))), it.dtype)
            _tiles(loops, plan, rest, where, [*tile, (it, step, first)])

        loops.loop(count, strip, dtype=it.dtype)
        done = add(done, mul(count, Const(step, it.dtype)))


@dataclass
class _Tile:
    """One tile: the iterators that lie in it, with sizes and first values; the others are at `where`."""

    loops: LoopBuilder
    plan: VectorReductionPlan
    where: Bindings
    tile: list[tuple[Iter, int, SSAValue]]

    def emit(self) -> None:
        plan, loops = self.plan, self.loops
        sizes = [size for _, size, _ in self.tile]
        acc_type = BufferType.of([*sizes, plan.width], self._dtype(), scope="local")
        acc = loops.op(tir.AllocBufferOp(acc_type, padded=True))
        self._elements(lambda where, at: self._fill(at, acc))
        others = [it for it in plan.stage.reduce if it is not plan.lane]
        loops.nest(others, {}, lambda ks: self._along(acc, ks))
        self._elements(lambda where, at: self._end(where, at, acc))

    def _dtype(self) -> Attribute:
        return cast(BufferType, self.plan.stage.buffer.type).dtype

    def _elements(self, body: Callable[[Bindings, list[SSAValue]], None]) -> None:
        """Each element of the tile, unrolled: where it is in the result, and in the accumulators."""

        def nest(left: list[tuple[Iter, int, SSAValue]], where: Bindings, at: list[SSAValue]) -> None:
            if not left:
                body(where, at)
                return
            (it, size, first), *rest = left
            self.loops.loop(
                size,
                lambda v: nest(rest, {**where, it: self.loops.sum(first, v)}, [*at, v]),
                dtype=it.dtype,
                kind=ForKind.UNROLLED,
            )

        nest(self.tile, dict(self.where), [])

    def _lanes(self, width: int, body: Callable[[SSAValue], None]) -> None:
        self.loops.loop(width, body, dtype=self.plan.lane.dtype, kind=ForKind.VECTORIZED)

    def _fill(self, at: list[SSAValue], acc: SSAValue) -> None:
        """Each lane begins with what changes nothing: 0 for sums; for maxima the init value, combined again."""
        loops, plan = self.loops, self.plan
        init = plan.stage.init
        assert init is not None

        def lane(c: SSAValue) -> None:
            nothing = _NOTHING.get(type(plan.update.combiner))
            if nothing is not None:
                value = loops.op(tir.ConstOp(nothing, self._dtype()))
            else:
                value = loops.cloner()(init.value)
            loops.insert(tir.StoreOp(value, acc, [*at, c]))

        self._lanes(plan.width, lane)

    def _along(self, acc: SSAValue, ks: Bindings) -> None:
        """The reduction along the vectors: full widths, then what is left."""
        plan, loops, lane = self.plan, self.loops, self.plan.lane
        full = floordiv(lane.extent, Const(plan.width, lane.dtype))

        def step(width: int, start: SymExpr, masked: bool) -> Callable[[SSAValue], None]:
            def body(v: SSAValue) -> None:
                first = loops.value(add(start, mul(Var(v, lane.dtype), Const(width, lane.dtype))), lane.dtype)
                self._elements(lambda where, at: self._step({**where, **ks}, at, acc, first, width, masked))

            return body

        loops.loop(full, step(plan.width, Const(0, lane.dtype), False), dtype=lane.dtype, name="k_tile")
        done = mul(full, Const(plan.width, lane.dtype))
        rest = lane.extent - done
        if rest.constant is None:
            count = floordiv(add(rest, plan.lanes - 1), Const(plan.lanes, lane.dtype))
            loops.loop(count, step(plan.lanes, done, True), dtype=lane.dtype, name="k_rest")
        elif rest.constant:
            step(rest.constant, done, False)(loops.value(Const(0, lane.dtype), lane.dtype))

    def _step(
        self, where: Bindings, at: list[SSAValue], acc: SSAValue, first: SSAValue, width: int, masked: bool
    ) -> None:
        plan, loops = self.plan, self.loops

        def element(c: SSAValue) -> None:
            k = loops.sum(first, c)
            cloner = loops.cloner({**where, plan.lane: k})
            old = tir.LoadOp(acc, [*at, c])
            cloner.replace(plan.update.old.result, old.result)

            def build() -> None:
                loops.insert(old)
                loops.insert(tir.StoreOp(cloner(plan.update.combiner.result), acc, [*at, c]))

            if not masked:
                build()
                return
            hoist_uniform(cloner, plan.update.term, plan.lane)
            end = loops.value(plan.lane.extent, plan.lane.dtype)
            loops.branch(loops.op(tir.LtOp(k, end)), build)

        self._lanes(width, element)

    def _end(self, where: Bindings, at: list[SSAValue], acc: SSAValue) -> None:
        """Combine the vectors, then the lanes, then the init value; epilogue and store."""
        plan, loops = self.plan, self.loops
        combine = type(plan.update.combiner)
        total = across(loops, acc, at, (plan.lanes, plan.chains), combine, by_halves=True)
        assert plan.stage.init is not None
        start = loops.cloner(where)(plan.stage.init.value)
        plan.epilogue.store(loops, where, loops.op(combine(start, total)))


def across(
    loops: LoopBuilder,
    acc: SSAValue,
    at: Sequence[SSAValue],
    size: tuple[int, int],
    combine: type[tir.BinaryExpr],
    *,
    by_halves: bool = False,
) -> SSAValue:
    """The sum (maximum, minimum) of what stands in a row of a buffer, `size` is (lanes of a vector, vectors).

    Of floats, NaN is passed over in the lanes of the last vector, one by one; much faster, `by_halves`, as it comes.
    """
    lanes, vectors = size
    total: SSAValue | None = None
    for vector in range(vectors):
        base = loops.op(tir.ConstOp(vector * lanes, i64))
        index = base
        if lanes > 1:
            index = loops.op(tir.RampOp(base, loops.op(tir.ConstOp(1, i64)), lanes))
        part = loops.op(tir.LoadOp(acc, [*at, index]))
        total = part if total is None else loops.op(combine(total, part))
    assert total is not None
    if lanes == 1:
        return total
    dtype = cast(BufferType, acc.type).dtype
    if by_halves and is_float(dtype) and combine in (tir.MaxOp, tir.MinOp):
        return _halved(loops, total, combine)
    return _horizontal(loops, total, dtype, combine)


def _horizontal(loops: LoopBuilder, lanes: SSAValue, dtype: Attribute, combine: type[tir.BinaryExpr]) -> SSAValue:
    """The reduction of one vector."""
    kind = _REDUCTIONS[combine][0 if is_float(dtype) else 2 if is_unsigned(dtype) else 1]
    args = [loops.op(tir.ConstOp(_NOTHING[combine], dtype)), lanes] if kind in ("fadd", "fmul") else [lanes]
    return loops.op(tir.CallLLVMIntrinOp(f"llvm.vector.reduce.{kind}", args, dtype))


def _halved(loops: LoopBuilder, lanes: SSAValue, combine: type[tir.BinaryExpr]) -> SSAValue:
    """The reduction of a vector of a power of two of lanes."""
    half = lanes_of(lanes.type) // 2
    if not half:
        return lanes
    lower, upper = (loops.op(tir.ShuffleOp([lanes], range(first, first + half))) for first in (0, half))
    return _halved(loops, loops.op(combine(lower, upper)), combine)
