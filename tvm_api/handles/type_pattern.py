"""`tvm.relax.dpl.TypePattern`: a pattern of values with a static type, which is one of their struct info."""

from __future__ import annotations

from typing import Any

from ...diagnostics import DTypeError
from ...handles import struct_info as si
from ...handles import types
from ...transforms.dpl.patterns import DFPattern, StructInfoPattern


def struct_info_of(ttype: types.Type) -> si.StructInfo:
    """Return the struct info that says as much as a type. Raises `DTypeError` for types of functions."""
    if isinstance(ttype, types.TensorType):
        return si.TensorStructInfo(None, ttype.dtype or None, ndim=ttype.ndim)
    if isinstance(ttype, types.ShapeType):
        return si.ShapeStructInfo(ndim=ttype.ndim)
    if isinstance(ttype, types.PrimType):
        return si.PrimStructInfo(ttype.dtype)
    if isinstance(ttype, types.TupleType):
        return si.TupleStructInfo([struct_info_of(field) for field in ttype.fields])
    if isinstance(ttype, types.ObjectType):
        return si.ObjectStructInfo()
    raise DTypeError("a value cannot be matched by this type", expected="a tensor, shape, scalar or tuple", found=ttype)


class _OfStructInfo(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, StructInfoPattern)


class TypePattern(metaclass=_OfStructInfo):
    """A match of `pattern` that has this type."""

    def __new__(cls, pattern: DFPattern, ttype: types.Type) -> Any:
        return StructInfoPattern(pattern, struct_info_of(ttype))


def has_type(self: DFPattern, ttype: types.Type) -> Any:
    """Require a value of this type."""
    return TypePattern(self, ttype)


__all__ = ["TypePattern", "has_type", "struct_info_of"]
