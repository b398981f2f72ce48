"""Contents of constants: compared by their bytes, read-only, aligned."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32

from tirax.dialects.relax.data import ALIGNMENT, TensorData, TensorDataAttr


def test_equal_contents_are_equal_whoever_holds_them():
    values = np.arange(1000, dtype="float32").reshape(10, 100)
    one = TensorDataAttr.from_numpy(values, f32)
    other = TensorDataAttr(TensorData(f32, (10, 100), values.tobytes()))
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize("place", [0, 499, 999])
def test_one_other_element_makes_them_different(place):
    values = np.zeros(1000, "float32")
    one = TensorDataAttr.from_numpy(values, f32)
    values[place] = 1
    assert one != TensorDataAttr.from_numpy(values, f32)


def test_dtype_and_shape_make_them_different():
    values = np.zeros(6, "float32")
    one = TensorDataAttr.from_numpy(values, f32)
    assert one != TensorDataAttr.from_numpy(values.reshape(2, 3), f32)
    assert one != TensorDataAttr.from_numpy(values, i32)
    assert one.data != values


def test_the_memory_is_aligned_and_nobody_writes_to_it():
    given = np.ones((3, 5), "float32").T
    attr = TensorDataAttr.from_numpy(given, f32)
    given[:] = 2
    array = attr.numpy()
    assert array.tolist() == np.ones((5, 3)).tolist()
    assert array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 3
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_filled():
    attr = TensorDataAttr.filled((2, 2), i32, lambda contents: contents.fill(7))
    assert attr.numpy().tolist() == [[7, 7], [7, 7]]
    assert attr.data.shape == (2, 2)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_of_few_elements(shape):
    attr = TensorDataAttr.from_numpy(np.ones(shape), f32)
    assert attr.numpy().shape == shape and attr == TensorDataAttr.from_numpy(np.ones(shape), f32)
    assert hash(attr) == hash(TensorDataAttr.from_numpy(np.ones(shape), f32))
