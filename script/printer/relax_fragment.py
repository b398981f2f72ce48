"""Relax expressions, bindings and sequences of bindings printed by themselves as TVMScript.

Statements are preceded by declarations of their free variables; an expression only mentions its variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...dialects import relax
from .document import Document, PrinterConfig
from .relax import RelaxPrinter, expression, statement
from .struct_info import struct_info

Binding = tuple[SSAValue, Operation | SSAValue, Attribute | None]
"""A variable, its value (an op or another variable), and the type that the value is cast to."""


def _printer(ops: Iterable[Operation | SSAValue], options: dict[str, Any]) -> tuple[RelaxPrinter, list[str]]:
    """Return a printer of a fragment, and the list of declarations of its free variables."""
    declared: list[str] = []

    def free(p: RelaxPrinter, value: SSAValue) -> str:
        """Return the text of a free value: a variable is declared, and an op without a parent is printed at its use."""
        if isinstance(value, OpResult) and (value.op.parent is None or relax.is_inline(value.op)):
            return _expression(p, value.op)
        note = struct_info(p, value.type)
        name = p.define(value)
        declared.append(f"{name}: {note}")
        return name

    doc = Document(PrinterConfig(**options))
    printer = RelaxPrinter(doc, [op for op in ops if isinstance(op, Operation)], free)
    printer.prologue = (declared, 0)
    return printer, declared


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


def _dataflow_block(p: RelaxPrinter, bindings: Sequence[Binding], outputs: Sequence[SSAValue]) -> None:
    """Print a dataflow block that belongs to no function."""
    p.doc.line(f"with {p.doc.relax('dataflow')}():")
    with p.doc.indented():
        for each in bindings:
            _binding(p, *each)
        p.doc.line(f"{p.doc.relax('output')}({', '.join(p.values[v] for v in outputs)})")


def _sequence(p: RelaxPrinter, block: Block) -> None:
    """Print bindings and the value that follows them."""
    end = block.last_op
    for op in block.ops:
        if op is not end:
            statement(p, op)
    p.doc.line(p.values[cast("relax.YieldOp | relax.ReturnOp", end).value])


def _conditional(p: RelaxPrinter, op: relax.IfOp) -> None:
    """Print a branch whose result is not bound to a variable."""
    for head, region in ((f"if {p.values[op.cond]}:", op.then_region), ("else:", op.else_region)):
        p.doc.line(head)
        with p.doc.indented(), p.names.frame():
            _sequence(p, region.block)


def _text(p: RelaxPrinter, declared: list[str]) -> str:
    p.doc.number_constants()
    return "\n".join([*p.doc.imports(), "", *declared, *p.doc.lines])


def print_relax_expression(op: Operation, **options: Any) -> str:
    """Return an op as an expression; a branch prints as statements, after declarations of its free variables."""
    printer, declared = _printer((op,), options)
    if isinstance(op, relax.IfOp):
        _conditional(printer, op)
        return _text(printer, declared)
    return _expression(printer, op)


def print_relax_sequence(block: Block, **options: Any) -> str:
    """Return the bindings of a block and its value, after declarations of their free variables."""
    printer, declared = _printer(block.ops, options)
    _sequence(printer, block)
    return _text(printer, declared)


def print_relax_bindings(bindings: Sequence[Binding], outputs: Sequence[SSAValue] | None = None, **options: Any) -> str:
    """Return consecutive bindings, or with `outputs` a dataflow block, after declarations of their free variables."""
    printer, declared = _printer((value for _, value, _ in bindings), options)
    if outputs is not None:
        _dataflow_block(printer, bindings, outputs)
    else:
        for each in bindings:
            _binding(printer, *each)
    return _text(printer, declared)
