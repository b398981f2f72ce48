"""The rule for reductions with several interdependent results, such as argmax, over non-contiguous memory.

    for j: for k: P[j], V[j] = better((P[j], V[j]), (k, X[k, j]))
        ->
    for j in J / w:
        p[w], v[w] = init
        for k: p[:], v[:] = better((p[:], v[:]), (k, X[k, j * w :+ w]))
        P[j * w :+ w], V[j * w :+ w] = p[:], v[:]

Each lane performs the tir's computation for its element, in the original order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.sym.expr import SymExpr
from ...accesses import is_intermediate, loads_of
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine, NestPlan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, constant_slope, element_type, results_of
from ..library.microkernel import Tile, full_and_tail
from .argreduce import are_in_place


@dataclass(frozen=True)
class MultiReducePlan(NestPlan):
    """A plan with tiles of `vectors` vectors of `lanes` elements along `lane`; `stores` follow the `inits`."""

    block: tir.BlockOp
    iters: list[Iter]
    stores: list[tir.StoreOp]
    inits: list[tir.StoreOp]
    lane: Iter
    lanes: int
    vectors: int

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def loads(self) -> list[tir.LoadOp]:
        """The loads of the body."""
        return [op for op in self.block.body.block.ops if isinstance(op, tir.LoadOp)]


def plan_multi_reduce(root: Operation, machine: Machine) -> MultiReducePlan | None:
    """Return the plan for a nest of the form above, or None if it has another form."""
    results = results_of(root)
    if results is None or not any(it.reduce for it in results.iters):
        return reject("it is no block of a reduction that stores several results")
    if any(isinstance(op, tir.LoadOp) for op in results.begin):
        return reject("a result does not begin with a constant")
    if not _stores_come_last(results.block):
        return reject("something is read after a result was stored")
    bits = [bit_width(element_type(op.buffer)) for op in results.stores]
    bits += [bit_width(op.result.type) for op in results.rest if isinstance(op, tir.LoadOp)]
    lanes = machine.vector_bits // max(8, *bits)
    lane = _lane(results.iters, [*results.stores, *results.inits], results.rest)
    if lane is None:
        return reject("there is no iterator along which everything is contiguous, or stays where it is")
    if lanes < 2:
        return reject("elements are as wide as a vector")
    needed = -(-(lane.extent.constant or 1 << 30) // lanes)
    tile = lane, lanes, min(needed, machine.registers // 4)
    return MultiReducePlan(results.block, results.iters, results.stores, results.inits, *tile)


def _stores_come_last(block: tir.BlockOp) -> bool:
    """Return whether everything is read before anything is written."""
    ops = [op for op in block.body.block.ops if not isinstance(op, tir.ConstOp)]
    first = next(at for at, op in enumerate(ops) if isinstance(op, tir.StoreOp))
    return all(isinstance(op, tir.StoreOp) for op in ops[first:])


def _lane(iters: list[Iter], stores: list[tir.StoreOp], body: list[Operation]) -> Iter | None:
    """Return the iterator along which every access is contiguous or invariant."""
    written = {op.buffer for op in stores}
    loads = [op for op in body if isinstance(op, tir.LoadOp)]
    if any(op.regions for op in body):
        return None
    own, others = ([op for op in loads if (op.buffer in written) is inside] for inside in (True, False))
    if not are_in_place([*stores, *own], iters):
        return None
    for it in reversed([it for it in iters if it.extent.constant != 1 and not it.reduce]):
        slopes = [constant_slope(op, it) for op in others]
        if all(constant_slope(op, it) == 1 for op in stores) and all(s in (0, 1) for s in slopes) and 1 in slopes:
            return it
    return None


def emit_multi_reduce(loops: LoopBuilder, plan: MultiReducePlan) -> None:
    """Emit the loops of a plan."""
    outer = [it for it in plan.iters if not it.reduce and it is not plan.lane]

    def tiles(where: Bindings) -> None:
        def tile(first: SymExpr, count: SymExpr) -> None:
            _Tile(loops, plan, where, loops.value(first, plan.lane.dtype), count).emit()

        full_and_tail(loops, plan.lane, plan.width, tile, "j_tile")

    loops.nest(outer, {}, tiles)


Registers = dict[SSAValue, SSAValue]
"""The elements of a tile for each buffer that is written."""


@dataclass
class _Tile(Tile[Registers]):
    """A tile of `count` elements from `first`, at most the plan's tile size."""

    loops: LoopBuilder
    plan: MultiReducePlan
    where: Bindings
    first: SSAValue
    count: SymExpr

    def registers(self) -> Registers:
        """Allocate a row for each result."""
        width = [self.plan.width]
        return {s.buffer: self.loops.registers(width, element_type(s.buffer)) for s in self.plan.stores}

    def start(self, acc: Registers) -> None:
        """Store the constants that results are initialized with."""
        begins = {init.buffer: init.value for init in self.plan.inits}

        def begin(c: SSAValue) -> None:
            for buffer, part in acc.items():
                self.loops.store(self.loops.cloner()(begins[buffer]), part, [c])

        self._along(begin)

    def reduce(self, acc: Registers) -> None:
        """Emit all steps, in the order of the tir."""
        reduce = [it for it in self.plan.iters if it.reduce]
        self.loops.nest(reduce, {}, lambda ks: self._along(lambda c: self._step(c, ks, acc)))

    def end(self, acc: Registers) -> None:
        """Store the results that are read later."""

        def store(c: SSAValue) -> None:
            cloner = self.loops.cloner({**self.where, self.plan.lane: self.loops.sum(self.first, c)})
            for result in self.plan.stores:
                if not self._is_local(result.buffer):
                    cloner.store(result, self.loops.load(acc[result.buffer], [c]))

        self._along(store)

    def _along(self, body: Callable[[SSAValue], object]) -> None:
        self.loops.vectors(self.plan.lane, self.count, body)

    def _step(self, c: SSAValue, ks: Bindings, parts: Registers) -> None:
        plan, loops = self.plan, self.loops
        cloner = loops.cloner({**self.where, plan.lane: loops.sum(self.first, c), **ks})
        for load in plan.loads:
            if load.buffer in parts:
                cloner.replace(load.result, loops.load(parts[load.buffer], [c]))
        values = [cloner(store.value) for store in plan.stores]
        for value, part in zip(values, parts.values(), strict=True):
            loops.store(value, part, [c])

    def _is_local(self, buffer: SSAValue) -> bool:
        """Return whether only the nest itself reads a buffer."""
        inside = set(self.plan.loads)
        return is_intermediate(buffer) and all(load in inside for load in loads_of(buffer))
