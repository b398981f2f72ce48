"""Parameters in TVM's binary format: what comes back, what TVM writes, and bytes that are damaged."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tirax.tvm_api as tvm
from tirax.runtime.errors import DTypeError
from tirax.runtime.param_dict import (
    _NAMES,
    ParametersError,
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)

OF_TVM = bytes.fromhex(
    "b79c04054f8de5f70000000000000000020000000000000001000000000000006101000000000000006202000000000000003fa1b496f0405edd"
    "00000000000000000100000000000000010000000220010003000000000000000c00000000000000000000000000803f000000403fa1b496f040"
    "5edd000000000000000001000000000000000200000000080100020000000000000000000000000000000000000000000000"
)
"""{"a": [0, 1, 2] in float32, "b": ones((2, 0)) in int8}, as TVM 0.27 writes it."""


def test_what_tvm_writes():
    arrays = {"a": np.arange(3, dtype="float32"), "b": np.ones((2, 0), "int8")}
    assert bytes(save_param_dict(arrays)) == OF_TVM
    loaded = load_param_dict(OF_TVM)
    assert {n: (a.dtype, a.shape) for n, a in loaded.items()} == {n: (a.dtype, a.shape) for n, a in arrays.items()}
    np.testing.assert_array_equal(loaded["a"], arrays["a"])


@pytest.mark.parametrize("dtype", _NAMES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_every_type_comes_back(dtype, shape, tmp_path):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    value = np.random.default_rng(0).integers(0, 2, shape).astype(kind)
    path = tmp_path / "x.params"
    tvm.runtime.save_param_dict_to_file({"w": value, "größe": value}, path)
    loaded = load_param_dict_from_file(path)
    assert list(loaded) == ["w", "größe"]
    assert loaded["w"].dtype == kind and loaded["w"].shape == shape
    np.testing.assert_array_equal(np.asarray(loaded["w"]).astype("float64"), value.astype("float64"))
    assert loaded["w"].flags.writeable or not loaded["w"].size


def test_slices_and_arrays_of_the_runtime():
    value = tvm.nd.array(np.arange(12, dtype="int32").reshape(3, 4))
    loaded = tvm.runtime.load_param_dict(tvm.runtime.save_param_dict({"a": value[:, ::2], "b": value}))
    np.testing.assert_array_equal(loaded["a"], np.arange(12).reshape(3, 4)[:, ::2])


def test_nothing():
    assert load_param_dict(save_param_dict({})) == {}


@pytest.mark.parametrize("size", range(0, len(OF_TVM), 7))
def test_bytes_that_are_cut_off(size):
    with pytest.raises(ParametersError):
        load_param_dict(OF_TVM[:size])


@given(st.integers(0, len(OF_TVM) - 1), st.integers(0, 255))
def test_bytes_that_were_changed_are_read_or_refused(place, value):
    changed = bytearray(OF_TVM)
    changed[place] = value
    try:
        loaded = load_param_dict(changed)
    except ParametersError:
        return
    assert len(loaded) == 2


def test_extents_that_numpy_cannot_count():
    changed = bytearray(save_param_dict({"a": np.ones((1, 1, 0), "int8")}))
    place = changed.rindex((1).to_bytes(8, "little") * 2)
    changed[place : place + 16] = (1 << 62).to_bytes(8, "little") * 2
    with pytest.raises(ParametersError, match="extents are too large"):
        load_param_dict(changed)


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(DTypeError, match="cannot be saved in this type"):
        save_param_dict_to_file({"a": np.zeros(2, ml_dtypes.float8_e4m3fn)}, tmp_path / "x")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ParametersError, match="bytes are left over"):
        load_param_dict(OF_TVM + b"x")
    with pytest.raises(ParametersError, match="these are no parameters"):
        load_param_dict(b"\0" * 40)
