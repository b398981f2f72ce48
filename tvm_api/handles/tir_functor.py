"""`tir.stmt_functor`: traversal and rewriting of tensor functions, on handles of statements and expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation, Region, SSAValue

from ...diagnostics import TiraxError, nesting_checked
from ...dialects import tir
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.expr import Var as SymVar
from ...handles.tir import prim_expr as tx
from ...handles.tir.block_views import BLOCK_HEAD, BlockRealize
from ...handles.tir.buffers import Buffer, Param, Stmt
from ...handles.tir.domains import BufferRegion, IterVar, MatchBufferRegion
from ...handles.tir.expr_kinds import class_name, expr_node, parts_of
from ...handles.tir.prim_expr import PrimExpr, as_sym
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.stmt import Evaluate, SeqStmt, add_to, opens_scope, operations_of, sequence, statements_in, stmt_of
from ...handles.tir.variables import SizeVar
from ...ir.rewriting.copy import Copier, is_expression
from ...ir.rewriting.substitute import SymbolSubstitution

Node = Stmt | PrimExpr
Visit = Callable[[Any], object]


def _parts(node: Any) -> list[Node]:
    """Return the parts of a node in TVM's order of traversal."""
    if isinstance(node, SeqStmt):
        return list(node.seq)
    if isinstance(node, PrimExpr):
        return [part for part in parts_of(node) if isinstance(part, PrimExpr)]
    return [n for name in getattr(node, "PARTS", ()) for n in _nodes(getattr(node, name))]


def _nodes(part: Any) -> list[Node]:
    if isinstance(part, list):
        return [n for p in cast("list[Any]", part) for n in _nodes(p)]
    if isinstance(part, BufferRegion):
        return [e for r in part.region for e in (r.min, r.extent)]
    if isinstance(part, MatchBufferRegion):
        return _nodes(part.source)
    return [] if part is None else [part]


def _root(node: Any) -> Node:
    return node.body if isinstance(node, PrimFunc) else node


def post_order_visit(stmt: Stmt | PrimExpr | PrimFunc, fvisit: Visit) -> None:
    """Call `fvisit` with each statement and expression of `stmt` in post-order."""
    done = object()
    stack: list[Any] = [_root(stmt)]
    while stack:
        at = stack.pop()
        if at is done:
            fvisit(stack.pop())
            continue
        stack += [at, done, *reversed(_parts(at))]


def pre_order_visit(stmt: Stmt | PrimExpr | PrimFunc, fvisit: Visit) -> None:
    """Call `fvisit` with each statement and expression in pre-order.

    If it returns False, the parts of the node are skipped.
    """
    stack: list[Node] = [_root(stmt)]
    while stack:
        at = stack.pop()
        if fvisit(at) is not False:
            stack += reversed(_parts(at))


class _Transformer(Copier):
    """Copies nodes, replacing them by the results of two functions."""

    def __init__(self, before: Visit | None, after: Visit | None, only: frozenset[str] | None):
        self.before, self.after, self.only = before, after, only

    def _call(self, function: Visit | None, node: Any) -> Any:
        if function is None or (self.only is not None and _class_name(node) not in self.only):
            return None
        return function(node)

    def value(self, value: SSAValue, block: IRBlock | None, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        op = value.owner
        if value in mapping or not isinstance(op, Operation) or not is_expression(op):
            return super().value(value, block, mapping)
        replacement = self._call(self.before, expr_node(value))
        if replacement is not None:
            mapping[value] = Copier().value(tx.convert(replacement).ssa, block, dict(mapping))
            return mapping[value]
        new = super().value(value, block, mapping)
        replacement = self._call(self.after, expr_node(new))
        if replacement is not None:
            new = mapping[value] = _placed(tx.convert(replacement).ssa, block)
        return new

    def statements(self, ops: Any, block: IRBlock, mapping: dict[SSAValue, SSAValue]) -> None:
        """Copy statements; replacing a statement whose body is the rest of the block replaces the rest, too."""
        op_list = list(ops)
        head: tuple[type[Operation], ...] = ()
        if op_list and isinstance(op_list[0].parent_op(), tir.BlockOp | tir.FuncOp):
            head = BLOCK_HEAD
        for op in op_list:
            if is_expression(op) or isinstance(op, tir.YieldOp):
                continue
            replacement = None if isinstance(op, head) else self._call_each(self.before, op, reverse=True)
            if replacement is None:
                self.statement(op, block, mapping)
                continue
            add_to(block, _statement(replacement, op), dict(mapping))
            if opens_scope(op):
                break
        self._after_each(block, head)

    def root(self, stmt: Stmt) -> Stmt:
        """Return the body of a function as a block."""
        replacement = self._call_each(self.before, stmt.op, reverse=True)
        if replacement is not None:
            return _statement(replacement, stmt.op)
        new = _copy(stmt, self)
        replacement = self._call_each(self.after, new.op)
        return new if replacement is None else _statement(replacement, new.op)

    def _call_each(self, function: Visit | None, op: Operation, reverse: bool = False) -> Any:
        """Call a function with the node of an operation, or with both nodes of a block."""
        statement = stmt_of(op)
        nodes = [statement.block, statement] if isinstance(statement, BlockRealize) else [statement]
        for node in reversed(nodes) if reverse else nodes:
            replacement = self._call(function, node)
            if replacement is not None:
                return replacement
        return None

    def _after_each(self, block: IRBlock, head: tuple[type[Operation], ...]) -> None:
        """Call `after` for each statement, last one first if a statement's body is the rest of the block."""
        results = [op for op in statements_in(block) if not isinstance(op, head)]
        scoped = any(map(opens_scope, results))
        for op in reversed(results) if scoped else results:
            if op.parent is not block:
                continue
            replacement = self._call_each(self.after, op)
            if replacement is not None and getattr(replacement, "op", None) is not op:
                self._exchange(op, replacement, block)

    @staticmethod
    def _exchange(op: Operation, replacement: Any, block: IRBlock) -> None:
        """Replace a statement of `block`, and those after it if they are its body."""
        new = IRBlock()
        add_to(new, _statement(replacement, op))
        old = operations_of(stmt_of(op))
        anchor = old[-1].next_op
        for inserted in list(new.ops):
            inserted.detach()
            if anchor is None:
                block.add_op(inserted)
            else:
                block.insert_op_before(inserted, anchor)
        for gone in reversed(old):
            gone.detach()
            gone.erase(safe_erase=False)


def _statement(replacement: Any, op: Operation) -> Stmt:
    """Return the replacement statement for a function's result. A `Block` keeps the bindings of the old one."""
    if isinstance(replacement, PrimExpr):
        return Evaluate(replacement)
    if not isinstance(replacement, Stmt):
        raise TiraxError("a statement is expected", expected="Stmt or None", found=type(replacement).__name__)
    name = type(replacement).__name__
    if name != "Block" or not isinstance(op, tir.BlockOp) or replacement.op is op:
        return replacement
    old = cast(BlockRealize, stmt_of(op))
    return BlockRealize(old.iter_values, old.predicate, cast(Any, replacement))


def _placed(value: SSAValue, block: IRBlock | None) -> SSAValue:
    """Insert the new operations of a value at the end of `block`, and return the value."""
    op = value.owner
    if block is None or not isinstance(op, Operation) or op.parent is not None:
        return value
    op.operands = [_placed(v, block) for v in op.operands]
    block.add_op(op)
    return value


def _class_name(node: Any) -> str:
    return class_name(node) if isinstance(node, PrimExpr) else type(node).__name__


def ir_transform(
    stmt: Any,
    preorder: Visit | None,
    postorder: Visit | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """Return a copy of a statement with nodes replaced.

    `preorder(node)` is called first: its result replaces the node unchanged, and None continues with the node's
    parts. `postorder(node)` is then called with the rebuilt node and may replace it. Both are called only for
    the classes in `only_enable` (`["tir.For"]`), if it is not None.
    """
    only = None if only_enable is None else frozenset(n.removeprefix("tir.") for n in only_enable)
    transformer = _Transformer(preorder, postorder, only)
    if isinstance(stmt, PrimExpr):
        return expr_node(transformer.value(stmt.ssa, None, {}))
    return transformer.root(stmt) if isinstance(stmt.op, tir.FuncOp) else _copy(stmt, transformer)


def _copy(stmt: Stmt, copier: Copier) -> Stmt:
    """Copy a statement into a new block; the body of a function becomes a block called `root`."""
    block = IRBlock()
    if isinstance(stmt.op, tir.FuncOp):
        inner = IRBlock()
        copier.statements(stmt.op.body.block.ops, inner, {})
        block.add_op(tir.BlockOp("root", [], Region(inner)))
    else:
        copier.statements(operations_of(stmt), block, {})
    return sequence(statements_in(block))


class _Substituter(Copier):
    """Copies with values replaced by existing expressions."""

    def __init__(self, values: Mapping[SSAValue, SSAValue]):
        self.values = values

    def value(self, value: SSAValue, block: IRBlock | None, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        if value in self.values and value not in mapping:
            mapping[value] = Copier().value(self.values[value], block, {})
        return super().value(value, block, mapping)


@nesting_checked()
def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Return a copy of a statement or an expression with variables replaced by expressions, and buffers by buffers.

    Symbolic variables (`SizeVar`) are replaced by symbolic expressions. Raises `TiraxError` for other
    replacements.
    """
    values: dict[SSAValue, SSAValue] = {}
    symbols: dict[SymVar, SymExpr] = {}
    for key, new in vmap.items():
        if isinstance(key, Buffer):
            values[key.ssa] = new.ssa
        elif isinstance(key, SizeVar):
            (var,) = as_sym(key).free_vars()
            symbols[var] = _symbolic(key, tx.convert(new, key))
        else:
            values[key.ssa] = tx.convert(new, key).ssa
            if isinstance(key, Param) and isinstance(key.ssa.type, IntegerType):
                _add_size(symbols, key, tx.convert(new, key))
    copier = _Substituter(values)
    if isinstance(node, PrimExpr):
        copied = copier.value(node.ssa, None, {})
        if symbols and isinstance(copied.type, IntegerType):
            copied = tx.from_sym(tx.as_sym(copied).substitute(symbols)).ssa
        return expr_node(copied)
    result = _copy(node, copier)
    if symbols:
        replace = SymbolSubstitution(symbols)
        for op in operations_of(result):
            replace.operation(op)
    return result


def _add_size(symbols: dict[SymVar, SymExpr], key: Param, value: PrimExpr) -> None:
    """Add the symbolic variable of a parameter, which shapes refer to by name, if its value is a symbolic
    expression.
    """
    expr = as_sym(value)
    if all(isinstance(v.name, str) for v in expr.free_vars()):
        symbols[SymVar(key.name, cast(IntegerType, key.ssa.type))] = expr


def _symbolic(key: SizeVar, value: PrimExpr) -> SymExpr:
    expr = as_sym(value)
    if any(not isinstance(v.name, str) for v in expr.free_vars()):
        raise TiraxError(f"the symbolic variable '{key.name}' can only become an expression of such", found=str(value))
    return expr


def renew_defs(func: PrimFunc) -> PrimFunc:
    """Return a detached copy of a tensor function with new variables and buffers."""
    return PrimFunc.on(func.op.clone())


__all__ = ["IterVar", "ir_transform", "post_order_visit", "pre_order_visit", "renew_defs", "substitute"]
