"""Copies that know the ranges of variables and the conditions around each statement, as TVM's mutators do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr
from ....handles.tir.domains import Range
from ....handles.tir.expr_kinds import dim_node, expr_node
from ....handles.tir.prim_expr import PrimExpr
from ....ir.rewriting.copy import Copier
from ....transforms.tir.walk import is_pure
from ...handles.arith.analyzer import Analyzer


class AnalyzingCopier(Copier):
    """A copier whose `analyzer` knows what holds where it copies.

    `iterators` are the ranges of loop variables, `predicates` the conditions around, in terms of the copies.
    """

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self.iterators: dict[PrimExpr, Range] = {}
        self.predicates: list[PrimExpr] = []

    def _range(self, variable: SSAValue, low: SymExpr | SSAValue, extent: SymExpr | SSAValue) -> None:
        view = expr_node(variable)
        domain = Range.from_min_extent(dim_node(low), dim_node(extent))
        self.analyzer.bind(view, domain, allow_override=True)
        self.iterators[view] = domain

    @contextmanager
    def _where(self, condition: PrimExpr) -> Iterator[None]:
        """Assume a condition, which is an integer expression."""
        self.predicates.append(condition)
        with self.analyzer.constraint_scope(condition):
            yield
        self.predicates.pop()

    def statement(self, op: Operation, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, tir.IfOp):
            self._branch(op, block, mapping)
        elif isinstance(op, tir.ForOp):
            bounds = [b if isinstance(b, SymExpr) else self.value(b, block, mapping) for b in (op.min, op.extent)]
            body, inner = self._open(op.body, mapping)
            self._range(body.args[0], bounds[0], bounds[1])
            self._close(op, body, inner, block, mapping)
        elif isinstance(op, tir.LaunchThreadOp):
            extent = self.value(op.extent, block, mapping)
            body, inner = self._open(op.body, mapping)
            self._range(body.args[0], Const(0, cast(IntegerType, extent.type)), extent)
            self._close(op, body, inner, block, mapping)
        elif isinstance(op, tir.BlockOp):
            body, inner = self._open(op.body, mapping)
            for variable, low, extent in zip(body.args, op.mins, op.extents, strict=True):
                self._range(variable, low, extent)
            self._close(op, body, inner, block, mapping)
        else:
            super().statement(op, block, mapping)
            if isinstance(op, tir.LetOp) and isinstance(op.result.type, IntegerType) and is_pure(op.value.owner):
                new = cast(tir.LetOp, block.last_op)
                self.analyzer.bind(expr_node(new.result), PrimExpr(new.value), allow_override=True)

    def _close(
        self,
        op: Operation,
        body: Block,
        inner: dict[SSAValue, SSAValue],
        block: Block,
        mapping: dict[SSAValue, SSAValue],
    ) -> None:
        """Copy the body of a statement into an open block, and add the statement."""
        operands = [self.value(v, block, mapping) for v in op.operands]
        self.statements(op.regions[0].block.ops, body, inner)
        properties, attributes = op.properties, op.attributes
        block.add_op(
            type(op).create(
                operands=operands,
                properties=properties,
                attributes=attributes,
                regions=[Region(body)],
                location=op.location,
            )
        )

    def _branch(self, op: tir.IfOp, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        condition = self.value(op.cond, block, mapping)
        owner = condition.owner
        likely = isinstance(owner, tir.CallIntrinOp) and owner.func.data == "likely"
        real = PrimExpr(owner.operands[0]) if likely and isinstance(owner, Operation) else PrimExpr(condition)
        with self._where(real):
            then = self.region(op.then_region, mapping)
        with self.analyzer.constraint_scope(~real if real.type != i1 else _negated(real)):
            other = self.region(op.else_region, mapping)
        block.add_op(tir.IfOp(condition, then, other if other.first_block is not None else None))


def _negated(condition: PrimExpr) -> PrimExpr:
    return PrimExpr(tir.NotOp(condition.ssa).result)
