"""Buffer accesses, `%A[%i, %j]`: indices are integers of a byte or more; only the last may be a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_value
from ..dtypes import bit_width, scalar_of
from .types import BufferType

INDEX_BITS = 8
"""Minimum bits of an index."""


def check_index_type(op: Operation, dtype: Attribute, what: str = "an index") -> None:
    """Raise `VerifyException` unless `dtype` is an integer of a byte or more: true would be -1 in an i1."""
    element = scalar_of(dtype)
    if not isinstance(element, IntegerType):
        raise VerifyException(f"{op.name}: {what} must be an integer, found {dtype}")
    if bit_width(cast(IntegerType, element)) < INDEX_BITS:
        raise VerifyException(f"{op.name}: {what} has at least {INDEX_BITS} bits, found {dtype}: convert it (tir.cast)")


def check_indices(op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    t = cast(BufferType, buffer.type)
    if len(indices) != t.rank:
        raise VerifyException(f"{op.name}: {len(indices)} indices into a buffer of rank {t.rank}")
    for index in indices:
        check_index_type(op, index.type)
    if any(isinstance(index.type, VectorType) for index in indices[:-1]):
        raise VerifyException(f"{op.name}: only the last index may be a vector")


def print_access(printer: Printer, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    printer.print_ssa_value(buffer)
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


def parse_access(parser: Parser) -> tuple[SSAValue, list[SSAValue]]:
    pos = parser.pos
    buffer = parse_value(parser)
    if not isinstance(buffer.type, BufferType):
        parser.raise_error(f"expected a buffer, found a value of {buffer.type}", pos)
    return buffer, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_value(parser))
