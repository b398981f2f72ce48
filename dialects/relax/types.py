"""Struct info as types: the static knowledge of a Relax value.

!relax.tensor<[n, 784], f32>     shape known (symbolically); `<ndim = 2, f32>` rank only; `<*, f32>` nothing;
                                 without a dtype where that is unknown; `<ndim = 2 of "s", f32>`: its shape is the
                                 value of the variable s, of which nothing more is known;
                                 `<[n, 4] of "s", f32>` its extents as well
!relax.shape<[n, 4]>             likewise
!relax.prim<i64, n>              a scalar, its value where known
!relax.object                    anything
tuple<…>                         builtin's tuple
!relax.callable<(…) -> …>        `impure` after it where calls may have effects; `<*>` where nothing is known
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntAttr, NoneAttr, StringAttr, TupleType, UnitAttr
from xdsl.ir import Attribute, Block, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import DTypeError, VerifyError
from ..dtypes import dtype_name, float_attr, float_text, is_float
from ..sym import SymAttr
from ..sym.expr import Const, ExprLike, SymExpr, Var
from ..sym.text import exprs_text, parse_expr
from ..sym.writing import expr_text

UNKNOWN_NDIM = -1
_NONE = NoneAttr()
Dims = ArrayAttr[SymAttr]


def dims_attr(shape: Iterable[ExprLike | str]) -> Dims:
    """Return a shape as an attribute; strings are names of symbolic variables."""
    return ArrayAttr(SymAttr.of(d) for d in shape)


class VariableBlock(Block):
    """Holds a variable that belongs to no program."""


@irdl_attr_definition
class NamedShape(ParametrizedAttribute):
    """The shape that a variable holds, with its extents. Only variables that belong to no program are named so."""

    name = "relax.named_shape"
    variable: StringAttr
    extents: Dims


def _print_dims(printer: Printer, shape: Dims | StringAttr | NamedShape | NoneAttr, ndim: int) -> None:
    if isinstance(shape, NamedShape):
        printer.print_string(exprs_text(shape.extents) + " of ")
        printer.print_attribute(shape.variable)
        return
    if isinstance(shape, ArrayAttr):
        printer.print_string(exprs_text(shape))
        return
    printer.print_string("*" if ndim == UNKNOWN_NDIM else f"ndim = {ndim}")
    if isinstance(shape, StringAttr):
        printer.print_string(" of ")
        printer.print_attribute(shape)


def _parse_dims(parser: AttrParser) -> tuple[Dims | NoneAttr, int]:
    if parser.parse_optional_punctuation("*") is not None:
        return _NONE, UNKNOWN_NDIM
    if parser.parse_optional_keyword("ndim") is not None:
        parser.parse_punctuation("=")
        return _NONE, parser.parse_integer(allow_negative=False, allow_boolean=False)
    dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: SymAttr(parse_expr(parser)))
    return ArrayAttr(dims), len(dims)


def _parse_tensor_shape(parser: AttrParser) -> tuple[Dims | StringAttr | NamedShape | NoneAttr, int]:
    shape, ndim = _parse_dims(parser)
    if parser.parse_optional_keyword("of") is not None:
        variable = StringAttr(parser.parse_str_literal())
        return variable if isinstance(shape, NoneAttr) else NamedShape(variable, shape), ndim
    return shape, ndim


class _Shaped:
    """Base of tensors and shapes: `shape` and `ndim`."""

    shape: Any
    ndim: IntAttr

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if unknown."""
        return None if self.ndim.data == UNKNOWN_NDIM else self.ndim.data

    @property
    def dims(self) -> tuple[SymExpr, ...] | None:
        """The extents, or None if unknown."""
        known = self._known_shape()
        return None if known is None else tuple([d.data for d in known.data])

    def _known_shape(self) -> Dims | None:
        shape: object = self.shape
        return cast(Dims, shape) if isinstance(shape, ArrayAttr) else None

    def _verify_dims(self) -> None:
        known = self._known_shape()
        if known is not None and len(known) != self.ndim.data:
            raise VerifyException(f"{len(known)} dimensions in a shape of rank {self.ndim.data}")
        if self.ndim.data < UNKNOWN_NDIM:
            raise VerifyException(f"rank {self.ndim.data} is negative")


@irdl_attr_definition
class TensorType(_Shaped, ParametrizedAttribute, TypeAttribute):
    """A tensor: shape, rank, dtype and virtual device, each as far as known."""

    name = "relax.tensor"
    shape: Dims | StringAttr | NamedShape | NoneAttr
    ndim: IntAttr
    dtype: Attribute
    vdevice: StringAttr | NoneAttr

    @classmethod
    def of(
        cls,
        shape: Iterable[ExprLike | str] | None = None,
        dtype: Attribute | None = None,
        ndim: int | None = None,
        vdevice: str | None = None,
    ) -> TensorType:
        """Return a tensor of `shape` (or only of rank `ndim`) and `dtype`; None means unknown.

        A shape may be the name of a variable that holds it, if its extents are unknown.
        """
        if shape is None or isinstance(shape, str):
            rank = UNKNOWN_NDIM if ndim is None else ndim
            dims = _NONE if shape is None else StringAttr(shape)
            return cls(dims, IntAttr(rank), dtype or _NONE, _NONE if vdevice is None else StringAttr(vdevice))
        extents = tuple(shape)
        kinds = tuple(map(type, extents))
        # A variable that is a value of the IR leads to its uses: types that are kept would keep programs.
        kept = _COMPARABLE.issuperset(kinds) and not any(type(e) is Var and e.value is not None for e in extents)
        make = _tensor_type if kept else _tensor_type.__wrapped__
        return make(extents, kinds, dtype, vdevice)

    @property
    def shape_var(self) -> str | None:
        """The name of the variable that holds the shape, if there is one."""
        if isinstance(self.shape, NamedShape):
            return self.shape.variable.data
        return self.shape.data if isinstance(self.shape, StringAttr) else None

    @property
    def extents(self) -> tuple[SymExpr, ...] | None:
        """The extents, also those of the variable that holds the shape; None if unknown."""
        return tuple([d.data for d in self.shape.extents.data]) if isinstance(self.shape, NamedShape) else self.dims

    def of_dtype(self, dtype: Attribute | None) -> TensorType:
        """Return a tensor of this shape and another dtype, on no virtual device."""
        return TensorType(self.shape, self.ndim, dtype or _NONE, _NONE)

    def of_rank(self) -> TensorType:
        """Return a tensor of this rank and dtype, of unknown extents."""
        return TensorType(_NONE, self.ndim, self.dtype, _NONE)

    @property
    def element(self) -> Attribute | None:
        """The dtype, or None if unknown."""
        return None if type(self.dtype) is NoneAttr else self.dtype  # final: `isinstance` asks Python where it is false

    def verify(self) -> None:
        self._verify_dims()
        for d in self.dims or ():
            if d.constant is not None and not 0 <= d.constant < 2**63:
                raise VerifyError(f"extent {d} of a tensor is out of range", expected="0 to 2**63 - 1")
        if self.element is not None:
            try:
                dtype_name(self.element)
            except DTypeError as error:
                raise VerifyException(error.message) from error

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_dims(printer, self.shape, self.ndim.data)
            if self.element is not None:
                printer.print_string(", ")
                printer.print_attribute(self.element)
            if isinstance(self.vdevice, StringAttr):
                printer.print_string(", vdevice = ")
                printer.print_attribute(self.vdevice)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, ndim = _parse_tensor_shape(parser)
            dtype: Attribute = _NONE
            vdevice: StringAttr | NoneAttr = _NONE
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("vdevice") is not None:
                    parser.parse_punctuation("=")
                    vdevice = StringAttr(parser.parse_str_literal())
                else:
                    dtype = parser.parse_type()
        return (shape, IntAttr(ndim), dtype, vdevice)


@lru_cache(maxsize=4096)
def _tensor_type(
    extents: tuple[ExprLike | str, ...],
    kinds: tuple[type, ...],  # 1 and True are equal, and not the same  # noqa: ARG001
    dtype: Attribute | None,
    vdevice: str | None,
) -> TensorType:
    """Return a cached type of known extents: programs have few distinct ones, shared by many values."""
    device = _NONE if vdevice is None else StringAttr(vdevice)
    return TensorType(dims_attr(extents), IntAttr(len(extents)), dtype or _NONE, device)


_COMPARABLE = frozenset({int, str, Const, Var})
"""Kinds of extents whose types are cached: equal ones print the same, unlike `n * m` and `m * n`."""


@irdl_attr_definition
class ShapeType(_Shaped, ParametrizedAttribute, TypeAttribute):
    """A shape value: its extents, its rank, or neither known."""

    name = "relax.shape"
    shape: Dims | NoneAttr
    ndim: IntAttr

    @classmethod
    def of(cls, values: Iterable[ExprLike | str] | None = None, ndim: int | None = None) -> ShapeType:
        dims = _NONE if values is None else dims_attr(values)
        rank = len(dims) if isinstance(dims, ArrayAttr) else (UNKNOWN_NDIM if ndim is None else ndim)
        return cls(dims, IntAttr(rank))

    def verify(self) -> None:
        self._verify_dims()

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_dims(printer, self.shape, self.ndim.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, ndim = _parse_dims(parser)
        return (shape, IntAttr(ndim))


@irdl_attr_definition
class PrimType(ParametrizedAttribute, TypeAttribute):
    """A scalar of `dtype`, with its value if known: a symbolic integer, a float, or a variable for a float."""

    name = "relax.prim"
    dtype: Attribute
    value: SymAttr | FloatAttr | StringAttr | NoneAttr

    @classmethod
    def of(cls, dtype: Attribute, value: ExprLike | str | FloatAttr[Any] | StringAttr | None = None) -> PrimType:
        if isinstance(value, FloatAttr | StringAttr):
            return cls(dtype, value)
        return cls(dtype, _NONE if value is None else SymAttr.of(value))

    @property
    def expr(self) -> SymExpr | None:
        return self.value.data if isinstance(self.value, SymAttr) else None

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.dtype)
            if self.expr is not None:
                printer.print_string(", " + expr_text(self.expr))
            elif isinstance(self.value, FloatAttr):
                printer.print_string(f", {float_text(self.value.value.data)}")
            elif isinstance(self.value, StringAttr):
                printer.print_string(f", {self.value.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dtype = parser.parse_type()
            value = _prim_value(parser, dtype) if parser.parse_optional_punctuation(",") is not None else _NONE
        return (dtype, value)


def _prim_value(parser: AttrParser, dtype: Attribute) -> SymAttr | FloatAttr[Any] | StringAttr:
    if not is_float(dtype):
        return SymAttr(parse_expr(parser))
    sign = "-" if parser.parse_optional_punctuation("-") is not None else ""
    name = parser.parse_optional_identifier()
    if name is None:
        return float_attr(float(f"{sign}{parser.parse_number()}"), dtype)
    return float_attr(float(sign + name), dtype) if name in ("inf", "nan") else StringAttr(name)


@irdl_attr_definition
class ObjectType(ParametrizedAttribute, TypeAttribute):
    """Any value."""

    name = "relax.object"


@irdl_attr_definition
class CallableType(ParametrizedAttribute, TypeAttribute):
    """A function or closure; `params` is None if the signature is unknown."""

    name = "relax.callable"
    params: ArrayAttr[Attribute] | NoneAttr
    ret: Attribute
    impure: UnitAttr | NoneAttr

    @classmethod
    def of(cls, params: Iterable[Attribute] | None, ret: Attribute | None = None, pure: bool = True) -> CallableType:
        return cls(
            _NONE if params is None else ArrayAttr(params),
            ret if ret is not None else ObjectType(),
            _NONE if pure else UnitAttr(),
        )

    @property
    def pure(self) -> bool:
        return isinstance(self.impure, NoneAttr)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if isinstance(self.params, ArrayAttr):
                with printer.in_parens():
                    printer.print_list(self.params, printer.print_attribute)
            else:
                printer.print_string("*")
            printer.print_string(" -> ")
            printer.print_attribute(self.ret)
            if not self.pure:
                printer.print_string(", impure")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            params: ArrayAttr[Attribute] | NoneAttr = _NONE
            if parser.parse_optional_punctuation("*") is None:
                params = ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type))
            parser.parse_punctuation("->")
            ret = parser.parse_type()
            impure: UnitAttr | NoneAttr = _NONE
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("impure")
                impure = UnitAttr()
        return (params, ret, impure)


OBJECT = ObjectType()
StructInfo = TensorType | ShapeType | PrimType | ObjectType | TupleType | CallableType


def tuple_type(fields: Iterable[Attribute]) -> TupleType:
    """Return the type of a tuple of `fields`."""
    return TupleType(cast("tuple[TypeAttribute, ...]", tuple(fields)))


STRUCT_INFO = (TensorType, ShapeType, PrimType, ObjectType, TupleType, CallableType)


def free_symbolic_vars(types: Iterable[Attribute]) -> list[Var]:
    """Return the distinct symbolic variables in `types`, in order of first occurrence."""
    out: dict[Var, None] = {}
    for t in types:
        for expr in _exprs_of(t):
            out.update(dict.fromkeys(expr.free_vars()))
    return list(out)


def _exprs_of(t: Attribute) -> Iterable[SymExpr]:
    if isinstance(t, TensorType | ShapeType):
        yield from t.dims or ()
    elif isinstance(t, PrimType):
        if t.expr is not None:
            yield t.expr
    elif isinstance(t, TupleType):
        for field in t.types:
            yield from _exprs_of(field)


def on_no_device(t: Attribute) -> Attribute:
    """Return struct info without the virtual devices of its tensors."""
    if isinstance(t, TupleType):
        return tuple_type(on_no_device(f) for f in t.types)
    return TensorType(t.shape, t.ndim, t.dtype, _NONE) if isinstance(t, TensorType) else t


def on_device(t: Attribute, vdevice: StringAttr) -> Attribute:
    """Return the type with tensors that have no virtual device placed on one."""
    if isinstance(t, TupleType):
        return tuple_type(on_device(f, vdevice) for f in t.types)
    if isinstance(t, TensorType) and isinstance(t.vdevice, NoneAttr):
        return TensorType(t.shape, t.ndim, t.dtype, vdevice)
    return t


def substitute_type(t: Attribute, mapping: Mapping[Var, SymExpr]) -> Attribute:
    """Return the type with symbolic variables replaced (those of a callable are its own and stay)."""
    if isinstance(t, TensorType) and t.dims is not None:
        dims = ArrayAttr(SymAttr(d.substitute(mapping)) for d in t.dims)
        return TensorType(dims, t.ndim, t.dtype, t.vdevice)
    if isinstance(t, ShapeType) and t.dims is not None:
        return ShapeType(ArrayAttr(SymAttr(d.substitute(mapping)) for d in t.dims), t.ndim)
    if isinstance(t, PrimType) and t.expr is not None:
        return PrimType(t.dtype, SymAttr(t.expr.substitute(mapping)))
    if isinstance(t, TupleType):
        return tuple_type(substitute_type(f, mapping) for f in t.types)
    return t


def is_base_of(base: Attribute, derived: Attribute) -> bool:
    """Return whether every value of `derived` is certainly a value of `base` (struct info subtyping)."""
    if base == derived or isinstance(base, ObjectType):
        return True
    check = _BASE_CHECKS.get(type(base))
    return check is not None and type(base) is type(derived) and check(base, derived)


def _shaped_base(base: _Shaped, derived: _Shaped) -> bool:
    if not isinstance(base.shape, NoneAttr):
        return base.shape == derived.shape or (
            NamedShape in (type(base.shape), type(derived.shape)) and _extents_of(base) == _extents_of(derived)
        )
    return base.rank is None or base.rank == derived.rank


def _extents_of(t: _Shaped) -> tuple[SymExpr, ...] | None:
    return t.extents if isinstance(t, TensorType) else t.dims


def _tensor_base(base: TensorType, derived: TensorType) -> bool:
    dtype_ok = base.element is None or base.element == derived.element
    return dtype_ok and _shaped_base(base, derived)


def _tuple_base(base: TupleType, derived: TupleType) -> bool:
    return len(base.types) == len(derived.types) and all(map(is_base_of, base.types, derived.types))


def _callable_base(base: CallableType, derived: CallableType) -> bool:
    if base.pure and not derived.pure:
        return False
    if isinstance(base.params, NoneAttr):
        return is_base_of(base.ret, derived.ret)
    if isinstance(derived.params, NoneAttr) or len(base.params) != len(derived.params):
        return False
    return is_base_of(base.ret, derived.ret) and all(map(is_base_of, derived.params, base.params))


def _prim_base(base: PrimType, derived: PrimType) -> bool:
    return base.dtype == derived.dtype and base.value in (_NONE, derived.value)


_BASE_CHECKS: dict[type[Attribute], Callable[[Any, Any], bool]] = {
    TensorType: _tensor_base,
    ShapeType: _shaped_base,
    TupleType: _tuple_base,
    CallableType: _callable_base,
    PrimType: _prim_base,
}


def least_common_ancestor(a: Attribute, b: Attribute) -> Attribute:
    """Return the most specific struct info that covers both `a` and `b`."""
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.vdevice != b.vdevice:
        a, b = (TensorType(t.shape, t.ndim, t.dtype, _NONE) for t in (a, b))
    if is_base_of(a, b):
        return a
    if is_base_of(b, a):
        return b
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        dtype = a.element if a.element == b.element else None
        device = a.vdevice.data if isinstance(a.vdevice, StringAttr) else None
        return TensorType.of(a.dims if a.dims == b.dims else None, dtype, a.rank if a.rank == b.rank else None, device)
    if isinstance(a, ShapeType) and isinstance(b, ShapeType):
        return ShapeType.of(None, a.rank if a.rank == b.rank else None)
    if isinstance(a, PrimType) and isinstance(b, PrimType) and a.dtype == b.dtype:
        return PrimType.of(a.dtype)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.types) == len(b.types):
        return tuple_type(least_common_ancestor(x, y) for x, y in zip(a.types, b.types, strict=True))
    return OBJECT


def erase_unbound(t: Attribute, bound: set[Var], keeps_shapes: bool = False) -> Attribute:
    """Return the type without extents that mention variables other than `bound`; the rank remains.

    So do shapes that a variable holds if `keeps_shapes`.
    """
    if isinstance(t, TensorType) and t.shape_var is not None and not keeps_shapes:
        return TensorType(_NONE, t.ndim, t.dtype, t.vdevice)
    if isinstance(t, TensorType | ShapeType) and t.dims is not None:
        if all(v in bound for d in t.dims for v in d.free_vars()):
            return t
        if isinstance(t, TensorType):
            return TensorType(_NONE, t.ndim, t.dtype, t.vdevice)
        return ShapeType.of(None, t.rank)
    if isinstance(t, PrimType) and t.expr is not None and not all(v in bound for v in t.expr.free_vars()):
        return PrimType.of(t.dtype)
    if isinstance(t, TupleType):
        return tuple_type(erase_unbound(f, bound, keeps_shapes) for f in t.types)
    return t
