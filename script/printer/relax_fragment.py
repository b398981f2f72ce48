"""Relax expressions, bindings and sequences of them by themselves as TVMScript.

What statements use and do not bind is declared before them; an expression alone names its variables only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...dialects import relax
from .document import Document, PrinterConfig
from .relax import RelaxPrinter
from .struct_info import struct_info

Binding = tuple[SSAValue, Operation | SSAValue, Attribute | None]
"""A variable, what it stands for (the op that is bound, or another variable), and what that is cast to."""


class _Values(dict[SSAValue, str]):
    """The texts of values; one that is bound nowhere in the text is free."""

    def __init__(self, printer: RelaxFragmentPrinter):
        super().__init__()
        self._printer = printer

    def __missing__(self, value: SSAValue) -> str:
        return self._printer.free(value)


class RelaxFragmentPrinter(RelaxPrinter):
    """Prints what belongs to no function, or a part of one."""

    def __init__(self, doc: Document, ops: Iterable[Operation]):
        super().__init__(doc, ops)
        self._values = _Values(self)
        self.declared: list[str] = []
        self._prologue = (self.declared, 0)

    def free(self, value: SSAValue) -> str:
        """A variable that is bound elsewhere is declared; what is placed nowhere is written where it is used."""
        if isinstance(value, OpResult) and (value.op.parent is None or relax.is_inline(value.op)):
            return self.expression(value.op)
        note = struct_info(self, value.type)
        name = self._define(value)
        self.declared.append(f"{name}: {note}")
        return name

    def expression(self, op: Operation) -> str:
        """What an op says, without a variable for it."""
        if not isinstance(op, relax.IfOp):
            return self._expression(op, bare_tuple=False)
        lines: list[str] = []
        with self.doc.collecting(lines):
            self.conditional(op)
        return "\n".join(lines)

    def binding(self, variable: SSAValue, value: Operation | SSAValue, cast_to: Attribute | None) -> None:
        """Print a binding; in a function ops print as their statements do."""
        if isinstance(value, Operation) and value.parent is not None:
            self._statement(value)
            return
        text = self.expression(value) if isinstance(value, Operation) else self._values[value]
        if cast_to is not None:
            text = f"{self.doc.relax('match_cast')}({text}, {struct_info(self, cast_to)})"
        note = struct_info(self, variable.type)
        self.doc.line(f"{self._define(variable)}: {note} = {text}")

    def dataflow_block(self, bindings: Sequence[Binding], outputs: Sequence[SSAValue]) -> None:
        """Print a dataflow block that belongs to no function."""
        self.doc.line(f"with {self.doc.relax('dataflow')}():")
        with self.doc.indented():
            for each in bindings:
                self.binding(*each)
            self.doc.line(f"{self.doc.relax('output')}({', '.join(self._values[v] for v in outputs)})")

    def sequence(self, block: Block) -> None:
        """Print bindings and the value that they end with."""
        end = block.last_op
        for op in block.ops:
            if op is not end:
                self._statement(op)
        self.doc.line(self._values[cast("relax.YieldOp | relax.ReturnOp", end).value])

    def conditional(self, op: relax.IfOp) -> None:
        """Print a branch that is bound to no variable."""
        for head, region in ((f"if {self._values[op.cond]}:", op.then_region), ("else:", op.else_region)):
            self.doc.line(head)
            with self.doc.indented(), self._names.frame():
                self.sequence(region.block)


def _printer(ops: Iterable[Operation | SSAValue], options: dict[str, Any]) -> RelaxFragmentPrinter:
    return RelaxFragmentPrinter(Document(PrinterConfig(**options)), [op for op in ops if isinstance(op, Operation)])


def _text(printer: RelaxFragmentPrinter) -> str:
    doc = printer.doc
    doc.number_constants()
    return "\n".join([*doc.imports(), "", *printer.declared, *doc.lines])


def print_relax_expression(op: Operation, **options: Any) -> str:
    """What an op says, as an expression; a branch as statements, after what it takes from elsewhere."""
    printer = _printer((op,), options)
    if isinstance(op, relax.IfOp):
        printer.conditional(op)
        return _text(printer)
    return printer.expression(op)


def print_relax_sequence(block: Block, **options: Any) -> str:
    """The bindings of a block and its value, after what they take from elsewhere."""
    printer = _printer(block.ops, options)
    printer.sequence(block)
    return _text(printer)


def print_relax_bindings(bindings: Sequence[Binding], outputs: Sequence[SSAValue] | None = None, **options: Any) -> str:
    """Bindings that follow each other, or with `outputs` a dataflow block, after what they take from elsewhere."""
    printer = _printer((value for _, value, _ in bindings), options)
    if outputs is not None:
        printer.dataflow_block(bindings, outputs)
    else:
        for each in bindings:
            printer.binding(*each)
    return _text(printer)
