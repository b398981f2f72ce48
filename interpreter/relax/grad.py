"""Reference semantics, in numpy, of the operators for gradients. Rows as in `operators`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..scalars import inside, wide

Array = Any


def _nll_loss_backward(op: Any, grad: Array, predictions: Array, targets: Array, weights: Array | None = None) -> Array:
    p, g = wide(predictions), wide(grad)
    axis = min(1, p.ndim - 1)
    kept = targets != op.attr("ignore_index")
    inside(targets[kept], p.shape[axis])
    at = np.where(kept, targets, 0)
    w = np.where(kept, 1.0 if weights is None else wide(weights)[at], 0.0)
    part = -g * w / (w.sum() if op.attr("reduction") == "mean" else 1.0)
    out = np.zeros_like(p)
    np.put_along_axis(out, np.expand_dims(at, axis), np.expand_dims(part, axis), axis)
    return out


def _take_backward(op: Any, grad: Array, x: Array, indices: Array) -> Array:
    axis = (op.attr("axis") or 0) % x.ndim
    out = np.zeros(x.shape, np.result_type(wide(grad)))
    rank = np.ndim(indices)
    slices = np.moveaxis(wide(grad), range(axis, axis + rank), range(rank))
    np.add.at(np.moveaxis(out, axis, 0), inside(np.asarray(indices), x.shape[axis]), slices)
    return out


def _windows(op: Any, out: Any) -> Any:
    """Yield the position of each window, with the slices of the padded data that it covers."""
    rows = list(zip(op.attr("pool_size"), op.attr("strides"), op.attr("dilation"), strict=True))
    for at in itertools.product(*(range(n) for n in out)):
        yield at, tuple(slice(i * s, i * s + (k - 1) * d + 1, d) for i, (k, s, d) in zip(at, rows, strict=True))


def _pool_backward(op: Any, grad: Array, data: Array) -> Array:
    places, widths = op.places(), op.widths()
    x, g = wide(data).transpose(places), wide(grad).transpose(places)
    pad = [(0, 0), (0, 0), *widths]
    padded = np.pad(x, pad, constant_values=-np.inf)
    there = inside = np.pad(np.ones(x.shape[2:]), widths)
    if op.attr("count_include_pad"):
        padding, rank = op.attr("padding"), op.RANK
        there = inside.copy()
        there[tuple(slice(0, n + padding[i] + padding[i + rank]) for i, n in enumerate(x.shape[2:]))] = 1
    total = np.zeros(padded.shape)
    for at, where in _windows(op, g.shape[2:]):
        window, part = padded[(..., *where)], g[(..., *at)][(..., *([None] * op.RANK))]
        if op.KIND == "max":
            flat = window.reshape(*x.shape[:2], -1)
            best = (flat == flat.max(axis=-1, keepdims=True)) | np.isnan(flat)
            first = np.arange(flat.shape[-1]) == (best & (inside[where].reshape(-1) == 1)).argmax(axis=-1)[..., None]
            total[(..., *where)] += first.reshape(window.shape) * part
        else:
            total[(..., *where)] += part / max(there[where].sum(), 1)
    inner = tuple(slice(b, b + n) for (b, _), n in zip(widths, x.shape[2:], strict=True))
    return total[(..., *inner)].transpose(np.argsort(places))


GRAD: dict[str, Callable[..., Any]] = {
    **{f"grad.{name}": lambda _op, x: x for name in ("no_grad", "start_checkpoint", "end_checkpoint")},
    **{f"grad.{kind}_pool{n}d_backward": _pool_backward for n in (1, 2, 3) for kind in ("max", "avg")},
    "grad.nll_loss_backward": _nll_loss_backward,
    "grad.take_backward": _take_backward,
}
"""Operators by name, without the prefix `relax.`."""
