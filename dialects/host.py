"""The `host` dialect: Relax functions in destination passing form, as memory planning and code generation see them.

    relax.func @main(%x: !relax.tensor<[n, 64], f32>) -> !relax.tensor<[n, 10], f32> {
      host.arena n * 256
      %lv = host.tensor arena 0 : !relax.tensor<[n, 64], f32>
      host.kernel @relu(%x, %lv)
      %gv = host.tensor : !relax.tensor<[n, 10], f32>
      host.call_dps "env.linear"(%lv, %gv)
      relax.return %gv : !relax.tensor<[n, 10], f32>
    }

A `host.tensor` without an arena offset is an array of its own, which may outlive the call. All are read by
hand: sizes are symbolic expressions, and operands have the types of their definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .assembly import parse_type, parse_value, parse_values, print_type, print_values
from .relax.calls import parse_tir_vars, print_tir_vars
from .relax.types import Dims, TensorType
from .sym import SymAttr
from .sym.expr import ExprLike, SymExpr, expr_text
from .sym.text import parse_expr


@irdl_op_definition
class ArenaOp(IRDLOperation):
    """`host.arena n * 512 + 64`: the bytes of memory that the tensors of this function share while it runs."""

    name = "host.arena"
    size = prop_def(SymAttr)

    def __init__(self, size: ExprLike):
        super().__init__(properties={"size": SymAttr.of(size)})

    def print(self, printer: Printer) -> None:
        printer.print_string(" " + expr_text(self.size.data))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(parse_expr(parser))


class _Placed(IRDLOperation):
    """A tensor in memory, behind `offset` bytes of it."""

    offset = opt_prop_def(SymAttr)
    result = result_def(TensorType)

    @property
    def tensor_type(self) -> TensorType:
        """The type of the tensor; its extents and its dtype are known."""
        return self.result.type

    def verify_(self) -> None:
        if self.tensor_type.dims is None or self.tensor_type.element is None:
            raise VerifyException(f"{self.name} of unknown extents or dtype: {self.result.type}")


@irdl_op_definition
class TensorOp(_Placed):
    """`%t = host.tensor arena 64 : T`: a tensor at byte 64 of the arena; without `arena` one with memory of its own."""

    name = "host.tensor"

    def __init__(self, type: Attribute, offset: ExprLike | None = None):
        attr = None if offset is None else SymAttr.of(offset)
        super().__init__(properties={"offset": attr}, result_types=[type])

    def print(self, printer: Printer) -> None:
        if self.offset is not None:
            printer.print_string(" arena " + expr_text(self.offset.data))
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        offset = parse_expr(parser) if parser.parse_optional_keyword("arena") is not None else None
        return cls(parse_type(parser), offset)


@irdl_op_definition
class ViewOp(_Placed):
    """`%t = host.view %s at 64 : T`: a tensor in the memory of another, 64 bytes behind its beginning.

    Without `at` it is all of the other, in another shape.
    """

    name = "host.view"
    source = operand_def(TensorType)

    def __init__(self, source: SSAValue, type: Attribute, offset: ExprLike | None = None):
        attr = None if offset is None else SymAttr.of(offset)
        super().__init__(operands=[source], properties={"offset": attr}, result_types=[type])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        if self.offset is not None:
            printer.print_string(" at " + expr_text(self.offset.data))
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)
        offset = parse_expr(parser) if parser.parse_optional_keyword("at") is not None else None
        return cls(source, parse_type(parser), offset)


@irdl_op_definition
class KernelOp(IRDLOperation):
    """`host.kernel @relu(%x, %y) tir_vars [n]`: run a tir function on inputs, outputs and trailing scalars."""

    name = "host.kernel"
    callee = prop_def(SymbolRefAttr)
    call_args = var_operand_def()
    tir_vars = opt_prop_def(Dims)

    def __init__(self, callee: str, args: Sequence[SSAValue], tir_vars: Dims | None = None):
        super().__init__(operands=[args], properties={"callee": SymbolRefAttr(callee), "tir_vars": tir_vars})

    @property
    def callee_name(self) -> str:
        """The name of the tir function."""
        return self.callee.root_reference.data

    @property
    def scalars(self) -> list[SymExpr]:
        """The trailing scalar arguments."""
        return [] if self.tir_vars is None else [d.data for d in self.tir_vars]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        print_values(printer, self.call_args)
        print_tir_vars(printer, self.tir_vars)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_symbol_name().data
        args = parse_values(parser)
        return cls(callee, args, parse_tir_vars(parser))


@irdl_op_definition
class CallDPSOp(IRDLOperation):
    """`host.call_dps "env.linear"(%x, %y)`: call a packed function on inputs and outputs and drop its result."""

    name = "host.call_dps"
    func = prop_def(StringAttr)
    call_args = var_operand_def()

    def __init__(self, func: str, args: Sequence[SSAValue]):
        super().__init__(operands=[args], properties={"func": StringAttr(func)})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.func)
        print_values(printer, self.call_args)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(parser.parse_str_literal(), parse_values(parser))


Host = Dialect("host", [ArenaOp, TensorOp, ViewOp, KernelOp, CallDPSOp])
