"""Reference semantics, in numpy, of operators that create, repeat, slice and index tensors.

Rows as in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.relax.layout_transform import LayoutTransform
from ...dialects.sym.expr import Const, Var
from ..index_maps import move_elements
from ..scalars import inside

Array = Any


def _hamming_window(_op: Any, size: int, periodic: Any, alpha: float, beta: float) -> Array:
    count = size if periodic else max(size - 1, 1)
    return alpha - beta * np.cos(2 * np.pi * np.arange(size) / count) if size > 1 else np.ones(size)


def _strided_slice(op: Any, x: Array, axes: Any, begin: Any, end: Any, strides: Any = None) -> Array:
    where: list[Any] = [slice(None)] * x.ndim
    for a, b, e, s in zip(axes, begin, end, strides or [1] * len(axes), strict=True):
        # an index before the start, with a negative stride, is None in Python
        last = None if s < 0 and (e < -x.shape[a] or (e < 0 and op.attr("assume_inbound"))) else e
        where[a] = slice(b, last, s)
    return x[tuple(where)]


def _gather_nd(op: Any, data: Array, indices: Array) -> Array:
    batch = op.attr("batch_dims")
    outer = np.indices(indices.shape[:-1])[:batch]
    return data[(*outer, *_inside(np.moveaxis(indices, -1, 0), data.shape[batch:]))]


def _inside(indices: Sequence[Array], extents: Sequence[int]) -> list[Array]:
    return [inside(i, n) for i, n in zip(indices, extents, strict=False)]


def _one_hot(op: Any, indices: Array, on: float, off: float) -> Array:
    axis, depth = op.attr("axis"), op.attr("depth")
    place = np.expand_dims(np.asarray(indices), axis)
    shape = [1] * place.ndim
    shape[axis] = depth
    return np.where(place == np.arange(depth).reshape(shape), on, off)


def _layout_transform(op: LayoutTransform, x: Array) -> Array:
    """Transform a layout; the shape of x binds the variables of the map. Padding defaults to zero."""
    dims = op.tensor("x").dims or ()
    sizes = {d: Const(n) for d, n in zip(dims, x.shape, strict=True) if isinstance(d, Var)}
    return move_elements(op.mapping.substitute(sizes), x, op.attr("pad_value") or 0)


def _slice_scatter(op: Any, x: Array, src: Array, start: int, end: int, step: int) -> Array:
    out = np.array(x)
    where: list[Any] = [slice(None)] * out.ndim
    where[op.attr("axis")] = slice(start, end, step)
    out[tuple(where)] = src
    return out


def _collapse_sum(shape: tuple[int, ...], data: Array) -> Array:
    wide = data if data.dtype.kind in "iub" else data.astype(np.float64)
    lead = wide.sum(axis=tuple(range(wide.ndim - len(shape))))
    axes = tuple(i for i, (have, want) in enumerate(zip(lead.shape, shape, strict=True)) if want == 1 and have != 1)
    return lead.sum(axis=axes, keepdims=True)


def _tile(op: Any, data: Array) -> Array:
    repeats = op.attr("repeats")
    return np.tile(data, repeats)


MOVING: dict[str, Callable[..., Any]] = {
    "full_like": lambda _op, x, value: np.full(np.shape(x), value),
    "arange": lambda _op, start, end, step: np.arange(start, end, step),
    "eye": lambda _op, n, m, k: np.eye(n, m, k),
    "eye_like": lambda _op, x, k: np.eye(x.shape[0], x.shape[1], k),
    "tril": lambda _op, x, k: np.tril(x, k),
    "triu": lambda _op, x, k: np.triu(x, k),
    "hamming_window": _hamming_window,
    "layout_transform": _layout_transform,
    "repeat": lambda op, data: np.repeat(data, op.attr("repeats"), op.attr("axis")),
    "tile": _tile,
    "flip": lambda op, data: np.flip(data, op.attr("axis")),
    "stack": lambda op, tensors: np.stack(tensors, op.attr("axis") or 0),
    "meshgrid": lambda op, tensors: tuple(np.meshgrid(*tensors, indexing=op.attr("indexing"))),
    "collapse_sum_like": lambda _op, data, target: _collapse_sum(np.shape(target), data),
    "collapse_sum_to": lambda _op, data, shape: _collapse_sum(shape, data),
    "strided_slice": _strided_slice,
    "gather_elements": lambda op, data, indices: np.take_along_axis(
        data, inside(indices, data.shape[op.attr("axis")]), op.attr("axis")
    ),
    "gather_nd": _gather_nd,
    "index_tensor": lambda _op, data, indices: data[tuple(_inside(indices, data.shape))],
    "one_hot": _one_hot,
    "slice_scatter": _slice_scatter,
}
"""Operators by name, without the prefix `relax.`."""
