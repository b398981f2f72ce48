import importlib
import json
import struct

import ml_dtypes
import numpy as np
import pytest

from tirax.diagnostics import DTypeError
from tirax.runtime.safetensors import WeightsError, read_weights, write_weights


def arrays():
    rng = np.random.default_rng(0)
    return {
        "a": rng.standard_normal((3, 5)).astype("float32"),
        "b.weight": rng.integers(-9, 9, (7,)).astype("int8"),
        "c": rng.standard_normal((2, 2)).astype(ml_dtypes.bfloat16),
        "empty": np.zeros((0, 4), "int64"),
        "scalar": np.float64(2.5).reshape(()),
        "flags": np.array([True, False, True]),
        "turned": rng.standard_normal((4, 6)).T,
    }


def test_arrays_come_back(tmp_path):
    path = tmp_path / "w.safetensors"
    write_weights(path, arrays())
    read = read_weights(path)
    assert read.keys() == arrays().keys()
    for key, array in arrays().items():
        assert read[key].dtype == array.dtype
        np.testing.assert_array_equal(read[key], array)
        assert not read[key].flags.writeable


def test_the_package_of_that_name_reads_the_same(tmp_path, safetensors):
    numpy_reader = importlib.import_module("safetensors.numpy")
    path = tmp_path / "w.safetensors"
    write_weights(path, arrays())
    for key, array in numpy_reader.load_file(path).items():
        np.testing.assert_array_equal(array.astype(arrays()[key].dtype), arrays()[key])
    other = tmp_path / "other.safetensors"
    plain = {k: np.ascontiguousarray(v) for k, v in arrays().items()}
    numpy_reader.save_file(plain, other, metadata={"format": "pt"})
    for key, array in read_weights(other).items():
        np.testing.assert_array_equal(array, arrays()[key])


def test_other_dtypes_are_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "w.safetensors"
    with pytest.raises(DTypeError, match="'x' cannot be stored"):
        write_weights(path, {"x": np.zeros(3, "complex64")})
    assert not path.exists()


def written(tmp_path, header, data=b"\0" * 16, size=None):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    path = tmp_path / "bad.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + data)
    return path


def row(dtype="F32", shape=(4,), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "header, message",
    [
        (b"{", "its header is not JSON"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "its header is not JSON"),
        ({"x": 3}, "must have dtype"),
        ({"x": {"dtype": "F32"}}, "must have dtype"),
        ({"x": row(dtype="F99")}, "unknown dtype"),
        ({"x": row(shape=(5,))}, "do not fill"),
        ({"x": row(shape=(-4,))}, "do not fill"),
        ({"x": row(shape=("4",))}, "do not fill"),
        ({"x": row(offsets=(0, 32), shape=(8,))}, "do not fill"),
        ({"x": row(offsets=(16, 0))}, "do not fill"),
        ({"x": row(), "y": row()}, "overlap"),
        ({"x": row("I8", (8,), (0, 8)), "y": row("I8", (4,), (12, 16))}, "4 bytes that belong to nobody"),
        ({"x": row("F32", (1,), (0, 4)), "y": row("F32", (1,), (0, 4)), "z": row("F32", (1,), (8, 12))}, "overlap"),
        ({"x": row("F32", (1,), (0, 4))}, "at its end"),
    ],
)
def test_damaged_files_are_refused(tmp_path, header, message):
    with pytest.raises(WeightsError, match=message):
        read_weights(written(tmp_path, header))


def test_files_that_are_cut_off_are_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    write_weights(path, arrays())
    data = path.read_bytes()
    for size in (0, 5, 8, 40, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(WeightsError):
            read_weights(path)
    with pytest.raises(WeightsError, match="cut off"):
        read_weights(written(tmp_path, {}, size=2**60))
