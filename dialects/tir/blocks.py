"""Blocks: units of computation with iterators of their own.

A block's body begins with its `tir.reads` and `tir.writes`, then `tir.init`; the index arithmetic that these need
precedes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, StringAttr, i1
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    NoTerminator,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_attr_dict, parse_value, print_attr_dict
from ..attributes import PyValue, function_attrs
from ..relax.types import Dims, dims_attr
from ..sym.expr import Const, ExprLike, SymExpr, as_expr
from ..sym.text import parse_expr
from ..sym.writing import expr_text
from .control_flow import LAST_NUMBER
from .indices import check_index_type, check_indices
from .types import BufferType


class IterKind(StrEnum):
    """Kinds of a block's iterators."""

    SPATIAL = "spatial"
    REDUCE = "reduce"
    SCAN = "scan"
    OPAQUE = "opaque"


@irdl_op_definition
class BlockOp(IRDLOperation):
    """A block: a unit of computation with its own iterators.

        tir.block "C" (%vi = spatial(%i, n), %vk = reduce(%k, [4, 8])) where %p annotations {…} {…}

    An iterator has a kind, a binding and a domain: an extent from 0, or `[min, extent]`. The block runs if the
    predicate `where` holds. `tir.block "x" () {…}` is a block without iterators.
    """

    name = "tir.block"
    block_name = prop_def(StringAttr)
    iter_kinds = prop_def(ArrayAttr[StringAttr])
    dom_mins = prop_def(Dims)
    dom_extents = prop_def(Dims)
    annotations = opt_prop_def(DictionaryAttr)
    bindings = var_operand_def()
    predicate = opt_operand_def(i1)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())

    def __init__(
        self,
        name: str,
        iters: Sequence[tuple[IterKind, SSAValue, ExprLike | tuple[ExprLike, ExprLike]]],
        body: Region,
        *,
        predicate: SSAValue | None = None,
        annotations: Mapping[str, PyValue] | DictionaryAttr | None = None,
    ):
        """`iters` are (kind, binding, extent) or (kind, binding, (min, extent)); `body` has an argument for each."""
        doms = [_domain(d) for _, _, d in iters]
        notes = annotations if annotations is None or isinstance(annotations, DictionaryAttr) else dict(annotations)
        super().__init__(
            operands=[[b for _, b, _ in iters], [] if predicate is None else [predicate]],
            properties={
                "block_name": StringAttr(name),
                "iter_kinds": ArrayAttr(StringAttr(IterKind(k).value) for k, _, _ in iters),
                "dom_mins": dims_attr(m for m, _ in doms),
                "dom_extents": dims_attr(e for _, e in doms),
                "annotations": function_attrs(notes),
            },
            regions=[body],
        )

    @property
    def iter_vars(self) -> Sequence[SSAValue]:
        return self.body.block.args

    @property
    def name_hint(self) -> str:
        """The name of the block, under TVM's name for it."""
        return self.block_name.data

    @property
    def kinds(self) -> list[IterKind]:
        return [IterKind(k.data) for k in self.iter_kinds]

    @property
    def mins(self) -> list[SymExpr]:
        """The minimum of each iterator."""
        return [d.data for d in self.dom_mins]

    @property
    def extents(self) -> list[SymExpr]:
        """The extent of each iterator."""
        return [d.data for d in self.dom_extents]

    @property
    def reads(self) -> list[ReadsOp]:
        return [op for op in self.body.block.ops if type(op) is ReadsOp]

    @property
    def writes(self) -> list[WritesOp]:
        return [op for op in self.body.block.ops if type(op) is WritesOp]

    @property
    def init(self) -> InitOp | None:
        return next((op for op in self.body.block.ops if type(op) is InitOp), None)

    def verify_(self) -> None:
        n = len(self.bindings)
        if not n == len(self.iter_kinds) == len(self.dom_mins) == len(self.dom_extents) == len(self.iter_vars):
            raise VerifyException(
                f'block "{self.block_name.data}": bindings, kinds, domains and arguments do not agree'
            )
        for var, binding in zip(self.iter_vars, self.bindings, strict=True):
            if var.type != binding.type or not isinstance(var.type, IntegerType):
                raise VerifyException(
                    f'block "{self.block_name.data}": an iterator of {var.type} bound to {binding.type}'
                )
            check_index_type(self, binding.type, "an iterator")
        for kind in self.iter_kinds:
            if kind.data not in IterKind.__members__.values():
                raise VerifyException(f'block "{self.block_name.data}": unknown kind of iterator {kind}')
        for low, extent in zip(self.mins, self.extents, strict=True):
            if ((low + extent).constant or 0) > LAST_NUMBER:
                raise VerifyException(f'block "{self.block_name.data}": a domain ends beyond 64 bits')

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.block_name)
        printer.print_string(" ")
        rows = list(zip(self.iter_vars, self.kinds, self.bindings, self.mins, self.extents, strict=True))
        with printer.in_parens():
            printer.print_list(rows, lambda row: _print_iter(printer, *row))
        if self.predicate is not None:
            printer.print_string(" where ")
            printer.print_ssa_value(self.predicate)
        print_attr_dict(printer, self.annotations, "annotations")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        rows = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_iter(parser))
        predicate = parse_value(parser) if parser.parse_optional_keyword("where") is not None else None
        annotations = parse_attr_dict(parser, "annotations")
        body = parser.parse_region([arg for arg, _ in rows])
        return cls(name, [it for _, it in rows], body, predicate=predicate, annotations=annotations)


def _domain(dom: ExprLike | tuple[ExprLike, ExprLike]) -> tuple[SymExpr, SymExpr]:
    if isinstance(dom, tuple):
        extent = as_expr(dom[1])
        return as_expr(dom[0], extent.dtype), extent
    extent = as_expr(dom)
    return Const(0, extent.dtype), extent


def _print_iter(
    printer: Printer, var: SSAValue, kind: IterKind, binding: SSAValue, min_: SymExpr, extent: SymExpr
) -> None:
    printer.print_ssa_value(var)
    printer.print_string(f" = {kind.value}(")
    printer.print_ssa_value(binding)
    plain = min_.constant == 0 and min_.dtype == extent.dtype
    printer.print_string(", " + (expr_text(extent) if plain else f"[{expr_text(min_)}, {expr_text(extent)}]") + ")")


def _parse_iter_kind(parser: Parser) -> IterKind:
    pos = parser.pos
    word = parser.parse_identifier()
    if word not in IterKind.__members__.values():
        parser.raise_error(f"expected a kind of iterator: {', '.join(IterKind)}", pos)
    return IterKind(word)


def _parse_iter(
    parser: Parser,
) -> tuple[Parser.Argument, tuple[IterKind, SSAValue, ExprLike | tuple[ExprLike, ExprLike]]]:
    var = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    kind = _parse_iter_kind(parser)
    with parser.in_parens():
        binding = parse_value(parser)
        parser.parse_punctuation(",")
        pair = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_expr(parser))
        if pair is not None and len(pair) != 2:
            parser.raise_error("the domain of an iterator is an extent or [min, extent]")
        dom = parse_expr(parser) if pair is None else (pair[0], pair[1])
    arg = var.resolve(binding.type)
    return arg, (kind, binding, dom)


class RegionOp(IRDLOperation):
    """A region of a buffer: in each dimension a first index and an extent (1 if there is only an index).

    tir.reads %A[%vi, %c : 4] : vi and one index, then 4 indices from c
    """

    buffer = operand_def(BufferType)
    starts = var_operand_def(IntegerType)
    extents_attr = prop_def(Dims)

    def __init__(self, buffer: SSAValue, starts: Sequence[SSAValue], extents: Sequence[ExprLike | str] | Dims):
        dims = extents if isinstance(extents, ArrayAttr) else dims_attr(extents)
        super().__init__(operands=[buffer, starts], properties={"extents_attr": dims})

    @property
    def extents(self) -> list[SymExpr]:
        return [d.data for d in self.extents_attr]

    def verify_(self) -> None:
        check_indices(self, self.buffer, self.starts)
        if len(self.extents_attr) != len(self.starts):
            raise VerifyException(f"{self.name}: {len(self.starts)} indices and {len(self.extents_attr)} extents")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_list(
                list(zip(self.starts, self.extents, strict=True)), lambda p: self._print_dim(printer, *p)
            )

    @staticmethod
    def _print_dim(printer: Printer, start: SSAValue, extent: SymExpr) -> None:
        printer.print_ssa_value(start)
        if extent.constant != 1:
            printer.print_string(f" : {expr_text(extent)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parse_value(parser)

        def dim() -> tuple[SSAValue, SymExpr]:
            start = parse_value(parser)
            if parser.parse_optional_punctuation(":") is not None:
                return start, parse_expr(parser)
            dtype = cast(IntegerType, start.type)
            if not isinstance(start.type, IntegerType):
                parser.raise_error(f"the start of a region is an integer, found {start.type}")
            return start, Const(1, dtype)

        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim)
        return cls(buffer, [s for s, _ in dims], [e for _, e in dims])


@irdl_op_definition
class ReadsOp(RegionOp):
    """`tir.reads %A[%vi, %vk]`: the enclosing block reads this region."""

    name = "tir.reads"
    traits = traits_def(HasParent(BlockOp))


@irdl_op_definition
class WritesOp(RegionOp):
    """`tir.writes %C[%vi, %vj]`: the enclosing block writes this region."""

    name = "tir.writes"
    traits = traits_def(HasParent(BlockOp))


@irdl_op_definition
class InitOp(IRDLOperation):
    """`tir.init {…}`: runs when every reduction iterator of the block is at its minimum."""

    name = "tir.init"
    body = region_def("single_block")
    traits = traits_def(HasParent(BlockOp), RecursiveMemoryEffect(), NoTerminator())
    assembly_format = "$body attr-dict"

    def __init__(self, body: Region):
        super().__init__(regions=[body])
