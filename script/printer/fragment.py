"""Expressions and statements by themselves as TVMScript: what they use and do not define is declared before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import nesting_checked
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import SymExpr, Var
from .document import Document, Expr, PrinterConfig, atom
from .literals import string
from .struct_info import struct_info
from .symbolic import symbolic
from .tir import TIRPrinter
from .tir_expressions import EXPRESSIONS
from .undeclared import undeclared


class FragmentPrinter(TIRPrinter):
    """Prints a part of a tensor function."""

    is_read_back = False  # `and` of vectors is printed as TVM does; the parser takes it for `bitwise_and`, as TVM's

    def statements(self, ops: Sequence[Operation]) -> None:
        """Print statements that follow each other."""
        bodies = [op.body.block.ops if isinstance(op, tir.FuncOp) else (op,) for op in ops]
        self._undeclared = undeclared(inner for body in bodies for inner in body)
        last: Operation | None = None
        for op in ops:
            if isinstance(op, tir.FuncOp):
                self._root_block(op)
                last = op
            elif type(op) not in EXPRESSIONS:
                last = self._statements((op,)) or last
        self._end(last, ops)

    def definition(self, op: tir.BlockOp | tir.FuncOp) -> None:
        """Print a block without the values of its iterators."""
        if isinstance(op, tir.FuncOp):
            self._undeclared = undeclared(op.body.block.ops)
            self._root_block(op, ", no_realize=True")
            return
        self._undeclared = undeclared(op.body.block.ops, op)
        self.doc.line(f"with {self.doc.tir('block')}({string(op.block_name.data)}, no_realize=True):")
        with self.doc.indented():
            for var, kind, least, extent in zip(op.iter_vars, op.kinds, op.mins, op.extents, strict=True):
                self._axis(var, kind, None, least, extent)
            self._block_body(op)

    def _root_block(self, func: tir.FuncOp, options: str = "") -> None:
        """What a function does, which TVM has in a block."""
        self.doc.line(f'with {self.doc.tir("block")}("root"{options}):')
        with self.doc.indented():
            self.doc.line(f"{self.doc.tir('reads')}()")
            self.doc.line(f"{self.doc.tir('writes')}()")
            self._statements(func.body.block.ops)


class StructInfoPrinter:
    """Prints struct info by itself; `declared` are the lines for the variables that it mentions."""

    def __init__(self, doc: Document):
        self.doc = doc
        self.declared: dict[str, str] = {}

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return atom(str(bool(value)) if dtype == i1 else str(value))

    def symbol(self, var: Var) -> Expr:
        return atom(self.variable(str(var.name), var.dtype))

    def variable(self, key: str, dtype: Attribute) -> str:
        self.declared[key] = f"{key} = {self.doc.tir(dtype_name(dtype))}()"
        return key

    def dim(self, e: SymExpr) -> str:
        return symbolic(self, e).text

    def number(self, value: int, dtype: Attribute) -> str:
        return self.literal(value, dtype).text

    def device(self, name: str) -> str:
        """Outside of a module a device has no number: TVM prints -1."""
        return f"{name.partition(':')[0]}:-1"


def struct_info_text(t: Attribute) -> str:
    """The text of struct info alone, for messages."""
    return struct_info(StructInfoPrinter(Document(PrinterConfig())), t)


@nesting_checked()
def print_struct_info(t: Attribute, **options: Any) -> str:
    """The text of struct info; with `verbose_expr` after declarations of the variables that it mentions."""
    doc = Document(PrinterConfig(**options))
    printer = StructInfoPrinter(doc)
    text = struct_info(printer, t)
    return "\n".join([*(printer.declared.values() if doc.config.verbose_expr else ()), text])


@nesting_checked()
def print_expression(value: SSAValue, **options: Any) -> str:
    """The text of an expression, without a declaration of its variables."""
    return FragmentPrinter(Document(PrinterConfig(**options))).value(value).text


@nesting_checked()
def print_block(op: tir.BlockOp | tir.FuncOp, **options: Any) -> str:
    """The text of a block as a definition, without the values of its iterators and its predicate."""
    doc = Document(PrinterConfig(**options))
    printer = FragmentPrinter(doc)
    printer.definition(op)
    return _text(doc, printer)


@nesting_checked()
def print_statements(ops: Sequence[Operation], **options: Any) -> str:
    """The text of statements that follow each other, after the variables and buffers that they take from elsewhere."""
    doc = Document(PrinterConfig(**options))
    printer = FragmentPrinter(doc)
    printer.statements(ops)
    return _text(doc, printer)


def _text(doc: Document, printer: FragmentPrinter) -> str:
    return "\n".join(["# from tvm.script import tir as " + doc.config.tir_prefix, "", *printer.declared, *doc.lines])
