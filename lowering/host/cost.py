"""The cost of a kernel: arithmetic operations, and bytes that it must read and write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import byte_size
from ...dialects.sym.analyzer import is_nonnegative
from ...dialects.sym.expr import Const, SymExpr, Var, product
from ...dialects.sym.operators import maximum, minimum
from ...dialects.tir import BufferType
from ...transforms.tir.analysis import arithmetic
from ...transforms.tir.walk import bound_expr

_NOTHING = Const(0)


@dataclass(frozen=True)
class Cost:
    """The cost of a kernel, over the symbolic variables of its tir function."""

    operations: SymExpr
    """Counted as by `estimate_tir_flops`: of two branches the more expensive one, loops of unknown extent once,
    elementary functions not at all.
    """
    bytes: SymExpr
    """Bytes read plus bytes written of each parameter, each element counted once and at most the parameter's size."""


def cost_of(func: tir.FuncOp) -> Cost:
    """Return the cost of the kernel of a tir function."""
    walk = _Walk({p: _Accesses() for p in func.buffer_params})
    count = walk.inside(func.body.blocks, Const(1))
    return Cost(count, sum((a.bytes(cast(BufferType, p.type)) for p, a in walk.buffers.items()), start=_NOTHING))


@dataclass
class _Accesses:
    """How often a buffer is read and written. A buffer that is written first is not counted as read from memory."""

    first: type[Operation] | None = None
    loads: SymExpr = _NOTHING
    stores: SymExpr = _NOTHING

    def add(self, op: Operation, times: SymExpr) -> None:
        self.first = self.first or type(op)
        if isinstance(op, tir.LoadOp):
            self.loads = self.loads + times
        else:
            self.stores = self.stores + times

    def bytes(self, t: BufferType) -> SymExpr:
        """Return the bytes that the accesses move."""
        size = product(t.dims)
        counts = (self.stores, _NOTHING if self.first is tir.StoreOp else self.loads)
        return sum((minimum(size, count) for count in counts), start=_NOTHING) * byte_size(t.dtype)


@dataclass
class _Walk:
    """Walk over statements that sums up their operations and accesses."""

    buffers: dict[SSAValue, _Accesses]
    last: dict[Var, SymExpr] = field(default_factory=dict[Var, SymExpr])
    """Loop variables, each with its value in the last iteration."""

    def inside(self, blocks: Iterable[Block], times: SymExpr) -> SymExpr:
        """Return the number of operations of all statements, each executed `times` times."""
        return sum((self._statement(op, times) for block in blocks for op in block.ops), start=_NOTHING)

    def _statement(self, op: Operation, times: SymExpr) -> SymExpr:
        if isinstance(op, tir.LoadOp | tir.StoreOp) and op.buffer in self.buffers:
            self.buffers[op.buffer].add(op, times)
        if isinstance(op, tir.StoreOp | tir.LetOp):
            return times * arithmetic(op.value)
        if isinstance(op, tir.ForOp):
            times = times * self._extent(op)
        sides = [self.inside(region.blocks, times) for region in op.regions]
        if isinstance(op, tir.InitOp) or type(op) in tir.EXPRESSION_OPS:
            return _NOTHING
        if isinstance(op, tir.IfOp):
            return maximum(*sides)
        return sum(sides, start=_NOTHING)

    def _extent(self, loop: tir.ForOp) -> SymExpr:
        """Return the largest number of iterations; 1 if it depends on data."""
        extent = bound_expr(loop.extent).substitute(self.last)
        if not all(isinstance(v.name, str) for v in extent.free_vars()):
            return Const(1)
        variable = Var(loop.loop_var, cast(IntegerType, loop.loop_var.type))
        self.last[variable] = (bound_expr(loop.min) + extent - 1).substitute(self.last)
        return extent if is_nonnegative(extent) else maximum(extent, _NOTHING)
