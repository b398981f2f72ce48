"""Symbolic expressions as Python source: `n * 4 + 1`."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ...dialects.sym import IndexMapping
from ...dialects.sym.expr import Algebra, Const, Sum, SymExpr, Var
from ...dialects.sym.operations import COMPARISONS, OPERATIONS
from ...dialects.sym.writing import signed_parts
from .document import Document, Expr, Level, PrinterConfig, atom, infix, prefix
from .literals import parenthesized, tir_int


class SymbolicPrinter(Protocol):
    """The operations that differ between the two languages."""

    doc: Document

    def symbol(self, var: Var) -> Expr:
        """Return the variable, and declare it on first use."""
        ...

    def literal(self, value: int, dtype: Attribute) -> Expr:
        """Return an integer of `dtype`."""
        ...


_LEVELS = {
    Level.OR: ("or",),
    Level.AND: ("and",),
    Level.COMPARE: tuple(COMPARISONS),
    Level.BIT_OR: ("bitwise_or",),
    Level.BIT_XOR: ("bitwise_xor",),
    Level.BIT_AND: ("bitwise_and",),
    Level.SHIFT: ("shift_left", "shift_right"),
    Level.SUM: ("add", "sub"),
    Level.PRODUCT: ("mul", "div", "floordiv", "floormod"),
}
INFIX = {name: (OPERATIONS[name].symbol, level) for level, names in _LEVELS.items() for name in names}
"""Operations that print as operators."""

CALLS = {"truncdiv": "Div", "truncmod": "truncmod", "min": "min", "max": "max", "select": "Select"}
"""Operations that print as calls of TIR functions."""


def call(name: str, *args: Expr) -> Expr:
    return atom(f"{name}({', '.join(a.text for a in args)})")


def symbolic(printer: SymbolicPrinter, e: SymExpr) -> Expr:
    """Return the text of a symbolic expression."""
    return e.fold(_Symbolic(printer))


class _Symbolic(Algebra[Expr]):
    def __init__(self, printer: SymbolicPrinter):
        self.printer = printer

    def const(self, e: Const) -> Expr:
        return self.printer.literal(e.value, e.dtype)

    def var(self, e: Var) -> Expr:
        return self.printer.symbol(e)

    def mul(self, a: Expr, b: Expr) -> Expr:
        return infix("*", Level.PRODUCT, a, b)

    def sum(self, e: Sum) -> Expr:
        """Return the sum with its terms in order, except that a subtracted term never comes first if there is an
        added one.
        """
        (first, times, _), *others = signed_parts(e)
        out = self._part(first, times, e.dtype)
        for term, factor, added in others:
            out = infix("+" if added else "-", Level.SUM, out, self._part(term, factor, e.dtype))
        return out

    def _part(self, term: SymExpr | None, factor: int, dtype: IntegerType) -> Expr:
        return self.printer.literal(factor, dtype) if term is None else self._term(term, factor)

    def _term(self, term: SymExpr, factor: int) -> Expr:
        text = self.of(term)
        return text if factor == 1 else self.mul(text, self.printer.literal(factor, term.dtype))

    def apply(self, kind: str, args: list[Expr]) -> Expr:
        if kind == "not":
            return prefix("not ", Level.NOT, args[0])
        if kind in INFIX:
            return infix(*INFIX[kind], *args)
        return call(self.printer.doc.tir(CALLS[kind]), *args)


# Index maps as TVMScript: `T.index_map(lambda i: (i // 4, i % 4))`.


class _Printer:
    """Prints variables by name, and integers as in TIR."""

    def __init__(self) -> None:
        self.doc = Document(PrinterConfig())

    def symbol(self, var: Var) -> Expr:
        return atom(str(var.name))

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return tir_int(self.doc, value, dtype)


def print_index_map(mapping: IndexMapping) -> str:
    """Return the text of a standalone index map."""
    inverse = "" if mapping.inverse_map is None else f", inverse_index_map={_lambda(mapping.inverse_map)}"
    return f"T.index_map({_lambda(mapping)}{inverse})"


def result_texts(mapping: IndexMapping) -> list[str]:
    """Return the results of an index map as Python expressions."""
    printer = _Printer()
    return [symbolic(printer, r).text for r in mapping.results]


def _lambda(mapping: IndexMapping) -> str:
    return f"lambda {', '.join(str(p.name) for p in mapping.params)}: {parenthesized(result_texts(mapping))}"
