"""Data types with TVM's names: `float32` is `f32`, `int64` is `i64`, `uint8` is `ui8`, `bool` is `i1`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from math import copysign, inf, isfinite
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    BoolAttr,
    Float4E2M1FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
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

i2, ui2 = IntegerType(2), IntegerType(2, Signedness.UNSIGNED)
i4, ui4 = IntegerType(4), IntegerType(4, Signedness.UNSIGNED)
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
    "float8_e3m4": Float8E3M4Type(),
    "float8_e4m3": Float8E4M3Type(),
    "float8_e4m3b11fnuz": Float8E4M3B11FNUZType(),
    "float8_e4m3fn": Float8E4M3FNType(),
    "float8_e4m3fnuz": Float8E4M3FNUZType(),
    "float8_e5m2": Float8E5M2Type(),
    "float8_e5m2fnuz": Float8E5M2FNUZType(),
    "float4_e2m1fn": Float4E2M1FNType(),
    "int4": i4,
    "uint4": ui4,
    "int2": i2,
    "uint2": ui2,
}
"""Name -> type, for every supported element type of tensors and buffers."""


@dataclass(frozen=True)
class NarrowFloat:
    """The encoding of a float of 8 or 4 `bits`: a sign, an exponent, and `mantissa` bits.

    `infinity` is the magnitude of infinity, above which everything is NaN; if it is None, there is no infinity and
    `nan` is the only magnitude of NaN or, if `single_nan`, its only byte: minus zero. A `finite` format has neither:
    larger values saturate, and NaN becomes `nan`.
    """

    mantissa: int
    bias: int
    infinity: int | None = None
    nan: int = 0x7F
    single_nan: bool = False
    finite: bool = False
    bits: int = 8

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def greatest(self) -> int:
        """The magnitude of the greatest finite value."""
        if self.infinity is not None:
            return self.infinity - 1
        return self.sign - 1 if self.single_nan or self.finite else self.nan - 1

    @property
    def too_great(self) -> int:
        """The magnitude that larger values are converted to."""
        if self.finite:
            return self.greatest
        return self.nan if self.infinity is None else self.infinity


NARROW: dict[Attribute, NarrowFloat | None] = {
    Float8E3M4Type(): NarrowFloat(4, 3, 0x70, 0x78),
    Float8E4M3Type(): NarrowFloat(3, 7, 0x78, 0x7C),
    Float8E4M3B11FNUZType(): NarrowFloat(3, 11, None, 0x80, True),
    Float8E4M3FNType(): NarrowFloat(3, 7),
    Float8E4M3FNUZType(): NarrowFloat(3, 8, None, 0x80, True),
    Float8E5M2Type(): NarrowFloat(2, 15, 0x7C, 0x7E),
    Float8E5M2FNUZType(): NarrowFloat(2, 16, None, 0x80, True),
    Float4E2M1FNType(): NarrowFloat(1, 1, nan=0x8, finite=True, bits=4),
    i4: None,
    ui4: None,
    i2: None,
    ui2: None,
}
"""The storage-only data types, which are converted but not computed with; None for the integers among them."""

_NAMES: dict[Attribute, str] = {t: n for n, t in DTYPES.items()}
_OTHER_NAMES = {"uint1": "bool", "int1": "bool", "int": "int32", "uint": "uint32", "float": "float32"}
_VECTOR = re.compile(r"(.+?)x(vscalex)?(\d+)$")
_NARROW_KINDS = frozenset(map(type, NARROW))
_NARROW_FLOATS = tuple(type(t) for t, form in NARROW.items() if form is not None)
_FLOATS = frozenset((Float16Type, Float32Type, Float64Type, BFloat16Type, *_NARROW_FLOATS))
"""Classes without subclasses: `isinstance` on xDSL's classes runs Python code when it is false."""


def dtype_of(name: str) -> Attribute:
    """Return the type named `name`; `float32x4` is a vector. Raises `DTypeError`, with a suggestion, for an
    unknown name.
    """
    dtype = DTYPES.get(name)
    if dtype is not None:
        return dtype
    if name in _OTHER_NAMES:
        return DTYPES[_OTHER_NAMES[name]]
    vector = _VECTOR.match(name.replace("uint1x", "boolx"))
    if vector is not None and vector[1] in DTYPES:
        scalable = None if vector[2] is None else ArrayAttr([BoolAttr.from_bool(True)])
        return VectorType(DTYPES[vector[1]], [int(vector[3])], scalable)
    raise DTypeError(f"unknown data type '{name}'", hint=suggestion(name, DTYPES) or f"known: {', '.join(DTYPES)}")


def dtype_name(dtype: Attribute) -> str:
    """Return TVM's name of a type: the inverse of `dtype_of`. Raises `DTypeError` for other types."""
    name = _NAMES.get(dtype)
    if name is not None:
        return name
    vector: Attribute = dtype
    if isinstance(dtype, VectorType):
        name = dtype_name(scalar_of(vector))
        return f"{'uint1' if name == 'bool' else name}x{'vscalex' * is_scalable(vector)}{lanes_of(vector)}"
    raise DTypeError(f"{dtype} is no data type of tirax")


def is_dtype(dtype: Attribute) -> bool:
    """Return whether `dtype` is a supported data type, or a vector of one."""
    return scalar_of(dtype) in _NAMES


def scalar_of(dtype: Attribute) -> Attribute:
    """Return the element type of a vector, `dtype` itself otherwise."""
    return dtype.element_type if type(dtype) is VectorType else dtype


def lanes_of(dtype: Attribute) -> int:
    """Return the number of lanes of a vector, 1 otherwise."""
    return dtype.get_shape()[0] if type(dtype) is VectorType else 1


def is_scalable(dtype: Attribute) -> bool:
    """Return whether `dtype` is a scalable vector, whose lanes are a multiple of `vscale`."""
    return isinstance(dtype, VectorType) and any(bool(dim) for dim in dtype.get_scalable_dims())


def is_float(dtype: Attribute) -> bool:
    """Return whether `dtype` (or a vector's element) is a floating point type."""
    return type(scalar_of(dtype)) in _FLOATS


def is_narrow(dtype: Attribute) -> bool:
    """Return whether `dtype` (or a vector's element) is a float of 8 or 4 bits or an integer of 4 or 2."""
    scalar = scalar_of(dtype)
    return type(scalar) in _NARROW_KINDS and scalar in NARROW


def float_attr(value: float, dtype: Attribute) -> FloatAttr[Any]:
    """Return a literal of a float dtype; values out of range become infinite, as in numpy."""
    try:
        return FloatAttr(value, cast(Any, dtype))
    except OverflowError:
        return FloatAttr(copysign(inf, value), cast(Any, dtype))


def float_text(value: float) -> str:
    """Return a float in MLIR syntax, which requires a point in the mantissa (1e-05 -> 1.0e-05); `inf` and `nan`
    by name.
    """
    mantissa, e, exponent = repr(value).partition("e")
    return (mantissa if "." in mantissa or not isfinite(value) else mantissa + ".0") + e + exponent


def is_unsigned(dtype: Attribute) -> bool:
    """Return whether `dtype` (or a vector's element) is an unsigned integer or bool."""
    element = scalar_of(dtype)
    return isinstance(element, IntegerType) and (
        cast("IntegerType[int, Signedness]", element).signedness.data is Signedness.UNSIGNED or element == i1
    )


def bit_width(dtype: Attribute) -> int:
    """Return the bits of one element in a register (1 for bool; in memory a bool takes a byte)."""
    if isinstance(dtype, IntegerType):
        return cast("IntegerType[int, Signedness]", dtype).width.data
    if type(dtype) in _FLOATS:
        return cast("Float32Type", dtype).bitwidth
    raise DTypeError(f"{dtype} has no width")


def byte_size(dtype: Attribute) -> int:
    """Return the bytes of one element in memory."""
    return max(1, bit_width(dtype) // 8)


def numpy_dtype(dtype: Attribute) -> np.dtype:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """Return the numpy type of `dtype` (from ml_dtypes if numpy lacks it)."""
    return _numpy_dtype(dtype)  # pyright: ignore[reportUnknownVariableType]


@cache
def _numpy_dtype(dtype: Attribute) -> np.dtype:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    import numpy as np

    if dtype == bf16 or dtype in NARROW:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, dtype_name(dtype)))
    return np.dtype(dtype_name(dtype))
