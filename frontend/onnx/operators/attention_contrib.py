"""Attention operators of ONNX Runtime."""

from __future__ import annotations

from typing import Any

from ....dialects.sym.expr import SymExpr
from ....dialects.sym.operators import maximum
from ....handles.relax.expr import Expr, PrimValue
from ....topi.nn import cached
from ..node import Node
from ..table import MICROSOFT, converter
from ..values import Value, as_value, op
from .attention import Mask, join_heads, not_after, positions_of, rotated, rotated_by, scaled_attention, split_heads


def _key_padding(node: Node, mask: Value, k: Value, fill: float) -> Mask:
    """Return a key mask, from 0 and 1 of shape (batch, keys) or (batch, length, keys), or the number of keys per
    sequence.
    """
    batch, keys = k.dims[0], k.dims[2]
    if mask.rank == 1 and mask.dims[0] == batch:
        end = op("reshape", op("astype", mask, dtype="int64"), (batch, 1, 1, 1))
        return Mask(allowed=node.emit(op("less", positions_of(keys, (1, 1, 1, -1)), end)))
    if mask.rank not in (2, 3):
        raise node.unsupported(f"a mask of shape {[str(d) for d in mask.dims]}")
    there = op("not_equal", mask, 0)
    shape = (batch, 1, 1, mask.dims[1]) if mask.rank == 2 else (batch, 1, *mask.dims[1:])
    kept = Value.constant(0.0, k.dtype)
    return Mask(bias=node.emit(op("where", op("reshape", there, shape), kept, Value.constant(fill, k.dtype))))


def _with_bias(node: Node, mask: Mask, bias: Value | None) -> Mask:
    if bias is not None:
        mask.bias = bias if mask.bias is None else node.emit(op("add", mask.bias, bias))
    return mask


@converter("Attention", domain=MICROSOFT)
def microsoft_attention(
    node: Node,
    x: Value,
    weights: Value,
    bias: Value | None = None,
    mask_index: Value | None = None,
    past: Value | None = None,
    attention_bias: Value | None = None,
) -> Any:
    """Project one input to queries, keys and values, and compute their attention."""
    if node.attr("do_rotary", 0):
        raise node.unsupported("rotary embeddings inside of it")
    heads = node.attr("num_heads")
    widths = node.attr("qkv_hidden_sizes") or [weights.sizes[1] // 3] * 3
    product = op("matmul", x, weights)
    product = node.emit(product if bias is None else op("add", product, bias))
    ends = [0, widths[0], widths[0] + widths[1], sum(widths)]
    q, k, v = (
        split_heads(node, node.emit(op("strided_slice", product, axes=[2], begin=[a], end=[b])), heads)
        for a, b in zip(ends, ends[1:], strict=False)
    )
    if past is not None:
        k, v = (
            as_value(node.emit(op("concat", [op("take", past, Value.constant(i, "int64"), axis=0), t], axis=2)))
            for i, t in enumerate((k, v))
        )
    fill = node.attr("mask_filter_value", -10000.0)
    mask = Mask() if mask_index is None else _key_padding(node, mask_index, k, fill)
    _with_bias(node, mask, attention_bias)
    if node.attr("unidirectional", 0):
        mask.forbid(node, not_after(q.dims[2], k.dims[2], k.dims[2] - q.dims[2]))
    y, _ = scaled_attention(node, q, k, v, mask, node.attr("scale") or None)
    present = None
    if node.wants(1):
        present = op("concat", [op("expand_dims", t, axis=[0]) for t in (k, v)], axis=0)
    return join_heads(y), present


@converter("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(
    node: Node,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    bias: Value | None = None,
    padding: Value | None = None,
    attention_bias: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
) -> Any:
    heads = node.attr("num_heads")
    q, k, v = _three(node, query, key, value, bias, heads)
    if past_key is not None and past_value is not None:
        k, v = (as_value(node.emit(op("concat", [old, new], axis=2))) for old, new in ((past_key, k), (past_value, v)))
    fill = node.attr("mask_filter_value", -10000.0)
    mask = Mask() if padding is None else _key_padding(node, padding, k, fill)
    _with_bias(node, mask, attention_bias)
    if node.attr("unidirectional", 0):
        mask.forbid(node, not_after(q.dims[2], k.dims[2], k.dims[2] - q.dims[2]))
    y, _ = scaled_attention(node, q, k, v, mask, node.attr("scale") or None)
    return join_heads(y), k, v


@converter("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def decoder_attention(
    node: Node,
    query: Value,
    key: Value | None = None,
    value: Value | None = None,
    padding: Value | None = None,
    attention_bias: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    past_length: Value | None = None,
    beams: Value | None = None,
    sources: Value | None = None,
    bias: Value | None = None,
) -> Any:
    """Attention of one query: keys and values follow those of before, or take a place in their buffers."""
    if node.wants(3) or sources is not None:
        raise node.unsupported("scores as an output, or several beams")
    q, k, v = _three(node, query, key, value, bias, node.attr("num_heads"))
    mask, extent = Mask(), None
    if past_key is not None and past_value is not None:
        pairs = ((past_key, k), (past_value, v))
        if node.attr("past_present_share_buffer", 0):
            if past_length is None:
                raise node.error("the number of the keys before is missing")
            place = node.emit(op("reshape", op("astype", past_length, dtype="int64"), (1,)))
            first = node.emit(op("broadcast_to", place, (q.dims[0],)))
            extent = past_key.dims[2]
            k, v = (as_value(node.emit(node.call_te(cached, old, new, first, extent))) for old, new in pairs)
            if padding is not None or attention_bias is not None:
                extent = padding.dims[1] if padding is not None else as_value(attention_bias).dims[3]
            mask.forbid(node, op("less_equal", positions_of(extent, (1, 1, 1, -1)), place))
        else:
            k, v = (as_value(node.emit(op("concat", [old, new], axis=2))) for old, new in pairs)
    extent = extent or k.dims[2]
    if padding is not None:
        if padding.rank != 2:
            raise node.unsupported(f"a mask of shape {[str(d) for d in padding.dims]}")
        mask.bias = _key_padding(node, padding, k, node.attr("mask_filter_value", -10000.0)).bias
    _with_bias(node, mask, attention_bias)
    own_k, own_v = (_first_keys(node, t, extent) for t in (k, v))
    y, _ = scaled_attention(node, q, own_k, own_v, mask, node.attr("scale") or None)
    return join_heads(y), k, v


def _first_keys(node: Node, x: Value, extent: SymExpr) -> Value:
    """Return the part of a buffer of keys or values that masks are of."""
    if x.dims[2] == extent:
        return x
    return as_value(node.emit(op("strided_slice", x, axes=[2], begin=[0], end=[PrimValue(extent)])))


@converter("MRotaryEmbedding", domain=MICROSOFT)
def rotary_embedding_of_streams(node: Node, x: Value, positions: Value, cos: Value, sin: Value) -> Any:
    """Apply rotary embeddings whose angles are those of a time, a height or a width, by parts of a head."""
    if node.attr("is_packed_batching", 0) or node.attr("scale", 1.0) != 1.0:
        raise node.unsupported("packed batches, or a scale")
    sections = node.attr("mrope_section")
    if node.attr("mrope_layout", 0):
        of = [j % 3 if j % 3 and j < 3 * sections[j % 3] else 0 for j in range(sum(sections))]
    else:
        of = [stream for stream, count in enumerate(sections) for _ in range(count)]

    def table(whole: Value) -> Value:
        streams = as_value(node.emit(op("take", whole, positions, axis=0)))
        t, h, w = (op("take", streams, Value.constant(i, "int64"), axis=0) for i in range(3))
        own = [Value.constant([stream == i for stream in of], "bool") for i in (1, 2)]
        return as_value(node.emit(op("where", own[1], w, node.emit(op("where", own[0], h, t)))))

    return rotated_by(node, x, table(cos), table(sin))


def _three(
    node: Node, query: Value, key: Value | None, value: Value | None, bias: Value | None, heads: int
) -> tuple[Value, Value, Value]:
    """Return queries, keys and values by head, from three tensors, or packed into one or two."""
    if query.rank == 5 or (key is not None and key.rank == 5):
        raise node.unsupported("packed keys and values")
    if key is None or value is None:
        raise node.unsupported("packed queries, keys and values")
    tensors = [query, key, value]
    if bias is not None:
        start = 0
        for i, t in enumerate(tensors):
            width = t.dims[2].constant if t.rank == 3 else 0
            if width is None:
                raise node.unsupported("a bias of symbolic extents")
            if width:
                part = op("strided_slice", bias, axes=[0], begin=[start], end=[start + width])
                tensors[i] = as_value(node.emit(op("add", t, part)))
            start += width
    q, k, v = (split_heads(node, t, heads) for t in tensors)
    return q, k, v


@converter("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(
    node: Node,
    query: Value,
    key: Value | None,
    value: Value | None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    last: Value | None = None,
    total: Value | None = None,
    cos: Value | None = None,
    sin: Value | None = None,
    positions: Value | None = None,
    attention_bias: Value | None = None,
) -> Any:
    """Causal attention with a cache: `last` is the position of each sequence's last key, `total` the maximal length."""
    heads, kv_heads = node.attr("num_heads"), node.attr("kv_num_heads")
    if key is None or value is None:
        query, key, value = _unpacked(node, query, heads, kv_heads)
    if last is None or total is None:
        raise node.error("the lengths of the sequences are missing")
    q, k, v = (split_heads(node, t, n) for t, n in ((query, heads), (key, kv_heads), (value, kv_heads)))
    first = _first_places(node, last, q)
    if node.attr("do_rotary", 0) and cos is not None and sin is not None:
        q, k = _rotary_embedded(node, (q, k), (cos, sin), positions, first)
    if past_key is not None and past_value is not None:
        (longest,) = node.extents(as_value(node.emit(op("reshape", total, (1,)))))
        extent = maximum(past_key.dims[2], longest)
        pairs = ((past_key, k), (past_value, v))
        k, v = (as_value(node.emit(node.call_te(cached, old, new, first, extent))) for old, new in pairs)
    mask = _with_bias(node, Mask(), attention_bias)
    _limit_to_window(node, mask, q, k, node.emit(op("reshape", first, (q.dims[0], 1, 1, 1))))
    y, _ = scaled_attention(node, q, k, v, mask, node.attr("scale") or None, node.attr("softcap", 0.0))
    return join_heads(y), k, v


def _first_places(node: Node, last: Value, q: Value) -> Expr:
    """Return the position of the first query of each sequence, (batch)."""
    end = op("reshape", op("astype", last, dtype="int64"), (q.dims[0],))
    first = op("subtract", op("add", end, 1), Value.known(q.dims[2]))
    return node.emit(op("maximum", first, 0))


def _rotary_embedded(
    node: Node, tensors: tuple[Value, Value], tables: tuple[Value, Value], positions: Value | None, first: Expr
) -> list[Value]:
    """Return queries and keys rotated by their positions."""
    batch, _, length, _ = tensors[0].dims
    if positions is None:
        own = op("add", positions_of(length, (1, -1)), op("reshape", first, (batch, 1)))
        positions = as_value(node.emit(own))
    cos, sin = (as_value(node.emit(op("take", t, positions, axis=0))) for t in tables)
    interleaved, width = bool(node.attr("rotary_interleaved", 0)), (cos.dims[2] * 2).constant
    return [as_value(rotated(node, t, cos, sin, width, interleaved)) for t in tensors]


def _limit_to_window(node: Node, mask: Mask, q: Value, k: Value, start: Expr) -> None:
    """Mask the keys after the query's position, and those outside of the window before it."""
    mask.forbid(node, not_after(q.dims[2], k.dims[2], start))
    window = node.attr("local_window_size", -1)
    if window >= 0:
        own, keys = positions_of(q.dims[2], (1, 1, -1, 1), start), positions_of(k.dims[2], (1, 1, 1, -1))
        mask.forbid(node, op("less", op("subtract", own, keys), window))


def _unpacked(node: Node, packed: Value, heads: int, kv_heads: int) -> tuple[Value, Value, Value]:
    """Split queries, keys and values that are concatenated in one tensor."""
    size = packed.sizes[2] // (heads + 2 * kv_heads) if packed.dims[2].constant is not None else 0
    ends = [0, heads * size, (heads + kv_heads) * size, (heads + 2 * kv_heads) * size]
    q, k, v = (
        as_value(node.emit(op("strided_slice", packed, axes=[2], begin=[a], end=[b])))
        for a, b in zip(ends, ends[1:], strict=False)
    )
    return q, k, v
