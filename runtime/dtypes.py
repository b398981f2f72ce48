"""The supported dtypes: names as TVM writes them, and their numpy dtypes (`ml_dtypes` for those that numpy lacks)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .errors import DTypeError, unknown_name

_NUMPY_NAMES = (
    ("bool", "float16", "float32", "float64")
    + ("int8", "int16", "int32", "int64")
    + ("uint8", "uint16", "uint32", "uint64")
)
_ML_NAMES = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
    "int4",
    "uint4",
    "int2",
    "uint2",
)

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in _NUMPY_NAMES} | {
    name: np.dtype(getattr(ml_dtypes, name)) for name in _ML_NAMES if hasattr(ml_dtypes, name)
}
"""Canonical name -> the one numpy dtype object that native code compares with."""

_NAME_OF: dict[np.dtype[Any], str] = {dtype: name for name, dtype in DTYPES.items()}

_ALIASES = {"e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2", "bool_": "bool", "uint1": "bool"}


def to_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the canonical numpy dtype for a name (`"float32"`), a numpy dtype or a scalar type (`np.float32`).

    Raises `DTypeError`, or `NameLookupError` for an unknown name.
    """
    if isinstance(dtype, str):
        named = DTYPES.get(_ALIASES.get(dtype, dtype))
        if named is None:
            raise unknown_name("dtype", dtype, DTYPES)
        return named
    try:
        return DTYPES[np.dtype(dtype).newbyteorder("=").name]
    except (TypeError, KeyError):
        raise DTypeError(f"unsupported dtype {dtype!r}", expected=f"one of {', '.join(DTYPES)}") from None


def dtype_name(dtype: np.dtype[Any]) -> str | None:
    """Return the canonical name of a native-order numpy dtype, or None if it is not supported or byte-swapped."""
    return _NAME_OF.get(dtype)


def describe_dtype(dtype: np.dtype[Any]) -> str:
    """Return the dtype for a message: its name, and whether it is byte-swapped."""
    return dtype.name if dtype.isnative else f"{dtype.name} (byte-swapped)"
