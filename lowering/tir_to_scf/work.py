"""An estimate of the work of one iteration of a parallel loop, computed before the loop.

An operation counts by `_WEIGHTS`, 1 if it is not listed; a loop is multiplied by its trip count, a branch counts both
sides. A trip count is known before the parallel loop if its bounds depend on nothing inside; otherwise it counts as
`_UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.xdsl_extras.type_guards import is_integer_attr
from .emitter import INDEX

_UNKNOWN = 16
_WEIGHTS: dict[type[Operation], int] = {
    arith.ConstantOp: 0,
    memref.AllocaOp: 0,
    scf.YieldOp: 0,
    scf.ReduceOp: 0,
    arith.DivfOp: 4,
    arith.DivSIOp: 8,
    arith.RemSIOp: 8,
    math.SqrtOp: 4,
    math.ExpOp: 16,
    math.PowFOp: 32,
    func.CallOp: 32,
}
_MOVABLE = (
    arith.ConstantOp, arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp,
    arith.DivUIOp, arith.RemUIOp,
)  # fmt: skip

Count = int | SSAValue


class WorkEstimate:
    """Emits the operations that compute the work of a loop's body before the loop."""

    def __init__(self, loop: scf.ParallelOp):
        self._loop = loop
        self._inside = set(loop.body.blocks)
        self._copies: dict[SSAValue, SSAValue] = {}

    def of_iteration(self) -> Count:
        """Return the work of one iteration: a number, or an index value."""
        return self._of(self._loop.body.block.ops)

    def value(self, count: Count) -> SSAValue:
        """Return a count as an index value."""
        if isinstance(count, SSAValue):
            return count
        return self._insert(arith.ConstantOp(IntegerAttr(count, INDEX)))

    def binary(self, op: type[arith.AddiOp | arith.MuliOp | arith.DivUIOp], lhs: Count, rhs: Count) -> SSAValue:
        """Emit `op` on two counts, before the loop."""
        return self._insert(op(self.value(lhs), self.value(rhs)))

    def _of(self, ops: Iterable[Operation]) -> Count:
        known, total = 0, None
        for op in ops:
            cost = self._of_op(op)
            if isinstance(cost, int):
                known += cost
            else:
                total = cost if total is None else self.binary(arith.AddiOp, total, cost)
        return known if total is None else self.binary(arith.AddiOp, total, known)

    def _of_op(self, op: Operation) -> Count:
        if not op.regions:
            return _WEIGHTS.get(type(op), 1)
        if isinstance(op, scf.ForOp):
            return self._times(self._trips(op.lb, op.ub, op.step), self._of(op.body.block.ops))
        if isinstance(op, scf.ParallelOp):
            return self._times(_UNKNOWN, self._of(op.body.block.ops))
        if isinstance(op, scf.WhileOp):
            return self._times(_UNKNOWN, self._of(_operations(op)))
        return self._of(_operations(op))

    def _times(self, trips: Count, cost: Count) -> Count:
        if isinstance(trips, int) and isinstance(cost, int):
            return trips * cost
        return self.binary(arith.MuliOp, trips, cost)

    def _trips(self, first: SSAValue, end: SSAValue, step: SSAValue) -> Count:
        """Return the trip count of a loop; one less than exact if the step does not divide its range."""
        outer = [self._before(v) for v in (first, end, step)]
        begin, last, by = outer
        if begin is None or last is None or by is None:
            return _UNKNOWN
        numbers = [_known(v) for v in outer if v is not None]
        if None not in numbers:
            least, most, stride = cast("list[int]", numbers)
            return max(0, most - least) // max(1, stride)
        length = self._insert(arith.SubiOp(last, begin))
        length = self._insert(arith.MaxSIOp(length, self.value(0)))
        return length if _known(by) == 1 else self.binary(arith.DivUIOp, length, by)

    def _before(self, value: SSAValue) -> SSAValue | None:
        """Return the value before the loop: itself, or recomputed there; None if it is not available yet."""
        if not self._is_inside(value):
            return value
        op = value.owner
        if not isinstance(op, _MOVABLE):
            return None
        if value not in self._copies:
            operands = [self._before(o) for o in op.operands]
            if any(o is None for o in operands):
                return None
            copy = op.clone(dict(zip(op.operands, cast("list[SSAValue]", operands), strict=True)))
            self._copies[value] = self._insert(copy)
        return self._copies[value]

    def _is_inside(self, value: SSAValue) -> bool:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        while block is not None:
            if block in self._inside:
                return True
            block = block.parent_block()
        return False

    def _insert(self, op: Operation) -> SSAValue:
        cast(Block, self._loop.parent).insert_op_before(op, self._loop)
        return op.results[0]


def _operations(op: Operation) -> Iterable[Operation]:
    return (inner for region in op.regions for block in region.blocks for inner in block.ops)


def _known(value: SSAValue | None) -> int | None:
    """Return the integer if the value is a constant, else None."""
    if value is not None and isinstance(value.owner, arith.ConstantOp) and is_integer_attr(value.owner.value):
        return value.owner.value.value.data
    return None
