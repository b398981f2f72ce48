"""The rules for elementwise stages whose addresses depend on digits of an iterator: `j // 3`, `j % 200`.

    for j in 600: Y[j] = X[j % 200]        ->    for o in 3: for vectorized r in 200: Y[o * 200 + r] = X[r]

is the result for tiles and blocks of channels. If the lower digit has few values, memory is read along the higher
digit and the vectors are interleaved in registers. The same applies to the elements of a few tensors or channels
side by side:

    for j in 600: Y[j] = X[j // 3]         ->    for o in 200/w: x = X[o * w :+ w]; Y[o * 3 * w :+ 3 * w] = mix(x, x, x)
    for i: for c in 2: Y[i, c] = X[c, i]   ->    for o: Y[o * w :+ w, 0 : 2] = mix(X[0, o * w :+ w], X[1, o * w :+ w])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerType, i1, i64
from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, SymExpr, Var, add, floormod, mul
from ....dialects.tir import ForKind
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ..analysis.plan import Machine, Plan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, constant_slope, element_type, memory_bits
from ..library.epilogue import Epilogue
from ..policy.limits import INTERLEAVED_VECTORS, MIN_VECTOR_RUN

_DIVISIONS = (tir.FloorDivOp, tir.FloorModOp, tir.TruncModOp, tir.DivOp)


@dataclass(frozen=True)
class SplitIterPlan(Plan):
    """A plan that splits `lane` into a higher digit, times `base`, and a lower one."""

    stage: Stage
    lane: Iter
    base: int


@dataclass(frozen=True)
class InterleavePlan(Plan):
    """A plan with `ways` vectors of `lanes` elements; the lower digit is that of `lane`, or `lane` itself with
    `higher`.
    """

    stage: Stage
    lane: Iter
    higher: Iter | None
    ways: int
    lanes: int

    @property
    def count(self) -> SymExpr:
        """The number of values of the higher digit."""
        return self.lane.extent // self.ways if self.higher is None else self.higher.extent


_NO_LANE = "it reduces, or no iterator of several lies along what it stores"


def plan_split_iter(epilogue: Epilogue, machine: Machine) -> SplitIterPlan | None:
    """Return the plan for a stage with digits of the iterator along which it stores, or None if it has none."""
    stage = epilogue.stage
    lane = _lane(stage)
    base = None if lane is None else max((b for b in _bases(stage, lane) if b >= MIN_VECTOR_RUN), default=None)
    if lane is None:
        return reject(_NO_LANE)
    if base is None:
        return reject("no index splits that iterator into pieces long enough for vectors")
    return SplitIterPlan(stage, lane, base)


def plan_interleave(epilogue: Epilogue, machine: Machine) -> InterleavePlan | None:
    """Return the plan for a stage that stores interleaved elements of a few sources, or None if it does not."""
    stage = epilogue.stage
    lane = _lane(stage)
    lanes = machine.vector_bits // memory_bits(stage.buffer)
    if lane is None:
        return reject(_NO_LANE)
    if lanes < 2 or element_type(stage.buffer) == i1:
        return reject("elements are bits, or as wide as a vector")
    ways = lane.extent.constant or 0
    higher = _above(stage, lane, ways) if ways in INTERLEAVED_VECTORS else None
    if higher is None:
        ways = max((b for b in _bases(stage, lane) if b in INTERLEAVED_VECTORS), default=0)
    plan = InterleavePlan(stage, lane, higher, ways, lanes)
    if not ways or (plan.count.constant or lanes) < lanes:
        return reject("it does not store two to four elements of each of many places side by side")
    return plan


def _lane(stage: Stage) -> Iter | None:
    """Return the iterator along which a stage without reduction stores."""
    if stage.reduce or stage.init is not None:
        return None
    return next((it for it in reversed(stage.iters) if it.extent.constant != 1 and _steps(stage, it, 1)), None)


def _steps(stage: Stage, it: Iter, by: int) -> bool:
    return constant_slope(stage.store, it) == by


def _above(stage: Stage, lane: Iter, ways: int) -> Iter | None:
    """Return the iterator whose elements are `ways` apart."""
    if isinstance(stage.buffer.owner, tir.AllocBufferOp):  # buffers shrink in each dimension to the accesses
        return None
    return next((it for it in reversed(stage.iters) if it is not lane and _steps(stage, it, ways)), None)


def _bases(stage: Stage, lane: Iter) -> set[int]:
    """Return the divisors of `lane` itself that divide its extent."""
    divisors = set[int]() if lane.parts else {sym_expr_of(op.rhs).constant or 0 for op in _divisions(stage, lane)}
    extent = lane.extent
    return {
        b for b in divisors if b > 1 and b != extent.constant and floormod(extent, Const(b, lane.dtype)).constant == 0
    }


def _divisions(stage: Stage, lane: Iter) -> list[tir.BinaryExpr]:
    """Return the divisions of `lane` itself."""
    divisions = [op for op in stage.block.body.walk() if isinstance(op, _DIVISIONS) and op.lhs.type == lane.dtype]
    return [op for op in divisions if sym_expr_of(op.lhs) == lane.expr]


def _hoist(stage: Stage, lane: Iter, base: int) -> tuple[SSAValue, SSAValue]:
    """Return the digits of `lane`, the higher one first, as values that are computed before anything else."""
    divisions = [op for op in _divisions(stage, lane) if sym_expr_of(op.rhs).constant == base]
    divisor = tir.ConstOp(base, lane.dtype)
    digits = tir.FloorDivOp(lane.var, divisor.result), tir.FloorModOp(lane.var, divisor.result)
    for op in divisions:
        higher = isinstance(op, tir.FloorDivOp | tir.DivOp)
        op.result.replace_all_uses_with(digits[0 if higher else 1].result)
    for op in (*reversed(digits), divisor):
        stage.block.body.block.insert_op_before(op, cast(Operation, stage.block.body.block.first_op))
    return digits[0].result, digits[1].result


def _outer(stage: Stage, *inner: Iter | None) -> list[Iter]:
    return [it for it in stage.iters if it not in inner]


def emit_split_iter(loops: LoopBuilder, plan: SplitIterPlan) -> None:
    """Emit the loops of a plan."""
    lane, base = plan.lane, plan.base
    count = lane.extent // base
    digits = _hoist(plan.stage, lane, base)

    def higher(where: Bindings, o: SSAValue) -> None:
        def lower(r: SSAValue) -> None:
            j = add(mul(Var(o, lane.dtype), Const(base, lane.dtype)), Var(r, lane.dtype))
            cloner = loops.cloner({**where, lane: loops.value(j, lane.dtype)})
            for digit, value in zip(digits, (o, r), strict=True):
                cloner.replace(digit, value)
            cloner.store(plan.stage.store)

        loops.vectors(lane, base, lower, name_of(lane.var))

    def element(where: Bindings) -> None:
        name = f"{name_of(lane.var) or 'j'}_tile"
        loops.loop(count, lambda o: higher(where, o), dtype=lane.dtype, name=name)

    loops.nest(_outer(plan.stage, lane), {}, element)


def emit_interleave(loops: LoopBuilder, plan: InterleavePlan) -> None:
    """Emit the loops of a plan."""
    digits = None if plan.higher is not None else _hoist(plan.stage, plan.lane, plan.ways)
    outer = _outer(plan.stage, plan.lane, plan.higher)
    loops.nest(outer, {}, lambda where: _Mixed(loops, plan, where, digits).emit())


@dataclass
class _Mixed:
    """All elements along both digits; `where` has the values of the other iterators."""

    loops: LoopBuilder
    plan: InterleavePlan
    where: Bindings
    digits: tuple[SSAValue, SSAValue] | None

    def emit(self) -> None:
        """Emit as many vectors as fit, then single elements."""
        plan, loops = self.plan, self.loops
        dtype = (plan.higher or plan.lane).dtype
        count, lanes = plan.count, Const(plan.lanes, dtype)
        full = count // plan.lanes

        def vectors(v: SSAValue) -> None:
            self._vectors(loops.value(mul(Var(v, dtype), lanes), dtype))

        loops.loop(full, vectors, dtype=dtype, name="j_tile")
        done = mul(full, lanes)

        def single(o: SSAValue, r: int) -> None:
            self._at(loops.value(add(done, Var(o, dtype)), dtype), r).store(plan.stage.store)

        for way in range(plan.ways) if (count - done).constant != 0 else ():
            loops.loop(count - done, lambda o, way=way: single(o, way), dtype=dtype, name="j")

    def _at(self, o: SSAValue, r: int) -> Cloner:
        """Return a cloner of expressions for the digits `o` and `r`."""
        plan, loops, lane = self.plan, self.loops, self.plan.lane
        lower = loops.value(Const(r, lane.dtype), lane.dtype)
        if plan.higher is not None:
            return loops.cloner({**self.where, plan.higher: o, lane: lower})
        j = add(mul(Var(o, lane.dtype), Const(plan.ways, lane.dtype)), Const(r, lane.dtype))
        cloner = loops.cloner({**self.where, lane: loops.value(j, lane.dtype)})
        for digit, value in zip(self.digits or (), (o, lower), strict=True):
            cloner.replace(digit, value)
        return cloner

    def _vectors(self, first: SSAValue) -> None:
        """Emit a vector for each value of the lower digit from `first`, interleaved."""
        plan, loops = self.plan, self.loops
        store = plan.stage.store
        rows = loops.registers([plan.ways * plan.lanes], element_type(store.buffer))
        for way in range(plan.ways):
            self._row(rows, first, way)
        zero = loops.const(0, i64)
        parts = [loops.load(rows, [self._ramp(zero, way * plan.lanes)]) for way in range(plan.ways)]
        cloner = self._at(first, 0)
        *outer, last = (cloner(i) for i in store.indices)
        for number, mixed in enumerate(interleaved(loops, parts, plan.lanes)):
            loops.store(mixed, store.buffer, [*outer, self._ramp(last, number * plan.lanes)])

    def _row(self, rows: SSAValue, first: SSAValue, way: int) -> None:
        """Store the elements of one value of the lower digit into their part of `rows`."""
        plan, loops = self.plan, self.loops

        def element(c: SSAValue) -> None:
            value = self._at(loops.sum(first, c), way)(plan.stage.store.value)
            loops.store(value, rows, [loops.value(add(Var(c, i64), way * plan.lanes), i64)])

        loops.loop(plan.lanes, element, dtype=i64, kind=ForKind.VECTORIZED)

    def _ramp(self, base: SSAValue, offset: int) -> SSAValue:
        """Return `lanes` consecutive indices from `base` + `offset`."""
        dtype = cast(IntegerType, base.type)
        first = self.loops.value(add(Var(base, dtype), offset), dtype)
        return self.loops.ramp(first, self.plan.lanes)


def interleaved(loops: LoopBuilder, rows: Sequence[SSAValue], lanes: int) -> list[SSAValue]:
    """Return vectors with the first elements of all rows, then the second ones, and so on."""
    ways, vectors = len(rows), list[SSAValue]()
    for number in range(ways):
        places = [divmod(number * lanes + lane, ways) for lane in range(lanes)]
        mixed = rows[0]
        for way in range(1, ways):
            other = [lanes + at if row == way else lane for lane, (at, row) in enumerate(places)]
            own = [at if row == 0 else 0 for at, row in places]
            chosen = [o if row == way else m for o, m, (_, row) in zip(other, own, places, strict=True)]
            mixed = loops.op(tir.ShuffleOp([mixed, rows[way]], chosen if way == 1 else other))
        vectors.append(mixed)
    return vectors
