"""The compiled steps of a paged KV cache: rotate, append, attend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ...driver.build import build
from ...frontend import nn
from ...frontend.nn import op
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr
from ...llm.cache import CacheLayout
from ...llm.nn import paged_cache_kernels
from ...llm.nn.kv_cache import PagedKVCache, cache_specs
from ...llm.nn.position_embedding import rotate
from ...runtime import Executable
from ...te.tensor import Tensor, compute


@dataclass(frozen=True)
class Attention:
    """What the code of a step depends on.

    `planes` are rotated (0: none), by frequencies that are an argument; `in_pairs` if the coordinates of plane i are
    the numbers 2i and 2i + 1 of a head instead of i and i + planes. `magnitude` is the factor of rotated numbers.
    """

    layout: CacheLayout
    query_heads: int
    scale: float
    planes: int
    in_pairs: bool = False
    magnitude: float = 1.0


class _Step(nn.Module):
    def __init__(self, attention: Attention):
        super().__init__()
        self.attention = attention

    def specs(self, sequences: int | str, length: int | str) -> dict[str, Any]:
        """Return the specs of `prefill` and `decode`."""
        of = self.attention
        heads = of.query_heads + 2 * of.layout.kv_heads
        return {
            "qkv": nn.spec.Tensor((sequences, length, heads, of.layout.head_size), of.layout.dtype),
            "frequencies": nn.spec.Tensor((of.planes,), "float32"),
            **cache_specs(of.layout, sequences),
            "layer": int,
        }

    def prefill(
        self, qkv: Any, frequencies: Any, keys: Any, values: Any, table: Any, starts: Any, layer: Any
    ) -> tuple[Any, Any, Any]:
        """Append the keys and values of new positions, and attend from these."""
        of = self.attention
        cache = PagedKVCache(of.layout, keys, values, table, starts)
        heads = of.layout.kv_heads
        query, key, value = op.split(op.astype(qkv, "float32"), [of.query_heads, of.query_heads + heads], axis=2)
        if of.planes:
            args = [starts, frequencies, qkv.shape[1], of.magnitude]
            turns = op.tensor_expr_op(paged_cache_kernels.angles, "angles", args)
            if of.in_pairs:
                query, key = (op.tensor_expr_op(_halves, "halves", [x, of.planes]) for x in (query, key))
            query, key = rotate(query, *turns), rotate(key, *turns)
        else:
            query, key = (op.permute(x, [0, 2, 1, 3]) for x in (query, key))
        out = cache.attention(layer, query, key, value, of.scale)
        return op.astype(out, of.layout.dtype), cache.keys, cache.values

    decode = prefill


def _halves(x: Tensor, planes: int) -> Tensor:
    """Bring numbers 2i and 2i + 1 of a head to i and i + planes; queries and keys alike, so that products stay."""

    def element(*i: PrimExpr) -> PrimExpr:
        d = i[-1]
        pair = tx.floormod(d, planes) * 2 + tx.floordiv(d, planes)
        return x(*i[:-1], pair if is_full else tx.if_then_else(d < 2 * planes, pair, d))

    is_full = x.dims[-1].constant == 2 * planes
    return compute(x.dims, element, "halves")


@cache
def compiled(attention: Attention) -> Executable:
    """Return `prefill` of one sequence and `decode` of several.

    Both take qkv (sequences, length, heads of all three, size), frequencies, pools, table, starts and the layer as a
    shape, write keys and values into the pools, and return (attention (sequences, length, heads, size), the pools).
    """
    step = _Step(attention)
    specs = {"prefill": step.specs(1, "length"), "decode": step.specs("sequences", 1)}
    return build(step.export_tvm(specs)[0])


__all__ = ["Attention", "compiled"]
