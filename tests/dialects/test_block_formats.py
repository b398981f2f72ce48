"""The formats of blocks in numpy: GGUF's bytes as its own package reads and writes them, errors, rows interleaved."""

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError, ShapeError, TiraxError
from tirax.dialects.block_formats import BLOCK_FORMATS, block_format, rounded_to_bytes

GGUF = {"q4_0": "Q4_0", "q4_1": "Q4_1", "q8_0": "Q8_0", "q4_k": "Q4_K", "q6_k": "Q6_K"}
WORST = {
    "q4_0": 1 / 8,
    "q4_1": 1 / 15,
    "q8_0": 1 / 240,
    "q4_k": 1 / 12,
    "q6_k": 1 / 31,
    "int4": 1 / 15,
    "int8": 1 / 240,
}
"""The largest error of a weight, as a part of the range of the weights from -1 to 1, with what halves round."""


def weights(rows: int = 6, k: int = 512) -> np.ndarray:
    out = np.random.default_rng(0).uniform(-1, 1, (rows, k)).astype(np.float32)
    out[1], out[2, :32], out[3] = 0, 0, np.abs(out[3])
    return out


@pytest.mark.parametrize("name", GGUF)
def test_bytes_are_those_of_gguf(name: str):
    gguf = pytest.importorskip("gguf", reason="GGUF's own package is the oracle")
    fmt, kind = block_format(name), getattr(gguf.GGMLQuantizationType, GGUF[name])
    assert gguf.GGML_QUANT_SIZES[kind] == (fmt.size, fmt.block_bytes)
    packed = fmt.quantize(weights())
    if not name.endswith("_k"):  # the package only reads those
        assert np.array_equal(packed, gguf.quantize(weights(), kind))
    noise = np.random.default_rng(1).integers(0, 256, packed.shape, np.uint8)
    with np.errstate(all="ignore"):
        for rows in (packed, noise):
            assert np.array_equal(fmt.dequantize(rows), gguf.dequantize(rows, kind), equal_nan=True)


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_errors_are_bounded(name: str):
    fmt, x = block_format(name), weights()
    packed = fmt.quantize(x)
    assert packed.shape == (6, fmt.row_bytes(512)) and packed.dtype == np.uint8
    error = np.abs(fmt.dequantize(packed) - x)
    assert error.max() <= WORST[name.partition("_g")[0]] * 1.01
    assert not error[1].any()


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_rows_are_interleaved_and_separated(name: str):
    fmt = block_format(name)
    packed = fmt.quantize(np.random.default_rng(2).standard_normal((8, 512)))
    wide = fmt.interleave(packed, 4)
    assert wide.shape == (2, packed.shape[1] * 4)
    first = fmt.fields[0].width
    assert np.array_equal(wide[1, : 4 * first], packed[4:, :first].reshape(-1))
    assert np.array_equal(fmt.separate(wide, 4), packed)


def test_no_rows_and_no_numbers():
    fmt = block_format("q4_1")
    assert fmt.dequantize(fmt.quantize(np.zeros((0, 64)))).shape == (0, 64)
    assert fmt.dequantize(fmt.quantize(np.zeros((3, 0)))).shape == (3, 0)


def test_activations_are_rounded_to_bytes():
    x = np.array([[0.0] * 32 + [127.0, 0.5, -0.5, 1.49] + [-3.0] * 28 + [np.inf] + [1.0] * 31], np.float32)
    q, scale = rounded_to_bytes(x, 32)
    assert not q[0, 0].any() and scale[0, 0] == 0
    assert scale[0, 1] == 1 and q[0, 1, :5].tolist() == [127, 1, -1, 1, -3]
    assert np.isnan(scale[0, 2])


def test_what_does_not_fit_is_reported():
    fmt = block_format("q8_0")
    with pytest.raises(NameLookupError, match="unknown block format 'q8_1'"):
        block_format("q8_1")
    with pytest.raises(ShapeError, match="a row of q8_0 is whole blocks"):
        fmt.quantize(np.zeros((1, 33)))
    with pytest.raises(ShapeError, match="a row of q8_0 is whole blocks"):
        fmt.dequantize(np.zeros((1, 33), np.uint8))
    with pytest.raises(ShapeError, match="interleaved by whole groups"):
        fmt.interleave(np.zeros((3, 34), np.uint8), 2)
    with pytest.raises(TiraxError, match="has to be finite"):
        fmt.quantize(np.full((1, 32), np.nan))
