"""Symbolic expressions as Python text: `n * 4 + 1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.ir import Attribute

from ...dialects.sym.expr import Const, Op, Product, Sum, SymExpr, Var
from .document import Document, Expr, Level, atom, infix, prefix


class SymbolicPrinter(Protocol):
    """What the two languages do differently."""

    doc: Document

    def symbol(self, var: Var) -> Expr:
        """The variable; declares it where that has not been done."""
        ...

    def literal(self, value: int, dtype: Attribute) -> Expr:
        """An integer of `dtype`."""
        ...


INFIX: dict[str, tuple[str, int]] = {
    "add": ("+", Level.SUM),
    "sub": ("-", Level.SUM),
    "mul": ("*", Level.PRODUCT),
    "div": ("/", Level.PRODUCT),
    "floordiv": ("//", Level.PRODUCT),
    "floormod": ("%", Level.PRODUCT),
    "eq": ("==", Level.COMPARE),
    "ne": ("!=", Level.COMPARE),
    "lt": ("<", Level.COMPARE),
    "le": ("<=", Level.COMPARE),
    "gt": (">", Level.COMPARE),
    "ge": (">=", Level.COMPARE),
    "and": ("and", Level.AND),
    "or": ("or", Level.OR),
    "shift_left": ("<<", Level.SHIFT),
    "shift_right": (">>", Level.SHIFT),
    "bitwise_and": ("&", Level.BIT_AND),
    "bitwise_xor": ("^", Level.BIT_XOR),
    "bitwise_or": ("|", Level.BIT_OR),
}
"""Operations that print as operators."""

CALLS = {"truncdiv": "Div", "truncmod": "truncmod", "min": "min", "max": "max", "select": "Select"}
"""Operations that print as calls of the TIR language."""


def call(name: str, *args: Expr) -> Expr:
    return atom(f"{name}({', '.join(a.text for a in args)})")


def symbolic(printer: SymbolicPrinter, e: SymExpr) -> Expr:
    """The text of a symbolic expression."""
    if isinstance(e, Const):
        return printer.literal(e.value, e.dtype)
    if isinstance(e, Var):
        return printer.symbol(e)
    return _COMPOUND[type(e)](printer, e)


def _product(printer: SymbolicPrinter, e: Product) -> Expr:
    out = symbolic(printer, e.atoms[0])
    for factor in e.atoms[1:]:
        out = infix("*", Level.PRODUCT, out, symbolic(printer, factor))
    return out


def _sum(printer: SymbolicPrinter, e: Sum) -> Expr:
    """Terms in their order, but what is subtracted never first where something is added."""
    parts = [(_term(printer, term, abs(c)), c > 0) for term, c in e.terms]
    if e.offset:
        parts.append((printer.literal(abs(e.offset), e.dtype), e.offset > 0))
    first = next((i for i, (_, positive) in enumerate(parts) if positive), None)
    if first is None:
        term, c = e.terms[0]
        out = _term(printer, term, c)
        first = 0
    else:
        out = parts[first][0]
    for i, (text, positive) in enumerate(parts):
        if i != first:
            out = infix("+" if positive else "-", Level.SUM, out, text)
    return out


def _term(printer: SymbolicPrinter, term: SymExpr, factor: int) -> Expr:
    text = symbolic(printer, term)
    return text if factor == 1 else infix("*", Level.PRODUCT, text, printer.literal(factor, term.dtype))


def _op(printer: SymbolicPrinter, e: Op) -> Expr:
    args = [symbolic(printer, a) for a in e.args]
    if e.kind == "not":
        return prefix("not ", Level.NOT, args[0])
    if e.kind in INFIX:
        return infix(*INFIX[e.kind], *args)
    return call(printer.doc.tir(CALLS[e.kind]), *args)


_COMPOUND: dict[type[SymExpr], Callable[..., Expr]] = {Product: _product, Sum: _sum, Op: _op}
