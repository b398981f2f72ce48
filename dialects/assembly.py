"""Helpers for assembly formats."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.parser import Parser, UnresolvedOperand


def parse_value(parser: Parser) -> SSAValue:
    """An operand whose type its definition gives: it must be defined before."""
    return resolve_defined(parser, parser.parse_unresolved_operand())


def parse_optional_value(parser: Parser) -> SSAValue | None:
    """`parse_value`, or None where no operand follows."""
    operand = parser.parse_optional_unresolved_operand()
    return None if operand is None else resolve_defined(parser, operand)


def resolve_defined(parser: Parser, operand: UnresolvedOperand) -> SSAValue:
    """The value that an operand names. A parse error where it is not defined yet."""
    known = parser.ssa_values.get(operand.operand_name)
    if known is None or operand.index >= len(known):
        span = operand.span
        parser.raise_error(f"%{operand.operand_name} is used before its definition", span.start, span.end)
    return known[operand.index]
