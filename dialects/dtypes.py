"""Data types by TVM's names: `float32` is `f32`, `int64` is `i64`, `uint8` is `ui8`, `bool` is `i1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ..diagnostics import DTypeError, suggestion

if TYPE_CHECKING:
    import numpy as np

ui8, ui16, ui32, ui64 = (IntegerType(n, Signedness.UNSIGNED) for n in (8, 16, 32, 64))

DTYPES: dict[str, Attribute] = {
    "float64": f64,
    "float32": f32,
    "float16": f16,
    "bfloat16": bf16,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint8": ui8,
    "uint16": ui16,
    "uint32": ui32,
    "uint64": ui64,
    "bool": i1,
}
"""Name -> type of every data type that a tensor or buffer may hold."""

_NAMES: dict[Attribute, str] = {t: n for n, t in DTYPES.items()}
_VECTOR = re.compile(r"(.+?)x(\d+)$")
_FLOATS = (Float16Type, Float32Type, Float64Type, BFloat16Type)


def dtype_of(name: str) -> Attribute:
    """The type named `name`; `float32x4` is a vector. Raises `DTypeError`, with a suggestion, for no known name."""
    found = DTYPES.get(name)
    if found is not None:
        return found
    vector = _VECTOR.match(name)
    if vector is not None and vector[1] in DTYPES:
        return VectorType(DTYPES[vector[1]], [int(vector[2])])
    raise DTypeError(f"unknown data type '{name}'", hint=suggestion(name, DTYPES) or f"known: {', '.join(DTYPES)}")


def dtype_name(dtype: Attribute) -> str:
    """TVM's name of a type: the inverse of `dtype_of`. Raises `DTypeError` for a type that is no data type."""
    name = _NAMES.get(dtype)
    if name is not None:
        return name
    vector: Attribute = dtype
    if isinstance(dtype, VectorType):
        return f"{dtype_name(scalar_of(vector))}x{lanes_of(vector)}"
    raise DTypeError(f"{dtype} is no data type of tirax")


def scalar_of(dtype: Attribute) -> Attribute:
    """The element type of a vector, `dtype` itself otherwise."""
    return cast("VectorType[Attribute]", dtype).element_type if isinstance(dtype, VectorType) else dtype


def lanes_of(dtype: Attribute) -> int:
    """The number of lanes of a vector, 1 otherwise."""
    return cast("VectorType[Attribute]", dtype).get_shape()[0] if isinstance(dtype, VectorType) else 1


def is_float(dtype: Attribute) -> bool:
    """Whether `dtype` (or a vector's element) is a floating point type."""
    return isinstance(scalar_of(dtype), _FLOATS)


def is_unsigned(dtype: Attribute) -> bool:
    """Whether `dtype` (or a vector's element) is an unsigned integer or bool."""
    element = scalar_of(dtype)
    return isinstance(element, IntegerType) and (
        cast("IntegerType[int, Signedness]", element).signedness.data is Signedness.UNSIGNED or element == i1
    )


def bit_width(dtype: Attribute) -> int:
    """Bits of one element in a register (1 for bool; in memory a bool takes a byte)."""
    if isinstance(dtype, IntegerType):
        return cast("IntegerType[int, Signedness]", dtype).width.data
    if isinstance(dtype, _FLOATS):
        return dtype.bitwidth
    raise DTypeError(f"{dtype} has no width")


def byte_size(dtype: Attribute) -> int:
    """Bytes of one element in memory."""
    return max(1, bit_width(dtype) // 8)


def numpy_dtype(dtype: Attribute) -> np.dtype:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """The numpy type of `dtype` (bfloat16 from ml_dtypes)."""
    import numpy as np

    if dtype == bf16:
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype_name(dtype))
