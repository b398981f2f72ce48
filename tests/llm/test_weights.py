"""Weights that no kernel computes with are all named before anything is computed."""

import mmap
import sys
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from tiny_language_models import TINY

from tirax.diagnostics import UnsupportedError
from tirax.llm.checkpoints import Weight
from tirax.llm.nn.decoder import Formats
from tirax.llm.weights import formats_of, prepared
from tirax.target import Target


def test_all_weights_of_other_formats_are_named():
    weights = {f"layers.{i}.mlp.up.weight": Weight((2, 32), "q5_0", np.zeros((2, 22), "uint8")) for i in range(25)}
    weights["layers.25.mlp.up.weight"] = Weight((2, 32), "q4_0", np.zeros((2, 18), "uint8"))
    with pytest.raises(UnsupportedError, match="weights of other formats") as error:
        prepared(TINY, weights, Formats())
    assert error.value.notes[0] == "'layers.0.mlp.up.weight' is stored as q5_0"
    assert len(error.value.notes) == 21 and error.value.notes[-1] == "and 5 more"


@pytest.mark.parametrize("tied", [False, True])
def test_matrices_of_halves_stay_halves_in_panels(tied):
    half = np.arange(35 * 32, dtype="float16").reshape(35, 32)
    weights = {
        "output.weight": Weight((35, 32), "f16", half),
        "embedding.weight": Weight((35, 32), "bf16", half.astype(ml_dtypes.bfloat16)),
        "norm.weight": Weight((32,), "f16", half[0]),
    }
    config = replace(TINY, tied_embeddings=tied)
    formats = formats_of(weights, "float32", Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"))
    assert formats.panel == 16
    ready = prepared(config, weights, formats)
    assert {name: str(data.dtype) for name, data in ready.items()} == {
        "output.weight": "float16", "embedding.weight": "bfloat16", "norm.weight": "float32",
    }  # fmt: skip
    in_panels = {"output.weight"} | ({"embedding.weight"} if tied else set())
    for name, data in ready.items():
        numbers = weights[name].data.astype("float32")
        if name in in_panels:
            assert data.shape == (3, 32, 16)
            rows = data.astype("float32").swapaxes(1, 2).reshape(48, 32)
            np.testing.assert_array_equal(rows[:35], numbers)
            assert not rows[35:].any()
        else:
            np.testing.assert_array_equal(data.astype("float32"), numbers)
    assert {str(data.dtype) for data in prepared(TINY, weights, Formats()).values()} == {"float32"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux tells what is resident")
def test_what_is_read_of_a_mapped_file_is_released_and_can_be_read_again(tmp_path):
    numbers = np.arange(mmap.PAGESIZE * 64, dtype=np.float32)
    (tmp_path / "weights").write_bytes(numbers.tobytes())
    with open(tmp_path / "weights", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    weight = Weight(numbers.shape, "f32", np.frombuffer(memoryview(mapped), np.uint8).view(np.float32))
    np.testing.assert_array_equal(weight.data, numbers)
    before = resident(mapped)
    weight.release()
    assert resident(mapped) < before
    np.testing.assert_array_equal(weight.data, numbers)
    Weight((2,), "f32", np.zeros(2, np.float32)).release()  # nothing is mapped


def resident(mapped) -> int:
    """How many bytes of a mapping are in the memory of this process."""
    address = np.frombuffer(mapped, np.uint8).ctypes.data
    with open("/proc/self/smaps") as lines:
        inside = False
        for line in lines:
            if "-" in line.split(" ")[0] and not line.startswith(("Shared", "Private")):
                begin, end = (int(part, 16) for part in line.split(" ")[0].split("-"))
                inside = begin <= address < end
            elif inside and line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
    raise LookupError(address)
