"""The rule for argmax and argmin along contiguous memory: the position of the best element.

    for i: for k: P[i], V[i] = better((P[i], V[i]), (k, X[i, k]))
        ->
    for i:
        P[i], V[i] = init
        best[:], step[:] = X[i, 0 :+ w], 0
        for s in 1 … K / w:
            where X[i, s * w :+ w] is better than best: best, step = X[i, s * w :+ w], s
        k = the first of step * w + lane whose best is that of all lanes
        P[i], V[i] = better((P[i], V[i]), (k, X[i, k]))
        the remainder of K, one by one

Only element k of the vectors can win. The tir defines the treatment of NaN: vectors that contain one are processed
element by element. The tir also decides whether the first or the last of equal elements wins; whether 0 or -0 is
kept as the value is unspecified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width, is_float
from ....dialects.sym.expr import Const, SymExpr, Var
from ....ir.affine.values import sym_expr_of
from ...accesses import is_intermediate, loads_of
from ...checks import step_of
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine, NestPlan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, constant_slope, element_type, loads_below, results_of, tree
from ..policy.limits import COMPARED_VECTORS
from .vector_reduction import across

_KEEPS: dict[type[Operation], tuple[type[tir.BinaryExpr], type[tir.BinaryExpr], type[tir.BinaryExpr]]] = {
    tir.GtOp: (tir.GeOp, tir.GtOp, tir.MaxOp),
    tir.LtOp: (tir.LeOp, tir.LtOp, tir.MinOp),
}
"""Comparison -> (condition to keep the old element if the first wins, or if the last wins, and the matching min or
max).
"""


@dataclass(frozen=True)
class Choice:
    """A nest that keeps the better of the values in two buffers and `value`, with its `position`."""

    block: tir.BlockOp
    iters: list[Iter]
    stores: tuple[tir.StoreOp, tir.StoreOp]
    inits: tuple[tir.StoreOp, ...]
    better: type[Operation]
    earlier: type[Operation]
    position: SSAValue
    value: SSAValue

    @property
    def wants_first(self) -> bool:
        """True if the first of equal elements wins, rather than the last."""
        return self.earlier is tir.LtOp

    @property
    def reduce(self) -> list[Iter]:
        return [it for it in self.iters if it.reduce]


@dataclass(frozen=True)
class ArgReducePlan(NestPlan):
    """A plan with vectors of `width` elements, stored in `vectors` vectors of `lanes`, along `lane`."""

    choice: Choice
    lane: Iter
    lanes: int
    vectors: int

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def block(self) -> tir.BlockOp:
        """The block that the plan is for."""
        return self.choice.block


def plan_argreduce(root: Operation, machine: Machine) -> ArgReducePlan | None:
    """Return the plan for an argmax or argmin nest of the form above, or None."""
    choice = _choice_of(root)
    return None if choice is None else _plan(choice, machine)


def _choice_of(root: Operation) -> Choice | None:
    """Return the choice that a nest makes, or None if there is none or if others read its buffers."""
    results = results_of(root)
    if (
        results is None
        or len(results.stores) != 2
        or not are_in_place([*results.stores, *results.inits], results.iters)
    ):
        return reject("it is no block that keeps a position and a value at one place")
    block, stores = results.block, results.stores
    parts = _parts(stores[0], stores[1])
    value = stores[1].buffer
    if parts is None:
        return reject("what it keeps is not the first, or last, greatest or least of all")
    if not is_intermediate(value) or not all(block.is_ancestor(load) for load in loads_of(value)):
        return reject("the value that it keeps is read by others, too")
    return Choice(block, results.iters, (stores[0], stores[1]), tuple(results.inits), *parts)


def are_in_place(accesses: Sequence[tir.LoadOp | tir.StoreOp], iters: list[Iter]) -> bool:
    """Return whether all accesses are to one element, which differs for different values of the spatial iterators."""
    places = {tuple(sym_expr_of(i) for i in op.indices) for op in accesses}
    used = {v.name for place in places for e in place for v in e.free_vars()}
    several = [it for it in iters if it.extent.constant != 1]
    return len(places) == 1 and all((it.var in used) is not it.reduce for it in several)


def _parts(
    position: tir.StoreOp, value: tir.StoreOp
) -> tuple[type[Operation], type[Operation], SSAValue, SSAValue] | None:
    """Return (comparison of values, comparison of positions, the new position, the new value) of two stores."""
    kept, keeper = _meaning(value.value), _meaning(position.value)
    if not isinstance(kept, tir.SelectOp) or not isinstance(keeper, tir.SelectOp):
        return None
    wins, either = _meaning(kept.cond), _meaning(keeper.cond)
    old = [_is_load(kept.true_value, value), _is_load(keeper.true_value, position)]
    values, positions = (kept.true_value, kept.false_value), (keeper.true_value, keeper.false_value)
    if not isinstance(either, tir.OrOp) or not all(old):
        return None
    both, again = _meaning(either.rhs), _but_for_nan(_meaning(either.lhs), values)
    equal, earlier = (_meaning(both.lhs), _meaning(both.rhs)) if isinstance(both, tir.AndOp) else (None, None)
    wins, equal = _but_for_nan(wins, values), _but_for_nan(equal, values)
    if not isinstance(wins, tir.GtOp | tir.LtOp) or type(again) is not type(wins):
        return None
    if not isinstance(equal, tir.EqOp) or not isinstance(earlier, tir.GtOp | tir.LtOp):
        return None
    comparisons = ((wins, values), (again, values), (equal, values), (earlier, positions))
    if not all(_compares(op, *pair) for op, pair in comparisons):
        return None
    return type(wins), type(earlier), keeper.false_value, kept.false_value


def _but_for_nan(condition: Operation | None, values: tuple[SSAValue, SSAValue]) -> Operation | None:
    """Return c for `c or (a != a and b == b)` and `c or (a != a and b != b)`; any other condition unchanged."""
    if not isinstance(condition, tir.OrOp):
        return condition
    nan = _meaning(condition.rhs)
    old, new = (_meaning(v) for v in nan.operands) if isinstance(nan, tir.AndOp) else (None, None)
    a, b = values
    if not isinstance(old, tir.NeOp) or not isinstance(new, tir.EqOp | tir.NeOp):
        return condition
    return _meaning(condition.lhs) if _compares(old, a, a) and _compares(new, b, b) else condition


def _meaning(value: SSAValue) -> Operation | None:
    """Return the operation that computes a value, looking through lets."""
    owner = value.owner
    while isinstance(owner, tir.LetOp):
        owner = owner.value.owner
    return owner if isinstance(owner, Operation) else None


def _place(access: tir.LoadOp | tir.StoreOp) -> tuple[SSAValue, list[SymExpr]]:
    return access.buffer, [sym_expr_of(i) for i in access.indices]


def _is_load(value: SSAValue, store: tir.StoreOp) -> bool:
    """Return whether a value is loaded from the element that `store` writes."""
    load = _meaning(value)
    return isinstance(load, tir.LoadOp) and _place(load) == _place(store)


def _compares(op: Operation | None, a: SSAValue, b: SSAValue) -> bool:
    return isinstance(op, tir.BinaryExpr) and _same(op.lhs, a) and _same(op.rhs, b)


def _same(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two values are identical or loads of the same element."""
    one, other = _meaning(a), _meaning(b)
    if a is b or (one is other and one is not None):
        return True
    return isinstance(one, tir.LoadOp) and isinstance(other, tir.LoadOp) and _place(one) == _place(other)


def _plan(choice: Choice, machine: Machine) -> ArgReducePlan | None:
    """Return the plan, or None if no vectors lie along contiguous memory, or if there are too few elements."""
    lane = choice.reduce[-1] if choice.reduce else None
    loads = loads_below(choice.value)
    slopes = [constant_slope(load, lane) for load in loads] if lane is not None else []
    written = {store.buffer for store in choice.stores}
    if lane is None or 1 not in slopes or any(s not in (0, 1) for s in slopes):
        return reject("what is compared does not lie along memory")
    if any(op.regions for op in tree(choice.value)):
        return reject("what is compared is computed in a branch")
    if any(load.buffer in written for load in loads):
        return reject("what is compared depends on what was kept")
    if step_of(sym_expr_of(choice.position), lane.expr) != 1:
        return reject("the position does not grow by 1 along memory")
    widest = max(32, *(bit_width(element_type(load.buffer)) for load in loads))
    lanes, extent = machine.vector_bits // max(widest, bit_width(choice.value.type)), lane.extent.constant
    if lanes < 2 or (extent is not None and not 2 * lanes <= extent < 1 << 31):
        return reject("it is less than two vectors, or more than 2^31 elements")
    count = 2 if extent is None else min(COMPARED_VECTORS, key=lambda n: (extent % (lanes * n), -n))
    return ArgReducePlan(choice, lane, lanes, count)


def emit_argreduce(loops: LoopBuilder, plan: ArgReducePlan) -> None:
    """Emit the loops of a plan."""
    choice = plan.choice
    spatial = [it for it in choice.iters if not it.reduce]
    outer = [it for it in choice.reduce if it is not plan.lane]

    def row(where: Bindings) -> None:
        cloner = loops.cloner(where)
        for store in choice.inits:
            cloner.store(store)
        loops.nest(outer, where, lambda ks: _Row(loops, plan, ks).emit())

    loops.nest(spatial, {}, row)


@dataclass
class _Row:
    """The elements along the vectors; `where` has the values of the other iterators."""

    loops: LoopBuilder
    plan: ArgReducePlan
    where: Bindings

    def __post_init__(self) -> None:
        self.full = self.plan.lane.extent // self.plan.width
        """How many times the vectors fit."""

    def emit(self) -> None:
        self.loops.branch_if_any(self.full, self._vectors)
        self._one_by_one(self.full * self.plan.width, self.plan.lane.extent)

    def _one_by_one(self, begin: SymExpr, end: SymExpr) -> None:
        dtype = self.plan.lane.dtype

        def element(v: SSAValue) -> None:
            self._one(self.loops.value(begin + Var(v, dtype), dtype))

        self.loops.loop(end - begin, element, dtype=dtype, name="k")

    def _one(self, k: SSAValue) -> None:
        """Emit the tir's comparison for one element."""
        cloner = self.loops.cloner({**self.where, self.plan.lane: k})
        values = [cloner(store.value) for store in self.plan.choice.stores]
        for store, value in zip(self.plan.choice.stores, values, strict=True):
            cloner.store(store, value)

    def _vectors(self) -> None:
        """Emit the search in full vectors, whose result is then compared with the initial value."""
        plan, loops = self.plan, self.loops
        kind = plan.choice.value.type
        best, step, *seen = (self._buffer(dtype) for dtype in (kind, i32, *([i32] if is_float(kind) else [])))
        zero = loops.const(0, i32)

        def begin(c: SSAValue) -> None:
            x = self._element(c)
            loops.store(x, best, [c])
            loops.store(zero, step, [c])
            for buffer in seen:
                loops.store(self._or_nan(zero, x), buffer, [c])

        self._along(begin)
        loops.loop(self.full - 1, lambda v: self._step(v, best, step, seen), dtype=plan.lane.dtype, name="k_tile")
        k = self._best_place(best, step)
        if not seen:
            self._one(k)
            return
        nans = across(loops, seen[0], [], (plan.lanes, plan.vectors), tir.MaxOp)
        has_nan = loops.op(tir.GtOp(nans, loops.const(0, i32)))
        done = self.full * plan.width
        loops.branch_either(has_nan, lambda: self._one_by_one(Const(0, plan.lane.dtype), done), lambda: self._one(k))

    def _step(self, v: SSAValue, best: SSAValue, step: SSAValue, seen: list[SSAValue]) -> None:
        """Compare the vectors that start at number `v` with the best so far."""
        loops, dtype, choice = self.loops, self.plan.lane.dtype, self.plan.choice
        number = loops.value(Var(v, dtype) + 1)
        first = loops.value(Var(number, dtype) * self.plan.width)
        here = self._as(number, i32)
        keeps = _KEEPS[choice.better][0 if choice.wants_first else 1]

        def compare(c: SSAValue) -> None:
            x = self._element(loops.sum(first, c))
            old, place = (loops.load(buffer, [c]) for buffer in (best, step))
            stays = loops.op(keeps(old, x))
            loops.store(loops.op(tir.SelectOp(stays, old, x)), best, [c])
            loops.store(loops.op(tir.SelectOp(stays, place, here)), step, [c])
            for buffer in seen:
                loops.store(self._or_nan(loops.load(buffer, [c]), x), buffer, [c])

        self._along(compare)

    def _best_place(self, best: SSAValue, step: SSAValue) -> SSAValue:
        """Return the first or the last position of the best of all lanes."""
        plan, loops = self.plan, self.loops
        dtype = i32 if plan.lane.extent.constant is not None else plan.lane.dtype
        size = (plan.lanes, plan.vectors)
        top = across(loops, best, [], size, _KEEPS[plan.choice.better][2], nnan=True)
        first = plan.choice.wants_first
        none = loops.const((1 << (dtype.width.data - 1)) - 1 if first else -1, dtype)
        places = self._buffer(dtype)

        def place(c: SSAValue) -> None:
            is_top = loops.op(tir.EqOp(loops.load(best, [c]), top))
            number = self._as(loops.load(step, [c]), dtype)
            at = Var(number, dtype) * plan.width + Var(self._as(c, dtype), dtype)
            loops.store(loops.op(tir.SelectOp(is_top, loops.value(at), none)), places, [c])

        self._along(place)
        return self._as(across(loops, places, [], size, tir.MinOp if first else tir.MaxOp), plan.lane.dtype)

    def _as(self, value: SSAValue, dtype: IntegerType) -> SSAValue:
        return value if value.type == dtype else self.loops.op(tir.CastOp(value, dtype))

    def _element(self, k: SSAValue) -> SSAValue:
        return self.loops.cloner({**self.where, self.plan.lane: k})(self.plan.choice.value)

    def _or_nan(self, before: SSAValue, x: SSAValue) -> SSAValue:
        loops = self.loops
        return loops.op(tir.SelectOp(loops.op(tir.NeOp(x, x)), loops.const(1, i32), before))

    def _buffer(self, dtype: Attribute) -> SSAValue:
        return self.loops.registers([self.plan.width], dtype)

    def _along(self, body: Callable[[SSAValue], object]) -> None:
        self.loops.vectors(self.plan.lane, self.plan.width, body)
