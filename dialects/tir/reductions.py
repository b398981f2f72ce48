"""Reductions as expressions (TVM's Reduce with its CommReducer)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IntAttr, i1
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_value
from ..relax.types import Dims, dims_attr
from ..sym.expr import Const, ExprLike, SymExpr
from ..sym.text import parse_expr
from ..sym.writing import expr_text
from .expressions import HoldsExpressions, YieldOp
from .types import HandleType


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """One of n values that are reduced together over axes.

        tir.reduce 0 over [16, [1, n]] identity %a, %b init %c, %d
          where {^bb0(%k : i32, %j : i32): … tir.yield %p : i1}
          of {^bb0(%k : i32, %j : i32): … tir.yield %s : f32} {…}
          by {^bb0(%x0 : f32, %x1 : i32, %y0 : f32, %y1 : i32): … tir.yield %r : f32} {…}

    `over` are the extents of the axes, or `[first value, extent]`; the last axis runs fastest. The n accumulators start
    as `init`, by default as `identity`; at each point where the condition holds, the regions `by` combine the
    accumulators with the values of the regions `of` at that point. The result is the accumulator with the number after
    `tir.reduce`. The regions `by` use nothing but their arguments.
    """

    name = "tir.reduce"
    value_index = prop_def(IntAttr)
    dom_mins = prop_def(Dims)
    dom_extents = prop_def(Dims)
    identity = var_operand_def()
    init = var_operand_def()
    result = result_def()
    bodies = var_region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), HoldsExpressions())

    def __init__(
        self,
        axes: Sequence[tuple[ExprLike, ExprLike]],
        identity: Sequence[SSAValue],
        condition: Region,
        sources: Sequence[Region],
        combine: Sequence[Region],
        *,
        init: Sequence[SSAValue] = (),
        value_index: int = 0,
    ):
        """`axes` are (first value, extent)."""
        types = [v.type for v in identity]
        super().__init__(
            operands=[identity, init],
            properties={
                "value_index": IntAttr(value_index),
                "dom_mins": dims_attr(m for m, _ in axes),
                "dom_extents": dims_attr(e for _, e in axes),
            },
            result_types=types[value_index : value_index + 1] or types[:1],
            regions=[[condition, *sources, *combine]],
        )

    @property
    def mins(self) -> list[SymExpr]:
        """The minimum of each axis."""
        return [d.data for d in self.dom_mins]

    @property
    def extents(self) -> list[SymExpr]:
        """The extent of each axis."""
        return [d.data for d in self.dom_extents]

    @property
    def condition(self) -> Region:
        return self.bodies[0]

    @property
    def sources(self) -> Sequence[Region]:
        return self.bodies[1 : 1 + len(self.identity)]

    @property
    def combine(self) -> Sequence[Region]:
        return self.bodies[1 + len(self.identity) :]

    @property
    def start(self) -> Sequence[SSAValue]:
        """The initial accumulators."""
        return self.init or self.identity

    def axis_values(self, axis: int) -> list[SSAValue]:
        """Return the argument for an axis in each region that has one."""
        return [r.block.args[axis] for r in (self.condition, *self.sources)]

    def verify_(self) -> None:
        types = [v.type for v in self.identity]
        if not 0 <= self.value_index.data < len(types):
            raise VerifyException(f"tir.reduce: there is no value {self.value_index.data} of {len(types)}")
        if self.init and [v.type for v in self.init] != types:
            raise VerifyException("tir.reduce: init and identity are of different types")
        if len(self.bodies) != 1 + 2 * len(types) or len(self.dom_mins) != len(self.dom_extents):
            raise VerifyException(f"tir.reduce of {len(types)} values has {len(self.bodies)} regions")
        if self.result.type != types[self.value_index.data]:
            raise VerifyException(f"tir.reduce gives {types[self.value_index.data]}, not {self.result.type}")
        axes = [e.dtype for e in self.extents]
        _check_region(self.condition, axes, i1)
        for region, dtype in zip(self.sources, types, strict=True):
            _check_region(region, axes, dtype)
        for region, dtype in zip(self.combine, types, strict=True):
            _check_region(region, types * 2, dtype)
            _check_closed(region.block)

    def print(self, printer: Printer) -> None:
        over = ", ".join(_axis_text(m, e) for m, e in zip(self.mins, self.extents, strict=True))
        printer.print_string(f" {self.value_index.data} over [{over}] identity ")
        printer.print_list(self.identity, printer.print_ssa_value)
        if self.init:
            printer.print_string(" init ")
            printer.print_list(self.init, printer.print_ssa_value)
        for word, regions in (("where", [self.condition]), ("of", self.sources), ("by", self.combine)):
            printer.print_string(f" {word}")
            for region in regions:
                printer.print_string(" ")
                printer.print_region(region)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        number = parser.parse_integer()
        parser.parse_keyword("over")

        def axis() -> tuple[SymExpr, SymExpr]:
            pair = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_expr(parser))
            if pair is None:
                extent = parse_expr(parser)
                return Const(0, extent.dtype), extent
            if len(pair) != 2:
                parser.raise_error("an axis is an extent or [first value, extent]")
            return pair[0], pair[1]

        def values() -> list[SSAValue]:
            return parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_value(parser))

        axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, axis)
        parser.parse_keyword("identity")
        identity = values()
        init = values() if parser.parse_optional_keyword("init") is not None else []
        parser.parse_keyword("where")
        condition = parser.parse_region()
        parser.parse_keyword("of")
        sources = [parser.parse_region() for _ in identity]
        parser.parse_keyword("by")
        combine = [parser.parse_region() for _ in identity]
        return cls(axes, identity, condition, sources, combine, init=init, value_index=number)


@irdl_op_definition
class CommReducerOp(IRDLOperation):
    """A combiner of n values, as the node of an attribute statement: `T.attr(T.comm_reducer(…), …)`.

    `tir.comm_reducer identity %a, %b by {^bb0(%x0 : f32, %x1 : i32, %y0 : f32, %y1 : i32): … tir.yield %r : f32} {…}`;
    the regions use nothing but their arguments.
    """

    name = "tir.comm_reducer"
    identity = var_operand_def()
    result = result_def(HandleType)
    combine = var_region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), HoldsExpressions())

    def __init__(self, identity: Sequence[SSAValue], combine: Sequence[Region]):
        super().__init__(operands=[identity], regions=[combine], result_types=[HandleType()])

    def verify_(self) -> None:
        types = [v.type for v in self.identity]
        if len(self.combine) != len(types):
            raise VerifyException(f"tir.comm_reducer of {len(types)} values has {len(self.combine)} regions")
        for region, dtype in zip(self.combine, types, strict=True):
            _check_region(region, types * 2, dtype)
            _check_closed(region.block)

    def print(self, printer: Printer) -> None:
        printer.print_string(" identity ")
        printer.print_list(self.identity, printer.print_ssa_value)
        printer.print_string(" by")
        for region in self.combine:
            printer.print_string(" ")
            printer.print_region(region)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("identity")
        identity = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_value(parser))
        parser.parse_keyword("by")
        return cls(identity, [parser.parse_region() for _ in identity])


def _axis_text(least: SymExpr, extent: SymExpr) -> str:
    plain = least.constant == 0 and least.dtype == extent.dtype
    return expr_text(extent) if plain else f"[{expr_text(least)}, {expr_text(extent)}]"


def _check_region(region: Region, args: Sequence[object], dtype: object) -> None:
    if [a.type for a in region.block.args] != list(args):
        raise VerifyException(
            f"a region of a reduction takes ({', '.join(str(a.type) for a in region.block.args)}), "
            f"expected ({', '.join(map(str, args))})"
        )
    last = region.block.last_op
    if not isinstance(last, YieldOp) or last.value.type != dtype:
        raise VerifyException(f"a region of a reduction must end with tir.yield of {dtype}")


def _check_closed(block: Block) -> None:
    region = block.parent
    for op in block.walk():
        for value in op.operands:
            owner = value.owner if isinstance(value.owner, Block) else value.owner.parent
            if owner is None or region is None or not _inside(owner, region):
                raise VerifyException("the regions `by` of a reduction use nothing but their arguments")


def _inside(block: Block, region: Region) -> bool:
    here: Block | None = block
    while here is not None:
        if here.parent is region:
            return True
        parent = here.parent_op()
        here = None if parent is None else parent.parent
    return False
