"""Definitions of buffers: allocations, constants, buffers at addresses, regions of other buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryAllocEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import DTypeError
from .. import assembly as asm
from ..assembly import parse_attr_dict, parse_type, parse_value, print_attr_dict, print_type
from ..attributes import PyValue, function_attrs
from ..dtypes import dtype_name
from ..relax.data import CONTENTS, TensorDataAttr
from ..relax.types import Dims, dims_attr
from ..sym.expr import ExprLike, SymExpr
from ..sym.text import exprs_text, parse_expr, parse_exprs
from ..sym.writing import expr_text
from .indices import check_indices
from .types import GLOBAL, BufferType, HandleType


class _BufferDef(IRDLOperation):
    result = result_def(BufferType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, buffer_type: BufferType):
        super().__init__(result_types=[buffer_type])


def _note(op: Operation, key: str, value: bool) -> None:
    """Set or remove a unit attribute of an op that does not affect its semantics."""
    if value:
        op.attributes[key] = UnitAttr()
    else:
        op.attributes.pop(key, None)


@irdl_op_definition
class AllocBufferOp(_BufferDef):
    """`%Y = tir.alloc_buffer : !tir.buffer<…>`: a buffer that lives as long as the enclosing block (or function).

    A `padded` one, `tir.alloc_buffer {tirax.padded} : …`, is intentionally larger than the region accessed. A
    `declared` one, `{tirax.declared}`, belongs to no block: in TVM it is a separate allocation, written
    `T.decl_buffer(shape)`, with the same semantics.
    """

    name = "tir.alloc_buffer"
    PADDED: ClassVar[str] = "tirax.padded"
    DECLARED: ClassVar[str] = "tirax.declared"
    traits = traits_def(MemoryAllocEffect())

    def __init__(self, buffer_type: BufferType, *, padded: bool = False, declared: bool = False):
        super().__init__(buffer_type)
        _note(self, self.PADDED, padded)
        self.declared = declared

    @property
    def padded(self) -> bool:
        return self.PADDED in self.attributes

    @property
    def declared(self) -> bool:
        return self.DECLARED in self.attributes

    @declared.setter
    def declared(self, value: bool) -> None:
        _note(self, self.DECLARED, value)


@irdl_op_definition
class AllocConstOp(asm.FormattedOp):
    """`%c = tir.alloc_const <f32 [2] [1.0, 2.0]>`: a buffer of constants."""

    name = "tir.alloc_const"
    value = prop_def(TensorDataAttr)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (CONTENTS,)

    def __init__(self, value: TensorDataAttr):
        result = BufferType.of(value.data.shape, value.data.dtype)
        super().__init__(properties={"value": value}, result_types=[result])


@irdl_op_definition
class AllocateOp(IRDLOperation):
    """`%h = tir.allocate [n, 4] f32`: the address of memory that lives until the end of the enclosing region.

    `tir.allocate [16] f32 scope "local" annotations {…}`. Buffers in it are defined by `tir.decl_buffer`.
    """

    name = "tir.allocate"
    extents_attr = prop_def(Dims)
    dtype = prop_def(Attribute)
    scope = prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    result = result_def(HandleType)
    traits = traits_def(MemoryAllocEffect())

    def __init__(
        self,
        extents: Sequence[ExprLike | str],
        dtype: Attribute,
        scope: str = "global",
        *,
        annotations: dict[str, PyValue] | DictionaryAttr | None = None,
    ):
        properties: dict[str, Attribute | None] = {
            "extents_attr": dims_attr(extents),
            "dtype": dtype,
            "scope": GLOBAL if scope == "global" else StringAttr(scope),
            "annotations": function_attrs(annotations),
        }
        place = HandleType(dtype, cast(StringAttr, properties["scope"]))
        super().__init__(properties=properties, result_types=[place])

    @property
    def extents(self) -> list[SymExpr]:
        return [d.data for d in self.extents_attr]

    def verify_(self) -> None:
        try:
            dtype_name(self.dtype)
        except DTypeError as error:
            raise VerifyException(error.message) from error

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {exprs_text(self.extents_attr)} ")
        printer.print_attribute(self.dtype)
        if self.scope != GLOBAL:
            printer.print_string(" scope ")
            printer.print_attribute(self.scope)
        print_attr_dict(printer, self.annotations, "annotations")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        extents = parse_exprs(parser)
        dtype = parser.parse_type()
        scope = parser.parse_str_literal() if parser.parse_optional_keyword("scope") is not None else "global"
        op = cls(extents, dtype, scope, annotations=parse_attr_dict(parser, "annotations"))
        op.attributes = parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class DeclBufferOp(asm.FormattedOp):
    """`%B = tir.decl_buffer %h : !tir.buffer<…>`: a buffer at an address.

    An `alias`, `tir.decl_buffer %h {tirax.alias} : …`, is one that TVM uses without a declaration, written
    `T.Buffer(shape, data=h)`, with the same semantics.
    """

    name = "tir.decl_buffer"
    ALIAS: ClassVar[str] = "tirax.alias"
    data = operand_def(HandleType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.value("data"), asm.typed("buffer_type", "result.type"))

    def __init__(self, data: SSAValue, buffer_type: BufferType, *, alias: bool = False):
        super().__init__(operands=[data], result_types=[buffer_type])
        self.alias = alias

    @property
    def alias(self) -> bool:
        return self.ALIAS in self.attributes

    @alias.setter
    def alias(self, value: bool) -> None:
        _note(self, self.ALIAS, value)


def is_shape_of_region(dims: Sequence[SymExpr], extents: Sequence[SymExpr]) -> bool:
    """Return whether a shape is that of a region, ignoring its leading dimensions of extent 1, as far as extents
    are constant.
    """
    shape = [1] * (len(extents) - len(dims)) + [d.constant for d in dims]
    pairs = zip(shape, [e.constant for e in extents], strict=False)
    return len(shape) == len(extents) and all(a == b for a, b in pairs if None not in (a, b))


@irdl_op_definition
class MatchBufferOp(IRDLOperation):
    """`%B = tir.match_buffer %A[%i : 4, %j : 4] : !tir.buffer<…>`: a region of a buffer as a separate buffer."""

    name = "tir.match_buffer"
    source = operand_def(BufferType)
    starts = var_operand_def(IntegerType)
    extents_attr = prop_def(Dims)
    result = result_def(BufferType)
    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue, starts: Sequence[SSAValue], extents: Sequence[ExprLike | str], result: BufferType
    ):
        super().__init__(
            operands=[source, starts], properties={"extents_attr": dims_attr(extents)}, result_types=[result]
        )

    @property
    def extents(self) -> list[SymExpr]:
        return [d.data for d in self.extents_attr]

    def verify_(self) -> None:
        check_indices(self, self.source, self.starts)
        if len(self.extents_attr) != len(self.starts):
            raise VerifyException(f"{self.name}: {len(self.starts)} indices and {len(self.extents_attr)} extents")
        matched, source = self.result.type, cast(BufferType, self.source.type)
        if matched.dtype != source.dtype:
            raise VerifyException(f"{self.name}: elements of {matched.dtype}, in the source of {source.dtype}")
        if not is_shape_of_region(matched.dims, self.extents):
            shape, region = (exprs_text(attr) for attr in (matched.shape, self.extents_attr))
            raise VerifyException(f"{self.name}: the shape {shape} is not that of the region, {region}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        with printer.in_square_brackets():
            pairs = list(zip(self.starts, self.extents, strict=True))
            printer.print_list(pairs, lambda p: self._print_dim(printer, *p))
        print_type(printer, self.result.type)

    @staticmethod
    def _print_dim(printer: Printer, start: SSAValue, extent: SymExpr) -> None:
        printer.print_ssa_value(start)
        printer.print_string(f" : {expr_text(extent)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_value(parser)

        def dim() -> tuple[SSAValue, SymExpr]:
            start = parse_value(parser)
            parser.parse_punctuation(":")
            return start, parse_expr(parser)

        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim)
        result = cast(BufferType, parse_type(parser))
        return cls(source, [s for s, _ in dims], [e for _, e in dims], result)
