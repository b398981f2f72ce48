"""Types of TIR: buffers and handles.

    !tir.buffer<[n, 128], f32>
    !tir.buffer<[n, 128], f32, strides = [256, 1], offset = o, scope = "local", align = 64, factor = 4>

Scalars are builtin's integer and floating point types, vectors builtin's `vector<4xf32>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import DTypeError, VerifyError
from ..dtypes import dtype_name
from ..relax.types import Dims, dims_attr
from ..sym import SymAttr
from ..sym.expr import Const, ExprLike, SymExpr, Var, mul
from ..sym.text import parse_expr
from ..sym.writing import expr_text

_NONE = NoneAttr()
GLOBAL = StringAttr("global")
DEFAULT_ALIGN = 64


@irdl_attr_definition
class HandleType(ParametrizedAttribute, TypeAttribute):
    """A pointer, `!tir.handle`; with a known element type `!tir.handle<f32>`, or `!tir.handle<f32, "shared">`."""

    name = "tir.handle"
    dtype: Attribute
    scope: StringAttr

    def __init__(self, dtype: Attribute = _NONE, scope: StringAttr = GLOBAL):
        super().__init__(dtype, scope)

    @property
    def element(self) -> Attribute | None:
        """The element type, or None if it is unknown."""
        return None if isinstance(self.dtype, NoneAttr) else self.dtype

    def print_parameters(self, printer: Printer) -> None:
        if self.element is None:
            return
        with printer.in_angle_brackets():
            printer.print_attribute(self.dtype)
            if self.scope != GLOBAL:
                printer.print_string(", ")
                printer.print_attribute(self.scope)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            return (_NONE, GLOBAL)
        dtype, scope = parser.parse_type(), GLOBAL
        if parser.parse_optional_punctuation(",") is not None:
            scope = StringAttr(parser.parse_str_literal())
        parser.parse_punctuation(">")
        return (dtype, scope)


@irdl_attr_definition
class ReadBufferAttr(ParametrizedAttribute):
    """In block annotations: the buffer of the block's read region number `index`.

    `#tir.read_buffer<#builtin.int<0>>`, in TVMScript the name of the buffer. Attributes cannot hold SSA values.
    """

    name = "tir.read_buffer"
    index: IntAttr

    def __init__(self, index: int | IntAttr):
        super().__init__(index if isinstance(index, IntAttr) else IntAttr(index))


def _offset(offset_expr: ExprLike | str | None) -> SymAttr | NoneAttr:
    """Return the offset of a buffer; 0 is the default and becomes none."""
    offset = None if offset_expr is None else SymAttr.of(offset_expr)
    return _NONE if offset is None or offset.data.constant == 0 else offset


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """A buffer: extents, element type, and layout.

    `strides` are in elements (None: row-major and compact); `offset` is that of the first element, in elements (None:
    0); `align` is in bytes; `offset_factor` divides the offset, and without an offset it means any multiple of it (0 if
    unspecified); `separators` are axes where a flattened buffer keeps a boundary. `broadcast` marks a buffer whose
    strides along extents of 1 are 0, so that it can be read as a larger one (`buffer_type="auto"` of TVMScript).
    """

    name = "tir.buffer"
    shape: Dims
    dtype: Attribute
    strides: Dims | NoneAttr
    offset: SymAttr | NoneAttr
    scope: StringAttr
    align: IntAttr
    offset_factor: IntAttr
    separators: ArrayAttr[IntAttr]
    broadcast: UnitAttr | NoneAttr

    @classmethod
    def of(
        cls,
        shape: Iterable[ExprLike | str],
        dtype: Attribute,
        *,
        strides: Iterable[ExprLike | str] | None = None,
        offset: ExprLike | str | None = None,
        scope: str = "global",
        align: int = DEFAULT_ALIGN,
        offset_factor: int = 0,
        separators: Sequence[int] = (),
        broadcast: bool = False,
    ) -> BufferType:
        return cls(
            dims_attr(shape),
            dtype,
            _NONE if strides is None else dims_attr(strides),
            _offset(offset),
            GLOBAL if scope == "global" else StringAttr(scope),
            IntAttr(align),
            IntAttr(0 if offset is not None and offset_factor == 1 else offset_factor),
            ArrayAttr(IntAttr(s) for s in separators),
            UnitAttr() if broadcast else _NONE,
        )

    def replaced(self, **changes: Attribute) -> BufferType:
        """Return the type with some of its fields replaced."""
        parts: list[Any] = [changes.get(f.name, getattr(self, f.name)) for f in fields(cast(Any, self))]
        return BufferType.new(parts)

    @property
    def dims(self) -> tuple[SymExpr, ...]:
        """The extents."""
        return tuple([d.data for d in self.shape.data])

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def explicit_strides(self) -> tuple[SymExpr, ...] | None:
        """The explicit strides, or None if there are none."""
        return None if isinstance(self.strides, NoneAttr) else tuple([s.data for s in self.strides.data])

    def layout_strides(self) -> tuple[SymExpr, ...]:
        """Return the strides in elements; without explicit strides, row-major and compact ones."""
        explicit = self.explicit_strides
        if explicit is not None:
            return explicit
        out: list[SymExpr] = []
        step: SymExpr | None = None
        for d in reversed(self.dims):
            step = Const(1, d.dtype) if step is None else step
            out.append(step)
            step = mul(step, d)
        return tuple(reversed(out))

    @property
    def is_broadcast(self) -> bool:
        """True if strides along extents of 1 are 0."""
        return isinstance(self.broadcast, UnitAttr)

    @property
    def elem_offset(self) -> SymExpr | None:
        return None if isinstance(self.offset, NoneAttr) else self.offset.data

    def exprs(self) -> list[SymExpr]:
        """Return all symbolic expressions in the type."""
        offset = [] if self.elem_offset is None else [self.elem_offset]
        return [*self.dims, *(self.explicit_strides or ()), *offset]

    def with_shape(self, shape: Iterable[ExprLike | str]) -> BufferType:
        """Return the same kind of buffer with other extents, compact."""
        return self.replaced(shape=dims_attr(shape), strides=_NONE, offset=_NONE, separators=ArrayAttr([]))

    def at_any_offset(self, factor: int = 1) -> BufferType:
        """Return the type of a buffer that may begin at any multiple of `factor` in its memory."""
        return self.replaced(offset=_NONE, offset_factor=IntAttr(factor))

    def with_scope(self, scope: StringAttr) -> BufferType:
        """Return the type of a buffer in another memory scope."""
        return self if scope == self.scope else self.replaced(scope=scope)

    def with_separators(self, separators: Iterable[int]) -> BufferType:
        """Return the type with other axis separators."""
        return self.replaced(separators=ArrayAttr(IntAttr(s) for s in separators))

    def substitute(self, mapping: Mapping[Var, SymExpr]) -> BufferType:
        """Return the type with symbolic variables replaced."""

        def dims(extents: Dims | NoneAttr) -> Dims | NoneAttr:
            if isinstance(extents, NoneAttr):
                return extents
            return ArrayAttr(SymAttr(d.data.substitute(mapping)) for d in extents)

        offset = self.offset if self.elem_offset is None else SymAttr(self.elem_offset.substitute(mapping))
        return self.replaced(shape=dims(self.shape), strides=dims(self.strides), offset=offset)

    def verify(self) -> None:
        try:
            dtype_name(self.dtype)
        except DTypeError as error:
            raise VerifyException(error.message) from error
        if not isinstance(self.strides, NoneAttr) and len(self.strides) != len(self.shape):
            raise VerifyException(f"{len(self.strides)} strides of a buffer of rank {len(self.shape)}")
        for d in self.dims:
            if d.constant is not None and not 0 <= d.constant < 2**63:
                raise VerifyError(f"extent {d} of a buffer is out of range", expected="0 to 2**63 - 1")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(_dims_text(self.dims) + ", ")
            printer.print_attribute(self.dtype)
            for text in self._extras():
                printer.print_string(", " + text)

    def _extras(self) -> list[str]:
        out: list[str] = []
        if self.explicit_strides is not None:
            out.append("strides = " + _dims_text(self.explicit_strides))
        if self.elem_offset is not None:
            out.append("offset = " + expr_text(self.elem_offset))
        if self.scope != GLOBAL:
            out.append(f'scope = "{self.scope.data}"')
        if self.align.data != DEFAULT_ALIGN:
            out.append(f"align = {self.align.data}")
        if self.offset_factor.data:
            out.append(f"factor = {self.offset_factor.data}")
        if self.separators.data:
            out.append(f"separators = [{', '.join(str(s.data) for s in self.separators)}]")
        if self.is_broadcast:
            out.append("broadcast = true")
        return out

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = _parse_dims(parser)
            parser.parse_punctuation(",")
            dtype = parser.parse_type()
            parameters: dict[str, Attribute] = {}
            while parser.parse_optional_punctuation(",") is not None:
                key = parser.parse_identifier()
                if key not in _EXTRAS:
                    parser.raise_error(f"a buffer has no '{key}'; it may have: {', '.join(_EXTRAS)}")
                parser.parse_punctuation("=")
                parameters[key] = _EXTRAS[key](parser)
        defaults: dict[str, Attribute] = {
            "strides": _NONE,
            "offset": _NONE,
            "scope": GLOBAL,
            "align": IntAttr(DEFAULT_ALIGN),
            "factor": IntAttr(0),
            "separators": ArrayAttr[IntAttr]([]),
            "broadcast": _NONE,
        }
        return (shape, dtype, *(defaults | parameters).values())


def _dims_text(dims: Iterable[SymExpr]) -> str:
    return f"[{', '.join(expr_text(d) for d in dims)}]"


def _parse_dims(parser: AttrParser) -> Dims:
    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: SymAttr(parse_expr(parser))))


def _parse_int(parser: AttrParser) -> IntAttr:
    return IntAttr(parser.parse_integer(allow_boolean=False))


def _parse_flag(parser: AttrParser) -> UnitAttr | NoneAttr:
    return UnitAttr() if parser.parse_boolean() else _NONE


def _parse_separators(parser: AttrParser) -> ArrayAttr[IntAttr]:
    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_int(parser)))


def _parse_offset(parser: AttrParser) -> SymAttr:
    return SymAttr(parse_expr(parser))


def _parse_scope(parser: AttrParser) -> StringAttr:
    return StringAttr(parser.parse_str_literal())


_EXTRAS: dict[str, Callable[[AttrParser], Attribute]] = {
    "strides": _parse_dims,
    "offset": _parse_offset,
    "scope": _parse_scope,
    "align": _parse_int,
    "factor": _parse_int,
    "separators": _parse_separators,
    "broadcast": _parse_flag,
}
HANDLE = HandleType()
