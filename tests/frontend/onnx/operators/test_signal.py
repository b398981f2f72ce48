"""Fourier transforms of every kind, beside numpy: lengths, axes, real and complex, cut and completed, frames."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from graphs import model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

KINDS = list(product((1, 2), (0, 1), (0, 1)))
"""Parts of a number (real, complex), inverse, onesided."""


def pairs(z):
    return np.stack([z.real, z.imag], axis=-1)


def expected_of(x, length, axis, inverse, onesided):
    """What numpy gives; a one-sided transform of complex numbers is not defined but for its inverse."""
    z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        return np.fft.irfft(z, length, axis=axis)[..., None]
    if onesided:
        return pairs(np.fft.rfft(x[..., 0], length, axis=axis))
    return pairs((np.fft.ifft if inverse else np.fft.fft)(z, length, axis=axis))


def run(model, *args):
    return interpret(from_onnx(model), "main", list(args))


@pytest.mark.parametrize(("parts", "inverse", "onesided"), KINDS)
@pytest.mark.parametrize("opset", [17, 20])
def test_transforms(parts, inverse, onesided, opset):
    rng = np.random.default_rng(parts)
    for axis, length, symbolic in product((1, 2), (None, 4, 5, 7, 9), (False, True)):
        if onesided and not inverse and parts == 2:
            continue
        x = rng.standard_normal((2, 6, 7, parts))
        inputs, weights, attributes = ["x"], {}, {"inverse": inverse, "onesided": onesided}
        if length is not None:
            inputs, weights = ["x", "n"], {"n": np.int64(length)}
        if opset == 17:
            attributes["axis"] = axis
        else:
            inputs, weights = [*inputs, *[""] * (2 - len(inputs)), "axis"], {**weights, "axis": np.int64(axis)}
        node = helper.make_node("DFT", inputs, ["y"], **attributes)
        sizes = ["b" if symbolic else 2, 6, 7, parts]
        model = model_of([node], {"x": (helper.np_dtype_to_tensor_dtype(x.dtype), sizes)}, ["y"], weights, opset)
        np.testing.assert_allclose(run(model, x), expected_of(x, length, axis, inverse, onesided), atol=1e-12)


@pytest.mark.parametrize("opset", [17, 20])
def test_the_symbolic_length_of_a_signal(opset):
    x = np.random.default_rng(0).standard_normal((2, 9, 1)).astype("float32")
    for inverse, onesided in ((0, 0), (0, 1), (1, 0)):
        node = helper.make_node("DFT", ["x"], ["y"], inverse=inverse, onesided=onesided)
        model = model_of([node], {"x": ["b", "n", 1]}, ["y"], opset=opset)
        np.testing.assert_allclose(run(model, x), expected_of(x, None, 1, inverse, onesided), atol=1e-5)


@pytest.mark.parametrize(("parts", "onesided", "windowed"), list(product((0, 1, 2), (0, 1), (False, True))))
def test_frames(parts, onesided, windowed):
    """A signal of rank 2 is real."""
    rng = np.random.default_rng(1)
    for step, size, count in product((1, 3), (4, 7), (16, "n")):
        x = rng.standard_normal((2, 16, parts) if parts else (2, 16))
        window = rng.standard_normal(size)
        weights = {"step": np.int64(step), "size": np.int64(size), **({"window": window} if windowed else {})}
        inputs = ["x", "step", "window" if windowed else "", "size"]
        node = helper.make_node("STFT", inputs, ["y"], onesided=onesided)
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        model = model_of([node], {"x": (kind, ["b", count, *x.shape[2:]])}, ["y"], weights)
        z = x if parts == 0 else x[..., 0] if parts == 1 else x[..., 0] + 1j * x[..., 1]
        frames = np.stack([z[:, i : i + size] for i in range(0, 16 - size + 1, step)], axis=1)
        expected = np.fft.fft(frames * (window if windowed else 1))
        expected = expected[..., : size // 2 + 1] if onesided else expected
        np.testing.assert_allclose(run(model, x), pairs(expected), atol=1e-12)
