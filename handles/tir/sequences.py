"""Sequences of statements: composing and flattening them."""

from __future__ import annotations

from .buffers import Stmt
from .prim_expr import PrimExpr
from .stmt import Evaluate, SeqStmt


def stmt_seq(*args: Stmt | PrimExpr) -> Stmt:
    """Return statements as one sequence; an expression is evaluated."""
    statements = [Evaluate(a) if isinstance(a, PrimExpr) else a for a in args]
    return statements[0] if len(statements) == 1 else SeqStmt(statements)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence, with nested sequences flattened."""
    return [s for inner in stmt for s in stmt_list(inner)] if isinstance(stmt, SeqStmt) else [stmt]
