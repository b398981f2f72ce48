"""Reference semantics, in numpy, of windows, normalization and losses. Rows as in `operators`.

Windows are views of the padded data, computed one by one: slow, but easy to verify.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.sym.data_layout import DataLayout
from ..index_maps import move_elements
from ..scalars import inside, summable, wide

Array = Any


def _arranged(x: Array, layout: str, letters: str) -> Array:
    """Reorder the dimensions of `x` from a layout to `letters`."""
    if len(layout) > len(letters):
        return move_elements(DataLayout.parse(layout).map_to(DataLayout.parse(letters)), x)
    return x.transpose([layout.index(c) for c in letters])


def _letters(op: Any) -> str:
    return {1: "W", 2: "HW", 3: "DHW"}[op.RANK]


def _correlate(x: Array, w: Array, out: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Array:
    """Return the correlation of x (n, c, …) and w (o, c, …) at each of the positions `out`."""
    total = np.zeros((x.shape[0], w.shape[0], *out), np.result_type(x, w))
    for k in itertools.product(*(range(e) for e in w.shape[2:])):
        where = tuple(
            slice(i * d, i * d + (n - 1) * s + 1 if n > 0 else i * d, s)
            for i, d, n, s in zip(k, dilation, out, strides, strict=True)
        )
        total = total + np.einsum("nc...,oc->no...", x[(..., *where)], w[(..., *k)])
    return total


def _conv(op: Any, data: Array, weight: Array) -> Array:
    letters, rank = _letters(op), op.RANK
    x = summable(_arranged(data, op.attr("data_layout"), "NC" + letters))
    w = summable(_arranged(weight, op.attr("kernel_layout"), "OI" + letters))
    p, groups = op.attr("padding"), op.attr("groups")
    x = np.pad(x, [(0, 0), (0, 0), *((p[i], p[i + rank]) for i in range(rank))])
    rows = zip(x.shape[2:], w.shape[2:], op.attr("strides"), op.attr("dilation"), strict=True)
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in rows]
    c, o = w.shape[1], w.shape[0] // groups
    parts = [
        _correlate(x[:, g * c : (g + 1) * c], w[g * o : (g + 1) * o], out, op.attr("strides"), op.attr("dilation"))
        for g in range(groups)
    ]
    return _laid_out(np.concatenate(parts, axis=1), op.attr("out_layout") or op.attr("data_layout"), "NC" + letters)


def _laid_out(x: Array, layout: str, letters: str) -> Array:
    """Reorder the dimensions of `x` from `letters` to a layout."""
    if len(layout) > len(letters):
        return move_elements(DataLayout.parse(letters).map_to(DataLayout.parse(layout)), x)
    return x.transpose([letters.index(c) for c in layout])


def _conv_transpose(op: Any, data: Array, weight: Array) -> Array:
    letters, rank, groups = _letters(op), op.RANK, op.attr("groups")
    x = wide(_arranged(data, op.attr("data_layout"), "NC" + letters))
    w = wide(_arranged(weight, op.attr("kernel_layout"), "OI" + letters)).swapaxes(0, 1)
    strides, dilation, p = op.attr("strides"), op.attr("dilation"), op.attr("padding")
    rows = zip(x.shape[2:], w.shape[2:], strides, dilation, strict=True)
    full = [max((n - 1) * s + (k - 1) * d + 1, 0) for n, k, s, d in rows]
    extra = op.attr("output_padding")
    room = [n + e for n, e in zip(full, extra, strict=True)]
    out = np.zeros((x.shape[0], w.shape[1] * groups, *room), np.result_type(x, w))
    c, o = x.shape[1] // groups, w.shape[1]
    for g, k in itertools.product(range(groups), itertools.product(*(range(e) for e in w.shape[2:]))):
        where = tuple(
            slice(i * d, i * d + (n - 1) * s + 1, s) if n else slice(0)
            for i, d, n, s in zip(k, dilation, x.shape[2:], strides, strict=True)
        )
        part = np.einsum("nc...,co->no...", x[:, g * c : (g + 1) * c], w[(slice(g * c, (g + 1) * c), slice(None), *k)])
        out[(slice(None), slice(g * o, (g + 1) * o), *where)] += part
    cut = tuple(slice(p[i], room[i] - p[i + rank]) for i in range(rank))
    return _laid_out(out[(..., *cut)], op.attr("out_layout") or op.attr("data_layout"), "NC" + letters)


def _pool(op: Any, data: Array) -> Array:
    letters = _letters(op)
    largest = op.name.endswith(f"max_pool{op.RANK}d")
    x = wide(_arranged(data, op.attr("layout"), "NC" + letters))
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    padding = op.widths()
    padded = np.pad(x, [(0, 0), (0, 0), *padding], constant_values=lowest if largest else 0)
    there = np.pad(np.ones(x.shape[2:], x.dtype), padding)
    if op.attr("count_include_pad"):
        widths, rank = op.attr("padding"), op.RANK
        there[tuple(slice(0, n + widths[i] + widths[i + rank]) for i, n in enumerate(x.shape[2:]))] = 1
    size, strides, dilation = op.attr("pool_size"), op.attr("strides"), op.attr("dilation")
    rows = zip(padded.shape[2:], size, strides, dilation, strict=True)
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in rows]
    if op.attr("ceil_mode"):
        begins = [n + before for n, (before, _) in zip(x.shape[2:], padding, strict=True)]
        out = [min(n, -(-room // s)) for n, room, s in zip(out, begins, strides, strict=True)]
    windows: list[Any] = []
    for at in itertools.product(*(range(n) for n in out)):
        where = tuple(
            slice(i * s, i * s + (k - 1) * d + 1, d) for i, s, k, d in zip(at, strides, size, dilation, strict=True)
        )
        window = padded[(..., *where)].reshape(*x.shape[:2], math.prod(size))
        count = max(int(there[where].sum(dtype=np.int64)), 1)
        if largest:
            windows.append(window.max(axis=-1))
        else:
            mean = window.sum(axis=-1) / count
            windows.append(mean if x.dtype.kind == "f" else np.trunc(mean).astype(x.dtype))
    return _laid_out(_stacked(windows, x, out), op.attr("layout"), "NC" + letters)


def _stacked(windows: list[Any], x: Array, out: Sequence[int]) -> Array:
    """Return the results of windows, (n, c) each, as an array (n, c, …)."""
    shape = (*x.shape[:2], *out)
    return np.stack(windows, axis=-1).reshape(shape) if windows else np.empty(shape, x.dtype)


def _adaptive_avg_pool(op: Any, data: Array) -> Array:
    letters = _letters(op)
    x = wide(_arranged(data, op.attr("layout"), "NC" + letters))
    out = op.attr("output_size") or x.shape[2:]
    windows: list[Any] = []
    for at in itertools.product(*(range(n) for n in out)):
        rows = zip(at, x.shape[2:], out, strict=True)
        where = tuple(slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in rows)
        windows.append(x[(..., *where)].reshape(*x.shape[:2], -1).mean(axis=-1))
    return _laid_out(_stacked(windows, x, out), op.attr("layout"), "NC" + letters)


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(op: Any, data: Array) -> Array:
    mode: Any = _PAD_MODES[op.attr("pad_mode")]
    options: dict[str, Any] = {"constant_values": op.attr("pad_value")} if mode == "constant" else {}
    needed = {"constant": lambda _: 0, "reflect": lambda w: w + 1, "edge": lambda _: 1, "wrap": lambda w: w}[mode]
    if any(w and n < needed(w) for n, w in zip(data.shape, map(max, op.widths()), strict=True)):
        raise ValueError("a dimension is too short for what is put around it")
    return np.pad(data, op.widths(), mode=mode, **options)


def _pixel_shuffle(op: Any, data: Array) -> Array:
    r = op.attr("upscale_factor")
    *outer, c, h, w = data.shape
    x = data.reshape(*outer, c // (r * r), r, r, h, w)
    x = np.moveaxis(x, (-4, -3), (-3, -1))
    return x.reshape(*outer, c // (r * r), h * r, w * r)


def _by_channel(v: Array, axis: int, rank: int) -> Array:
    return wide(v).reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def _affine(op: Any, x: Array, gamma: Array, beta: Array, axis: int) -> Array:
    x = x * _by_channel(gamma, axis, x.ndim) if op.attr("scale") else x
    return x + _by_channel(beta, axis, x.ndim) if op.attr("center") else x


def _batch_norm(op: Any, data: Array, gamma: Array, beta: Array, mean: Array, var: Array) -> tuple[Array, ...]:
    x, axis = wide(data), op.attr("axis") % data.ndim
    old_mean, old_var = wide(mean), wide(var)
    used_mean, used_var = old_mean, old_var
    if op.attr("training"):
        axes = tuple(i for i in range(x.ndim) if i != axis)
        used_mean, used_var = x.mean(axis=axes), x.var(axis=axes)
        m = op.attr("momentum")
        old_mean, old_var = (1 - m) * old_mean + m * used_mean, (1 - m) * old_var + m * used_var
    shift, spread = (_by_channel(v, axis, x.ndim) for v in (used_mean, used_var))
    out = (x - shift) / np.sqrt(spread + op.attr("epsilon"))
    return _affine(op, out, gamma, beta, axis), old_mean, old_var


def _standardized(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)


def _axes(op: Any, rank: int) -> tuple[int, ...]:
    return tuple(a % rank for a in op.attr("axes"))


def _instance_norm(op: Any, data: Array, gamma: Array, beta: Array) -> Array:
    out = _standardized(wide(data), _axes(op, data.ndim), op.attr("epsilon"))
    return _affine(op, out, gamma, beta, op.attr("channel_axis"))


def _group_norm(op: Any, data: Array, gamma: Array, beta: Array) -> Array:
    channel, groups = op.attr("channel_axis") % data.ndim, op.attr("num_groups")
    shape = [*data.shape[:channel], groups, data.shape[channel] // groups, *data.shape[channel + 1 :]]
    axes = (channel + 1, *(a + (a > channel) for a in _axes(op, data.ndim)))
    out = _standardized(wide(data).reshape(shape), axes, op.attr("epsilon")).reshape(data.shape)
    return _affine(op, out, gamma, beta, channel)


def _rms_norm(op: Any, data: Array, weight: Array) -> Array:
    x, axes = wide(data), _axes(op, data.ndim)
    out = x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + op.attr("epsilon"))
    order = np.argsort(axes)
    return out * wide(weight).transpose(order).reshape([n if i in axes else 1 for i, n in enumerate(x.shape)])


def _prelu(op: Any, data: Array, alpha: Array) -> Array:
    x = wide(data)
    return np.where(x > 0, x, x * _by_channel(alpha, op.attr("axis"), x.ndim))


def _cross_entropy(_op: Any, predictions: Array, labels: Array) -> Array:
    total = -(wide(predictions) * wide(labels)).sum()
    return total / predictions.shape[0] if predictions.ndim > 1 else total


def _nll_loss(op: Any, predictions: Array, targets: Array, weights: Array | None = None) -> Array:
    p = wide(predictions)
    axis = min(1, p.ndim - 1)
    kept = targets != op.attr("ignore_index")
    inside(targets[kept], p.shape[axis])
    at = np.where(kept, targets, 0)
    w = np.where(kept, 1.0 if weights is None else wide(weights)[at], 0.0)
    losses = -np.squeeze(np.take_along_axis(p, np.expand_dims(at, axis), axis), axis) * w
    if op.attr("reduction") == "none":
        return losses
    return losses.sum() if op.attr("reduction") == "sum" else losses.sum() / w.sum()


NETWORK: dict[str, Callable[..., Any]] = {
    **{f"nn.conv{n}d": _conv for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": _conv_transpose for n in (1, 2, 3)},
    **{f"nn.{kind}_pool{n}d": _pool for n in (1, 2, 3) for kind in ("max", "avg")},
    **{f"nn.adaptive_avg_pool{n}d": _adaptive_avg_pool for n in (1, 2, 3)},
    "nn.pad": _pad,
    "nn.pixel_shuffle": _pixel_shuffle,
    "nn.batch_norm": _batch_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.rms_norm": _rms_norm,
    "nn.prelu": _prelu,
    "nn.cross_entropy_with_logits": _cross_entropy,
    "nn.nll_loss": _nll_loss,
}
"""Operators by name, without the prefix `relax.`."""
