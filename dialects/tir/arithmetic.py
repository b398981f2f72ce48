"""Arithmetic, comparisons and logic on scalars: one op for each of TVM's binary expressions, and `not`.

Integers wrap; `floordiv`/`floormod` round down, `truncdiv`/`truncmod` towards zero; `div` is for floats.

Binary ops, which are very frequent, could share a type by a `VarConstraint`, but an `assembly_format` takes 1.5 times
as many calls to parse.
"""

from __future__ import annotations

from typing import ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import (
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_value, print_type
from ..quick import fill
from .vectors import with_lanes


class BinaryExpr(IRDLOperation):
    """`%c = tir.add %a, %b : f32`: operands and result have one type."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    RESULT: ClassVar[Attribute | None] = None

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        result = lhs.type if self.RESULT is None else with_lanes(self.RESULT, lhs.type)
        fill(self, (lhs, rhs), result_types=(result,))

    def verify_(self) -> None:
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"{self.name}: operands of two types, {self.lhs.type} and {self.rhs.type}")
        result = self.lhs.type if self.RESULT is None else with_lanes(self.RESULT, self.lhs.type)
        if self.result.type != result:
            raise VerifyException(f"{self.name}: result type {self.result.type}, expected {result}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        print_type(printer, self.lhs.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        lhs = parse_value(parser)
        parser.parse_punctuation(",")
        rhs = parse_value(parser)
        parser.parse_punctuation(":")
        pos = parser.pos
        dtype = parser.parse_type()
        if dtype != lhs.type:
            parser.raise_error(f"{cls.name}: operands are of {lhs.type}, not {dtype}", pos)
        return cls(lhs, rhs)


class ExtremumExpr(BinaryExpr):
    """`%c = tir.max %a, %b : f32`: the maximum or minimum of the operands: NaN if one is NaN, the first of equal ones.

    0 and -0 are equal. With `nnan` (`tir.max nnan %a, %b : f32`) the result may be either operand if one is NaN.
    """

    nnan = opt_prop_def(UnitAttr)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, nnan: bool = False):
        super().__init__(lhs, rhs)
        if nnan:
            self.nnan = UnitAttr()

    def print(self, printer: Printer) -> None:
        printer.print_string("" if self.nnan is None else " nnan")
        super().print(printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        nnan = parser.parse_optional_keyword("nnan")
        op = super().parse(parser)
        op.nnan = None if nnan is None else UnitAttr()
        return op


class CompareExpr(BinaryExpr):
    """A binary expression whose result is i1 (or a vector of it)."""

    RESULT: ClassVar[Attribute | None] = i1


_BINARY: dict[str, str] = {
    "add": "lhs + rhs",
    "sub": "lhs - rhs",
    "mul": "lhs * rhs",
    "div": "lhs / rhs of floats; integers truncate towards zero (TVM's Div)",
    "truncmod": "lhs - trunc(lhs / rhs) * rhs (TVM's Mod)",
    "floordiv": "floor(lhs / rhs)",
    "floormod": "lhs - floor(lhs / rhs) * rhs",
    "and": "lhs and rhs, both evaluated",
    "or": "lhs or rhs, both evaluated",
}

_EXTREMA: dict[str, str] = {"min": "The lesser.", "max": "The greater."}

_COMPARE: dict[str, str] = {
    "eq": "lhs == rhs",
    "ne": "lhs != rhs",
    "lt": "lhs < rhs",
    "le": "lhs <= rhs",
    "gt": "lhs > rhs",
    "ge": "lhs >= rhs",
}

_Expr = TypeVar("_Expr", bound=BinaryExpr)


def _family(rows: dict[str, str], base: type[_Expr]) -> dict[str, type[_Expr]]:
    def row(name: str, doc: str) -> type[_Expr]:
        body = {"__doc__": doc, "__module__": __name__, "name": f"tir.{name}"}
        cls = type(name.title() + "Op", (base,), body)
        return irdl_op_definition(cast("type[_Expr]", cls))

    return {name: row(name, doc) for name, doc in rows.items()}


EXTREMA = _family(_EXTREMA, ExtremumExpr)

BINARY: dict[str, type[BinaryExpr]] = {**_family(_BINARY, BinaryExpr), **EXTREMA, **_family(_COMPARE, CompareExpr)}
"""The classes of binary expressions by name: `add`, `floordiv`, `lt`, …"""

NODE_NAMES = {
    **{kind: kind.title() for kind in (*_BINARY, *_EXTREMA)},
    **{kind: kind.upper() for kind in _COMPARE},
    "truncmod": "Mod",
    "floordiv": "FloorDiv",
    "floormod": "FloorMod",
}
"""TVM's names of these classes: `Add`, `FloorDiv`, `LT`, …"""

AddOp, SubOp, MulOp, DivOp = (BINARY[n] for n in ("add", "sub", "mul", "div"))

TruncModOp, FloorDivOp, FloorModOp = (BINARY[n] for n in ("truncmod", "floordiv", "floormod"))

AndOp, OrOp = (BINARY[n] for n in ("and", "or"))

MinOp, MaxOp = (EXTREMA[n] for n in ("min", "max"))

EqOp, NeOp, LtOp, LeOp, GtOp, GeOp = (BINARY[n] for n in ("eq", "ne", "lt", "le", "gt", "ge"))


@irdl_op_definition
class NotOp(IRDLOperation):
    """`%b = tir.not %a : i1 -> i1`: logical not; lane by lane for vectors."""

    name = "tir.not"
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])
