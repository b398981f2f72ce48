"""Relax expressions, bindings and sequences of bindings printed by themselves as TVMScript.

Statements are preceded by declarations of their free variables, an expression only with `verbose_expr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...dialects import relax
from .document import Document, PrinterConfig
from .literals import metadata_lines
from .relax import RelaxPrinter, bindings, expression, statement
from .struct_info import struct_info

Binding = tuple[SSAValue, Operation | SSAValue, Attribute | None]
"""A variable, its value (an op or another variable), and the type that the value is cast to."""


def _printer(ops: Iterable[Operation | SSAValue], options: dict[str, Any]) -> RelaxPrinter:
    """Return a printer of a fragment, which declares free variables where its prologue is."""

    def free(p: RelaxPrinter, value: SSAValue) -> str:
        """Return the text of a free value: a variable is declared, and an op without a parent is printed at its use."""
        if isinstance(value, OpResult) and (value.op.parent is None or relax.is_inline(value.op)):
            return _expression(p, value.op)
        note = struct_info(p, value.type)
        name = p.define(value)
        lines, depth = p.prologue
        lines.append(f"{p.doc.indent(depth)}{name}: {note}")
        return name

    doc = Document(PrinterConfig(**options))
    return RelaxPrinter(doc, [op for op in ops if isinstance(op, Operation)], free)


def _expression(p: RelaxPrinter, op: Operation) -> str:
    """Return the text of an op, without a variable for it."""
    if not isinstance(op, relax.IfOp):
        return expression(p, op, bare_tuple=False)
    lines: list[str] = []
    with p.doc.collecting(lines):
        _conditional(p, op)
    return "\n".join(lines)


def _binding(p: RelaxPrinter, variable: SSAValue, value: Operation | SSAValue, cast_to: Attribute | None) -> None:
    """Print a binding; within a function, ops print as statements."""
    if isinstance(value, Operation) and value.parent is not None:
        statement(p, value)
        return
    text = _expression(p, value) if isinstance(value, Operation) else p.values[value]
    if cast_to is not None:
        text = f"{p.doc.relax('match_cast')}({text}, {struct_info(p, cast_to)})"
    note = struct_info(p, variable.type)
    p.doc.line(f"{p.define(variable)}: {note} = {text}")


def _dataflow_block(p: RelaxPrinter, parts: Sequence[Binding], outputs: Sequence[SSAValue]) -> None:
    """Print a dataflow block that belongs to no function."""
    p.doc.line(f"with {p.doc.relax('dataflow')}():")
    with p.doc.indented():
        for each in parts:
            _binding(p, *each)
        p.doc.line(f"{p.doc.relax('output')}({', '.join(p.values[v] for v in outputs)})")


def _sequence(p: RelaxPrinter, block: Block) -> None:
    """Print bindings and the value that follows them; variables are declared before the bindings that use them."""
    bindings(p, block, lambda end: p.doc.line(p.values[cast("relax.YieldOp | relax.ReturnOp", end).value]))


def _conditional(p: RelaxPrinter, op: relax.IfOp) -> None:
    """Print a branch whose result is not bound to a variable."""
    for head, region in ((f"if {p.values[op.cond]}:", op.then_region), ("else:", op.else_region)):
        p.doc.line(head)
        with p.doc.indented(), p.names.frame():
            _sequence(p, region.block)


def _collected(p: RelaxPrinter, print_body: Callable[[], object]) -> str:
    """Return the declarations of free variables, and the lines that are printed."""
    declared: list[str] = []
    p.prologue = (declared, 0)
    print_body()
    p.doc.lines = [*declared, *p.doc.lines]
    p.doc.number_constants()
    before, after = metadata_lines(p.doc)
    return "\n".join([*before, *p.doc.lines, *after])


def print_relax_expression(value: SSAValue | Operation, **options: Any) -> str:
    """Return a value or an op as an expression; with `verbose_expr`, and for a branch, after its free variables."""
    op = value if isinstance(value, Operation) else None
    printer = _printer(() if op is None else (op,), options)
    if isinstance(op, relax.IfOp):
        return _collected(printer, lambda: _conditional(printer, op))

    def print_body() -> None:
        text = printer.values[value] if isinstance(value, SSAValue) else _expression(printer, value)
        printer.doc.lines.append(text)
        if not printer.doc.config.verbose_expr:
            printer.prologue[0].clear()

    return _collected(printer, print_body)


def print_relax_sequence(block: Block, **options: Any) -> str:
    """Return the bindings of a block and its value, after declarations of their free variables."""
    printer = _printer(block.ops, options)
    return _collected(printer, lambda: _sequence(printer, block))


def print_relax_bindings(parts: Sequence[Binding], outputs: Sequence[SSAValue] | None = None, **options: Any) -> str:
    """Return consecutive bindings, or with `outputs` a dataflow block, after declarations of their free variables."""
    printer = _printer((value for _, value, _ in parts), options)

    def print_body() -> None:
        if outputs is not None:
            _dataflow_block(printer, parts, outputs)
            return
        for each in parts:
            _binding(printer, *each)

    return _collected(printer, print_body)
