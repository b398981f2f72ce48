"""`tvm.nd` with TVM's parameters."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.runtime.errors import DeviceError

NUMBERS = np.arange(6, dtype="float32").reshape(2, 3)


def test_arrays():
    copy = tvm.nd.array(arr=NUMBERS, device=tvm.cpu(), mem_scope="global")
    view = tvm.nd.numpyasarray(NUMBERS)
    assert tvm.nd.empty((2,), "int8", mem_scope=None).shape == (2,) and view.shape == (2, 3)
    np.testing.assert_array_equal(copy.copyto(tvm.cpu(), mem_scope="global").numpy(), NUMBERS)
    np.testing.assert_array_equal(tvm.nd.empty((2, 3)).copyfrom(source_array=NUMBERS).numpy(), NUMBERS)


@pytest.mark.parametrize("make", [lambda: tvm.nd.array(NUMBERS, mem_scope="texture"),
                                  lambda: tvm.nd.array(NUMBERS).copyto(tvm.cpu(), "texture")])  # fmt: skip
def test_a_cpu_has_one_memory(make):
    with pytest.raises(DeviceError, match="a CPU has one memory"):
        make()
