"""Statements that control other statements: loops, branches, assertions and attributes of a body."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as IRBlock

from ...diagnostics import DTypeError, TiraxError
from ...dialects import tir
from ...dialects.sym.expr import SymExpr
from ...ir.rewriting.copy import clone_expr
from . import prim_expr as tx
from .attributes import attr_of, value_of
from .buffers import Buffer, Param, Stmt
from .domains import (
    IterVar,
    Range,
    range_of,
)
from .expr_kinds import dim_node, expr_node
from .prim_expr import ExprLike, PrimExpr, as_sym
from .stmt import CLASSES, BuiltStmt, Part, ScopeStmt, annotations_of, attributes_of, body_of, body_region, planted_in


class ForKind(IntEnum):
    """The kind of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


class For(BuiltStmt):
    """A loop: `body` for each of the `extent` values of `loop_var` from `min` on."""

    __slots__ = ()
    PARTS = ("min", "extent", "body")

    def __init__(
        self,
        loop_var: PrimExpr,
        min: ExprLike,
        extent: ExprLike,
        kind: ForKind | int,
        body: Stmt,
        thread_binding: IterVar | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        if tir.index_cast(loop_var.ssa) is not None:
            raise DTypeError("a loop variable has a byte at least", expected="int32 or int64", found=loop_var.dtype)

        def make(block: IRBlock) -> Operation:
            region = body_region([loop_var], body)
            thread = None if thread_binding is None else thread_binding.thread_tag
            first, size = _bound(min, loop_var, block), _bound(extent, loop_var, block)
            return tir.ForOp(
                first, size, region, _KINDS[int(kind)], thread=thread, annotations=attributes_of(annotations)
            )

        self._set(make)

    loop_var = Part(Param, "loop_var")

    @property
    def min(self) -> PrimExpr:
        return range_of(cast(tir.ForOp, self.op).min, cast(tir.ForOp, self.op).extent).min

    extent = Part(dim_node, "extent")

    @property
    def kind(self) -> ForKind:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ForKind(_KINDS.index(cast(tir.ForOp, self.op).kind))

    @property
    def thread_binding(self) -> IterVar | None:
        op = cast(tir.ForOp, self.op)
        if op.thread is None:
            return None
        return IterVar(range_of(op.min, op.extent), self.loop_var, 1, op.thread.data)

    annotations = Part(annotations_of, "annotations")
    body = Part(body_of, "body.block")


_KINDS = list(tir.ForKind)


class While(BuiltStmt):
    """Runs `body` while the `condition` holds."""

    __slots__ = ()
    PARTS = ("condition", "body")

    def __init__(self, condition: ExprLike, body: Stmt, span: object = None):
        self._set(lambda block: tir.WhileOp(_yielding(condition), body_region([], body)))

    condition = Part(expr_node, "cond")
    body = Part(body_of, "body.block")


class IfThenElse(BuiltStmt):
    """Runs `then_case` if the `condition` holds, else `else_case`, which may be None."""

    __slots__ = ()
    PARTS = ("condition", "then_case", "else_case")

    def __init__(self, condition: ExprLike, then_case: Stmt, else_case: Stmt | None = None, span: object = None):
        def make(block: IRBlock) -> Operation:
            other = None if else_case is None else body_region([], else_case)
            return tir.IfOp(planted_in(tx.truth(tx.convert(condition)), block), body_region([], then_case), other)

        self._set(make)

    condition = Part(expr_node, "cond")
    then_case = Part(body_of, "then_region.block")

    @property
    def else_case(self) -> Stmt | None:
        op = cast(tir.IfOp, self.op)
        return body_of(op.else_region.block) if op.has_else else None


class AssertStmt(ScopeStmt):
    """Stops the function if the `condition` does not hold; `body` is what follows."""

    __slots__ = ()
    PARTS = ("condition", "body")

    def __init__(self, condition: ExprLike, message: Any, body: Stmt, span: object = None):
        text = message.value if isinstance(message, PrimExpr) else message
        self._set(lambda block: tir.AssertOp(planted_in(condition, block), text))
        self._with_body(body, {})

    condition = Part(expr_node, "cond")

    @property
    def message(self) -> PrimExpr:
        return expr_node(tir.StringImmOp(cast(tir.AssertOp, self.op).message.data).result)


class AttrStmt(BuiltStmt):
    """An annotation of a body, `attr_key` with `value`, about `node`."""

    __slots__ = ()
    PARTS = ("value", "body")

    def __init__(self, node: Any, attr_key: str, value: ExprLike | str, body: Stmt, span: object = None):
        def make(block: IRBlock) -> Operation:
            if isinstance(node, IterVar) and not isinstance(value, str):
                extent = clone_expr(tx.convert(value, node.var).ssa, block, {})
                return tir.LaunchThreadOp(node.thread_tag, extent, body_region([node.var], body))
            if isinstance(value, str):
                noted: SSAValue = clone_expr(tir.StringImmOp(value).result, block, {})
            else:
                noted = planted_in(value, block)
            return tir.AttrOp(attr_key, noted, body_region([], body), _about(node, block))

        self._set(make)

    @property
    def node(self) -> Any:
        if isinstance(self.op, tir.LaunchThreadOp):
            return IterVar(Range(0, self.value), Param(self.op.index), 1, self.op.tag.data)
        on = cast(tir.AttrOp, self.op).on
        if on is None:
            return expr_node(tir.ConstOp(0, tx.i32).result)
        if isinstance(on, SSAValue):
            return Buffer(on) if isinstance(on.type, tir.BufferType) else expr_node(on)
        return value_of(on)

    @property
    def attr_key(self) -> str:
        return self.op.key if isinstance(self.op, tir.LaunchThreadOp) else cast(tir.AttrOp, self.op).key.data

    @property
    def value(self) -> Any:
        op = self.op
        return expr_node(op.extent if isinstance(op, tir.LaunchThreadOp) else cast(tir.AttrOp, op).value)

    body = Part(body_of, "body.block")


CLASSES |= {
    tir.ForOp: For,
    tir.WhileOp: While,
    tir.IfOp: IfThenElse,
    tir.AssertOp: AssertStmt,
    tir.AttrOp: AttrStmt,
    tir.LaunchThreadOp: AttrStmt,
}


def _about(node: Any, block: IRBlock) -> Attribute | SSAValue | None:
    if node is None or (isinstance(node, int) and node == 0):
        return None
    if isinstance(node, Buffer):
        return node.ssa
    return planted_in(node, block) if isinstance(node, PrimExpr) else attr_of(node)


def _yielding(value: ExprLike) -> Region:
    block = IRBlock()
    block.add_op(tir.YieldOp(planted_in(value, block)))
    return Region(block)


def _bound(value: ExprLike, like: PrimExpr, block: IRBlock) -> SymExpr | SSAValue:
    """Return a loop bound: a symbolic expression if it only has named variables, else a value."""
    expr = tx.convert(value, like)
    if not isinstance(expr.type, IntegerType):
        raise TiraxError("a bound of a loop is an integer", found=expr.dtype)
    expr = tx.index_of(expr)
    symbolic = as_sym(expr)
    named = all(isinstance(v.name, str) for v in symbolic.free_vars())
    return symbolic if named else planted_in(expr, block)
