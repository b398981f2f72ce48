"""The `sym` dialect: symbolic integers, shared by relax and tir.

`#sym.expr<n * 4 + 1>` is an immutable expression over variables that are scoped to the function; `sym.value n * 4 + 1`
converts one to an SSA value. See `expr` (canonical form) and `text` (parsing, printing).
"""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Data, Dialect
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .expr import Const, ExprLike, SymExpr, Var, as_expr, i32, i64
from .index_map import IndexMapAttr, IndexMapping
from .rebuild import retyped
from .text import parse_expr
from .writing import expr_text


@irdl_attr_definition
class SymAttr(Data[SymExpr]):
    """A symbolic expression as an attribute: `#sym.expr<n + 1>`. Its variables are named, never SSA values."""

    name = "sym.expr"

    @classmethod
    def of(cls, value: ExprLike | str, dtype: IntegerType = i64) -> SymAttr:
        """Return the attribute for an int, a variable's name or an expression."""
        return cls(as_expr(value, dtype))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SymExpr:
        with parser.in_angle_brackets():
            return parse_expr(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(expr_text(self.data))

    def verify(self) -> None:
        for var in self.data.free_vars():
            if not isinstance(var.name, str):
                raise VerifyException("an SSA value stands in a symbolic attribute; only named variables may")


@irdl_op_definition
class ValueOp(IRDLOperation):
    """`sym.value n + 1 : i64`: the run-time value of a symbolic expression."""

    name = "sym.value"
    expr = prop_def(SymAttr)
    result = result_def(IntegerType)
    traits = traits_def(Pure())

    def __init__(self, expr: ExprLike | str | SymAttr):
        attr = expr if isinstance(expr, SymAttr) else SymAttr.of(expr)
        super().__init__(properties={"expr": attr}, result_types=[attr.data.dtype])

    def verify_(self) -> None:
        if self.result.type != self.expr.data.dtype:
            raise VerifyException(f"sym.value of type {self.expr.data.dtype} has the result type {self.result.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" " + expr_text(self.expr.data))
        if isinstance(self.expr.data, Const) and self.expr.data.dtype == i64:
            printer.print_string(" : i64")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(parse_expr(parser))


Sym = Dialect("sym", [ValueOp], [SymAttr, IndexMapAttr])

__all__ = [
    "Const",
    "IndexMapAttr",
    "IndexMapping",
    "Sym",
    "SymAttr",
    "SymExpr",
    "ValueOp",
    "Var",
    "as_expr",
    "i32",
    "i64",
    "retyped",
]
