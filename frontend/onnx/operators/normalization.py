"""Batch, instance, group, layer, RMS and local response normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.sym.expr import product
from ....handles.relax.expr import Expr, TupleGetItem
from ..node import Node
from ..single import in_single
from ..table import MICROSOFT, converter
from ..values import Value, as_value, op
from .elementwise import converted
from .windows import by_channel


def _along(vector: Value | Expr, rank: int) -> Expr:
    """Reshape a vector with an element for each channel to broadcast to data of this rank."""
    return by_channel(as_value(vector), max(rank - 2, 0)) if rank > 1 else as_value(vector).expr


@converter("BatchNormalization")
def batch_norm(node: Node, x: Value, scale: Value, shift: Value, mean: Value, variance: Value) -> Any:
    """Batch normalization; training mode is implied by additional outputs before version 14, and an attribute since."""
    if node.attr("training_mode", 0) or (node.version < 14 and node.wants(1)):
        return _batch_norm_in_training(node, x, scale, shift, mean, variance)
    return _batch_norm(node, x, scale, shift, mean, variance)


@in_single
def _batch_norm(node: Node, x: Value, scale: Value, shift: Value, mean: Value, variance: Value) -> Expr:
    vectors = [converted(v, x.dtype) for v in (scale, shift, mean, variance)]
    attrs = {"axis": 1, "epsilon": node.attr("epsilon"), "training": False}
    return TupleGetItem(node.emit(op("nn.batch_norm", x, *vectors, **attrs)), 0)


def _batch_norm_in_training(node: Node, x: Value, scale: Value, shift: Value, mean: Value, variance: Value) -> Any:
    axes, dtype = [i for i in range(x.rank) if i != 1], mean.dtype
    data = x if x.dtype == "float64" else as_value(node.emit(as_value(converted(x, "float32")).expr))
    own = [node.emit(op(name, data, axis=axes)) for name in ("mean", "variance")]
    y = _by_statistics(node, x, scale, shift, *map(as_value, own))
    keep = node.attr("momentum")
    running = [
        op("add", op("multiply", converted(old, data.dtype), keep), op("multiply", new, 1.0 - keep))
        for old, new in zip((mean, variance), own, strict=True)
    ]
    running = [converted(as_value(r), dtype) for r in running]
    return y, *running, *([None, None] if node.version < 14 else [])


@in_single
def _by_statistics(node: Node, x: Value, scale: Value, shift: Value, mean: Value, variance: Value) -> Expr:
    centred = op("subtract", x, _along(mean, x.rank))
    width = op("sqrt", op("add", _along(variance, x.rank), node.attr("epsilon")))
    y = op("divide", op("multiply", centred, _along(converted(scale, x.dtype), x.rank)), width)
    return op("add", y, _along(converted(shift, x.dtype), x.rank))


@converter("InstanceNormalization")
def instance_norm(node: Node, x: Value, scale: Value, shift: Value) -> Expr:
    axes = list(range(2, x.rank))
    return op("nn.instance_norm", x, scale, shift, channel_axis=1, axes=axes, epsilon=node.attr("epsilon"))


@converter("GroupNormalization")
def group_norm(node: Node, x: Value, scale: Value, shift: Value) -> Expr:
    """Group normalization; before version 21 scale and shift are per group."""
    groups = node.attr("num_groups")
    if node.version < 21:
        scale, shift = (_of_channels(v, x, groups) for v in (scale, shift))
    axes = list(range(2, x.rank))
    attrs = {"num_groups": groups, "channel_axis": 1, "axes": axes, "epsilon": node.attr("epsilon")}
    return op("nn.group_norm", x, scale, shift, **attrs)


def _of_channels(vector: Value, x: Value, groups: int) -> Value:
    """Expand a vector with an element for each group to one for each channel."""
    each = x.dims[1] // groups
    wide = op("broadcast_to", op("reshape", vector, (groups, 1)), (groups, each))
    return as_value(op("reshape", wide, (x.dims[1],)))


@converter("LayerNormalization")
def layer_norm(node: Node, x: Value, scale: Value, shift: Value | None = None) -> Any:
    axes = list(range(node.attr("axis", -1) % x.rank, x.rank))
    return normalized_layer(node, x, scale, shift, axes)


def normalized_layer(node: Node, x: Value, scale: Value, shift: Value | None, axes: Sequence[int]) -> Any:
    """Return the layer normalization, with mean and inverse standard deviation if they are used."""
    epsilon = node.attr("epsilon", 1e-5)
    if not (node.wants(1) or node.wants(2)) and _fits(x, axes, scale, shift):
        attrs = {"axes": list(axes), "epsilon": epsilon}
        if shift is None:
            zeros = op("zeros", [x.dims[a] for a in axes], dtype=x.dtype)
            return op("nn.layer_norm", x, scale, zeros, center=False, **attrs), None, None
        return op("nn.layer_norm", x, scale, shift, **attrs), None, None
    wide = "float64" if x.dtype == "float64" else "float32"
    data = as_value(converted(x, wide))
    mean = node.emit(op("mean", data, axis=list(axes), keepdims=True))
    centred = node.emit(op("subtract", data, mean))
    variance = op("mean", op("multiply", centred, centred), axis=list(axes), keepdims=True)
    inverse = node.emit(op("rsqrt", op("add", variance, epsilon)))
    y = op("multiply", converted(as_value(op("multiply", centred, inverse)), x.dtype), scale)
    return y if shift is None else op("add", y, shift), mean, inverse


def _fits(x: Value, axes: Sequence[int], *parameters: Value | None) -> bool:
    """Return whether each parameter has exactly the extents of `axes`, without broadcasting."""
    extents = [x.dims[a] for a in axes]
    return all(p is None or (list(p.dims) == extents and p.dtype == x.dtype) for p in parameters)


@converter("RMSNormalization")
def rms_norm(node: Node, x: Value, scale: Value) -> Expr:
    return normalized_by_rms(node, x, scale, list(range(node.attr("axis", -1) % x.rank, x.rank)))


def normalized_by_rms(node: Node, x: Value, scale: Value, axes: Sequence[int]) -> Expr:
    """Return x / sqrt(mean(x * x) + epsilon) * scale."""
    epsilon = node.attr("epsilon", 1e-5)
    if _fits(x, axes, scale):
        return op("nn.rms_norm", x, scale, axes=list(axes), epsilon=epsilon)
    data = as_value(node.emit(as_value(converted(x, "float64" if x.dtype == "float64" else "float32")).expr))
    mean = op("mean", op("multiply", data, data), axis=list(axes), keepdims=True)
    y = op("multiply", data, op("rsqrt", op("add", mean, epsilon)))
    return op("multiply", converted(as_value(y), x.dtype), scale)


@converter("SimplifiedLayerNormalization")
@converter("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_norm(node: Node, x: Value, scale: Value) -> Any:
    return normalized_by_rms(node, x, scale, list(range(node.attr("axis", -1) % x.rank, x.rank))), None


@converter("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(
    node: Node, x: Value, skip: Value, scale: Value, shift: Value | None = None, bias: Value | None = None
) -> Any:
    """Return the layer normalization of a sum; the sum is the fourth output."""
    total = node.emit(_sum(x, skip, bias))
    y, mean, inverse = normalized_layer(node, as_value(total), scale, shift, [x.rank - 1])
    return y, mean, inverse, total


@converter("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_norm(node: Node, x: Value, skip: Value, scale: Value, bias: Value | None = None) -> Any:
    total = node.emit(_sum(x, skip, bias))
    return normalized_by_rms(node, as_value(total), scale, [x.rank - 1]), None, None, total


def _sum(x: Value, skip: Value, bias: Value | None) -> Expr:
    total = op("add", x, skip)
    return total if bias is None else op("add", total, bias)


@converter("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(
    node: Node,
    words: Value,
    segments: Value | None,
    word_table: Value,
    position_table: Value,
    segment_table: Value | None = None,
    scale: Value | None = None,
    shift: Value | None = None,
    mask: Value | None = None,
    positions: Value | None = None,
) -> Any:
    """Return the layer normalization of a sum of three embeddings, the number of unmasked words, and the sum."""
    if scale is None:
        raise node.error("the scale is missing")
    length = words.dims[1]
    total = op("take", word_table, words, axis=0)
    if positions is None:
        places = op("arange", 0, length, 1, dtype="int64")
        total = op("add", total, op("expand_dims", op("take", position_table, places, axis=0), axis=[0]))
    else:
        total = op("add", total, op("take", position_table, positions, axis=0))
    if segments is not None and segment_table is not None:
        total = op("add", total, op("take", segment_table, segments, axis=0))
    total = node.emit(total)
    count = op("zeros", (words.dims[0],), dtype="int32")
    if mask is not None:
        count = op("sum", op("astype", mask, dtype="int32"), axis=[1])
    if shift is None:
        raise node.error("the shift is missing")
    y = op("nn.layer_norm", total, scale, shift, axes=[2], epsilon=node.attr("epsilon", 1e-12))
    return y, count, total


@converter("LRN")
@in_single
def local_response_norm(node: Node, x: Value) -> Expr:
    """Return x / (bias + alpha / size * sum of the squares of `size` neighbouring channels) ** beta."""
    size = node.attr("size")
    flat = op("reshape", op("multiply", x, x), (x.dims[0], 1, x.dims[1], product(x.dims[2:])))
    before, after = (size - 1) // 2, size // 2
    mean = op(
        "nn.avg_pool2d", flat, pool_size=[size, 1], padding=[before, 0, after, 0], layout="NCHW", count_include_pad=True
    )
    scale = op("add", op("multiply", op("reshape", mean, x.dims), node.attr("alpha")), node.attr("bias"))
    return op("divide", x, op("power", scale, node.attr("beta")))


@converter("LpNormalization")
@in_single
def lp_norm(node: Node, x: Value) -> Expr:
    """Return x divided by its norm along an axis, or 0 where the norm is 0."""
    axis = [node.attr("axis")]
    if node.attr("p") == 1:
        norm = op("sum", op("abs", x), axis=axis, keepdims=True)
    else:
        norm = op("sqrt", op("sum", op("multiply", x, x), axis=axis, keepdims=True))
    norm = node.emit(norm)
    empty = node.emit(op("equal", norm, 0.0))
    return op("where", empty, op("multiply", x, 0.0), op("divide", x, op("where", empty, 1.0, norm)))


@converter("MeanVarianceNormalization")
@in_single
def mean_variance_norm(node: Node, x: Value) -> Expr:
    """Return (x - mean) / (standard deviation + 1e-9)."""
    axes = node.attr("axes", [0, 2, 3])
    centred = op("subtract", x, op("mean", x, axis=axes, keepdims=True))
    return op("divide", centred, op("add", op("std", x, axis=axes, keepdims=True), 1e-9))
