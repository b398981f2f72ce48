"""Masked loads and stores of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_type, parse_value, print_type
from .expressions import element_type
from .indices import parse_access, print_access
from .types import BufferType
from .vectors import with_lanes


def _check(op: Operation, buffer: SSAValue, index: SSAValue, mask: SSAValue, value: Attribute) -> None:
    if value != element_type(buffer, [index]) or not isinstance(value, VectorType):
        raise VerifyException(f"{op.name} of {value} at {index.type} of {buffer.type}")
    if mask.type != with_lanes(i1, cast(Attribute, value)):
        raise VerifyException(f"{op.name}: a mask of {mask.type} for {value}")


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """`%v = tir.masked_load %A[%at], %mask : vector<4xf32>`: inactive lanes are not read and are 0.

    The buffer is flat, the index a vector.
    """

    name = "tir.masked_load"
    buffer = operand_def(BufferType)
    index = operand_def(VectorType)
    mask = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())

    def __init__(self, buffer: SSAValue, index: SSAValue, mask: SSAValue):
        Operation.__init__(self, operands=(buffer, index, mask), result_types=(element_type(buffer, [index]),))

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        """The indices, one per dimension of the buffer: a single one."""
        return (self.index,)

    def verify_(self) -> None:
        _check(self, self.buffer, self.index, self.mask, self.result.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_masked(printer, self.buffer, self.index, self.mask)
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(*_parse_masked(parser))
        parse_type(parser)
        return op


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """`tir.masked_store %v, %A[%at], %mask`: inactive lanes are not written."""

    name = "tir.masked_store"
    value = operand_def(VectorType)
    buffer = operand_def(BufferType)
    index = operand_def(VectorType)
    mask = operand_def(VectorType)
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, buffer: SSAValue, index: SSAValue, mask: SSAValue):
        Operation.__init__(self, operands=(value, buffer, index, mask))

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        """The indices, one per dimension of the buffer: a single one."""
        return (self.index,)

    def verify_(self) -> None:
        _check(self, self.buffer, self.index, self.mask, self.value.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_masked(printer, self.buffer, self.index, self.mask)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parse_value(parser)
        parser.parse_punctuation(",")
        return cls(value, *_parse_masked(parser))


def _print_masked(printer: Printer, buffer: SSAValue, index: SSAValue, mask: SSAValue) -> None:
    print_access(printer, buffer, [index])
    printer.print_string(", ")
    printer.print_ssa_value(mask)


def _parse_masked(parser: Parser) -> Sequence[SSAValue]:
    buffer, (index,) = parse_access(parser)
    parser.parse_punctuation(",")
    return buffer, index, parse_value(parser)
