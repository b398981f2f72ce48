"""Layers of ONNX Runtime that carry a state along the sequence: causal convolutions and linear attention."""

from __future__ import annotations

import math
from typing import Any

from ....handles.relax.expr import Expr, PrimValue
from ...control_flow import symbolic_value
from ..node import Node
from ..single import in_single
from ..table import MICROSOFT, converter
from ..values import Value, as_value, op

_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""Whether an update rule decays the state, and whether it subtracts what the state has for a key."""


def _bound(node: Node, x: Any) -> Value:
    return as_value(node.emit(as_value(x).expr))


@converter("CausalConvWithState", domain=MICROSOFT)
@in_single
def causal_convolution(
    node: Node, x: Value, weight: Value, bias: Value | None = None, past: Value | None = None
) -> tuple[Expr, Expr]:
    """Convolve each channel with the elements before; the state is as many of them as the kernel reaches back."""
    _require_plain_state(node)
    if node.attr("ndim", 1) != 1:
        raise node.unsupported("several spatial dimensions")
    if not node.attr("channels_last", 0):
        y, state = _convolved(node, x, weight, bias, past)
        return y.expr, state.expr
    channels, dims = weight.dims[0], x.dims[2:]
    flat = [
        None if t is None else _channels_first(node, _bound(node, op("reshape", t, (*t.dims[:2], channels))))
        for t in (x, past)
    ]
    assert flat[0] is not None
    both = (_channels_first(node, t) for t in _convolved(node, flat[0], weight, bias, flat[1]))
    y, state = (op("reshape", t, (*t.dims[:2], *dims)) for t in both)
    return y, state


def _require_plain_state(node: Node) -> None:
    unset = {"state_window": 0, "state_update_capacity": 0, "state_length": 0, "input_channels": 0}
    unset |= {"input_channel_offset": 0, "state_channels_last": -1}
    for name, value in unset.items():
        if node.attr(name, value) != value:
            raise node.unsupported(f"the attribute {name}, which ONNX Runtime has on other devices alone")


def _channels_first(node: Node, x: Value) -> Value:
    return _bound(node, op("permute_dims", x, axes=[0, 2, 1]))


def _convolved(node: Node, x: Value, weight: Value, bias: Value | None, past: Value | None) -> tuple[Value, Value]:
    (batch, channels, length), dilation = x.dims, node.attr("dilation", 1)
    back = (weight.sizes[2] - 1) * dilation
    before = op("zeros", (batch, channels, back), dtype=x.dtype) if past is None else past
    whole = _bound(node, op("concat", [before, x], axis=2))
    groups = channels.constant
    if groups is None:
        raise node.unsupported("a symbolic number of channels")
    y = op("nn.conv1d", whole, weight, dilation=dilation, groups=groups)
    if bias is not None:
        y = op("add", y, op("reshape", bias, (1, groups, 1)))
    name = node.attr("activation", "none")
    if name not in ("none", "silu", "swish"):
        raise node.error("an attribute has a value that means nothing here", found=name)
    y = _bound(node, y)
    state = op("strided_slice", whole, axes=[2], begin=[PrimValue(length)], end=[PrimValue(length + back)])
    return (y if name == "none" else _bound(node, op("nn.silu", y))), _bound(node, state)


@converter("LinearAttention", domain=MICROSOFT)
@in_single
def linear_attention(
    node: Node,
    query: Value,
    key: Value,
    value: Value,
    past: Value | None = None,
    decay: Value | None = None,
    beta: Value | None = None,
) -> tuple[Expr, Expr]:
    """Return the states multiplied by queries, and the last state, to which each step adds a key times a value."""
    if node.attr("state_window", 0):
        raise node.unsupported("several states")
    rule = node.attr("update_rule", "gated_delta")
    if rule not in _RULES:
        raise node.error("an attribute has a value that means nothing here", found=rule)
    heads, queries = node.attr("kv_num_heads"), node.attr("q_num_heads")
    batch, length = query.dims[:2]
    q, k, v = (_steps(node, t, n) for t, n in ((query, queries), (key, heads), (value, heads)))
    decays, corrects = _RULES[rule]
    size = q.dims[3].constant
    if size is None:
        raise node.unsupported("heads of symbolic size")
    scale = node.attr("scale", 0.0) or 1 / math.sqrt(size)
    q = _grouped(node, _bound(node, op("multiply", q, scale)), heads, queries)
    state = past if past is not None else _bound(node, op("zeros", (batch, heads, size, v.dims[3]), dtype=q.dtype))
    needed = {"decay": (decays, decay), "beta": (corrects, beta)}
    if any(required and x is None for required, x in needed.values()):
        raise node.error(f"the rule {rule} takes an input more", expected=[n for n, (w, _) in needed.items() if w])
    kept = None if not decays or decay is None else _bound(node, op("exp", _rates(node, decay, heads)))
    rate = None if not corrects or beta is None else _rates(node, beta, heads)
    last, outputs = _recurrence(node, q, k, v, state, kept, rate)
    return op("reshape", outputs, (batch, length, max(heads, queries) * v.dims[3])), last


def _recurrence(
    node: Node, q: Value, k: Value, v: Value, state: Value, kept: Value | None, rate: Value | None
) -> tuple[Expr, Expr]:
    """Return the last state, and (batch, length, heads, queries of a head, size) of queries times states.

    Operands are (length, batch, heads, …), the state (batch, heads, keys, values); `kept` is what a step leaves of it,
    `rate` how far a value replaces what the state has for its key.
    """

    def step(i: Expr, old: Expr) -> list[Any]:
        place = PrimValue(symbolic_value(i))

        def now(x: Value) -> Expr:
            return node.emit(op("take", x, place, axis=0))

        own = node.emit(op("expand_dims", now(k), axis=[3]))
        new = op("expand_dims", now(v), axis=[2])
        before = old if kept is None else node.emit(op("multiply", old, now(kept)))
        if rate is not None:
            known = op("sum", node.emit(op("multiply", before, own)), axis=[2], keepdims=True)
            new = op("multiply", op("subtract", new, known), now(rate))
        state = node.emit(op("add", before, op("multiply", own, node.emit(new))))
        return [state, op("matmul", now(q), state)]

    last, outputs = node.graph.builder.scan(step, [state], q.dims[0], 1)
    return last, op("permute_dims", outputs, axes=[1, 0, 2, 3, 4])


@converter("GatedDeltaNet", domain=MICROSOFT)
def gated_delta_net(
    node: Node, query: Value, key: Value | None = None, value: Value | None = None, lengths: Value | None = None,
    decay: Value | None = None, beta: Value | None = None, past: Value | None = None, logs: Value | None = None,
    bias: Value | None = None, captured: Value | None = None, *_active: Value | None,
) -> tuple[Expr, Expr]:  # fmt: skip
    """Return queries times the states that keys and values change step by step, and the last states; in float32.

    Tokens are (batch · length, heads, size), the batch being that of the state, or (batch, length, heads, size).
    """
    if lengths is not None or captured is not None or node.attr("state_update_capacity", 0):
        raise node.unsupported("sequences of different lengths, or steps that are captured")
    q, k, v = _tokens(node, query, key, value, past)
    (batch, _, queries, size), heads = q.dims, v.dims[2]
    shared, keys = (heads // queries).constant, size.constant
    if shared is None or keys is None:
        raise node.unsupported("heads of symbolic number or size")
    if node.attr("qk_l2_norm", 0):
        q, k = (_of_length_one(node, t) for t in (q, k))
    q = _bound(node, op("multiply", q, node.attr("scale", 0.0) or 1 / math.sqrt(keys)))
    q, k = (_bound(node, op("repeat", t, repeats=shared, axis=2)) for t in (q, k))
    rule = node.attr("update_rule", "gated_delta")
    if _RULES.get(rule) != (decay is not None, beta is not None):
        raise node.error("the rule does not fit the inputs decay and beta", expected=[*_RULES], found=rule)
    kept = rate = None
    if decay is not None:
        wide = _per_head(node, decay, v, keys if decay.rank == query.rank - (key is not None) + 1 else 1)
        kept = _first_by_step(node, op("exp", _log_decay(node, wide, logs, bias)))
    if beta is not None:
        wide = _per_head(node, beta, v, 1)
        rate = _first_by_step(node, op("sigmoid", wide) if node.attr("beta_activation", "none") == "sigmoid" else wide)
    before = op("zeros", (batch, heads, v.dims[3], size), dtype="float32") if past is None else past
    state = _bound(node, op("permute_dims", before, axes=[0, 1, 3, 2]))
    q, k, v = (_bound(node, op("permute_dims", t, axes=[1, 0, 2, 3])) for t in (q, k, v))
    last, outputs = _recurrence(node, _bound(node, op("expand_dims", q, axis=[3])), k, v, state, kept, rate)
    dims = (*query.dims[: -1 if key is None else -2], heads, v.dims[3])
    y = op("astype", node.emit(op("reshape", outputs, dims)), dtype=query.dtype)
    return y, op("permute_dims", last, axes=[0, 1, 3, 2])


def _tokens(node: Node, query: Value, key: Value | None, value: Value | None, past: Value | None) -> list[Value]:
    """Return queries, keys and values as (batch, length, heads, size) in float32."""
    packed = key is None or value is None
    if past is None and (packed or query.rank < 4):
        raise node.error("an input is missing", expected="initial_state, whose batch and sizes the tokens have")
    if key is None or value is None:
        assert past is not None
        _, heads, own, size = past.dims
        middle = query.dims[-1] - heads * own
        bounds, last = [0, middle // 2, middle, query.dims[-1]], query.rank - 1
        parts: list[Any] = [
            op("strided_slice", query, axes=[last], begin=[PrimValue(a)], end=[PrimValue(b)])
            for a, b in zip(bounds, bounds[1:], strict=False)
        ]
        counts = [(middle // 2 // size, size)] * 2 + [(heads, own)]
    else:
        parts = [query, key, value]
        counts = [t.dims[-2:] for t in (query, key, value)]
    tokens = query.dims[: query.rank - (1 if packed else 2)]
    if len(tokens) == 1 and past is not None:
        tokens = (past.dims[0], tokens[0] // past.dims[0])
    wide = (op("astype", p, dtype="float32") for p in parts)
    return [_bound(node, op("reshape", node.emit(t), (*tokens, *c))) for t, c in zip(wide, counts, strict=True)]


def _of_length_one(node: Node, x: Value) -> Value:
    squares = op("sum", op("multiply", x, x), axis=[3], keepdims=True)
    return _bound(node, op("multiply", x, op("rsqrt", op("add", squares, 1e-6))))


def _per_head(node: Node, x: Value, tokens: Value, size: int) -> Value:
    """Return rates of each token and head in float32: (batch, length, heads, size)."""
    return _bound(node, op("reshape", op("astype", x, dtype="float32"), (*tokens.dims[:3], size)))


def _first_by_step(node: Node, x: Any) -> Value:
    return _bound(node, op("expand_dims", op("permute_dims", x, axes=[1, 0, 2, 3]), axis=[4]))


def _log_decay(node: Node, x: Value, logs: Value | None, bias: Value | None) -> Value:
    """Return the logarithm of what a step leaves of the state."""
    how, heads = node.attr("gate_activation", "none"), x.dims[2]
    if how == "none":
        return x
    if how not in ("softplus", "qwen", "sigmoid", "kda"):
        raise node.error("an attribute has a value that means nothing here", found=how)
    if bias is not None:
        x = _bound(node, op("add", x, op("reshape", bias, (heads, -1))))
    factor = Value.constant(1.0, "float32") if logs is None else op("reshape", op("exp", logs), (heads, 1))
    if how in ("sigmoid", "kda"):
        gate = op("sigmoid", op("multiply", x, factor))
        return _bound(node, op("multiply", gate, node.attr("gate_lower_bound", -5.0)))
    return _bound(node, op("negative", op("multiply", op("nn.softplus", x), factor)))


def _steps(node: Node, x: Value, heads: int) -> Value:
    """Return (length, batch, heads, size) of heads that follow one another in the last dimension."""
    batch, length, width = x.dims
    parts = op("reshape", x, (batch, length, heads, width // heads))
    return _bound(node, op("permute_dims", parts, axes=[1, 0, 2, 3]))


def _grouped(node: Node, q: Value, heads: int, queries: int) -> Value:
    """Return (length, batch, heads, queries of a head, size)."""
    length, batch, _, size = q.dims
    if heads > queries:
        q = _bound(node, op("repeat", q, repeats=heads // queries, axis=2))
    return _bound(node, op("reshape", q, (length, batch, heads, max(queries // heads, 1), size)))


def _rates(node: Node, x: Value, heads: int) -> Value:
    """Return rates of each head, or of each of its keys: (length, batch, heads, size, 1), which broadcast."""
    batch, length, width = x.dims
    parts = (1, 1) if width.constant == 1 else (heads, width // heads)
    rates = op("reshape", x, (batch, length, *parts, 1))
    return _bound(node, op("permute_dims", rates, axes=[1, 0, 2, 3, 4]))


# Streams beside the residual one.


def _branches(node: Node, x: Value, width: Any) -> Value:
    """Return (…, branches, features), from streams that are so or follow one another in the last dimension."""
    count = node.attr("num_branches", 0)
    return x if not count else _bound(node, op("reshape", x, (*x.dims[:-1], count, width)))


def _gates(node: Node, gates: Value, streams: Value) -> Value:
    """Return gates of branches, or of their features, so that they broadcast to the streams."""
    wide = as_value(op("astype", gates, dtype="float32"))
    if gates.rank == streams.rank:
        return wide
    per_feature = gates.dims[-1] != streams.dims[-2]
    return _bound(
        node, op("reshape", wide, (*gates.dims[:-1], streams.dims[-2], streams.dims[-1] if per_feature else 1))
    )


@converter("HyperConnectionPreMix", domain=MICROSOFT)
@in_single
def pre_mix(node: Node, streams: Value, gates: Value) -> Expr:
    """Return the sum of the branches, each times its gate."""
    x = _branches(node, streams, streams.dims[-1] // (node.attr("num_branches", 0) or 1))
    total = op("sum", op("multiply", x, _gates(node, gates, x)), axis=[x.rank - 2])
    return op("multiply", total, node.attr("reduction_scale", 1.0))


@converter("HyperConnectionPostMix", domain=MICROSOFT)
@in_single
def post_mix(node: Node, streams: Value, output: Value, gates: Value, mix: Value | None = None) -> Expr:
    """Return the branches mixed with each other, plus the output of a block, times the gate of each."""
    x = _branches(node, streams, output.dims[-1])
    added = op("multiply", op("expand_dims", output, axis=[output.rank - 1]), _gates(node, gates, x))
    if mix is not None:
        wide = op("astype", mix, dtype="float32")
        axes = [*range(mix.rank - 2), mix.rank - 1, mix.rank - 2]
        x = _bound(node, op("matmul", op("permute_dims", wide, axes=axes), x))
    return op("reshape", op("add", x, added), streams.dims)


@converter("EngramGate", domain=MICROSOFT)
@in_single
def engram_gate(
    node: Node,
    key: Value,
    query: Value,
    value: Value,
    key_scale: Value,
    query_scale: Value,
    scale: Value | None = None,
) -> Any:
    """Return values times a gate, the likeness of keys and queries, and the same normalized."""
    size = key.dims[3].constant
    if size is None:
        raise node.unsupported("features of symbolic size")
    both = op("multiply", _normalized(node, key, key_scale), _normalized(node, query, query_scale))
    dot = _bound(node, op("divide", op("sum", both, axis=[3], keepdims=True), math.sqrt(size)))
    root = op("sqrt", op("maximum", op("abs", dot), 1e-6))
    gate = op("sigmoid", op("multiply", op("sign", dot), root))
    y = _bound(node, op("multiply", gate, op("expand_dims", value, axis=[2])))
    return y.expr, None if scale is None else _normalized(node, y, scale).expr


def _normalized(node: Node, x: Value, scale: Value) -> Value:
    mean = op("mean", op("multiply", x, x), axis=[-1], keepdims=True)
    return _bound(
        node, op("multiply", op("multiply", x, op("rsqrt", op("add", mean, node.attr("epsilon", 1e-5)))), scale)
    )


@converter("NGramHashMapping", domain=MICROSOFT)
def ngram_hashes(
    node: Node, ids: Value, factors: Value, sizes: Value, past: Value | None = None, offsets: Value | None = None,
    end: Value | None = None, segments: Value | None = None,
) -> tuple[Expr, Expr]:  # fmt: skip
    """Return the hashes of the last 2, 3, … identifiers, by head, and the identifiers that the next call takes."""
    if end is not None or segments is not None:
        raise node.unsupported("the ends of sequences")
    order, heads = node.attr("max_ngram_size"), node.attr("n_head_per_ngram")
    batch, length = ids.dims
    pad = Value.constant(node.attr("pad_id"), ids.dtype)
    before = op("full", (batch, order - 1), pad, dtype=ids.dtype) if past is None else past
    whole = _bound(node, op("concat", [before, ids], axis=1))
    mixed: Any = None
    hashes: list[Expr] = []
    for n in range(order):
        start = order - 1 - n
        shifted = op("strided_slice", whole, axes=[1], begin=[start], end=[PrimValue(length + start)])
        term = op("multiply", shifted, op("take", factors, Value.constant(n, "int64"), axis=0))
        mixed = term if mixed is None else op("bitwise_xor", mixed, term)
        mixed = node.emit(mixed)
        if n:
            own = op("strided_slice", sizes, axes=[0], begin=[(n - 1) * heads], end=[n * heads])
            hashes.append(op("floor_mod", op("expand_dims", mixed, axis=[2]), own))
    result = op("concat", hashes, axis=2)
    present = op("strided_slice", whole, axes=[1], begin=[PrimValue(length)], end=[PrimValue(length + order - 1)])
    return (result if offsets is None else op("add", result, offsets)), present
