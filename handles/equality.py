"""Structural equality of any node: modules, functions, expressions, struct info, bindings, buffers, and lists of them.

Bound variables are equal by where they are bound. A free one is equal to itself alone, or, where `map_free_vars` is
set, to any that stands in the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ..dialects.sym.expr import SymExpr
from ..ir import equality
from ..ir.equality import Reader, StructuralInequalityError
from .base_func import BaseFunc, DictAttrs
from .module import IRModule
from .relax.expr import Attrs, Call, Constant, Expr, GlobalVar, Tuple, Var
from .relax.function import Binding, BindingBlock, MatchCast, SeqExpr
from .struct_info import StructInfo
from .tir.buffers import Buffer
from .tir.domains import Range
from .tir.prim_expr import PrimExpr


class _NodeReader(Reader):
    """Reads nodes that may belong to no function, as what can be compared."""

    def __init__(self, map_free_vars: bool):
        super().__init__()
        self.map_free_vars = map_free_vars

    def node(self, node: Any) -> Hashable:
        """The content of a node."""
        return next(read for kind, read in _KINDS if isinstance(node, kind))(self, node)

    def free(self, value: SSAValue) -> Hashable:
        if isinstance(value, OpResult) and value.op.parent is None:
            return self.detached(value.op)
        if self.map_free_vars:
            return (super().free(value), self.attribute(value.type))
        return ("free", value)

    def expr(self, expr: SymExpr) -> Hashable:
        return super().expr(expr) if self.map_free_vars else (expr.key, expr.dtype)

    def _attribute(self, attr: Attribute) -> Hashable:
        return super()._attribute(attr) if self.map_free_vars else attr

    def detached(self, op: Operation) -> Hashable:
        """An expression that is placed nowhere, or the right side of a binding."""
        operands = tuple(map(self.operand, op.operands))
        return (op.name, operands, self.properties(op, set()), self.types(op), self.inside(op) if op.regions else ())

    def function(self, func: BaseFunc) -> Hashable:
        """As a function of a module is read: its variables are its own."""
        return equality.fingerprint(func.op)

    def bound(self, expr: Expr) -> Hashable:
        """A Relax expression that is no variable."""
        owner = expr.ssa.owner
        return self.detached(owner) if isinstance(owner, Operation) else self.operand(expr.ssa)

    def binding(self, binding: Binding) -> Hashable:
        """The value, then the variable that stands for it from here on."""
        value = self.node(binding.value)
        cast = self.node(binding.struct_info) if isinstance(binding, MatchCast) else None
        self.define(binding.var.ssa)
        return ("binding", value, cast, type(binding.var).__name__, self.attribute(binding.var.ssa.type))

    def sequence(self, expr: SeqExpr) -> Hashable:
        """Blocks of bindings and the value that they end with."""
        return ("sequence", tuple(map(self.node, expr.blocks)), self.node(expr.body))

    def buffer(self, buffer: Buffer) -> Hashable:
        """By its type, names aside, where free variables are mapped; else it is equal to itself alone."""
        return ("buffer", self.operand(buffer.ssa))

    def table(self, table: Mapping[Any, Any]) -> Hashable:
        """In the order of the keys."""
        return ("table", tuple(sorted((str(key), self.node(value)) for key, value in table.items())))


def _attributes(attrs: Attrs) -> dict[str, Any]:
    return {key: attrs[key] for key in attrs.keys()}  # noqa: SIM118


_KINDS: tuple[tuple[Any, Callable[[Any, Any], Hashable]], ...] = (
    (IRModule, lambda r, n: equality.fingerprint(n.op)),
    (BaseFunc, _NodeReader.function),
    (Operation, lambda r, n: equality.fingerprint(n)),
    (StructInfo, lambda r, n: ("struct info", r.attribute(n.type))),
    (GlobalVar, lambda r, n: ("global", n.name_hint)),
    (SeqExpr, _NodeReader.sequence),
    (Tuple, lambda r, n: ("tuple", tuple(map(r.node, n.fields)))),
    (Var, lambda r, n: ("variable", r.operand(n.ssa))),
    (Call | Constant | Expr, _NodeReader.bound),
    (PrimExpr, lambda r, n: ("scalar", r.operand(n.ssa))),
    (SymExpr, lambda r, n: ("symbolic", r.expr(n))),
    (Buffer, _NodeReader.buffer),
    (Range, lambda r, n: ("range", r.node(n.min), r.node(n.extent))),
    (Binding, _NodeReader.binding),
    (BindingBlock, lambda r, n: (type(n).__name__, tuple(map(r.node, n.bindings)))),
    (DictAttrs | dict, _NodeReader.table),
    (Attrs, lambda r, n: r.table(_attributes(n))),
    (list | tuple, lambda r, n: ("list", tuple(map(r.node, n)))),
    (object, lambda r, n: (type(n).__name__, n)),
)
"""How the kinds of nodes are read, the first that fits; what is left is compared by Python's equality."""


def _content(node: Any, map_free_vars: bool) -> Hashable:
    """What a node says, and the expressions that it says by number."""
    reader = _NodeReader(map_free_vars)
    return reader.node(node), tuple(content for content, _ in reader.entries)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes are the same up to the names of bound variables, with `map_free_vars` of free ones, too."""
    return _content(lhs, map_free_vars) == _content(rhs, map_free_vars)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that structurally equal nodes share, within one process."""
    return hash(_content(node, map_free_vars))


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `StructuralInequalityError`, with the first difference and both of its sides, unless nodes are equal."""
    left, right = (n.op if isinstance(n, IRModule | BaseFunc) else n for n in (lhs, rhs))
    if isinstance(left, Operation) and isinstance(right, Operation):
        equality.assert_structural_equal(left, right)
    elif not structural_equal(lhs, rhs, map_free_vars):
        raise StructuralInequalityError("the nodes are not structurally equal", expected=lhs, found=rhs)


__all__ = ["assert_structural_equal", "structural_equal", "structural_hash"]
