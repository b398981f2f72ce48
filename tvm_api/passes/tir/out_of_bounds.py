"""Detection of accesses that are certainly out of bounds in some iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Var, terms_of
from ....ir.affine.values import sym_expr_of
from ....ir.passes.transform import module_op
from ....schedule.state import ScheduleError
from ....transforms.tir.walk import bind_loop, bound_expr, functions

Access = tir.LoadOp | tir.StoreOp


def oob_checker() -> Callable[[Any], Any]:
    """Return TVM's `tir.analysis.OOBChecker()`: it returns a module, or raises `ScheduleError` for out-of-bounds
    accesses.

    Accesses that may be in bounds are accepted: those under conditions, in loops of unknown extent, and with
    indices that are not sums of distinct loop variables, whose bounds may not be attained.
    """

    def check(mod: Any) -> Any:
        for func in functions(module_op(mod)):
            _Checker().block(func.body.block)
        return mod

    return check


def _may_not_run(op: Operation) -> bool:
    """Return whether the body of a statement may never run."""
    if isinstance(op, tir.ForOp):
        return (bound_expr(op.extent).constant or 0) <= 0
    conditional = isinstance(op, tir.BlockOp) and op.predicate is not None
    return conditional or isinstance(op, tir.IfOp | tir.IfThenElseOp | tir.WhileOp)


class _Checker:
    """Checks one function, with the ranges of its loops."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()

    def block(self, block: Block) -> None:
        """Raise `ScheduleError` for the first out-of-bounds access of a body."""
        with self.analyzer.scope():
            for op in block.ops:
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        if isinstance(op, tir.LoadOp | tir.StoreOp):
            self._access(op)
        elif isinstance(op, tir.ForOp):
            bind_loop(self.analyzer, op)
        elif isinstance(op, tir.BlockOp):
            for var, first, extent in zip(op.iter_vars, op.mins, op.extents, strict=True):
                self.analyzer.bind_range(Var(var, cast(IntegerType, var.type)), first, extent)
        if _may_not_run(op):
            return
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def _access(self, op: Access) -> None:
        t = cast(tir.BufferType, op.buffer.type)
        for axis, (index, extent) in enumerate(zip(op.indices, t.dims, strict=True)):
            if self._is_outside(index, extent.constant):
                hint = f"axis {axis} has {extent.constant} elements"
                raise ScheduleError(f"an access of buffer {name_of(op.buffer)} is out of bounds", [op], hint=hint)

    def _is_outside(self, index: SSAValue, extent: int | None) -> bool:
        if not isinstance(index.type, IntegerType):
            return False
        expr = sym_expr_of(index)
        if not all(isinstance(atom, Var) for atom, _ in terms_of(expr)):
            return False
        bounds = self.analyzer.bounds(expr)
        known = [end for end in (bounds.low, bounds.high) if abs(end) != float("inf")]
        return any(end < 0 or (extent is not None and end >= extent) for end in known)
