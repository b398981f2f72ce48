"""Index maps as TVMScript: `T.index_map(lambda i: (i // 4, i % 4))`."""

from __future__ import annotations

from xdsl.ir import Attribute

from ...dialects.sym import IndexMapping
from ...dialects.sym.expr import Var
from .document import Document, Expr, PrinterConfig, atom
from .literals import parenthesized, tir_int
from .symbolic import symbolic


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
