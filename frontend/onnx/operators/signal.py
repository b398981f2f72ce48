"""Signal processing: Fourier transforms as matrix products, windows, and mel weight matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....handles.relax.expr import Expr
from ..node import Node
from ..single import in_single
from ..table import converter
from ..tensors import dtype_name
from ..values import Value, as_value, op

Array = np.ndarray[Any, Any]


def _waves(length: int, used: int, inverse: bool, onesided: bool) -> tuple[Array, Array]:
    """Return cos and sin of the angles (frequency, position), for `used` positions of a transform of `length`."""
    count = length // 2 + 1 if onesided and not inverse else length
    phases = np.outer(np.arange(count), np.arange(used)) % length
    angles = 2 * np.pi * phases / length
    return np.cos(angles), np.sin(angles) * (1 if inverse else -1)


@converter("DFT", since=20)
@in_single
def dft(node: Node, x: Value, length: Value | None = None, axis: Value | None = None) -> Expr:
    place = -2 if axis is None else node.number(axis)
    return _dft(node, x, length, place % x.rank)


@converter("DFT")
@in_single
def dft_17(node: Node, x: Value, length: Value | None = None) -> Expr:
    return _dft(node, x, length, node.attr("axis", 1) % x.rank)


def _dft(node: Node, x: Value, length: Value | None, axis: int) -> Expr:
    """Return the transform along `axis` of a tensor whose last dimension is 1 (real) or 2 (real and imaginary)."""
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    extent, parts = x.dims[axis].constant, x.dims[-1].constant
    if extent is None or parts is None:
        raise node.unsupported("a dimension of symbolic size")
    if inverse and onesided:
        return _real_inverse(node, x, length, axis)
    size = extent if length is None else int(node.number(length))
    cos, sin = _waves(size, min(extent, size), inverse, onesided)
    data = x if extent <= size else op("strided_slice", x, axes=[axis], begin=[0], end=[size])
    return _transformed(node, as_value(node.emit(as_value(data).expr)), axis, cos, sin, 1 / size if inverse else 1.0)


def _transformed(node: Node, x: Value, axis: int, cos: Array, sin: Array, scale: float) -> Expr:
    """Return the products of the signal along `axis` with both matrices, as real and imaginary parts."""
    real, imaginary = _parts(node, x)
    to_last = [*(i for i in range(x.rank - 1) if i != axis), axis]
    back = [to_last.index(i) for i in range(x.rank - 1)]

    def product(part: Expr, matrix: Array) -> Expr:
        moved = op("permute_dims", part, axes=to_last)
        y = op("matmul", moved, Value.constant(np.ascontiguousarray((matrix * scale).T), x.dtype))
        return op("permute_dims", y, axes=back)

    first, second = product(real, cos), product(real, sin)
    if imaginary is not None:
        first = op("subtract", first, product(imaginary, sin))
        second = op("add", second, product(imaginary, cos))
    return op("concat", [op("expand_dims", t, axis=[-1]) for t in (first, second)], axis=-1)


def _parts(node: Node, x: Value) -> tuple[Expr, Expr | None]:
    """Return the real and the imaginary part; the latter is None for real input."""
    last = x.rank - 1
    count = x.dims[last].constant or 1
    parts = [node.emit(op("take", x, Value.constant(i, "int64"), axis=last)) for i in range(count)]
    return parts[0], parts[1] if len(parts) > 1 else None


def _real_inverse(node: Node, x: Value, length: Value | None, axis: int) -> Expr:
    """Return the real signal whose one-sided spectrum is `x`."""
    bins = x.dims[axis].constant or 0
    size = 2 * (bins - 1) if length is None else int(node.number(length))
    used = min(bins, size // 2 + 1)
    data = x if used == bins else op("strided_slice", x, axes=[axis], begin=[0], end=[used])
    weight = np.full(used, 2.0)
    weight[0] = 1.0
    if size % 2 == 0 and used == size // 2 + 1:
        weight[-1] = 1.0
    angles = 2 * np.pi * (np.outer(np.arange(size), np.arange(used)) % size) / size
    both = _transformed(
        node, as_value(node.emit(as_value(data).expr)), axis, np.cos(angles) * weight, np.sin(angles) * weight, 1 / size
    )
    return op("strided_slice", both, axes=[x.rank - 1], begin=[0], end=[1])


@converter("STFT")
@in_single
def stft(node: Node, signal: Value, step: Value, window: Value | None = None, length: Value | None = None) -> Expr:
    """Return the Fourier transforms of frames, as one convolution: (batch, frames, frequencies, 2)."""
    hop = int(node.number(step))
    size = _frame_length(node, window, length)
    cos, sin = _waves(size, size, False, bool(node.attr("onesided", 1)))
    bins, dtype = len(cos), signal.dtype
    signal = signal if signal.rank == 3 else as_value(node.emit(op("expand_dims", signal, axis=[2])))
    channels = signal.dims[2].constant or 1
    # an imaginary part adds -sin to the real result and cos to the imaginary one
    kernel = np.stack([np.stack([cos, sin]), np.stack([-sin, cos])][:channels], axis=2)
    weight: Any = Value.constant(kernel.reshape(2 * bins, channels, size), dtype)
    if window is not None:
        weight = op("multiply", weight, op("reshape", window, (1, 1, size)))
    data = op("permute_dims", signal, axes=[0, 2, 1])
    y = as_value(node.emit(op("nn.conv1d", data, weight, strides=[hop])))
    spectrum = op("reshape", y, (y.dims[0], 2, bins, y.dims[2]))
    return op("permute_dims", spectrum, axes=[0, 3, 2, 1])


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
