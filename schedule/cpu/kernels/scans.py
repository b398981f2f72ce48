"""The rule for prefix sums and products (scans), which topi expresses as statements.

    for i: total = start; for k: total = total + X[i, k]; Y[i, k] = total

If `k` runs along contiguous memory, the prefix sums of a vector are computed in log2(w) steps: for blocks of 1, 2,
4, … lanes, the last lane of each even block is added to all lanes of the following odd block. The next vector
depends only on the sum of all lanes. Floats are added in another order than in the tir:

    for s in K / w:
        x = X[i, s * w :+ w];  x = x + (0, x0, 0, x2, …);  x = x + (0, 0, x1, x1, 0, 0, x5, x5, …);  …
        Y[i, s * w :+ w] = total + x;  total = total + x[w - 1]

If memory is contiguous along another iterator `j`, there is a total for each of its values:

    for j in J / 512: total[512] = start
        for k: total[:] = total[:] + X[k, j * 512 :+ 512]; Y[k, j * 512 :+ 512] = total[:]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.sym.expr import SymExpr
from ....dialects.tir import ForKind
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine, NestPlan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, address, constant_slope, element_type, is_expression, loads_below, tree
from ..library.microkernel import Strip, full_and_tail, round_to_vectors, under
from ..policy.limits import SCAN_WIDTH

_IDENTITY: dict[type[Operation], int] = {tir.AddOp: 0, tir.MulOp: 1}


@dataclass(frozen=True)
class Scan:
    """A scan: `total = combine(total, term)` along `along`, stored before or after the update; for each value of
    `outer`.
    """

    outer: list[Iter]
    along: Iter
    start: SSAValue
    combiner: tir.BinaryExpr
    old: tir.LoadOp
    term: SSAValue
    store: tir.StoreOp
    stored: tir.LoadOp
    exclusive: bool

    @property
    def dtype(self) -> Attribute:
        """The type of the total, which may be wider than the elements."""
        return self.old.result.type


@dataclass(frozen=True)
class ScanPlan(NestPlan):
    """A plan with vectors of `lanes`: prefix sums if `column` is None, otherwise `width` totals along that iterator."""

    scan: Scan
    block: tir.BlockOp
    column: Iter | None
    lanes: int
    width: int


def plan_scan(root: Operation, machine: Machine) -> ScanPlan | None:
    """Return the plan for a block of statements that computes a scan, or None if it does not."""
    scan = _scan_of(root)
    if scan is None or not isinstance(root, tir.BlockOp):
        return reject("it is no running sum or product: one total, which a loop updates and stores")
    loads = loads_below(scan.term)
    lanes = machine.vector_bits // max(8, bit_width(scan.dtype), *(_bits(op) for op in loads), _bits(scan.store))
    reason = "it is not read along memory as it is stored"
    if lanes < 2:
        return reject("elements are as wide as a vector")
    if not loads:
        return reject("what is added is not read from a buffer")
    if constant_slope(scan.store, scan.along) == 1:
        fits = all(constant_slope(op, scan.along) == 1 for op in loads)
        return ScanPlan(scan, root, None, lanes, lanes) if fits else reject(reason)
    for it in scan.outer:
        if it.extent.constant != 1 and constant_slope(scan.store, it) == 1:
            fits = all(constant_slope(op, it) in (0, 1) for op in loads)
            tile = it, lanes, min(SCAN_WIDTH, it.extent.constant or SCAN_WIDTH)
            return ScanPlan(scan, root, *tile) if fits else reject(reason)
    return reject("no iterator goes along the memory that is stored to")


def _bits(op: tir.LoadOp | tir.StoreOp) -> int:
    return bit_width(element_type(op.buffer))


def _statements(block: Block) -> list[Operation]:
    """Return the operations of a block other than annotations and expressions."""
    return [op for op in block.ops if not isinstance(op, tir.ReadsOp | tir.WritesOp) and not is_expression([op])]


def _scan_of(root: Operation) -> Scan | None:
    """Return the scan that a block of statements computes, or None if it does not compute one."""
    if not isinstance(root, tir.BlockOp) or root.iter_vars or root.predicate is not None:
        return None
    outer: list[Iter] = []
    block = root.body.block
    while True:
        inner = _statements(block)
        it = _iter_of(inner[0]) if len(inner) == 1 else None
        if it is None:
            break
        outer.append(it)
        block = cast(tir.ForOp, inner[0]).body.block
    if [type(op) for op in inner] != [tir.AllocBufferOp, tir.StoreOp, tir.ForOp]:
        return None
    total, start, loop = cast("tuple[tir.AllocBufferOp, tir.StoreOp, tir.ForOp]", tuple(inner))
    along = _iter_of(loop)
    if along is None or not _is_single(total.result, [start]) or start.buffer is not total.result:
        return None
    return _with_body(outer, along, total.result, start, _statements(loop.body.block))


def _iter_of(op: Operation) -> Iter | None:
    """Return the iterator of a loop that starts at 0."""
    if not isinstance(op, tir.ForOp) or op.kind not in (ForKind.SERIAL, ForKind.PARALLEL) or op.annotations is not None:
        return None
    if not isinstance(op.min, SymExpr) or op.min.constant != 0 or not isinstance(op.extent, SymExpr):
        return None
    return Iter(op.loop_var, op.extent, reduce=False)


def _is_single(buffer: SSAValue, accesses: Iterable[tir.LoadOp | tir.StoreOp]) -> bool:
    """Return whether all accesses are to the only element of a buffer."""
    return all(op.buffer is not buffer or address(buffer, op.indices).constant == 0 for op in accesses)


def _with_body(
    outer: list[Iter], along: Iter, total: SSAValue, start: tir.StoreOp, body: list[Operation]
) -> Scan | None:
    stores = [op for op in body if isinstance(op, tir.StoreOp)]
    if len(stores) != 2 or len(body) != 2:
        return None
    exclusive = stores[1].buffer is total
    store, update = stores if exclusive else reversed(stores)
    combiner = update.value.owner
    stored = _uncast(store.value).owner
    if update.buffer is not total or type(combiner) not in _IDENTITY or not isinstance(stored, tir.LoadOp):
        return None
    assert isinstance(combiner, tir.BinaryExpr)
    old = next((v.owner for v in (combiner.lhs, combiner.rhs) if _is_load_of(v, total)), None)
    term = combiner.rhs if isinstance(old, tir.LoadOp) and combiner.lhs is old.result else combiner.lhs
    read = loads_below(term)
    if not isinstance(old, tir.LoadOp) or stored.buffer is not total or not _is_single(total, [old, stored, update]):
        return None
    if any(op.buffer in (total, store.buffer) for op in read) or any(op.regions for op in tree(term)):
        return None
    scan = Scan(outer, along, start.value, combiner, old, term, store, stored, exclusive)
    return scan if _is_disjoint(scan) and is_expression(tree(start.value)) and not loads_below(start.value) else None


def _uncast(value: SSAValue) -> SSAValue:
    return value.owner.value if isinstance(value.owner, tir.CastOp) else value


def _is_load_of(value: SSAValue, buffer: SSAValue) -> bool:
    return isinstance(value.owner, tir.LoadOp) and value.owner.buffer is buffer


def _is_disjoint(scan: Scan) -> bool:
    """Return whether each iteration stores its own element: each iterator is an index by itself."""
    places = list(scan.store.indices)
    used = {it.var for it in (*scan.outer, scan.along)}
    return set(places) == used and len(places) == len(used)


def emit_scan(loops: LoopBuilder, plan: ScanPlan) -> None:
    """Emit the loops of a plan."""
    scan, column = plan.scan, plan.column
    if column is None:
        loops.nest(scan.outer, {}, lambda where: _Row(loops, scan, where, plan.lanes).emit())
        return
    outer = [it for it in scan.outer if it is not column]
    loops.nest(outer, {}, lambda where: _columns(loops, plan, column, where))


def _columns(loops: LoopBuilder, plan: ScanPlan, column: Iter, where: Bindings) -> None:
    """Emit rows of `width` totals, and the remaining ones at the end."""
    scan, lane = plan.scan, column

    def block(first: SymExpr, count: SymExpr) -> None:
        start = loops.value(first, lane.dtype)
        totals = loops.registers([round_to_vectors(plan.width, plan.lanes)], scan.dtype)

        def begin(c: SSAValue) -> None:
            loops.store(loops.cloner(where)(scan.start), totals, [c])

        def step(k: SSAValue) -> None:
            def element(c: SSAValue) -> None:
                cloner = loops.cloner({**where, lane: loops.sum(start, c), scan.along: k})
                old = loops.load(totals, [c])
                cloner.replace(scan.old.result, old)
                new = cloner(scan.combiner.result)
                loops.store(new, totals, [c])
                cloner.replace(scan.stored.result, old if scan.exclusive else new)
                cloner.store(scan.store)

            loops.vectors(lane, count, element)

        loops.vectors(lane, count, begin)
        loops.loop(scan.along.extent, step, dtype=scan.along.dtype, name="k")

    full_and_tail(loops, lane, plan.width, block, "j_tile")


@dataclass
class _Row:
    """The elements along the scan; `where` has the values of the other iterators."""

    loops: LoopBuilder
    scan: Scan
    where: Bindings
    lanes: int

    def emit(self) -> None:
        """Emit full vectors, then one with only the first lanes active."""
        loops, along, lanes = self.loops, self.scan.along, self.lanes
        self.total = loops.registers([1], self.scan.dtype)
        self._set_total(loops.cloner(self.where)(self.scan.start))

        def step(begin: SymExpr, count: SymExpr) -> None:
            masked = count.constant != lanes
            self._step(Strip(loops, along, loops.value(begin, along.dtype), lanes, masked))

        full_and_tail(loops, along, lanes, step, "k_tile")

    def _set_total(self, value: SSAValue) -> None:
        self.loops.store(value, self.total, [self.loops.const(0, i64)])

    def _step(self, strip: Strip) -> None:
        """Emit one vector."""
        loops, scan, dtype = self.loops, self.scan, self.scan.dtype
        combine = type(scan.combiner)
        terms, sums = (loops.registers([self.lanes], dtype) for _ in "ts")
        one = loops.const(_IDENTITY[combine], dtype)
        if strip.masked:
            strip.vectors(lambda c: loops.store(one, terms, [c]))
        self._elements(strip, lambda k, c: self._load(k, terms, c))
        zero = loops.const(0, i64)
        every = loops.ramp(zero, self.lanes)
        prefixes = loops.load(terms, [every])
        nothing = loops.op(tir.BroadcastOp(one, self.lanes))
        by = 1
        while by < self.lanes:
            prefixes = loops.op(combine(prefixes, self._of_blocks(prefixes, nothing, by)))
            by *= 2
        total = loops.load(self.total, [zero])
        last = loops.op(tir.ShuffleOp([prefixes], [self.lanes - 1]))
        before = self._moved(prefixes, nothing) if scan.exclusive else prefixes
        result = loops.op(combine(loops.op(tir.BroadcastOp(total, self.lanes)), before))
        loops.store(result, sums, [every])
        self._set_total(loops.op(combine(total, last)))
        self._elements(strip, lambda k, c: self._store(k, sums, c))

    def _of_blocks(self, value: SSAValue, nothing: SSAValue, size: int) -> SSAValue:
        """Return the last lane of each even block of `size` lanes, in all lanes of the following block."""
        odd = [lane // size % 2 == 1 for lane in range(self.lanes)]
        last = [lane // size * size - 1 if odd[lane] else self.lanes + lane for lane in range(self.lanes)]
        return self.loops.op(tir.ShuffleOp([value, nothing], last))

    def _moved(self, value: SSAValue, nothing: SSAValue) -> SSAValue:
        """Return a vector shifted up by one lane."""
        return self.loops.op(tir.ShuffleOp([value, nothing], [self.lanes, *range(self.lanes - 1)]))

    def _elements(self, strip: Strip, body: Callable[[SSAValue, SSAValue], object]) -> None:
        def element(c: SSAValue) -> None:
            k = strip.at(c)
            under(self.loops, strip.guard({strip.it: k}), lambda: body(k, c))

        strip.vectors(element)

    def _load(self, k: SSAValue, terms: SSAValue, c: SSAValue) -> None:
        value = self.loops.cloner({**self.where, self.scan.along: k})(self.scan.term)
        self.loops.store(value, terms, [c])

    def _store(self, k: SSAValue, sums: SSAValue, c: SSAValue) -> None:
        cloner = self.loops.cloner({**self.where, self.scan.along: k})
        cloner.replace(self.scan.stored.result, self.loops.load(sums, [c]))
        cloner.store(self.scan.store)
