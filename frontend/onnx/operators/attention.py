"""Attention and rotary embeddings; similar operators of ONNX Runtime are in `attention_contrib.py`.

Internally queries, keys and values are (batch, heads, length, size).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....dialects.sym.expr import SymExpr
from ....dialects.sym.operators import maximum
from ....handles.relax.expr import Expr
from ..node import Node
from ..table import MICROSOFT, converter
from ..values import Value, as_value, op
from .elementwise import converted

Operand = Value | Expr
_HEADS_FIRST = [0, 2, 1, 3]
_RAW, _CAPPED, _BIASED, _SOFTMAX = range(4)
"""The scores that the fourth output of ONNX's operator returns."""


@dataclass
class Mask:
    """An attention mask: `bias` is added to the scores, `allowed` are conditions; all broadcast to 4 dimensions.

    `causal` is nn.attention's name of a causal mask that is not part of the conditions.
    """

    bias: Operand | None = None
    allowed: Operand | None = None
    causal: str | None = None

    def forbid(self, node: Node, allowed: Operand) -> None:
        """Restrict the mask to the positions at which `allowed` is true."""
        both = allowed if self.allowed is None else op("logical_and", self.allowed, allowed)
        self.allowed = both if isinstance(both, Value) else node.emit(both)

    def merged(self, dtype: str) -> Operand | None:
        """Merge the whole mask into one floating-point bias."""
        if self.allowed is None:
            return self.bias
        zero = op("full", (), Value.constant(0.0, dtype), dtype=dtype)
        kept = self.bias if self.bias is not None else zero
        return op("where", self.allowed, kept, Value.constant(-math.inf, dtype))


def split_heads(node: Node, x: Operand, heads: int) -> Value:
    """Split (batch, length, heads * size) into (batch, heads, length, size)."""
    value = as_value(x)
    if value.rank == 4:
        return value
    dims = value.dims
    heads_last = op("reshape", value, (dims[0], dims[1], heads, dims[2] // heads))
    return as_value(node.emit(op("permute_dims", heads_last, axes=_HEADS_FIRST)))


def join_heads(x: Operand) -> Expr:
    """Join (batch, heads, length, size) into (batch, length, heads * size)."""
    dims = as_value(x).dims
    return op("reshape", op("permute_dims", x, axes=_HEADS_FIRST), (dims[0], dims[2], dims[1] * dims[3]))


def _repeated(node: Node, x: Value, heads: SymExpr) -> Value:
    """Repeat each head of keys or values for the queries that share it."""
    if x.dims[1] == heads:
        return x
    times = (heads // x.dims[1]).constant
    if times is None:
        raise node.unsupported("numbers of heads that are symbolic")
    return as_value(node.emit(op("repeat", x, repeats=times, axis=1)))


def scaled_attention(
    node: Node,
    q: Value,
    k: Value,
    v: Value,
    mask: Mask,
    scale: float | None = None,
    softcap: float = 0.0,
    shown: int | None = None,
) -> tuple[Expr, Expr | None]:
    """Return the attention (batch, heads, length, size), and the scores selected by `shown`.

    16-bit floats are computed in single precision.
    """
    if q.dtype in ("float16", "bfloat16"):
        if mask.bias is not None:
            mask.bias = converted(as_value(mask.bias), "float32")
        wide = [as_value(node.emit(op("astype", t, dtype="float32"))) for t in (q, k, v)]
        results = scaled_attention(node, wide[0], wide[1], wide[2], mask, scale, softcap, shown)
        y, scores = (r if r is None else node.emit(op("astype", r, dtype=q.dtype)) for r in results)
        assert y is not None
        return y, scores
    k, v = _repeated(node, k, q.dims[1]), _repeated(node, v, q.dims[1])
    if scale is None:
        size = q.dims[3].constant
        if size is None:
            raise node.unsupported("heads of symbolic size")
        scale = 1 / math.sqrt(size)
    if not softcap and shown is None:
        bias = mask.merged(q.dtype)
        moved = [op("permute_dims", t, axes=_HEADS_FIRST) for t in (q, k, v)]
        if bias is not None:
            bias = _of_rank_four(node, bias, q, k)
        y = op("nn.attention", *moved, bias, scale=scale, causal_mask=mask.causal)
        return op("permute_dims", y, axes=_HEADS_FIRST), None
    if mask.causal is not None:
        start = 0 if mask.causal == "TopLeft" else k.dims[2] - q.dims[2]
        mask.forbid(node, not_after(q.dims[2], k.dims[2], start))
    return _written_out(node, q, k, v, mask, scale, softcap, shown)


def _of_rank_four(node: Node, bias: Operand, q: Value, k: Value) -> Expr:
    dims = as_value(bias).dims
    lead = [1] * (4 - len(dims))
    rank_four = op("reshape", bias, (*lead, *dims)) if lead else bias
    full = (*as_value(rank_four).dims[:2], q.dims[2], k.dims[2])
    return node.emit(op("broadcast_to", rank_four, full))


def _written_out(
    node: Node, q: Value, k: Value, v: Value, mask: Mask, scale: float, softcap: float, shown: int | None
) -> tuple[Expr, Expr | None]:
    root = math.sqrt(scale)
    turned = op("permute_dims", op("multiply", k, root), axes=[0, 1, 3, 2])
    scores = node.emit(op("matmul", op("multiply", q, root), turned))
    steps = {_RAW: scores}
    if softcap:
        scores = node.emit(op("multiply", op("tanh", op("divide", scores, softcap)), softcap))
    steps[_CAPPED] = scores
    bias = mask.merged(q.dtype)
    if bias is not None:
        bias = bias if isinstance(bias, Value) else node.emit(bias)
        scores = node.emit(op("add", scores, bias))
    steps[_BIASED] = scores
    weights = op("nn.softmax", scores, axis=-1)
    if bias is not None:
        none = op("equal", op("max", bias, axis=[-1], keepdims=True), Value.constant(-math.inf, q.dtype))
        weights = op("where", none, 0.0, node.emit(weights))
    weights = node.emit(weights)
    steps[_SOFTMAX] = weights
    return node.emit(op("matmul", weights, v)), None if shown is None else steps[shown]


def positions_of(extent: SymExpr, shape: Sequence[int], start: Operand | int | SymExpr = 0) -> Expr:
    """Return 0, 1, … along the dimension of `shape` that is -1, plus `start`."""
    own = op("reshape", op("arange", 0, extent, 1, dtype="int64"), list(shape))
    if isinstance(start, int) and not start:
        return own
    return op("add", own, Value.known(start) if isinstance(start, int | SymExpr) else start)


def not_after(length: SymExpr, keys: SymExpr, start: Operand | int | SymExpr) -> Expr:
    """Return the condition that a key does not come after its query, with the first query at `start`."""
    return op("less_equal", positions_of(keys, (1, 1, 1, -1)), positions_of(length, (1, 1, -1, 1), start))


@converter("Attention")
def attention(
    node: Node,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    lengths: Value | None = None,
) -> Any:
    heads, kv_heads = node.attr("q_num_heads"), node.attr("kv_num_heads")
    q, k, v = (split_heads(node, t, n) for t, n in ((query, heads), (key, kv_heads), (value, kv_heads)))
    offset: Any = 0
    if past_key is not None and past_value is not None:
        offset = past_key.dims[2]
        k, v = (as_value(node.emit(op("concat", [old, new], axis=2))) for old, new in ((past_key, k), (past_value, v)))
    elif lengths is not None:
        column = node.emit(op("reshape", op("astype", lengths, dtype="int64"), (q.dims[0], 1, 1, 1)))
        offset = node.emit(op("subtract", column, Value.known(q.dims[2])))
    mask = _attention_mask(node, attn_mask, q, k)
    _limit(node, mask, q, k, offset)
    if lengths is not None:
        end = op("reshape", op("astype", lengths, dtype="int64"), (q.dims[0], 1, 1, 1))
        mask.forbid(node, op("less", positions_of(k.dims[2], (1, 1, 1, -1)), end))
    shown = node.attr("qk_matmul_output_mode", 0) if node.wants(3) else None
    y, scores = scaled_attention(node, q, k, v, mask, node.attr("scale"), node.attr("softcap", 0.0), shown)
    return join_heads(y) if query.rank == 3 else y, k, v, scores


def _attention_mask(node: Node, mask: Value | None, q: Value, k: Value) -> Mask:
    """Return the mask of a node, boolean or floating-point; keys beyond its length are masked."""
    if mask is None:
        return Mask()
    lacking = k.dims[2] - mask.dims[-1]
    is_bool = mask.dtype == "bool"
    if lacking.constant != 0 and mask.dims[-1].constant != 1:
        rest = [*mask.dims[:-1], maximum(lacking, 0)]
        filler = Value.constant(False) if is_bool else Value.constant(-math.inf, mask.dtype)
        mask = as_value(node.emit(op("concat", [mask, op("full", rest, filler, dtype=mask.dtype)], axis=-1)))
    return Mask(allowed=mask) if is_bool else Mask(bias=converted(mask, q.dtype))


def _limit(node: Node, mask: Mask, q: Value, k: Value, offset: Any) -> None:
    """Add the causal and window conditions, with the first query at `offset`."""
    left, right = node.attr("left_window_size", -1), node.attr("right_window_size", -1)
    if node.attr("is_causal", 0):
        plain = mask.bias is None and mask.allowed is None and not isinstance(offset, Expr) and left < 0 and right < 0
        if plain and offset == 0:
            mask.causal = "TopLeft"
        elif plain and k.dims[2] - q.dims[2] == offset:
            mask.causal = "BottomRight"
        else:
            mask.forbid(node, not_after(q.dims[2], k.dims[2], offset))
    own, keys = positions_of(q.dims[2], (1, 1, -1, 1), offset), positions_of(k.dims[2], (1, 1, 1, -1))
    distance = op("subtract", own, keys)
    if left >= 0:
        mask.forbid(node, op("less_equal", distance, left))
    if right >= 0:
        mask.forbid(node, op("less_equal", op("negative", distance), right))


# Rotary embeddings.


@converter("RotaryEmbedding")
def rotary_embedding(node: Node, x: Value, cos: Value, sin: Value, positions: Value | None = None) -> Expr:
    return _rotary(node, x, cos, sin, positions)


@converter("RotaryEmbedding", domain=MICROSOFT)
def microsoft_rotary_embedding(node: Node, x: Value, positions: Value, cos: Value, sin: Value) -> Expr:
    """Apply rotary embeddings; a single position is that of the first element of the sequence."""
    if positions.rank == 1:
        length = x.dims[1 if x.rank == 3 else 2]
        own = op("add", positions_of(length, (1, -1)), op("reshape", positions, (1, 1)))
        batch = x.dims[0]
        positions = as_value(node.emit(op("broadcast_to", own, (batch, length))))
    return _rotary(node, x, cos, sin, positions)


def _rotary(node: Node, x: Value, cos: Value, sin: Value, positions: Value | None) -> Expr:
    heads = node.attr("num_heads") or 0
    if x.rank == 3 and not heads:
        size = cos.dims[-1] * 2
        heads = (x.dims[2] // size).constant or 0
    tables = [as_value(t if positions is None else node.emit(op("take", t, positions, axis=0))) for t in (cos, sin)]
    return rotated_by(node, x, tables[0], tables[1], heads)


def rotated_by(node: Node, x: Value, cos: Value, sin: Value, heads: int | None = None) -> Expr:
    """Rotate heads by tables (batch, length, width / 2), as the attributes of a rotary embedding say."""
    data = split_heads(node, x, node.attr("num_heads", 0) if heads is None else heads)
    width = node.attr("rotary_embedding_dim") or None
    y = rotated(node, data, cos, sin, width, bool(node.attr("interleaved", 0)))
    return join_heads(y) if x.rank == 3 else y


def rotated(node: Node, x: Value, cos: Value, sin: Value, width: int | None, interleaved: bool) -> Expr:
    """Rotate pairs of elements by tables (batch, length, width / 2); pairs are adjacent if `interleaved`."""
    batch, heads, length, size = x.dims
    full = width is None or size.constant == width
    extent = size if width is None else width
    half = extent // 2
    part = x if full else node.emit(op("strided_slice", x, axes=[3], begin=[0], end=[width]))
    if interleaved:
        pairs = node.emit(op("reshape", part, (batch, heads, length, half, 2)))
        first, second = (node.emit(op("take", pairs, Value.constant(i, "int64"), axis=4)) for i in (0, 1))
    else:
        first = node.emit(op("strided_slice", part, axes=[3], begin=[0], end=[half]))
        second = node.emit(op("strided_slice", part, axes=[3], begin=[half], end=[extent]))
    c, s = (node.emit(op("expand_dims", t, axis=[1])) for t in (cos, sin))
    real = op("subtract", op("multiply", c, first), op("multiply", s, second))
    imaginary = op("add", op("multiply", s, first), op("multiply", c, second))
    if interleaved:
        turned = op("concat", [op("expand_dims", t, axis=[4]) for t in (real, imaginary)], axis=4)
        turned = op("reshape", turned, (batch, heads, length, extent))
    else:
        turned = op("concat", [real, imaginary], axis=3)
    if full:
        return node.emit(turned)
    rest = op("strided_slice", x, axes=[3], begin=[width], end=[size])
    return node.emit(op("concat", [turned, rest], axis=3))
