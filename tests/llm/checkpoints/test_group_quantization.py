"""Weights of GPTQ and AWQ: their words written here number by number, read, and compared with what they mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_language_models import TINY, huggingface_name, random_weights, write_tiny_folder

from tirax.diagnostics import DTypeError, ShapeError, UnsupportedError
from tirax.dialects.block_formats import BLOCK_FORMATS
from tirax.frontend.importing.errors import ModelError
from tirax.llm.checkpoints import Rope, load_language_model
from tirax.llm.checkpoints.group_quantization import from_awq, from_gptq
from tirax.llm.checkpoints.weights import Weight
from tirax.llm.weights import formats_of, prepared
from tirax.runtime.safetensors import read_weights, write_weights
from tirax.target import Target

FOLDER = replace(TINY, rope=Rope(10_000.0, 8))
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 16, "zero_point": True, "version": "gemm"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 16, "desc_act": False, "sym": False}


def words(numbers: np.ndarray, bits: int, order: range | tuple[int, ...] | None = None) -> np.ndarray:
    """Each 32 / bits numbers of a row as one word, the first one of `order` in its lowest bits."""
    count = 32 // bits
    out = np.zeros((len(numbers), numbers.shape[1] // count), np.uint32)
    for row, column in np.ndindex(out.shape):
        for place, number in enumerate(order or range(count)):
            out[row, column] |= np.uint32(int(numbers[row, column * count + number]) << (bits * place))
    return out.view(np.int32)


def numbers(inputs: int, outputs: int, size: int, bits: int = 4, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Random (q, zeros, scales) with groups of `size` inputs."""
    rng, groups = np.random.default_rng(seed), inputs // size
    q = rng.integers(0, 1 << bits, (inputs, outputs))
    zeros = rng.integers(0, 1 << bits, (groups, outputs))
    return q, zeros, rng.uniform(0.01, 0.1, (groups, outputs)).astype("float16")


def meaning(q: np.ndarray, zeros: np.ndarray, scales: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """The matrix (outputs, inputs), a number for each."""
    of_input = np.arange(len(q)) * len(zeros) // len(q) if groups is None else groups
    return np.stack([(q[i] - zeros[g]) * scales[g].astype("float32") for i, g in enumerate(of_input)], 1)


def gptq(q: np.ndarray, zeros: np.ndarray, scales: np.ndarray, bits: int = 4, less: int = 1) -> dict[str, np.ndarray]:
    return {
        "qweight": np.ascontiguousarray(words(q.T, bits).T),
        "qzeros": words((zeros - less) % (1 << bits), bits),
        "scales": scales,
    }


def awq(q: np.ndarray, zeros: np.ndarray, scales: np.ndarray) -> dict[str, np.ndarray]:
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    return {"qweight": words(q, 4, order), "qzeros": words(zeros, 4, order), "scales": scales}


def values(weight: Weight) -> np.ndarray:
    return BLOCK_FORMATS[weight.format].dequantize(weight.data) if weight.format != "f32" else weight.data


@pytest.mark.parametrize(
    "size, format", [(128, "int4_g128"), (32, "int4_g32"), (96, "int4_g32"), (24, "f32"), (384, "int4_g128")]
)
def test_both_mean_what_they_say(size: int, format: str) -> None:
    parts = numbers(384, 16, size)
    for weight in (from_awq(**awq(*parts)), from_gptq(**gptq(*parts))):
        assert weight.format == format and weight.shape == (16, 384)
        np.testing.assert_array_equal(values(weight), meaning(*parts))


@pytest.mark.parametrize("bits, less", [(8, 1), (8, 0), (4, 0)])
def test_gptq_of_eight_bits_and_of_the_second_format(bits: int, less: int) -> None:
    parts = numbers(64, 8, 32, bits)
    weight = from_gptq(**gptq(*parts, bits, less), bits=bits, less_one=bool(less))
    assert weight.format == f"int{bits}_g32"
    np.testing.assert_array_equal(values(weight), meaning(*parts))


def test_groups_that_are_no_neighbours_become_numbers() -> None:
    parts = numbers(64, 8, 32)
    order = np.random.default_rng(1).permutation(np.arange(64) // 32).astype("int32")
    weight = from_gptq(**gptq(*parts), g_idx=order)
    assert weight.format == "f32"
    np.testing.assert_array_equal(weight.data, meaning(*parts, order))
    assert from_gptq(**gptq(*parts), g_idx=np.arange(64) // 32).format == "int4_g32"


def test_what_is_none_of_one_matrix_is_refused() -> None:
    parts = gptq(*numbers(64, 8, 32))
    with pytest.raises(ShapeError, match="none of this matrix"):
        from_gptq(**(parts | {"scales": parts["scales"][:, :4]}))
    with pytest.raises(ShapeError, match="g_idx is no group"):
        from_gptq(**parts, g_idx=np.full(64, 2))
    with pytest.raises(DTypeError, match="qweight has to be words"):
        from_gptq(**(parts | {"qweight": parts["qweight"].astype("int64")}))
    with pytest.raises(ShapeError, match="qzeros has to be a matrix"):
        from_awq(**(parts | {"qzeros": parts["qzeros"][0]}))
    with pytest.raises(DTypeError, match="g_idx has to be integers"):
        from_gptq(**parts, g_idx=np.full(64, 0.5))
    with pytest.raises(UnsupportedError, match="weights of 3 bits"):
        from_gptq(**parts, bits=3)


def write_quantized(folder: Path, config: dict[str, Any], extra: dict[str, np.ndarray] | None = None) -> dict[str, Any]:
    """A folder with every matrix of a layer quantized; the numbers that they mean, by the one names."""
    write_tiny_folder(folder, FOLDER, quantization_config=config)
    tensors = dict(read_weights(folder / "model.safetensors"))
    expected: dict[str, np.ndarray] = {}
    for seed, (name, matrix) in enumerate(random_weights(FOLDER).items()):
        if matrix.ndim != 2 or not name.startswith("layers"):
            continue
        parts = numbers(matrix.shape[1], matrix.shape[0], 16, seed=seed)
        expected[name] = meaning(*parts)
        stem = huggingface_name(name).removesuffix(".weight")
        del tensors[f"{stem}.weight"]
        packed = awq(*parts) if config["quant_method"] == "awq" else gptq(*parts)
        tensors |= {f"{stem}.{end}": array for end, array in packed.items()}
        if config["quant_method"] == "gptq":  # as its tools write them
            tensors[f"{stem}.bias"] = np.zeros(matrix.shape[0], "float16")
            tensors[f"{stem}.g_idx"] = np.arange(matrix.shape[1], dtype="int32") // 16
    write_weights(folder / "model.safetensors", tensors | (extra or {}))
    return expected


@pytest.mark.parametrize("config", [AWQ, GPTQ], ids=["awq", "gptq"])
def test_a_folder(tmp_path: Path, config: dict[str, Any]) -> None:
    expected = write_quantized(tmp_path, config)
    model = load_language_model(tmp_path)
    assert model.config == FOLDER and len(expected) == 14
    for name, matrix in expected.items():
        assert model.weights[name].format == "int4_g16"
        np.testing.assert_array_equal(values(model.weights[name]), matrix)
    assert model.weights["embedding.weight"].format == "f32"


def test_a_decoder_takes_them_as_they_are(tmp_path: Path) -> None:
    write_quantized(tmp_path, AWQ)
    model = load_language_model(tmp_path)
    formats = formats_of(model.weights, "int8", Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512"))
    up = model.weights["layers.0.mlp.up.weight"].data
    array = prepared(model.config, model.weights, formats)["layers.0.mlp.up.weight"]
    assert array.shape == (64 // 16, 16 * up.shape[1])
    np.testing.assert_array_equal(BLOCK_FORMATS["int4_g16"].separate(array, 16), up)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"quant_method": "bitsandbytes"}, "of another method"),
        ({"version": "gemv"}, "'version' is 'gemv', not 'gemm'"),
        ({"bits": 3}, "'bits' is 3, not 4"),
        ({"bits": True}, "'bits' is True"),
        ({"quant_method": "gptq", "checkpoint_format": "marlin"}, "'checkpoint_format' is 'marlin'"),
    ],
)
def test_other_schemes_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        load_language_model(write_tiny_folder(tmp_path, FOLDER, quantization_config=AWQ | changes))
    assert message in str(error.value)


def test_all_damaged_matrices_are_reported(tmp_path: Path) -> None:
    stems = [f"model.layers.{i}.self_attn.q_proj" for i in (0, 1)]
    damaged = {f"{stems[0]}.qzeros": np.zeros((1, 4), "int32"), f"{stems[1]}.scales": np.zeros((2, 5), "float16")}
    write_quantized(tmp_path, AWQ, damaged)
    with pytest.raises(ModelError, match="damaged") as error:
        load_language_model(tmp_path)
    assert all(f"'{stem}.weight'" in str(error.value) for stem in stems)
