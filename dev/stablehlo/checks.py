"""The dialects `check` and `interpreter` of test programs: what a result must be, in pretty and in generic form.

check.expect_eq %0, %1 : tensor<3xi64>
check.expect_almost_eq_const %0, dense<5.0> : tensor<f64> {tolerance = 0.1 : f64}
check.expect_close %0, %1, max_ulp_difference = 3 : tensor<f16>, tensor<f16>
interpreter.print %0 : tensor<f32>
"""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.parser import Parser, UnresolvedOperand

from ...dialects.stablehlo import HloOp
from ...frontend.stablehlo.values import attribute

_NAMES = """
    check.expect_eq check.expect_eq_const check.expect_almost_eq check.expect_almost_eq_const check.expect_close
    check.expect_serialized_eq interpreter.print interpreter.probe interpreter.run_parallel
"""
LIMITS = ("tolerance", "max_ulp_difference", "min_ulp_difference")
"""What limits a difference."""


class CheckOp(HloOp):
    """Operands, a constant that the first must be, and named values: limits of a difference, the name of a file."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[UnresolvedOperand] = [parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {}
        while parser.parse_optional_punctuation(","):
            operand = parser.parse_optional_unresolved_operand()
            if operand is not None:
                operands.append(operand)
            else:
                properties |= _value(parser)
        constant = properties.get("value")
        if parser.parse_optional_punctuation(":"):
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        else:
            types = [cast("DenseIntOrFPElementsAttr", constant).type]
        types = types * len(operands) if len(types) == 1 else types
        return cls.create(
            operands=parser.resolve_operands(operands, types, parser.pos),
            properties=properties,
            attributes=parser.parse_optional_attr_dict(),
        )


def _value(parser: Parser) -> dict[str, Attribute]:
    for name in (*LIMITS, "probe_id"):
        if parser.parse_optional_keyword(name):
            parser.parse_punctuation("=")
            text = parser.parse_optional_str_literal()
            return {name: _number(parser) if text is None else StringAttr(text)}
    return {"value": parser.parse_attribute()}


def _number(parser: Parser) -> Attribute:
    """Read a number without its type, as the type that follows is that of the operands."""
    number = parser.parse_number()
    return FloatAttr(number, f64) if isinstance(number, float) else IntegerAttr(number, i64)


def _class(name: str) -> type[CheckOp]:
    return type(name, (CheckOp,), {"name": name, "__module__": __name__, "__doc__": f"`{name}`."})


_CLASSES = tuple(_class(name) for name in _NAMES.split())
Check, Interpreter = (
    Dialect(dialect, [cls for cls in _CLASSES if cls.name.startswith(f"{dialect}.")])
    for dialect in ("check", "interpreter")
)


def limit_of(op: Operation, name: str, otherwise: float) -> float:
    """Return a limit of a check."""
    value = attribute(op, name)
    return float(value.value.data) if isinstance(value, FloatAttr | IntegerAttr) else otherwise
