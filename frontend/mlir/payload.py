"""The bodies of structured operations: scalars that become expressions in a block of tir."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import affine, cf, memref, scf, tensor
from xdsl.dialects.builtin import i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...ir.locations import location_of
from .scalars import Expressions, expression

_KINDS = {
    AffineBinaryOpKind.Add: "add",
    AffineBinaryOpKind.Mul: "mul",
    AffineBinaryOpKind.Mod: "floormod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
}


def affine_index(
    e: Expressions, index: AffineExpr, dims: Sequence[SSAValue], symbols: Sequence[SSAValue] = ()
) -> SSAValue:
    """Append an affine expression of indices."""
    if isinstance(index, AffineDimExpr):
        return dims[index.position]
    if isinstance(index, AffineSymExpr):
        return symbols[index.position]
    if isinstance(index, AffineConstantExpr):
        return e.const(index.value, i64)
    assert isinstance(index, AffineBinaryOpExpr)
    a, b = (affine_index(e, side, dims, symbols) for side in (index.lhs, index.rhs))
    if index.kind is not AffineBinaryOpKind.CeilDiv:
        return e.binary(_KINDS[index.kind], a, b)
    zero = e.const(0, i64)
    return e.binary("sub", zero, e.binary("floordiv", e.binary("sub", zero, a), b))


Outer = Callable[[Expressions, SSAValue], SSAValue]
"""Gives the expression of a value from outside: of a scalar, or the buffer of a tensor."""


def loaded(p: Payload, op: tensor.ExtractOp | memref.LoadOp) -> SSAValue:
    """Append an element of a tensor or memref; that of a tensor of rank 0 is a scalar already."""
    source = p.value(op.operands[0])
    return p.add(tir.LoadOp(source, p.values(op.indices))) if isinstance(source.type, tir.BufferType) else source


class Payload(Expressions):
    """Translates a body, whose iterators are `iters`, at the end of a block."""

    def __init__(self, block: Block, iters: Sequence[SSAValue], outer: Outer, known: Mapping[SSAValue, SSAValue]):
        super().__init__(block)
        self.iters, self.outer = iters, outer
        self.known = dict(known)

    def value(self, value: SSAValue) -> SSAValue:
        """Return the expression of a value of the body, or from outside."""
        known = self.known.get(value)
        if known is None:
            known = self.outer(self, value)
        return known

    def values(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.value(v) for v in values]

    def run(self, block: Block) -> list[SSAValue]:
        """Translate all operations of a block; return the values that it yields."""
        for op in block.ops:
            if isinstance(op, linalg.YieldOp | scf.YieldOp | tensor.YieldOp):
                return self.values(op.operands)
            if not op.regions:
                self.operation(op)
            elif isinstance(op, scf.IfOp):
                self.branch(op)
            else:
                raise UnsupportedError(f"'{op.name}' in the body of an operation", location=location_of(op))
        return []

    def operation(self, op: Operation) -> None:
        """Translate an operation without regions."""
        if isinstance(op, linalg.IndexOp):
            self.known[op.result] = self.iters[op.dim.value.data]
        elif isinstance(op, affine.ApplyOp):
            numbers = self.values(op.mapOperands)
            data = op.map.data
            (result,) = data.results
            dims, symbols = numbers[: data.num_dims], numbers[data.num_dims :]
            self.known[op.result] = affine_index(self, result, dims, symbols)
        elif isinstance(op, tensor.ExtractOp | memref.LoadOp):
            self.known[op.results[0]] = loaded(self, op)
        elif isinstance(op, cf.AssertOp):
            self.block.add_op(tir.AssertOp(self.value(op.arg), op.msg.data))
        else:
            self.known[op.results[0]] = expression(self, op, self.values(op.operands))

    def branch(self, op: scf.IfOp) -> None:
        """Translate a branch: an expression for each result, as a branch of tir has one."""
        cond = self.value(op.cond)
        for number, result in enumerate(op.results):
            sides: list[Region] = []
            for region in (op.true_region, op.false_region):
                inner = Block()
                values = Payload(inner, self.iters, self.outer, self.known).run(region.block)
                inner.add_op(tir.YieldOp(values[number]))
                sides.append(Region(inner))
            self.known[result] = self.add(tir.IfThenElseOp(cond, *sides))
