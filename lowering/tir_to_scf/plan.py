"""Which loops can become vectors, and of how many lanes.

In the body of a vectorized loop a value is uniform or varies with the loop variable. A loop becomes vectors where
every store is of neighbouring places (its index grows by one with the loop variable), and nothing varying decides how
often something runs; where a varying condition decides whether something runs there are no uniform loads (which would
run though no lane does). Loads of neighbouring places are loads of vectors; of every second, third or fourth place,
and of places backwards, loads and shuffles; of other places the lanes are loaded one by one (`gathers`), where no
varying condition decides whether they are. Any other loop stays a loop of scalars, which means the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr, Var, add
from ...dialects.tir import BufferType
from ...ir.affine.values import sym_expr_of
from .addresses import ADDRESSES
from .expressions import BUILDERS

_PURE = frozenset((*BUILDERS, tir.CallIntrinOp, tir.ConstOp, tir.ReinterpretOp, tir.LetOp))
_ONCE = _PURE | {tir.CallLLVMIntrinOp, tir.AllocBufferOp, tir.BufferDataOp, tir.DeclBufferOp, ValueOp}
"""What may be done once for all lanes where it does not vary; calls with effects may not."""


STRIDES = (2, 3, 4)
"""Steps between lanes at which a vector is picked out of so many loaded ones."""
BACKWARDS = -1
"""The step at which a vector is loaded and turned around."""


@dataclass
class VectorPlan:
    """What was found out about a loop: the values that vary, and the widest elements in memory, in bits.

    Where it `gathers`, only full vectors can run: lanes that do not run may not be loaded.
    """

    lane: SSAValue
    varying: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())
    widest: int = 8
    memo: dict[SSAValue, SymExpr] = field(default_factory=lambda: dict[SSAValue, SymExpr]())
    masked: bool = False
    gathers: bool = False
    slopes: dict[SSAValue, int | None] = field(default_factory=lambda: dict[SSAValue, "int | None"]())

    def slope(self, index: SSAValue) -> int | None:
        """By how much an integer grows with the loop variable; None where that is not one constant."""
        if index not in self.varying:
            return 0
        if index not in self.slopes:
            self.slopes[index] = slope_in(sym_expr_of(index, self.memo, through_casts=True), self.lane, self.varying)
        return self.slopes[index]


def slope_in(expr: SymExpr, lane: SSAValue, varying: set[SSAValue] | None = None) -> int | None:
    """By how much `expr` grows with the variable `lane`; None where that is not one constant."""
    var = Var(lane, cast(IntegerType, lane.type))
    if any(v.name is not lane and v.name in (varying or ()) for v in expr.free_vars()):
        return None
    return (expr.substitute({var: add(var, 1)}) - expr).constant


def vector_plan(loop: tir.ForOp) -> VectorPlan | None:
    """The plan for a loop that can become vectors, None where it cannot."""
    plan = VectorPlan(loop.loop_var, {loop.loop_var})
    return plan if _block(loop.body.block, plan) else None


def _block(block: Block, plan: VectorPlan) -> bool:
    return all(_operation(op, plan) for op in block.ops)


def _regions(op: Operation, plan: VectorPlan) -> bool:
    return all(r.first_block is None or _block(r.block, plan) for r in op.regions)


def _operation(op: Operation, plan: VectorPlan) -> bool:
    varies = any(o in plan.varying for o in op.operands)
    if isinstance(op, tir.LoadOp):
        return _access(op, op.buffer, op.indices[0], plan, varies)
    if isinstance(op, tir.StoreOp):
        return _access(op, op.buffer, op.indices[0], plan, varies) and plan.slope(op.indices[0]) == 1
    if isinstance(op, tir.ForOp):
        return not varies and _regions(op, plan)
    if isinstance(op, tir.YieldOp):
        return True
    if isinstance(op, tir.CallIntrinOp) and op.func.data in ADDRESSES:
        return False
    if isinstance(op, tir.IfOp | tir.IfThenElseOp):
        return _branches(op, plan, varies)
    if any(isinstance(v.type, VectorType) for v in (*op.operands, *op.results)):
        return False
    if varies:
        plan.varying.update(op.results)
    return type(op) in (_PURE if varies else _ONCE)


def _branches(op: tir.IfOp | tir.IfThenElseOp, plan: VectorPlan, varies: bool) -> bool:
    if isinstance(op, tir.IfThenElseOp) and not varies and _is_uniform(op, plan):
        return not plan.masked
    outer, plan.masked = plan.masked, plan.masked or varies or isinstance(op, tir.IfThenElseOp)
    fits = _regions(op, plan)
    plan.masked = outer
    plan.varying.update(op.results)
    return fits


def _is_uniform(op: tir.IfThenElseOp, plan: VectorPlan) -> bool:
    """Whether nothing in a lazy expression varies: then it is one branch for all lanes."""
    return not any(o in plan.varying for inner in op.walk() for o in inner.operands)


def _access(op: Operation, buffer: SSAValue, index: SSAValue, plan: VectorPlan, varies: bool) -> bool:
    if isinstance(index.type, VectorType):
        return False
    if not varies:
        return not plan.masked
    slope = plan.slope(index)
    if slope == 0:
        return not plan.masked
    if isinstance(op, tir.LoadOp):
        plan.varying.add(op.result)
    plan.widest = max(plan.widest, memory_bits(cast(BufferType, buffer.type).dtype))
    if slope in (1, BACKWARDS, *STRIDES):
        return True
    plan.gathers = True
    return not plan.masked


def memory_bits(dtype: Attribute) -> int:
    """Bits of an element in memory: a bool takes eight."""
    return max(8, bit_width(dtype))


def contains(region: Region, kinds: type[Operation] | tuple[type[Operation], ...]) -> bool:
    """Whether an operation of one of `kinds` stands in a region."""
    return any(isinstance(op, kinds) for op in region.walk())
