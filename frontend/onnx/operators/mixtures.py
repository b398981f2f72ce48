"""Mixtures of experts, and gated layers, of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.sym.expr import product
from ....handles.relax.expr import Expr, TupleGetItem
from ....topi.linear_algebra import grouped_matmul
from ..node import Node
from ..single import in_single
from ..table import MICROSOFT, converter
from ..values import Output, Value, as_value, op
from .elementwise import converted


def _bound(node: Node, x: Output) -> Value:
    return as_value(node.emit(as_value(x).expr))


@converter("MoE", domain=MICROSOFT)
@in_single
def mixture_of_experts(
    node: Node,
    x: Value,
    router: Value,
    first: Value,
    first_bias: Value | None,
    second: Value,
    second_bias: Value | None = None,
    third: Value | None = None,
    third_bias: Value | None = None,
    mixing: Value | None = None,
) -> Expr:
    """Return the sums over the best `k` experts of a token, each a layer with an activation and one more.

    `mixing` are the weights of experts where they are not those that `router` selects them by.
    """
    if node.attr("use_sparse_mixer", 0) or node.attr("swiglu_limit_after_activation", 0):
        raise node.unsupported("a sparse mixer, or limits of activated gates")
    k, hidden = node.attr("k", 1), x.dims[-1]
    tokens = product(x.dims[:-1])
    weights, experts = _routed(node, router, mixing, k)
    groups = _bound(node, op("reshape", experts, (tokens * k,)))
    rows = _bound(node, op("reshape", x, (tokens, 1, hidden)))
    each = _bound(node, op("reshape", op("broadcast_to", rows, (tokens, k, hidden)), (tokens * k, hidden)))
    gate = _layer(node, each, first, first_bias, groups)
    other = None if third is None else _layer(node, each, third, third_bias, groups)
    y = _layer(node, _activated(node, gate, other), second, second_bias, groups)
    parts = op("multiply", op("reshape", y, (tokens, k, hidden)), op("expand_dims", weights, axis=[2]))
    return op("reshape", op("sum", parts, axis=[1]), x.dims)


def _routed(node: Node, router: Value, mixing: Value | None, k: int) -> tuple[Value, Value]:
    """Return the weights of the best experts of each token, and their numbers."""
    normalized = bool(node.attr("normalize_routing_weights", 0))
    if mixing is not None:
        best = node.emit(op("topk", router, k=k, axis=-1, largest=True, ret_type="indices", dtype="int64"))
        chosen = _bound(node, op("gather_elements", mixing, best, axis=1))
        total = op("sum", chosen, axis=[1], keepdims=True)
        return (_bound(node, op("divide", chosen, total)) if normalized else chosen), as_value(best)
    scores = router if normalized else _bound(node, op("nn.softmax", router, axis=-1))
    best = node.emit(op("topk", scores, k=k, axis=-1, largest=True, ret_type="both", dtype="int64"))
    weights, experts = (_bound(node, TupleGetItem(best, i)) for i in (0, 1))
    return (_bound(node, op("nn.softmax", weights, axis=-1)) if normalized else weights), experts


def _layer(node: Node, x: Value, weights: Value, bias: Value | None, groups: Value) -> Value:
    """Return the products of rows with the matrices (outputs, inputs) of their experts."""
    matrices = _bound(node, op("permute_dims", weights, axes=[0, 2, 1]))
    y = _bound(node, node.call_te(grouped_matmul, x, matrices, groups))
    return y if bias is None else _bound(node, op("add", y, op("take", bias, groups, axis=0)))


@converter("QMoE", domain=MICROSOFT)
def quantized_mixture(node: Node, x: Value, router: Value, *others: Value | None) -> Any:
    """Return a mixture of experts whose constant weights are integers, with scales of rows or of blocks of them."""
    if node.attr("quant_type", "int") != "int":
        raise node.unsupported(f"weights of the type {node.attr('quant_type')}")
    inputs = [*others, *[None] * (13 - len(others))]
    if any(v is not None for v in inputs[13:]):
        raise node.unsupported("scales of activations")
    layers: list[Value | None] = []
    for i in range(3):
        weights, scales, bias = inputs[3 * i : 3 * i + 3]
        matrices = None if weights is None else _dequantized(node, i, weights, scales, inputs[9 + i])
        layers += [matrices, bias]
    own = node.with_attributes(
        {**node.attributes, "normalize_routing_weights": 1}
    )  # as ONNX Runtime does on processors
    return mixture_of_experts(own, x, router, *layers, inputs[12])


def _dequantized(node: Node, layer: int, packed: Value, scales: Value | None, zeros: Value | None) -> Value:
    """Return the matrices (experts, outputs, inputs) of a layer."""
    bits = node.attr(f"fc{layer + 1}_expert_weight_bits", node.attr("expert_weight_bits", 4))
    if bits not in (2, 4, 8):
        raise node.unsupported(f"weights of {bits} bits")
    if scales is None:
        raise node.error("the scales of weights are missing")
    arrays = [v if v is None else v.array for v in (packed, scales, zeros)]
    if arrays[0] is None or arrays[1] is None or (zeros is not None and arrays[2] is None):
        raise node.not_constant(packed, "its weights")
    q = _integers(arrays[0], bits).astype(np.float32)
    scale = arrays[1].astype(np.float32)
    zero = np.full(scale.shape, 1 << (bits - 1), np.float32)
    if arrays[2] is not None:
        zero = _integers(arrays[2], bits)[..., : scale.shape[-1]].astype(np.float32)
    blocks = q.reshape(
        *q.shape[:2],
        -1 if scale.ndim == 2 else scale.shape[2],
        q.shape[2] if scale.ndim == 2 else q.shape[2] // scale.shape[2],
    )
    wide = (blocks - zero.reshape(*q.shape[:2], -1, 1)) * scale.reshape(*q.shape[:2], -1, 1)
    return Value.constant(np.ascontiguousarray(wide.reshape(q.shape)))


def _integers(packed: Any, bits: int) -> Any:
    """Return the integers of bytes, the lowest bits first, in the last dimension."""
    parts = packed[..., None] >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], -1)


@converter("MoEGroupRouter", domain=MICROSOFT)
@in_single
def group_router(node: Node, logits: Value, bias: Value, projection: Value | None = None) -> Expr:
    """Return the logarithms of the sigmoids of the best experts of the best groups, and a sentinel for the others."""
    if projection is not None or not node.wants(0) or node.wants(1):
        raise node.unsupported("all scores, which ONNX Runtime returns on other devices alone")
    count = logits.dims[-1].constant
    if count is None:
        raise node.unsupported("a symbolic number of experts")
    groups, best = node.attr("n_group", 1), node.attr("topk_group", 1)
    tokens = product(logits.dims[:-1])
    scores = _bound(node, op("sigmoid", op("reshape", logits, (tokens, count))))
    ranks = _bound(node, op("add", scores, bias))
    if groups > 1:
        parts = _bound(node, op("reshape", ranks, (tokens, groups, count // groups)))
        most = min(node.attr("group_topk", 2), count // groups)
        totals = _bound(node, op("sum", op("topk", parts, k=most, axis=2, ret_type="values"), axis=[2]))
        open_ = op("expand_dims", _is_best(node, totals, best, groups), axis=[2])
        ranks = _bound(
            node, op("reshape", op("where", open_, parts, Value.constant(-np.inf, "float32")), (tokens, count))
        )
    chosen = _is_best(node, ranks, node.attr("top_k"), count)
    logarithms = op("log", op("maximum", scores, 1e-20))
    return op("where", chosen, logarithms, Value.constant(node.attr("router_sentinel", -10000.0), "float32"))


def _is_best(node: Node, x: Value, k: int, count: int) -> Expr:
    """Return whether each element of a row is among its k greatest ones, the first among equals."""
    best = op("topk", x, k=k, axis=1, largest=True, ret_type="indices", dtype="int64")
    there = op("equal", op("expand_dims", node.emit(best), axis=[2]), Value.constant(np.arange(count)))
    return node.emit(op("not_equal", op("max", op("astype", there, dtype="int8"), axis=[1]), Value.constant(0, "int8")))


_ACTIVATIONS = {"relu": "nn.relu", "gelu": "nn.gelu", "silu": "nn.silu"}


def _activated(node: Node, gate: Value, other: Value | None) -> Value:
    name = node.attr("activation_type", "relu")
    if name == "swiglu":
        return _swiglu(node, *(_halves(node, gate) if other is None else (gate, other)))
    if name != "identity" and name not in _ACTIVATIONS:
        raise node.unsupported(f"the activation {name}")
    y = gate if name == "identity" else _bound(node, op(_ACTIVATIONS[name], gate))
    return y if other is None else _bound(node, op("multiply", y, other))


def _halves(node: Node, x: Value) -> tuple[Value, Value]:
    """Return gate and linear part, which take turns or follow one another."""
    half, axis = x.dims[1] // 2, x.rank - 1
    if node.attr("swiglu_fusion", 0) == 2:
        parts = [op("strided_slice", x, axes=[axis], begin=[half * i], end=[half * (i + 1)]) for i in (0, 1)]
    else:
        pairs = _bound(node, op("reshape", x, (x.dims[0], half, 2)))
        parts = [op("take", pairs, Value.constant(i, "int64"), axis=2) for i in (0, 1)]
    return _bound(node, parts[0]), _bound(node, parts[1])


def _swiglu(node: Node, gate: Value, linear: Value) -> Value:
    limit = node.attr("swiglu_limit")
    if limit is not None and np.isfinite(limit):
        gate = _bound(node, op("minimum", gate, limit))
        linear = _bound(node, op("maximum", op("minimum", linear, limit), -limit))
    activated = op("multiply", gate, op("sigmoid", op("multiply", gate, node.attr("activation_alpha", 1.0))))
    return _bound(node, op("multiply", activated, op("add", linear, node.attr("activation_beta", 0.0))))


@converter("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(node: Node, x: Value, scale: Value | None = None) -> Expr:
    factor: Any = node.attr("alpha", 1.0) if scale is None else op("reshape", converted(scale, x.dtype), ())
    return op("nn.silu", node.emit(op("multiply", x, factor)))


@converter("GatedAdd", domain=MICROSOFT)
def gated_add(node: Node, x: Value, y: Value, gate: Value, weight: Value | None = None) -> Expr:
    if weight is not None:
        raise node.unsupported("a gate that is a product")
    return op("add", x, op("multiply", y, gate))


def _by_rms(node: Node, x: Value, extents: tuple[Any, ...], epsilon: float) -> Value:
    """Return x, with its last dimension in parts, divided by the roots of the mean squares of the last one."""
    parts = _bound(node, op("reshape", converted(x, "float32"), extents))
    mean = op("mean", op("multiply", parts, parts), axis=[-1], keepdims=True)
    return _bound(node, op("multiply", parts, op("rsqrt", op("add", mean, epsilon))))


@converter("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(node: Node, x: Value, scale: Value, gate: Value) -> Output:
    """Return groups of as many elements as `scale` has, normalized, times the activated gate."""
    name = node.attr("activation", "silu")
    activation = {"silu": "nn.silu", "swish": "nn.silu", "sigmoid": "sigmoid"}.get(name)
    if activation is None:
        raise node.error("an attribute has a value that means nothing here", found=name)
    width = scale.dims[0]
    groups = (*x.dims[:-1], x.dims[-1] // width, width)
    y = op("multiply", _by_rms(node, x, groups, node.attr("epsilon", 1e-5)), converted(scale, "float32"))
    opened = op(activation, node.emit(as_value(converted(gate, "float32")).expr))
    return converted(as_value(op("multiply", op("reshape", y, x.dims), opened)), x.dtype)


@converter("BranchwiseRMSNorm", domain=MICROSOFT)
def branchwise_rms_norm(node: Node, x: Value, scale: Value | None = None) -> Output:
    """Normalize each branch: the last dimension, or one of `num_branches` parts of it."""
    count = node.attr("num_branches", 0)
    extents = (*x.dims[:-1], count, x.dims[-1] // count) if count else x.dims
    y = _by_rms(node, x, extents, node.attr("epsilon", 1e-5))
    if scale is not None:
        wide = converted(scale, "float32")
        is_per_output = scale.rank == 1 and scale.dims[0] != extents[-1]
        y = _bound(node, op("multiply", y, op("reshape", wide, tuple(extents[-2:])) if is_per_output else wide))
    return converted(as_value(op("reshape", y, x.dims)), x.dtype)


@converter("LinearAttentionGate", domain=MICROSOFT)
def linear_attention_gate(node: Node, a: Value, shift: Value, scale: Value, b: Value | None = None) -> Any:
    """Return the logarithms of decays, and the rates of updates."""
    total = node.emit(op("add", converted(a, "float32"), shift))
    softplus = op("add", op("maximum", total, 0.0), op("log1p", op("exp", op("negative", op("abs", total)))))
    decay = converted(as_value(op("multiply", softplus, scale)), a.dtype)
    return decay, None if b is None else op("sigmoid", b)
