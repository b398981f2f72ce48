"""The names of dtypes, with their bits and lanes."""

import pytest

from tirax.diagnostics import DTypeError
from tirax.dialects.dtypes import dtype_name, dtype_of
from tirax.tvm_api.handles.data_type import DataType, DataTypeCode


@pytest.mark.parametrize(
    ("name", "bits", "lanes", "code", "size"),
    [
        ("float32", 32, 1, DataTypeCode.FLOAT, 4),
        ("float32x4", 32, 4, DataTypeCode.FLOAT, 16),
        ("float8_e5m2x4", 8, 4, DataTypeCode.FLOAT, 4),
        ("bfloat16", 16, 1, DataTypeCode.BFLOAT, 2),
        ("uint8", 8, 1, DataTypeCode.UINT, 1),
        ("int4", 4, 1, DataTypeCode.INT, 1),
        ("bool", 8, 1, DataTypeCode.UINT, 1),
        ("handle", 64, 1, DataTypeCode.HANDLE, 8),
    ],
)
def test_what_a_name_says(name, bits, lanes, code, size):
    dtype = DataType(name)
    assert dtype == name and isinstance(dtype, str)
    assert (dtype.bits, dtype.lanes, dtype.type_code, dtype.itemsize()) == (bits, lanes, code, size)


def test_scalable_vectors_have_no_size():
    dtype = DataType("int32xvscalex4")
    assert dtype.lanes == 4 and dtype_name(dtype_of(dtype)) == dtype
    with pytest.raises(ValueError, match="no size that is known"):
        dtype.itemsize()


def test_unknown_names():
    with pytest.raises(DTypeError, match="unknown data type"):
        DataType("float33")
