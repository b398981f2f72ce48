"""Symbolic expressions as Python text: `n * 4 + 1`."""

from __future__ import annotations

from typing import Protocol

from xdsl.ir import Attribute

from ...dialects.sym import IndexMapping
from ...dialects.sym.expr import Algebra, Const, Sum, SymExpr, Var
from ...dialects.sym.operations import COMPARISONS, OPERATIONS
from .document import Document, Expr, Level, PrinterConfig, atom, infix, prefix
from .literals import parenthesized, tir_int


class SymbolicPrinter(Protocol):
    """What the two languages do differently."""

    doc: Document

    def symbol(self, var: Var) -> Expr:
        """The variable; declares it where that has not been done."""
        ...

    def literal(self, value: int, dtype: Attribute) -> Expr:
        """An integer of `dtype`."""
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
"""Operations that print as calls of the TIR language."""


def call(name: str, *args: Expr) -> Expr:
    return atom(f"{name}({', '.join(a.text for a in args)})")


def symbolic(printer: SymbolicPrinter, e: SymExpr) -> Expr:
    """The text of a symbolic expression."""
    return e.fold(_Symbolic(printer))


def _added(number: int) -> int:
    """The number without its sign, which becomes a minus; the least one has no such form in 64 bits, and is added."""
    return number if number == -(2**63) else abs(number)


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
        """Terms in their order, but what is subtracted never first where something is added."""
        parts = [(self._term(term, _added(c)), c == _added(c)) for term, c in e.terms]
        if e.offset:
            parts.append((self.printer.literal(_added(e.offset), e.dtype), e.offset == _added(e.offset)))
        first = next((i for i, (_, positive) in enumerate(parts) if positive), None)
        out = self._term(*e.terms[0]) if first is None else parts[first][0]
        for i, (text, positive) in enumerate(parts):
            if i != (first or 0):
                out = infix("+" if positive else "-", Level.SUM, out, text)
        return out

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
    """Variables by their names, integers as in TIR."""

    def __init__(self) -> None:
        self.doc = Document(PrinterConfig())

    def symbol(self, var: Var) -> Expr:
        return atom(str(var.name))

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return tir_int(self.doc, value, dtype)


def print_index_map(mapping: IndexMapping) -> str:
    """The text of a map that stands alone."""
    inverse = "" if mapping.inverse_map is None else f", inverse_index_map={_lambda(mapping.inverse_map)}"
    return f"T.index_map({_lambda(mapping)}{inverse})"


def result_texts(mapping: IndexMapping) -> list[str]:
    """The results of a map, each as an expression of Python."""
    printer = _Printer()
    return [symbolic(printer, r).text for r in mapping.results]


def _lambda(mapping: IndexMapping) -> str:
    return f"lambda {', '.join(str(p.name) for p in mapping.params)}: {parenthesized(result_texts(mapping))}"
