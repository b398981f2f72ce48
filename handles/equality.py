"""Structural equality of any node: modules, functions, expressions, struct info, bindings, buffers, and lists of them.

Bound variables are compared by their binding positions. A free variable equals only itself or, with `map_free_vars`,
any free variable that occurs at the same positions. Buffers are always compared in the latter way: as in TVM, a buffer
is defined by its first occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerType, i32, i64
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue
from xdsl.ir import Block as IRBlock

from ..diagnostics import nesting_checked
from ..dialects import tir
from ..dialects.names import name_of
from ..dialects.sym.expr import SymExpr
from ..dialects.sym.expr import Var as SymVar
from ..ir import equality
from ..ir.equality import Reader, StructuralInequalityError
from ..ir.origins import origin
from ..ir.rewriting.copy import copied
from .array import Array
from .base_func import BaseFunc, DictAttrs
from .mismatch import first_mismatch
from .module import IRModule
from .object_path import ObjectPath
from .relax.call import Attrs, Call
from .relax.expr import Constant, Expr, GlobalVar, Tuple, Var, canonical
from .relax.function import Binding, BindingBlock, MatchCast, SeqExpr
from .struct_info import StructInfo, StructInfoProxy, type_of
from .tir.block_views import BlockBase, BlockRealize
from .tir.buffers import Buffer, Stmt
from .tir.dims import is_extent_var
from .tir.domains import BufferRegion, Range
from .tir.placeholders import named_var
from .tir.prim_expr import PrimExpr, const
from .tir.stmt import operations_of


class _NodeReader(Reader):
    """Reads nodes, including those that belong to no function, into comparable contents."""

    def __init__(self, map_free_vars: bool):
        super().__init__()
        self.map_free_vars = map_free_vars

    def node(self, node: Any) -> Hashable:
        """Return the content of a node."""
        return next(read for kind, read in _KINDS if isinstance(node, kind))(self, node)

    def free(self, value: SSAValue) -> Hashable:
        value = origin(value)
        if isinstance(value, OpResult) and value.op.parent is None:
            return self.detached(value.op)
        if is_extent_var(value):
            return self.numbered(("symbolic", self.expr(named_var(SymVar(value, cast(IntegerType, value.type))))), None)
        if self.map_free_vars or isinstance(value.type, tir.BufferType):
            if value in self.values:  # met as another copy of it
                return self.values[value]
            return (super().free(value), self.attribute(value.type))
        return ("free", value)

    def expr(self, expr: SymExpr) -> Hashable:
        return super().expr(expr) if self.map_free_vars else (expr.key, expr.dtype)

    def _attribute(self, attr: Attribute) -> Hashable:
        return super()._attribute(attr) if self.map_free_vars or isinstance(attr, FloatAttr) else attr

    def detached(self, op: Operation) -> Hashable:
        """Return the content of a detached expression, or of the right side of a binding."""
        operands = tuple(map(self.operand, op.operands))
        return (op.name, operands, self.properties(op, set()), self.types(op), self.inside(op) if op.regions else ())

    def function(self, func: BaseFunc) -> Hashable:
        """Read a function like one of a module: its variables are bound, except those that it does not define."""
        return equality.fingerprint(func.op), () if self.map_free_vars else _unbound(func.op)

    def bound(self, expr: Expr) -> Hashable:
        """Return the content of a Relax expression that is not a variable."""
        owner = expr.ssa.owner
        return self.detached(owner) if isinstance(owner, Operation) else self.operand(expr.ssa)

    def binding(self, binding: Binding) -> Hashable:
        """Return the content of the value, then define the variable that it is bound to."""
        value = self.node(binding.value)
        cast = self.node(binding.struct_info) if isinstance(binding, MatchCast) else None
        self.define(canonical(binding.var.ssa))
        return ("binding", value, cast, type(binding.var).__name__, self.attribute(binding.var.ssa.type))

    def sequence(self, expr: SeqExpr) -> Hashable:
        """Return the content of blocks of bindings and their result."""
        return ("sequence", tuple(map(self.node, expr.blocks)), self.node(expr.body))

    def statement(self, stmt: Stmt) -> Hashable:
        """Return the content of a statement; variables defined outside of it are free."""
        for op in operations_of(stmt):
            if not self.inline(op):
                self.operation(_unplaced(stmt) if isinstance(stmt, BlockBase) else op)
        return ("statement",)

    def buffer(self, buffer: Buffer) -> Hashable:
        """Return the content of a buffer: its type, without names."""
        return ("buffer", self.operand(buffer.ssa))

    def table(self, table: Mapping[Any, Any]) -> Hashable:
        """Return the content of a dictionary, in the order of the keys."""
        return ("table", tuple(sorted((str(key), self.node(value)) for key, value in table.items())))


def _unplaced(stmt: BlockBase) -> tir.BlockOp:
    """Return a block independent of where it runs: the root block of a function, or a `Block` without iterator
    values.
    """
    if isinstance(stmt.op, tir.FuncOp):
        inside = IRBlock()
        copied(stmt.op.body.block.ops, inside, {})
        return tir.BlockOp("root", [], Region(inside))
    block = cast(tir.BlockOp, stmt.op)
    if isinstance(stmt, BlockRealize):
        return block
    zeros = [tir.ConstOp(0, cast(IntegerType, v.type)).result for v in block.iter_vars]
    domains = zip(block.mins, block.extents, strict=True)
    iters = list(zip(block.kinds, zeros, domains, strict=True))
    return tir.BlockOp(block.block_name.data, iters, block.clone().detach_region(0), annotations=block.annotations)


def _unbound(func: Operation) -> tuple[SSAValue, ...]:
    """Return the variables that a function uses but does not define, in order."""
    values = dict.fromkeys(v for op in func.walk() for v in op.operands)
    return tuple(v for v in values if not func.is_ancestor(v.owner))


def _attributes(attrs: Attrs) -> dict[str, Any]:
    return {key: attrs[key] for key in attrs.keys()}  # noqa: SIM118


_KINDS: tuple[tuple[Any, Callable[[Any, Any], Hashable]], ...] = (
    (IRModule, lambda r, n: equality.fingerprint(n.op)),
    (BaseFunc, _NodeReader.function),
    (Operation, lambda r, n: equality.fingerprint(n)),
    (StructInfo | StructInfoProxy, lambda r, n: ("struct info", r.attribute(type_of(n)))),
    (GlobalVar, lambda r, n: ("global", n.name_hint)),
    (SeqExpr, _NodeReader.sequence),
    (Tuple, lambda r, n: ("tuple", tuple(map(r.node, n.fields)))),
    (Var, lambda r, n: ("variable", r.operand(canonical(n.ssa)))),
    (Call | Constant | Expr, _NodeReader.bound),
    (PrimExpr, lambda r, n: ("scalar", r.operand(n.ssa))),
    (SymExpr, lambda r, n: ("symbolic", r.expr(n))),
    (Buffer, _NodeReader.buffer),
    (Stmt, _NodeReader.statement),
    (Range, lambda r, n: ("range", r.node(n.min), r.node(n.extent))),
    (BufferRegion, lambda r, n: ("region", r.node(n.buffer), tuple(map(r.node, n.region)))),
    (Binding, _NodeReader.binding),
    (BindingBlock, lambda r, n: (type(n).__name__, tuple(map(r.node, n.bindings)))),
    (DictAttrs | dict, _NodeReader.table),
    (Attrs, lambda r, n: r.table(_attributes(n))),
    (np.ndarray, lambda r, n: ("array", n.shape, str(n.dtype), n.tobytes())),
    (Array | list | tuple, lambda r, n: ("list", tuple(map(r.node, n)))),
    (bool, lambda r, n: ("bool", n)),
    (int, lambda r, n: ("scalar", r.operand(const(n, i32 if abs(n) < 1 << 31 else i64).ssa))),
    (object, lambda r, n: (type(n).__name__, r.node(n.__tirax_parts__()) if hasattr(n, "__tirax_parts__") else n)),
)
"""The readers of the kinds of nodes; the first match is used. Other nodes are compared by Python's equality."""


def _content(node: Any, map_free_vars: bool) -> Hashable:
    """Return the content of a node, with its expressions numbered."""
    reader = _NodeReader(map_free_vars)
    return reader.node(node), tuple(content for content, _ in reader.entries)


@nesting_checked()
def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Return whether two nodes are equal up to the names of bound variables; with `map_free_vars` also of free ones."""
    return _equal(lhs, rhs, map_free_vars)


def _equal(lhs: Any, rhs: Any, map_free_vars: bool) -> bool:
    """Internal `structural_equal`: users who wrap or count calls of the public function only see their own."""
    return _content(lhs, map_free_vars) == _content(rhs, map_free_vars)


@nesting_checked()
def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a number that is the same for structurally equal nodes, within one process."""
    return hash(_content(node, map_free_vars))


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[ObjectPath, ObjectPath] | None:
    """Return the paths to the first difference of two nodes, on either side; None if they are equal.

    Paths lead into lists, dictionaries, modules, and the parts of tensor functions; other nodes that differ are not
    descended into.
    """
    return None if _equal(lhs, rhs, map_free_vars) else _mismatch(lhs, rhs, ObjectPath.root(), map_free_vars)


def _mismatch(lhs: Any, rhs: Any, path: ObjectPath, map_free_vars: bool) -> tuple[ObjectPath, ObjectPath]:
    """Return the paths to the first difference of two unequal nodes at `path`."""
    if isinstance(lhs, Array | list | tuple) and isinstance(rhs, Array | list | tuple):
        pairs = [(path.array_index(i), a, b) for i, (a, b) in enumerate(zip(lhs, rhs, strict=False))]
        n = len(pairs)
        ends = tuple(path.array_index(n) if n < len(s) else path.missing_array_element(n) for s in (lhs, rhs))
    elif isinstance(lhs, Mapping) and isinstance(rhs, Mapping):
        pairs = [(path.map_value(k), lhs[k], rhs[k]) for k in sorted(lhs.keys() & rhs.keys(), key=str)]
        extra = next(iter(sorted(lhs.keys() ^ rhs.keys(), key=str)), None)
        ends = tuple(path.map_value(extra) if extra in side else path.missing_map_entry() for side in (lhs, rhs))
    else:
        return first_mismatch(lhs, rhs, path, map_free_vars) or (path, path)
    for place, a, b in pairs:
        if not _equal(a, b, map_free_vars):
            return _mismatch(a, b, place, map_free_vars)
    return ends[0], ends[1]


@nesting_checked()
def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `StructuralInequalityError`, with the first difference and both sides of it, unless the nodes are equal."""
    left, right = (n.op if isinstance(n, IRModule | BaseFunc) else n for n in (lhs, rhs))
    if isinstance(left, Operation) and isinstance(right, Operation):
        difference = equality.first_difference(left, right)
        if difference is None and not map_free_vars and (free := _unbound(left)) != (others := _unbound(right)):
            expected, found = (", ".join(str(name_of(v)) for v in values) or "none" for values in (free, others))
            raise StructuralInequalityError(
                "the functions have different free variables", expected=expected, found=found
            )
        if difference is not None:
            place = first_mismatch(lhs, rhs, ObjectPath.root(), map_free_vars)
            equality.refuse(difference, "" if place is None else f", at {place[0]}")
    elif not _equal(lhs, rhs, map_free_vars):
        place = first_mismatch(lhs, rhs, ObjectPath.root(), map_free_vars)
        where = "" if place is None or len(place[0]) == 1 else f", at {place[0]}"
        raise StructuralInequalityError(f"the nodes are not structurally equal{where}", expected=lhs, found=rhs)


StructInfo.structural_equal = staticmethod(lambda lhs, rhs: structural_equal(lhs, rhs))  # looked up when it is called


__all__ = ["assert_structural_equal", "get_first_structural_mismatch", "structural_equal", "structural_hash"]
