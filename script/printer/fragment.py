"""Expressions, statements and their parts printed by themselves as TVMScript, after declarations of their free
variables.
"""

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
from .tir import STATEMENTS, print_axis, print_block_body, region
from .tir_expressions import EXPRESSIONS
from .tir_printer import TIRPrinter, buffer_line
from .undeclared import undeclared


def _printer(options: dict[str, Any]) -> TIRPrinter:
    """Return a printer for a fragment. `and` of vectors is printed as in TVM; both parsers read it as `bitwise_and`."""
    return TIRPrinter(Document(PrinterConfig(**options)), STATEMENTS, is_read_back=False)


def _statements(p: TIRPrinter, ops: Sequence[Operation]) -> None:
    """Print consecutive statements."""
    bodies = [op.body.block.ops if isinstance(op, tir.FuncOp) else (op,) for op in ops]
    p.undeclared = undeclared(inner for body in bodies for inner in body)
    last: Operation | None = None
    first = next((i for i, op in enumerate(ops) if type(op) not in EXPRESSIONS), len(ops))
    begins = ops[first] if first < len(ops) else None
    p.scoped, p.rest = begins, ops[first + 1 :]
    for op in ops:
        if isinstance(op, tir.FuncOp):
            _root_block(p, op)
            last = op
        elif type(op) not in EXPRESSIONS:
            last = p.statements((op,)) or last
            if p.scoped is None:  # the rest stands in a scope
                return
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
    """Return the text of an expression; `verbose_expr` adds declarations of its variables before it."""
    printer = _printer(options)
    return _with_declarations(printer, printer.value(value).text)


@nesting_checked()
def print_range(least: SSAValue, end: SSAValue, **options: Any) -> str:
    """Return the text of a range: `T.Range(0, n)`."""
    printer = _printer(options)
    return _with_declarations(printer, _range(printer, least, end))


def _range(p: TIRPrinter, least: SSAValue, end: SSAValue) -> str:
    return f"{p.doc.tir('Range')}({p.value(least).text}, {p.value(end).text})"


@nesting_checked()
def print_iterator(
    var: SSAValue, domain: tuple[SSAValue, SSAValue] | None, kind: str, thread: str, **options: Any
) -> str:
    """Return the text of an iterator: `T.iter_var(i, T.Range(0, 8), "DataPar", "")`."""
    p = _printer(options)
    shown = [p.value(var).text, "None" if domain is None else _range(p, *domain), string(kind), string(thread)]
    return _with_declarations(p, f"{p.doc.tir('iter_var')}({', '.join(shown)})")


@nesting_checked()
def print_region(buffer: SSAValue, starts: Sequence[SSAValue], ends: Sequence[SSAValue | None], **options: Any) -> str:
    """Return the text of a region, `A[0:4, i]`; a dimension without an end has one element."""
    p = _printer(options)
    return _with_declarations(p, region(p, buffer, starts, ends))


@nesting_checked()
def print_view(
    view: SSAValue, source: SSAValue, starts: Sequence[SSAValue], ends: Sequence[SSAValue | None], **options: Any
) -> str:
    """Return the text of a buffer that is a view on a region: `B = T.match_buffer(A[0:4], (4,))`."""
    p = _printer(options)
    buffer_line(p, view, "match_buffer", [region(p, source, starts, ends)])
    return _text(p)


@nesting_checked()
def print_reducer(
    left: Sequence[SSAValue],
    right: Sequence[SSAValue],
    results: Sequence[SSAValue],
    identity: Sequence[SSAValue],
    **options: Any,
) -> str:
    """Return the text of a reducer: `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`."""
    p = _printer(options)
    with p.frame():
        names = [p.define(v, "v") for v in (*left, *right)]
        shown = [p.value(v).text for v in results]
    result = shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
    neutral = ", ".join(p.value(v).text for v in identity)
    return _with_declarations(p, f"{p.doc.tir('comm_reducer')}(lambda {', '.join(names)}: {result}, [{neutral}])")


def _with_declarations(p: TIRPrinter, text: str) -> str:
    """Return the text of an expression, with `verbose_expr` after the declarations of its variables."""
    return "\n".join([*p.declared, *p.doc.lines, text] if p.doc.config.verbose_expr else [text])


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
    return "\n".join([*p.declared, *p.doc.lines])
