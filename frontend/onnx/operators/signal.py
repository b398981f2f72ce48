"""Signal processing: Fourier transforms, windows, and mel weight matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.sym.expr import SymExpr, as_expr
from ....handles.relax.expr import PrimValue
from ..node import Node
from ..single import in_single
from ..table import converter
from ..tensors import dtype_name
from ..values import Output, Value, as_value, op

Array = np.ndarray[Any, Any]


@converter("DFT", since=20)
@in_single
def dft(node: Node, x: Value, length: Value | None = None, axis: Value | None = None) -> Output:
    place = -2 if axis is None else node.number(axis)
    return _dft(node, x, length, place % x.rank)


@converter("DFT")
@in_single
def dft_17(node: Node, x: Value, length: Value | None = None) -> Output:
    return _dft(node, x, length, node.attr("axis", 1) % x.rank)


def _dft(node: Node, x: Value, length: Value | None, axis: int) -> Output:
    """Return the transform along `axis` of a tensor whose last dimension is 1 (real) or 2 (real and imaginary)."""
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    if x.dims[-1].constant not in (1, 2):
        raise node.unsupported("a last dimension of symbolic size")
    count = None if length is None else node.number(length)
    if inverse and onesided:
        return _real_inverse(node, _resized(node, _pairs(node, x), axis, _bins(count)), count, axis)
    data = _resized(node, x, axis, count)
    size = data.dims[axis].constant
    if onesided:
        return op("fft.rfft", _real_part(node, data), axis=axis)
    if data.dims[-1].constant == 1 and size is not None and not inverse:
        return _mirrored(node, _bound(node, op("fft.rfft", _real_part(node, data), axis=axis)), axis, size)
    return op("fft.fft", _pairs(node, data), axis=axis, inverse=inverse)


def _mirrored(node: Node, x: Value, axis: int, size: int) -> Output:
    """Return all frequencies of a real signal from the first half: the others are conjugates."""
    places = Value.constant(np.arange((size - 1) // 2, 0, -1), "int64")
    other = op("multiply", op("take", x, places, axis=axis), Value.constant([1, -1], x.dtype))
    return op("concat", [x, other], axis=axis)


def _bound(node: Node, x: Output) -> Value:
    return as_value(node.emit(as_value(x).expr))


def _bins(count: Any) -> Any:
    """Return the number of frequencies of a real signal."""
    return None if count is None else count // 2 + 1


def _resized(node: Node, x: Value, axis: int, count: Any) -> Value:
    """Return x cut, or completed by zeros, to a number of elements along `axis`; as it is for None."""
    extent = x.dims[axis].constant
    if count is None or extent == count:
        return x
    if extent is None:
        raise node.unsupported("another length than that of the input, which is symbolic")
    lacking = int(count) - extent
    if lacking < 0:
        return _bound(node, op("strided_slice", x, axes=[axis], begin=[0], end=[int(count)]))
    return _bound(node, op("nn.pad", x, pad_width=[n for i in range(x.rank) for n in (0, lacking * (i == axis))]))


def _pairs(node: Node, x: Value) -> Value:
    """Return complex numbers as pairs, for real ones with zeros."""
    if x.dims[-1].constant == 2:
        return x
    return _bound(node, op("concat", [x, op("multiply", x, 0.0)], axis=-1))


def _real_part(node: Node, x: Value) -> Value:
    return _bound(node, op("take", x, Value.constant(0, "int64"), axis=x.rank - 1))


def _real_inverse(node: Node, x: Value, count: Any, axis: int) -> Output:
    """Return the real signal whose one-sided spectrum is `x`."""
    size = (x.dims[axis] - 1) * 2 if count is None else as_expr(count)
    return op("expand_dims", op("fft.irfft", x, size, axis=axis), axis=[-1])


@converter("STFT")
@in_single
def stft(node: Node, signal: Value, step: Value, window: Value | None = None, length: Value | None = None) -> Output:
    """Return the Fourier transforms of frames: (batch, frames, frequencies, 2)."""
    hop, size = int(node.number(step)), _frame_length(node, window, length)
    signal = signal if signal.rank == 3 else _bound(node, op("expand_dims", signal, axis=[2]))
    frames = _bound(node, op("take", signal, frame_places(node, signal.dims[1], hop, size), axis=1))
    if window is not None:
        frames = _bound(node, op("multiply", frames, op("reshape", window, (size, 1))))
    if bool(node.attr("onesided", 1)) and signal.dims[2].constant != 2:
        return op("fft.rfft", _real_part(node, frames), axis=2)
    spectrum = op("fft.fft", _pairs(node, frames), axis=2)
    if not node.attr("onesided", 1):
        return spectrum
    return op("strided_slice", spectrum, axes=[2], begin=[0], end=[size // 2 + 1])


def frame_places(node: Node, count: SymExpr, hop: int, size: int) -> Value:
    """Return the positions in the signal of the elements of frames: (frames, size)."""
    starts = op(
        "arange", PrimValue(as_expr(0)), PrimValue((count - size) // hop + 1), PrimValue(as_expr(1)), dtype="int64"
    )
    first = op("expand_dims", op("multiply", starts, hop), axis=[1])
    return _bound(node, op("add", first, Value.constant(np.arange(size), "int64")))


def _frame_length(node: Node, window: Value | None, length: Value | None) -> int:
    if length is not None:
        return int(node.number(length))
    if window is None:
        raise node.error("neither a window nor the length of frames is given")
    return window.sizes[0]


@converter("MelWeightMatrix")
def mel_weight_matrix(node: Node, bins: Value, length: Value, rate: Value, low: Value, high: Value) -> Value:
    """Return the triangular weights between neighbouring mel frequencies: (spectrum bins, mel bins)."""
    count, size, sample_rate, first, last = (node.number(v) for v in (bins, length, rate, low, high))
    ends = [2595 * np.log10(1 + f / 700) for f in (first, last)]
    mels = np.arange(count + 2) * ((ends[1] - ends[0]) / (count + 2)) + ends[0]
    places = ((size + 1) * (700 * (10 ** (mels / 2595) - 1)) // sample_rate).astype(int)
    weights = np.zeros((size // 2 + 1, count))
    for i, (start, middle, end) in enumerate(zip(places, places[1:], places[2:], strict=False)):
        _triangle(weights[:, i], start, middle, end)
    return Value.constant(weights, dtype_name(node.attr("output_datatype"), "the result"))


def _triangle(column: Array, start: int, middle: int, end: int) -> None:
    """Fill a column with a triangle that rises from `start` to `middle` and falls to `end`, exclusive."""
    if middle > start:
        column[start : middle + 1] = (np.arange(start, middle + 1) - start) / (middle - start)
    else:
        column[middle] = 1
    if end > middle:
        column[middle:end] = (end - np.arange(middle, end)) / (end - middle)


_WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
"""The coefficients of 1, -cos(x) and cos(2 x)."""


@converter(*_WINDOWS)
def window(node: Node, size: Value) -> Value:
    """Return a window of a length known at import; it ends one element before 2 pi if `periodic`, else at 2 pi."""
    count = int(node.number(size))
    steps = count if node.attr("periodic", 1) else count - 1
    x = 2 * np.pi * np.arange(count) / max(steps, 1)
    one, first, second = _WINDOWS[node.op_type]
    dtype = dtype_name(node.attr("output_datatype"), "the result")
    return Value.constant(one - first * np.cos(x) + second * np.cos(2 * x), dtype)
