"""What a value of a StableHLO program is while it is converted, and readers of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import bit_width, is_dtype, is_float, is_unsigned, numpy_dtype
from ...dialects.stablehlo import UniformType, WordAttr
from ...dialects.sym.expr import SymExpr
from ...handles.relax.expr import Expr
from ...ir.locations import location_of

Dims = Sequence[SymExpr]


@dataclass(frozen=True)
class Pair:
    """A tensor of complex numbers: its real and its imaginary parts."""

    re: Expr
    im: Expr


@dataclass(frozen=True)
class Splat:
    """A tensor whose elements are all the same number, which is not created before it is needed."""

    number: bool | int | float
    dtype: Attribute
    dims: Dims


@dataclass(frozen=True)
class Numbers:
    """A small tensor of integers that are known, or computed from sizes: an array of `int` and `SymExpr`."""

    content: np.ndarray[Any, Any]
    dtype: Attribute


@dataclass(frozen=True)
class Quantized:
    """Stored integers, and what they stand for."""

    stored: Expr
    type: UniformType


Value = Expr | Pair | Splat | Numbers | Quantized | None
"""The conversion of a value; None for a token, which orders nothing here."""


# -- types -------------------------------------------------------------------------------------------------------------


def tensor_type(value: SSAValue | Attribute) -> TensorType[Any]:
    """Return a type as that of a tensor. Raises `UnsupportedError` for others."""
    kind = value if isinstance(value, Attribute) else value.type
    if not isinstance(kind, TensorType):
        raise UnsupportedError(f"a value of type {kind}", expected="a tensor of known rank")
    return cast("TensorType[Any]", kind)


def element_of(value: SSAValue | Attribute, at: Operation | None = None) -> Attribute:
    """Return the dtype of the elements of a tensor, or of their parts. Raises `UnsupportedError` if there is none."""
    kind: Attribute = tensor_type(value).element_type
    if isinstance(kind, UniformType):
        kind = kind.stored
    if isinstance(kind, ComplexType):
        kind = kind.element_type
    if not is_dtype(kind):
        raise UnsupportedError(f"elements of type {kind}", location=None if at is None else location_of(at))
    return kind


def is_complex(value: SSAValue | Attribute) -> bool:
    """Return whether a tensor has complex elements."""
    kind = value if isinstance(value, Attribute) else value.type
    return isinstance(kind, TensorType) and isinstance(cast("TensorType[Any]", kind).element_type, ComplexType)


def is_quantized(op: Operation) -> bool:
    """Return whether an operation has operands or results of stored integers that stand for others."""
    types = (v.type for v in (*op.operands, *op.results))
    return any(isinstance(t, TensorType) and isinstance(_element(t), UniformType) for t in types)


def _element(type: Attribute) -> Attribute:
    return cast("TensorType[Any]", type).element_type


def rank_of(value: SSAValue) -> int:
    """Return the rank of a tensor."""
    return len(tensor_type(value).get_shape())


def wrapped(number: int, dtype: Attribute) -> int:
    """Return an integer as the dtype holds it."""
    bits = bit_width(dtype)
    number &= (1 << bits) - 1
    return number - (1 << bits) if not is_unsigned(dtype) and dtype != i1 and number >> (bits - 1) else number


# -- attributes --------------------------------------------------------------------------------------------------------


def attribute(op: Operation, name: str) -> Attribute | None:
    """Return an attribute or property."""
    found = op.properties.get(name)
    return op.attributes.get(name) if found is None else found


def integers(op: Operation, name: str, otherwise: Sequence[int] = ()) -> list[int]:
    """Return the numbers of an attribute, in any of the forms that have been in use."""
    value = attribute(op, name)
    if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
        return [int(v) for v in cast(Any, value).get_values()]
    if isinstance(value, ArrayAttr):
        return [cast("IntegerAttr", v).value.data for v in cast("ArrayAttr[Attribute]", value)]
    return list(otherwise)


def integer(op: Operation, name: str, otherwise: int = 0) -> int:
    """Return the number of an attribute."""
    value = attribute(op, name)
    return value.value.data if isinstance(value, IntegerAttr) else otherwise


def truth(op: Operation, name: str) -> bool:
    """Return whether an attribute is set, or true."""
    value = attribute(op, name)
    return bool(value.value.data) if isinstance(value, IntegerAttr) else value is not None


def word(op: Operation, name: str, otherwise: str = "") -> str:
    """Return the word of an attribute."""
    value = attribute(op, name)
    if isinstance(value, WordAttr):
        return value.word.data
    return value.data if isinstance(value, StringAttr) else otherwise


def pairs(op: Operation, name: str, count: int) -> list[tuple[int, int]]:
    """Return the rows of an attribute of two columns, `count` rows of 0 if it is left out."""
    numbers = integers(op, name) or [0] * (2 * count)
    if len(numbers) == 2:  # a splat that is written once
        numbers = numbers * count
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def array_of(value: DenseIntOrFPElementsAttr) -> np.ndarray[Any, Any]:
    """Return the elements of a constant; those of complex numbers have a last dimension of two parts."""
    kind = cast("TensorType[Any]", value.type)
    element = kind.element_type
    shape = list(kind.get_shape())
    if isinstance(element, ComplexType):
        element = element.element_type
        shape.append(2)
    data = value.data.data
    if element == i1:
        return np.frombuffer(data, np.uint8).astype(bool).reshape(shape)
    if isinstance(element, IntegerType) and bit_width(element) < 8:
        numbers = np.frombuffer(data, np.uint8 if is_unsigned(element) else np.int8)
        return numbers.astype(numpy_dtype(element)).reshape(shape)
    if not is_dtype(element):
        raise UnsupportedError(f"constants of type {element}")
    return np.frombuffer(data, numpy_dtype(element)).reshape(shape)


def is_number(dtype: Attribute) -> bool:
    """Return whether a dtype is one of integers that sizes are computed in."""
    return isinstance(dtype, IntegerType) and not is_float(dtype)
