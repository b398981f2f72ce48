"""Vectorization analysis: which loops can become vectors, and the number of lanes.

In the body of a vectorized loop a value is uniform or varies with the loop variable. A loop can be vectorized if every
store is contiguous (its index grows by one with the loop variable), and no varying value decides how often something
runs; branches on varying conditions must contain no uniform loads (which would run even without active lanes).
Contiguous loads become vector loads; loads with a stride of two to four, or backwards, become loads and shuffles; other
loads are gathers (`gathers`), which must not be under a varying condition. Any other loop stays scalar, with the same
meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr, Var, add
from ...dialects.tir import BufferType
from ...ir.affine.values import sym_expr_of
from .walk import is_pure

STRIDES = (1, 2, 3, 4, -1)
"""Lane strides that are loaded as vectors, possibly with shuffles: these loads can be masked."""
_INTEGER = frozenset[type[Operation]]((*tir.BINARY.values(), tir.CastOp, tir.SelectOp))
_PURE = _INTEGER | {tir.NotOp, tir.CallIntrinOp, tir.ConstOp, tir.ReinterpretOp, tir.LetOp}
_ONCE = _PURE | {tir.CallLLVMIntrinOp, tir.AllocBufferOp, tir.BufferDataOp, tir.DeclBufferOp, ValueOp}
"""Operations that may run once for all lanes if uniform; calls with side effects may not."""
_LANEWISE = frozenset(f"llvm.{name}" for name in ["fma", "fmuladd", "sqrt", "fabs", "exp", "log", "pow"])
"""LLVM intrinsics that also accept vectors."""
_ADDRESSES = ("address_of", "tvm_access_ptr", "handle_add_byte_offset", "isnullptr")


def _values() -> set[SSAValue]:
    return set()


@dataclass
class VectorPlan:
    """The analysis of a loop: the varying values, and the width of the widest elements in memory, in bits.

    `serial` are branches that run lane by lane; if the target `predicates`, those on `lane < limit` need not, provided
    that they access only elements of the lane. `numbers` are the varying values computed from the loop variable by
    arithmetic alone. With `gathers`, only full vectors can run: inactive lanes must not be loaded. Without `masks`, no
    condition may vary; then lanes may be stored at arbitrary positions.
    """

    lane: SSAValue
    masks: bool = True
    varying: set[SSAValue] = field(default_factory=_values)
    numbers: set[SSAValue] = field(default_factory=_values)
    widest: int = 8
    gathers: bool = False
    predicates: bool = False
    serial: set[Operation] = field(default_factory=lambda: set[Operation]())
    predicated: set[Operation] = field(default_factory=lambda: set[Operation]())
    _masked: bool = False
    _slopes: dict[tuple[SSAValue, bool], int | None] = field(default_factory=dict[tuple[SSAValue, bool], "int | None"])
    _exprs: tuple[dict[SSAValue, SymExpr], dict[SSAValue, SymExpr]] = field(default_factory=lambda: ({}, {}))

    def slope(self, value: SSAValue, *, through_casts: bool = True) -> int | None:
        """Return by how much an integer grows with the loop variable, or None if that is not constant.

        Indices are read `through_casts`, as if their arithmetic never overflowed.
        """
        if value not in self.varying:
            return 0
        if value not in self.numbers:
            return None
        key = value, through_casts
        if key not in self._slopes:
            slope = 1 if value is self.lane else self._linear(cast(Operation, value.owner), through_casts)
            self._slopes[key] = self._symbolic(value, through_casts) if slope is None else slope
        return self._slopes[key]

    def _linear(self, op: Operation, through_casts: bool) -> int | None:
        """Return the slope of a sum, or of a product with a constant, the common forms of indices."""
        if type(op) is tir.MulOp and type(op.rhs.owner) is tir.ConstOp:
            slope = self.slope(op.lhs, through_casts=through_casts)
            return None if slope is None else slope * int(op.rhs.owner.py_value)
        if type(op) not in (tir.AddOp, tir.SubOp):
            return None
        a, b = (self.slope(o, through_casts=through_casts) for o in op.operands)
        return None if a is None or b is None else a + b if type(op) is tir.AddOp else a - b

    def _symbolic(self, value: SSAValue, through_casts: bool) -> int | None:
        expr = sym_expr_of(value, self._exprs[through_casts], through_casts=through_casts)
        var = Var(self.lane, cast(IntegerType, self.lane.type))
        if any(v.name is not self.lane and v.name in self.varying for v in expr.free_vars()):
            return None
        return (expr.substitute({var: add(var, 1)}) - expr).constant

    def block(self, block: Block) -> bool:
        """Return whether all operations of a block can be vectorized, and record their requirements."""
        return all(self._operation(op) for op in block.ops)

    def _regions(self, op: Operation) -> bool:
        return all(r.first_block is None or self.block(r.block) for r in op.regions)

    def _operation(self, op: Operation) -> bool:
        rule = _RULES.get(type(op))
        varies = not self.varying.isdisjoint(op.operands)
        if rule is not None:
            return rule(self, op, varies)
        if any(type(r.type) is VectorType for r in op.results):
            return False
        if varies:
            self._note(op)
        return type(op) in (_PURE if varies else _ONCE)

    def loop(self, op: tir.ForOp, varies: bool) -> bool:
        """Return whether a loop has the same trip count in each lane."""
        return not varies and self._regions(op)

    def call(self, op: tir.CallIntrinOp, varies: bool) -> bool:
        """Return whether an intrinsic can be vectorized; addresses are not computed by lane."""
        if varies:
            self._note(op)
        return op.func.data not in _ADDRESSES and type(op.result.type) is not VectorType

    def llvm_call(self, op: tir.CallLLVMIntrinOp, varies: bool) -> bool:
        """Return whether an LLVM intrinsic works lane-wise; unknown ones do not."""
        if varies:
            self._note(op)
        return not varies or op.func.data in _LANEWISE

    def _note(self, op: Operation) -> None:
        """Record that the results of an operation vary."""
        self.varying.update(op.results)
        if type(op) in _INTEGER and all(o in self.numbers or o not in self.varying for o in op.operands):
            self.numbers.update(r for r in op.results if isinstance(r.type, IntegerType))

    def branches(self, op: tir.IfOp | tir.IfThenElseOp, varies: bool) -> bool:
        """Return whether a branch can be vectorized; a varying condition selects the active lanes."""
        if isinstance(op, tir.IfThenElseOp) and not varies and self._is_uniform(op):
            return self.masks and not self._masked
        if not self.masks:
            return self._without_masks(op, varies)
        outer, self._masked = self._masked, self._masked or varies or isinstance(op, tir.IfThenElseOp)
        fits = self._regions(op)
        self._masked = outer
        self.varying.update(op.results)
        return fits

    def _without_masks(self, op: tir.IfOp | tir.IfThenElseOp, varies: bool) -> bool:
        if varies and isinstance(op, tir.IfOp):
            if not (self.predicates and self._is_predicable(op)):
                self.serial.add(op)
                return self._can_be_repeated(op)
            self.predicated.add(op)
        fits = not (varies and isinstance(op, tir.IfThenElseOp)) and self._regions(op)
        self.varying.update(op.results)
        return fits

    def _can_be_repeated(self, op: tir.IfOp) -> bool:
        """Return whether the varying inputs of a branch can be recomputed at the branch, lane by lane."""
        return all(self._computed_before(op, value) for value in self.inputs(op))

    def _computed_before(self, op: Operation, value: SSAValue) -> bool:
        producer = value.owner
        if value is self.lane:
            return True
        if isinstance(producer, Block) or not is_pure(producer) or isinstance(producer, tir.LetOp):
            return False
        if isinstance(producer, tir.LoadOp) and not _is_read_at(producer, op):
            return False
        return all(self._computed_before(op, o) for o in producer.operands if o in self.varying)

    def inputs(self, op: Operation) -> list[SSAValue]:
        """Return the varying values that an operation uses and that are defined outside it."""
        inside = set(op.walk())
        used = dict.fromkeys(o for each in inside for o in each.operands if o in self.varying)
        return [v for v in used if v.owner not in inside]

    def _is_predicable(self, op: tir.IfOp) -> bool:
        """Return whether a branch on `lane < limit` accesses only elements of its lane."""
        cond = op.cond.owner
        if not isinstance(cond, tir.LtOp) or op.has_else or self.slope(cond.rhs) != 0 or self.slope(cond.lhs) != 1:
            return False
        at = sym_expr_of(cond.lhs)
        accesses = [o for o in op.then_region.walk() if isinstance(o, tir.LoadOp | tir.StoreOp)]
        return bool(accesses) and all(len(o.indices) == 1 and sym_expr_of(o.indices[0]) == at for o in accesses)

    def _is_uniform(self, op: tir.IfThenElseOp) -> bool:
        """Return whether nothing in a conditional expression varies, so that it is one branch for all lanes."""
        return all(self.varying.isdisjoint(inner.operands) for inner in op.walk())

    def access(self, op: tir.LoadOp | tir.StoreOp, varies: bool) -> bool:
        """Return whether an access can be vectorized: loads from arbitrary positions, stores to contiguous ones."""
        indices = list(op.indices)
        index = indices[-1] if indices else None
        slope = 0 if index is None else self.slope(index)
        elements = cast(BufferType, op.buffer.type).dtype
        if isinstance(elements, VectorType) or (index is not None and isinstance(index.type, VectorType)):
            return False
        if isinstance(op, tir.StoreOp) and (slope == 0 if not self.masks else slope != 1):
            return False
        if index is None or not varies or slope == 0:
            return not self._masked and all(i not in self.varying for i in indices)
        if any(i in self.varying for i in indices[:-1]):
            return False
        self.varying.update(op.results)
        self.widest = max(self.widest, _memory_bits(op.buffer))
        self.gathers = self.gathers or slope not in STRIDES
        return slope in STRIDES or not self._masked


def _is_read_at(load: Operation, op: Operation) -> bool:
    """Return whether a load, in the block of `op`, reads the same value at `op`."""
    between = load.next_op
    while between is not None and between is not op:
        if not is_pure(between):
            return False
        between = between.next_op
    return between is op


def _memory_bits(buffer: SSAValue) -> int:
    """Return the bits of an element in memory; a bool takes eight."""
    return max(8, bit_width(cast(BufferType, buffer.type).dtype))


_RULES: dict[type[Operation], Callable[[VectorPlan, Any, bool], bool]] = {
    tir.LoadOp: VectorPlan.access,
    tir.StoreOp: VectorPlan.access,
    tir.ForOp: VectorPlan.loop,
    tir.IfOp: VectorPlan.branches,
    tir.IfThenElseOp: VectorPlan.branches,
    tir.CallIntrinOp: VectorPlan.call,
    tir.CallLLVMIntrinOp: VectorPlan.llvm_call,
    tir.YieldOp: lambda plan, op, varies: True,
}


def vector_plan(loop: tir.ForOp, *, masks: bool = True, predicates: bool = False) -> VectorPlan | None:
    """Return the plan for a loop that can be vectorized, or None."""
    plan = VectorPlan(loop.loop_var, masks, {loop.loop_var}, {loop.loop_var}, predicates=predicates)
    return plan if plan.block(loop.body.block) else None
