"""`DataType`: a dtype name with bits and lanes."""

from __future__ import annotations

from enum import IntEnum

from ...diagnostics import DTypeError
from ...dialects.dtypes import bit_width, dtype_name, dtype_of, is_float, is_scalable, is_unsigned, lanes_of, scalar_of


class DataTypeCode(IntEnum):
    """The kinds of dtypes, by DLPack's numbers."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


class DataType(str):
    """A dtype's name: `DataType("float32x4").lanes` is 4. Raises `DTypeError` for an unknown name."""

    __slots__ = ()

    def __new__(cls, dtype: str) -> DataType:
        return str.__new__(cls, "handle" if dtype in ("", "handle") else dtype_name(dtype_of(dtype)))

    @property
    def bits(self) -> int:
        """The bits of one lane."""
        return 64 if self == "handle" else 8 if self.startswith("bool") else bit_width(scalar_of(dtype_of(self)))

    @property
    def lanes(self) -> int:
        """The number of lanes: 1 for a scalar, the multiplier for a scalable vector."""
        return 1 if self == "handle" else lanes_of(dtype_of(self))

    @property
    def type_code(self) -> DataTypeCode:
        """The kind of the dtype."""
        if self == "handle":
            return DataTypeCode.HANDLE
        if self.startswith("bfloat"):
            return DataTypeCode.BFLOAT
        dtype = dtype_of(self)
        return DataTypeCode.FLOAT if is_float(dtype) else DataTypeCode.UINT if is_unsigned(dtype) else DataTypeCode.INT

    def itemsize(self) -> int:
        """Return the size of all lanes in bytes. Raises `ScalableError` for scalable vectors."""
        if self != "handle" and is_scalable(dtype_of(self)):
            raise ScalableError("a scalable vector has no size that is known before it runs", found=self)
        return (self.bits * self.lanes + 7) // 8


class ScalableError(DTypeError, ValueError):
    """A property of fixed-length vectors that scalable vectors do not have."""
