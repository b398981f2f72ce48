"""The rule for reductions along contiguous memory: sums of rows, products with a transposed matrix, dot products.

Vectors run along the reduction, so that lanes hold partial results, which are combined at the end; floats are added
in another order than in the tir. A tile of `rows` x `columns` elements shares its loads, or four adjacent elements
if a matrix is multiplied by a vector:

    for i in M / rows: for j in N / columns:
        acc[rows, columns, width] = 0
        for k in K / width: acc[r, c, :] = acc[r, c, :] + A[i + r, k : k + width] * B[j + c, k : k + width]
        C[i + r, j + c] = epilogue(init + sum(acc[r, c, :]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width, is_float, is_unsigned, lanes_of
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, Update, constant_slope, element_type, loads_below, update_of
from ..library import microkernel as mk
from ..library.epilogue import Epilogue, hoist_uniform
from ..policy.limits import FEW_SUMMED, MANY_REGISTERS, SUMMED_TOGETHER, SUMS_OF_TILE

_REDUCTIONS: dict[type[Operation], tuple[str, str, str]] = {
    tir.AddOp: ("fadd", "add", "add"),
    tir.MulOp: ("fmul", "mul", "mul"),
    tir.MaxOp: ("fmax", "smax", "umax"),
    tir.MinOp: ("fmin", "smin", "umin"),
}


_NOTHING: dict[type[Operation], int] = {tir.AddOp: 0, tir.MulOp: 1}
"""The neutral element of combiners; for those not listed, any previous value is neutral."""


@dataclass
class VectorReductionPlan(mk.SumPlan):
    """A plan with vectors along `lane`, the tile's iterators with their sizes, and the number of vectors per
    element.
    """

    lane: Iter
    tile: list[tuple[Iter, int]]
    lanes: int
    chains: int

    @property
    def width(self) -> int:
        return self.lanes * self.chains


def plan_vector_reduction(epilogue: Epilogue, machine: Machine, fewest: int = 1) -> VectorReductionPlan | None:
    """Return the plan for a reduction of at least `fewest` contiguous elements, or None if this rule does not fit."""
    stage = epilogue.stage
    update = update_of(stage)
    if update is None:
        return reject("it is no reduction C = combine(C, term)")
    if type(update.combiner) not in _REDUCTIONS:
        return reject("elements are combined by something else than a sum, product, maximum or minimum")
    if stage.init is None:
        return reject("it does not say what it begins with")
    lane = next((it for it in reversed(stage.reduce) if _contiguous(stage, update, it)), None)
    if lane is None:
        return reject("along no iterator that is reduced do operands lie in memory, all others staying")
    if (lane.extent.constant or fewest) < fewest:
        return reject("fewer elements are reduced than this rule is for")
    tile = _tile(stage, lane, machine)
    chains = -(-SUMS_OF_TILE[len(tile)] // prod(size for _, size in tile))
    lanes = max(1, machine.vector_bits // mk.element_bits(stage))
    if lane.extent.constant is not None:
        chains = max(1, min(chains, lane.extent.constant // lanes))
    return VectorReductionPlan(epilogue, update, lane, tile, lanes, chains)


def _contiguous(stage: Stage, update: Update, it: Iter) -> bool:
    slopes = [constant_slope(load, it) for load in stage.loads if load is not update.old]
    return it.extent.constant != 1 and all(s in (0, 1) for s in slopes) and 1 in slopes


def _tile(stage: Stage, lane: Iter, machine: Machine) -> list[tuple[Iter, int]]:
    """Return two iterators, in each of which a vector operand is invariant, or a single such iterator."""
    vectors = [load for load in stage.loads if constant_slope(load, lane) == 1]
    iters = [
        it for it in stage.spatial if it.extent.constant != 1 and any(constant_slope(v, it) == 0 for v in vectors)
    ][-2:]
    sizes = [SUMMED_TOGETHER] * len(iters)
    if len(iters) == 2 and machine.registers < MANY_REGISTERS:
        sizes[0] = next((size for size in FEW_SUMMED if (iters[0].extent.constant or 1) % size == 0), FEW_SUMMED[-1])
    return [(it, min(size, it.extent.constant or size)) for it, size in zip(iters, sizes, strict=True)]


def emit_vector_reduction(loops: LoopBuilder, plan: VectorReductionPlan) -> None:
    """Emit the loops of a plan."""
    tiled = [it for it, _ in plan.tile]
    outer = [it for it in plan.stage.spatial if it not in tiled]
    loops.nest(outer, {}, lambda where: _tiles(loops, plan, list(plan.tile), where, []))


def _tiles(
    loops: LoopBuilder, plan: VectorReductionPlan, left: list[tuple[Iter, int]], where: Bindings, tile: list[mk.Strip]
) -> None:
    """Emit full tiles along each iterator, then single elements (or the remainder, if its size is known)."""
    if not left:
        _Tile(loops, plan, where, tile).emit()
        return
    (it, size), *rest = left
    mk.strips(loops, it, [(size, None)], lambda strip: _tiles(loops, plan, rest, where, [*tile, strip]), tail=1)


@dataclass
class _Tile(mk.Tile[SSAValue]):
    """One tile: strips of the iterators in it; `where` has the values of the others."""

    loops: LoopBuilder
    plan: VectorReductionPlan
    where: Bindings
    tile: list[mk.Strip]

    def registers(self) -> SSAValue:
        """Allocate a row of vectors for each element."""
        sizes = [strip.size for strip in self.tile]
        return self.loops.registers([*sizes, self.plan.width], element_type(self.plan.stage.buffer))

    def start(self, acc: SSAValue) -> None:
        """Fill all lanes with the neutral element."""
        self._elements(lambda where, at: self._fill(where, at, acc))

    def reduce(self, acc: SSAValue) -> None:
        """Emit the reduction along the vectors, inside of all other loops of the reduction."""
        others = [it for it in self.plan.stage.reduce if it is not self.plan.lane]
        self.loops.nest(others, {}, lambda ks: self._along(acc, ks))

    def end(self, acc: SSAValue) -> None:
        """Combine the lanes, and finish the elements."""
        if self._ends_in_fours:
            self._elements(lambda where, at: self._end_four(where, at, acc), self.tile[:-1])
        else:
            self._elements(lambda where, at: self._end(where, at, acc))

    @property
    def _ends_in_fours(self) -> bool:
        """True if the vectors of four adjacent elements are summed together, sharing shuffles within 128 bits."""
        dtype = element_type(self.plan.stage.buffer)
        sums = type(self.plan.update.combiner) is tir.AddOp and is_float(dtype) and bit_width(dtype) == 32
        return sums and self.plan.lanes >= SUMMED_TOGETHER and bool(self.tile) and self.tile[-1].size == SUMMED_TOGETHER

    def _elements(
        self, body: Callable[[Bindings, list[SSAValue]], None], strips: Sequence[mk.Strip] | None = None
    ) -> None:
        """Emit `body` for each element of the tile, unrolled: its position in the result and in the accumulators."""

        def nest(left: list[mk.Strip], where: Bindings, at: list[SSAValue]) -> None:
            if not left:
                body(where, at)
                return
            strip, *rest = left
            it = strip.it
            self.loops.unrolled(it.dtype, strip.size, lambda v: nest(rest, {**where, it: strip.at(v)}, [*at, v]))

        nest([*(self.tile if strips is None else strips)], dict(self.where), [])

    def _columns(self, body: Callable[[Bindings, list[SSAValue]], None]) -> None:
        """Emit `body` as `_elements`, column by column, so that one column is in a register; there are at least as
        many rows.
        """
        if len(self.tile) < 2:
            self._elements(body)
            return
        rows, columns = self.tile

        def column(where: Bindings, at: list[SSAValue]) -> None:
            def element(r: SSAValue) -> None:
                body({**where, rows.it: rows.at(r)}, [r, *at])

            self.loops.unrolled(rows.it.dtype, rows.size, element)

        self._elements(column, [columns])

    def _fill(self, where: Bindings, at: list[SSAValue], acc: SSAValue) -> None:
        """Initialize each lane with the neutral element: 0 for sums; for maxima the init value, which is combined
        again.
        """
        loops, plan = self.loops, self.plan
        init, nothing = plan.stage.init, _NOTHING.get(type(plan.update.combiner))
        assert init is not None

        def lane(c: SSAValue) -> None:
            known = None if nothing is None else tir.ConstOp(nothing, element_type(plan.stage.buffer))
            value = loops.cloner(where)(init.value) if known is None else loops.op(known)
            loops.store(value, acc, [*at, c])

        loops.vectors(plan.lane, plan.width, lane)

    def _along(self, acc: SSAValue, ks: Bindings) -> None:
        """Emit the reduction along the vectors: full widths, then the remainder."""
        plan = self.plan

        def step(strip: mk.Strip) -> None:
            self._columns(lambda where, at: self._step({**where, **ks}, at, acc, strip))

        sizes = [(plan.width, None)]
        mk.strips(self.loops, plan.lane, sizes, step, tail=plan.lanes, name="k_tile", tail_name="k_rest")

    def _step(self, where: Bindings, at: list[SSAValue], acc: SSAValue, strip: mk.Strip) -> None:
        plan = self.plan

        def element(c: SSAValue) -> None:
            here = {**where, plan.lane: strip.at(c)}
            cloner = self.loops.cloner(here)
            if strip.masked:
                hoist_uniform(cloner, plan.update.term, plan.lane)
            mk.accumulate(self.loops, cloner, plan.update, (acc, [*at, c]), strip.guard(here))

        strip.vectors(element)

    def _end(self, where: Bindings, at: list[SSAValue], acc: SSAValue) -> None:
        """Combine the vectors, then the lanes, then the init value; finish and store."""
        plan, loops = self.plan, self.loops
        combine, nnan = type(plan.update.combiner), "nnan" in plan.update.combiner.properties
        self._finish(where, across(loops, acc, at, (plan.lanes, plan.chains), combine, by_halves=True, nnan=nnan))

    def _end_four(self, where: Bindings, at: list[SSAValue], acc: SSAValue) -> None:
        """Emit `_end` for four neighbours along the last iterator of the tile."""
        plan, loops, last = self.plan, self.loops, self.tile[-1]
        places = [loops.const(i, last.it.dtype) for i in range(SUMMED_TOGETHER)]
        size = plan.lanes, plan.chains
        totals = _sums_of_four(loops, [_one_vector(loops, acc, [*at, i], size, tir.AddOp, False) for i in places])
        if not self._is_line(last.it):
            for number, i in enumerate(places):
                self._finish({**where, last.it: last.at(i)}, loops.op(tir.ShuffleOp([totals], [number])))
            return
        four = loops.registers([SUMMED_TOGETHER], element_type(plan.stage.buffer))
        loops.store(totals, four, [loops.ramp(places[0], SUMMED_TOGETHER)])
        last.vectors(lambda c: self._finish({**where, last.it: last.at(c)}, loops.load(four, [c])))

    def _is_line(self, it: Iter) -> bool:
        """Return whether elements along an iterator are finished with contiguous or invariant accesses."""
        epilogue, init = self.plan.epilogue, self.plan.stage.init
        mine, stage = epilogue.iter_of(it), self.plan.stage
        reads = [] if epilogue.consumer is None else [op for op in epilogue.last.loads if op.buffer is not stage.buffer]
        slopes = [constant_slope(op, mine) for op in reads]
        slopes += [] if init is None else [constant_slope(op, it) for op in loads_below(init.value)]
        return constant_slope(epilogue.last.store, mine) == 1 and all(slope in (0, 1) for slope in slopes)

    def _finish(self, where: Bindings, total: SSAValue) -> None:
        """Combine the reduced value with the init value, finish and store."""
        plan, loops = self.plan, self.loops
        combine, nnan = type(plan.update.combiner), "nnan" in plan.update.combiner.properties
        assert plan.stage.init is not None
        start = loops.cloner(where)(plan.stage.init.value)
        plan.epilogue.store(loops, where, _joined(loops, combine, start, total, nnan))


def _joined(loops: LoopBuilder, combine: type[tir.BinaryExpr], a: SSAValue, b: SSAValue, nnan: bool) -> SSAValue:
    op = combine(a, b)
    if nnan and isinstance(op, tir.ExtremumExpr):
        op.nnan = UnitAttr()
    return loops.op(op)


def across(
    loops: LoopBuilder,
    acc: SSAValue,
    at: Sequence[SSAValue],
    size: tuple[int, int],
    combine: type[tir.BinaryExpr],
    *,
    by_halves: bool = False,
    nnan: bool = False,
) -> SSAValue:
    """Return the sum, maximum or minimum of a row of a buffer; `size` is (lanes of a vector, vectors).

    NaN is ignored in the lanes of the last vector, one by one; with the much faster `by_halves` it is kept unless
    `nnan`.
    """
    total = _one_vector(loops, acc, at, size, combine, nnan)
    if size[0] == 1:
        return total
    dtype = element_type(acc)
    if by_halves and is_float(dtype) and combine in (tir.MaxOp, tir.MinOp):
        return _halved(loops, total, combine, nnan)
    return _horizontal(loops, total, dtype, combine)


def _one_vector(
    loops: LoopBuilder,
    acc: SSAValue,
    at: Sequence[SSAValue],
    size: tuple[int, int],
    combine: type[tir.BinaryExpr],
    nnan: bool,
) -> SSAValue:
    """Combine the vectors of a row into one."""
    lanes, vectors = size
    total: SSAValue | None = None
    for vector in range(vectors):
        base = loops.const(vector * lanes, i64)
        index = loops.ramp(base, lanes) if lanes > 1 else base
        part = loops.load(acc, [*at, index])
        total = part if total is None else _joined(loops, combine, total, part, nnan)
    assert total is not None
    return total


def _sums_of_four(loops: LoopBuilder, vectors: Sequence[SSAValue]) -> SSAValue:
    """Return the sums of four vectors in one vector of four lanes.

    For x, y, z, w two additions yield x0 + x2, y0 + y2, x1 + x3, y1 + y3 in each group of four lanes, and the same
    for z and w. A third addition yields sums of groups of four; then halves are added.
    """
    x, y, z, w = vectors
    lanes = lanes_of(x.type)
    low, high = (0, lanes, 1, lanes + 1), (0, 1, lanes, lanes + 1)

    def added(a: SSAValue, b: SSAValue, picked: Sequence[int]) -> SSAValue:
        first, second = ([four + i + more for four in range(0, lanes, 4) for i in picked] for more in (0, 2))
        return loops.op(tir.AddOp(*(loops.op(tir.ShuffleOp([a, b], which)) for which in (first, second))))

    fours = added(added(x, y, low), added(z, w, low), high)
    return _halved(loops, fours, tir.AddOp, False, least=4)


def _horizontal(loops: LoopBuilder, lanes: SSAValue, dtype: Attribute, combine: type[tir.BinaryExpr]) -> SSAValue:
    """Return the reduction of one vector."""
    kind = _REDUCTIONS[combine][0 if is_float(dtype) else 2 if is_unsigned(dtype) else 1]
    args = [loops.const(_NOTHING[combine], dtype), lanes] if kind in ("fadd", "fmul") else [lanes]
    return loops.op(tir.CallLLVMIntrinOp(f"llvm.vector.reduce.{kind}", args, dtype))


def _halved(loops: LoopBuilder, lanes: SSAValue, combine: type[tir.BinaryExpr], nnan: bool, least: int = 1) -> SSAValue:
    """Reduce a vector with a power of two of lanes to `least` lanes."""
    half = lanes_of(lanes.type) // 2
    if half < least:
        return lanes
    lower, upper = (loops.op(tir.ShuffleOp([lanes], range(first, first + half))) for first in (0, half))
    return _halved(loops, _joined(loops, combine, lower, upper, nnan), combine, nnan, least)
