"""Loops and branches. Bodies are regions without terminator.

Extents of loops are symbolic expressions if possible, else SSA values.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerType, StringAttr, i1, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    NoTerminator,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..assembly import parse_attr_dict, parse_body, parse_optional_value, parse_value, print_attr_dict
from ..attributes import PyValue, function_attrs
from ..sym import SymAttr
from ..sym.expr import Const, SymExpr
from ..sym.text import parse_expr, require_64_bits
from ..sym.writing import expr_text
from .expressions import HoldsExpressions, YieldOp
from .indices import check_index_type


class ForKind(StrEnum):
    """The kind of a loop."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    THREAD_BINDING = "thread_binding"


LAST_NUMBER = 2**63 - 1
"""The maximum of an index, and of the end of a loop range."""
Bound = SymExpr | int | str | SSAValue


_KINDS = {kind: None if kind is ForKind.SERIAL else StringAttr(kind.value) for kind in ForKind}
_SEGMENTS = {(a, b): DenseArrayBase.from_list(i32, (a, b)) for a in (0, 1) for b in (0, 1)}
"""Numbers of bounds that are values -> the operand segment sizes; cached because loops are created often."""


WRITTEN_OUT_LATE = "tirax.written_out_late"
"""The annotation of a loop that LLVM unrolls: its arrays become registers then, and the program stays small here."""

SEPARATE_LANES = "tirax.separate_lanes"
"""The annotation of such a loop whose function LLVM must not vectorize: it would turn loads that wait for loads into
gathers, which take longer than the loads.
"""


@irdl_op_definition
class ForOp(IRDLOperation):
    """A loop from `min`, with `extent` iterations.

        tir.for %i = 0 to n {…}
        tir.for parallel %i = 1 for %extent {…}

    Bounds are symbolic expressions or SSA values. `to` gives the end, `for` the number of iterations.
    """

    name = "tir.for"
    min_attr = opt_prop_def(SymAttr)
    extent_attr = opt_prop_def(SymAttr)
    kind_attr = opt_prop_def(StringAttr)
    thread = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    dyn_min = opt_operand_def(IntegerType)
    dyn_extent = opt_operand_def(IntegerType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(
        self,
        min_: Bound,
        extent: Bound,
        body: Region,
        kind: ForKind = ForKind.SERIAL,
        *,
        thread: str | None = None,
        annotations: dict[str, PyValue] | DictionaryAttr | None = None,
    ):
        bounds: dict[str, Bound] = {"min_attr": min_, "extent_attr": extent}
        values = [b for b in bounds.values() if isinstance(b, SSAValue)]
        properties: dict[str, Attribute | None] = {
            "operandSegmentSizes": _SEGMENTS[isinstance(min_, SSAValue), isinstance(extent, SSAValue)],
            **{key: SymAttr.of(b) for key, b in bounds.items() if not isinstance(b, SSAValue)},
            "kind_attr": _KINDS[kind],
            "thread": None if thread is None else StringAttr(thread),
            "annotations": function_attrs(annotations),
        }
        present = {key: attr for key, attr in properties.items() if attr is not None}
        Operation.__init__(self, operands=values, properties=present, regions=[body])

    @property
    def kind(self) -> ForKind:
        return ForKind.SERIAL if self.kind_attr is None else ForKind(self.kind_attr.data)

    @property
    def loop_var(self) -> SSAValue:
        return self.body.block.args[0]

    @property
    def min(self) -> SymExpr | SSAValue:
        """The first value: an expression, or an SSA value."""
        return self.min_attr.data if self.min_attr is not None else cast(SSAValue, self.dyn_min)

    @property
    def extent(self) -> SymExpr | SSAValue:
        """The number of iterations: an expression, or an SSA value."""
        return self.extent_attr.data if self.extent_attr is not None else cast(SSAValue, self.dyn_extent)

    def verify_(self) -> None:
        for attr, value, what in (
            (self.min_attr, self.dyn_min, "min"),
            (self.extent_attr, self.dyn_extent, "extent"),
        ):
            if (attr is None) == (value is None):
                raise VerifyException(f"the {what} of a loop is either an expression or a value")
        low, extent = self.min, self.extent
        end = low + extent if isinstance(low, SymExpr) and isinstance(extent, SymExpr) else Const(0)
        if (end.constant or 0) > LAST_NUMBER:
            raise VerifyException("a loop ends beyond 64 bits")
        args = self.body.block.args
        if len(args) != 1 or not isinstance(args[0].type, IntegerType):
            raise VerifyException("the body of a loop has one argument, an integer: the loop variable")
        for bound in (args[0], *self.operands):
            check_index_type(self, bound.type, "the variable of a loop, and what bounds it,")
        if (self.kind is ForKind.THREAD_BINDING) != (self.thread is not None):
            raise VerifyException("a thread is given for thread_binding loops, and for these only")

    def print(self, printer: Printer) -> None:
        if self.kind is not ForKind.SERIAL:
            printer.print_string(f" {self.kind.value}")
        if self.thread is not None:
            printer.print_string(f'("{self.thread.data}")')
        printer.print_string(" ")
        printer.print_ssa_value(self.loop_var)
        if self.loop_var.type != _default_loop_type(self.extent, self.min):
            printer.print_string(f" : {self.loop_var.type}")
        printer.print_string(" = ")
        _print_bound(printer, self.min)
        from_zero = isinstance(self.min, SymExpr) and self.min.constant == 0
        printer.print_string(" to " if from_zero else " for ")
        _print_bound(printer, self.extent)
        print_attr_dict(printer, self.annotations, "annotations")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = ForKind.SERIAL
        for k in ForKind:
            if parser.parse_optional_keyword(k.value) is not None:
                kind = k
        thread = None
        if kind is ForKind.THREAD_BINDING:
            with parser.in_parens():
                thread = parser.parse_str_literal()
        var = parser.parse_argument(expect_type=False)
        dtype = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else None
        parser.parse_punctuation("=")
        min_ = _parse_bound(parser)
        extent = _parse_extent(parser, min_)
        annotations = parse_attr_dict(parser, "annotations")
        arg = var.resolve(dtype or _default_loop_type(extent, min_))
        body = parser.parse_region([arg])
        return cls(min_, extent, body, kind, thread=thread, annotations=annotations)


def _parse_extent(parser: Parser, min_: SymExpr | SSAValue) -> SymExpr | SSAValue:
    """Parse `for e`, e iterations, or `to e`, up to e; the latter requires bounds that can be subtracted."""
    if parser.parse_optional_keyword("for") is not None:
        return _parse_bound(parser)
    parser.parse_keyword("to")
    end = _parse_bound(parser)
    if isinstance(min_, SymExpr) and min_.constant == 0:
        return end
    if isinstance(min_, SSAValue) or isinstance(end, SSAValue):
        parser.raise_error("write the number of iterations, `for <extent>`, where a bound is an SSA value")
    return require_64_bits(parser, end - min_)


def _default_loop_type(extent: SymExpr | SSAValue, min_: SymExpr | SSAValue) -> Attribute:
    if isinstance(extent, SSAValue):
        return extent.type
    return min_.type if isinstance(min_, SSAValue) and isinstance(extent, Const) else extent.dtype


def _print_bound(printer: Printer, bound: SymExpr | SSAValue) -> None:
    if isinstance(bound, SSAValue):
        printer.print_ssa_value(bound)
    else:
        printer.print_string(expr_text(bound))


def _parse_bound(parser: Parser) -> SymExpr | SSAValue:
    value = parse_optional_value(parser)
    return parse_expr(parser) if value is None else value


@irdl_op_definition
class IfOp(IRDLOperation):
    """`tir.if %c {…} else {…}`; without `else` the second region is empty."""

    name = "tir.if"
    cond = operand_def(i1)
    then_region = region_def("single_block")
    else_region = region_def()
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(self, cond: SSAValue, then_region: Region, else_region: Region | None = None):
        super().__init__(operands=[cond], regions=[then_region, else_region or Region()])

    @property
    def has_else(self) -> bool:
        return self.else_region.first_block is not None

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        printer.print_string(" ")
        printer.print_region(self.then_region)
        if self.has_else:
            printer.print_string(" else ")
            printer.print_region(self.else_region)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        cond = parse_value(parser)
        then_region = parse_body(parser)
        if parser.parse_optional_keyword("else") is None:
            return cls(cond, then_region)
        return cls(cond, then_region, parse_body(parser))


@irdl_op_definition
class WhileOp(asm.FormattedOp):
    """`tir.while {… tir.yield %c : i1} do {…}`: the first region computes the condition."""

    name = "tir.while"
    cond_region = region_def("single_block")
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator(), HoldsExpressions())
    FORMAT: ClassVar = (asm.region("cond_region"), " do", asm.region("body"))

    def __init__(self, cond_region: Region, body: Region):
        super().__init__(regions=[cond_region, body])

    @property
    def cond(self) -> SSAValue:
        """The condition, a value of the first region."""
        return cast(YieldOp, self.cond_region.block.last_op).value

    def verify_(self) -> None:
        last = self.cond_region.block.last_op
        if not isinstance(last, YieldOp) or last.value.type != i1:
            raise VerifyException("the condition of tir.while must end with tir.yield of an i1")
