"""Static types with TVM's names: the type of a value without its extents. They are compared structurally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import NoneAttr
from xdsl.dialects.builtin import TupleType as TupleAttr
from xdsl.ir import Attribute

from ..diagnostics import DTypeError
from ..dialects import relax
from ..dialects.dtypes import dtype_name, dtype_of
from ..script.printer.document import Document, PrinterConfig
from ..script.printer.literals import parenthesized, string
from .array import Array


class Type:
    """The base of static types."""

    def text(self, doc: Document) -> str:
        """Return its text, with the names of `doc`."""
        raise NotImplementedError

    def script(self, **options: Any) -> str:
        """Return the type as TVMScript; the options are those of the printer."""
        return self.text(Document(PrinterConfig(**options)))

    def _relax_script(self, **options: Any) -> str:
        """Return the type as Relax has it in TVMScript: tuples and functions have other forms there."""
        return self.relax_text(Document(PrinterConfig(**options)))

    def relax_text(self, doc: Document) -> str:
        """Return its text in Relax, with the names of `doc`."""
        return self.text(doc)

    def __str__(self) -> str:
        return self.script()

    def same_as(self, other: object) -> bool:
        """Return whether both are equal, under TVM's name for identity."""
        return self == other


@dataclass(frozen=True)
class ObjectType(Type):
    """Any value."""

    def text(self, doc: Document) -> str:
        return doc.relax("Object")


@dataclass(frozen=True)
class PackedFuncType(Type):
    """A packed function."""

    def text(self, doc: Document) -> str:
        return doc.relax("PackedFunc")


@dataclass(frozen=True)
class PrimType(Type):
    """A scalar of a dtype, by TVM's name."""

    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in ("", "handle", "void"):
            object.__setattr__(self, "dtype", dtype_name(dtype_of(self.dtype)))

    def text(self, doc: Document) -> str:
        return doc.tir(self.dtype or "void")


@dataclass(frozen=True, eq=False)
class PointerType(Type):
    """The address of elements in a kind of memory."""

    element_type: Type
    storage_scope: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointerType) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[Type, str]:
        """Return the element type and the scope; an empty scope is the global one."""
        return self.element_type, self.storage_scope or "global"

    def text(self, doc: Document) -> str:
        inner = self.element_type
        element = string(inner.dtype) if isinstance(inner, PrimType) else inner.text(doc)
        scope = f", {string(self.storage_scope)}" if self.storage_scope else ""
        return f"{doc.tir('handle')}({element}{scope})"


@dataclass(frozen=True)
class ShapeType(Type):
    """A shape of a rank, -1 if it is unknown."""

    ndim: int = -1
    span: Any = field(default=None, compare=False, repr=False)

    def text(self, doc: Document) -> str:
        return f"{doc.relax('Shape')}(ndim={self.ndim})"


@dataclass(frozen=True)
class TensorType(Type):
    """A tensor of a rank, -1 if it is unknown, and a dtype, `""` or `void` if it is unknown."""

    ndim: int = -1
    dtype: str = "float32"
    span: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.dtype == "void":
            object.__setattr__(self, "dtype", "")

    def text(self, doc: Document) -> str:
        return f"{doc.relax('Tensor')}(ndim={self.ndim}, dtype={string(self.dtype or 'void')})"


class _Sequence(Type):
    """A type composed of a list of types."""


@dataclass(frozen=True)
class TupleType(_Sequence):
    """A tuple."""

    fields: Array[Type] | Sequence[Type] = ()
    span: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", Array(self.fields))

    def text(self, doc: Document) -> str:
        return f"{doc.tir('Tuple')}({', '.join(t.text(doc) for t in self.fields)})" if self.fields else "None"

    def relax_text(self, doc: Document) -> str:
        fields = ", ".join(t.relax_text(doc) for t in self.fields)
        return f"{doc.relax('Tuple')}({fields})" if self.fields else doc.relax("Tuple")


@dataclass(frozen=True)
class FuncType(_Sequence):
    """A function."""

    arg_types: Array[Type] | Sequence[Type]
    ret_type: Type
    span: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arg_types", Array(self.arg_types))

    def text(self, doc: Document) -> str:
        arguments = ", ".join(t.text(doc) for t in self.arg_types)
        return f"{doc.ir('FuncType')}([{arguments}], {self.ret_type.text(doc)})"

    def relax_text(self, doc: Document) -> str:
        arguments = parenthesized([t.relax_text(doc) for t in self.arg_types])
        return f"{doc.relax('Callable')}({arguments}, {self.ret_type.relax_text(doc)})"


def type_of_attribute(t: Attribute) -> Type:
    """Return the static type for a type of the relax dialect. Raises `DTypeError` if the type is not struct info."""
    if isinstance(t, relax.TensorType):
        return TensorType(t.ndim.data, "" if t.element is None else dtype_name(t.element))
    if isinstance(t, relax.ShapeType):
        return ShapeType(t.ndim.data)
    if isinstance(t, relax.PrimType):
        return PrimType(dtype_name(t.dtype))
    if isinstance(t, relax.ObjectType):
        return ObjectType()
    if isinstance(t, TupleAttr):
        return TupleType(tuple(map(type_of_attribute, t.types)))
    if isinstance(t, relax.CallableType):
        if isinstance(t.params, NoneAttr):
            return PackedFuncType()
        return FuncType(tuple(map(type_of_attribute, t.params)), type_of_attribute(t.ret))
    raise DTypeError(f"{t} is no struct info")
