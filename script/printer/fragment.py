"""Expressions and statements printed by themselves as TVMScript, after declarations of their free variables."""

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
from .tir import STATEMENTS, print_axis, print_block_body
from .tir_expressions import EXPRESSIONS
from .tir_printer import TIRPrinter
from .undeclared import undeclared


def _printer(options: dict[str, Any]) -> TIRPrinter:
    """Return a printer for a fragment. `and` of vectors is printed as in TVM; both parsers read it as `bitwise_and`."""
    return TIRPrinter(Document(PrinterConfig(**options)), STATEMENTS, is_read_back=False)


def _statements(p: TIRPrinter, ops: Sequence[Operation]) -> None:
    """Print consecutive statements."""
    bodies = [op.body.block.ops if isinstance(op, tir.FuncOp) else (op,) for op in ops]
    p.undeclared = undeclared(inner for body in bodies for inner in body)
    last: Operation | None = None
    for op in ops:
        if isinstance(op, tir.FuncOp):
            _root_block(p, op)
            last = op
        elif type(op) not in EXPRESSIONS:
            last = p.statements((op,)) or last
    p.end(last, ops)


def _definition(p: TIRPrinter, op: tir.BlockOp | tir.FuncOp) -> None:
    """Print a block without the values of its iterators."""
    if isinstance(op, tir.FuncOp):
        p.undeclared = undeclared(op.body.block.ops)
        _root_block(p, op, ", no_realize=True")
        return
    p.undeclared = undeclared(op.body.block.ops, op)
    p.doc.line(f"with {p.doc.tir('block')}({string(op.block_name.data)}, no_realize=True):")
    with p.doc.indented():
        for var, kind, least, extent in zip(op.iter_vars, op.kinds, op.mins, op.extents, strict=True):
            print_axis(p, var, kind, None, least, extent)
        print_block_body(p, op)


def _root_block(p: TIRPrinter, func: tir.FuncOp, options: str = "") -> None:
    """Print the body of a function, which TVM represents as a block."""
    p.doc.line(f'with {p.doc.tir("block")}("root"{options}):')
    with p.doc.indented():
        p.doc.line(f"{p.doc.tir('reads')}()")
        p.doc.line(f"{p.doc.tir('writes')}()")
        p.statements(func.body.block.ops)


class StructInfoPrinter:
    """Prints struct info by itself; `declared` holds the declarations of the variables that it mentions."""

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
        """Return the text of a device. Outside of a module it has no index, and TVM prints -1."""
        return f"{name.partition(':')[0]}:-1"


def struct_info_text(t: Attribute) -> str:
    """Return the text of struct info for messages."""
    return struct_info(StructInfoPrinter(Document(PrinterConfig())), t)


@nesting_checked()
def print_struct_info(t: Attribute, **options: Any) -> str:
    """Return the text of struct info, with `verbose_expr` after declarations of the variables that it mentions."""
    doc = Document(PrinterConfig(**options))
    printer = StructInfoPrinter(doc)
    text = struct_info(printer, t)
    return "\n".join([*(printer.declared.values() if doc.config.verbose_expr else ()), text])


@nesting_checked()
def print_expression(value: SSAValue, **options: Any) -> str:
    """Return the text of an expression, without declarations of its variables."""
    return _printer(options).value(value).text


@nesting_checked()
def print_block(op: tir.BlockOp | tir.FuncOp, **options: Any) -> str:
    """Return the text of a block as a definition, without the values of its iterators and its predicate."""
    printer = _printer(options)
    _definition(printer, op)
    return _text(printer)


@nesting_checked()
def print_statements(ops: Sequence[Operation], **options: Any) -> str:
    """Return the text of consecutive statements, after declarations of their free variables and buffers."""
    printer = _printer(options)
    _statements(printer, ops)
    return _text(printer)


def _text(p: TIRPrinter) -> str:
    return "\n".join(["# from tvm.script import tir as " + p.doc.config.tir_prefix, "", *p.declared, *p.doc.lines])
