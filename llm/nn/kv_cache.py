"""Attention to a KV cache in a model under construction (`llm/cache.py` is the cache itself).

    cache = PagedKVCache(layout, keys, values, table, starts)
    out = cache.attention(layer, query, key, value, scale=0.125)

appends keys and values to the pages of the cache, in place, and attends to all of its positions. Pools,
table and starts are arguments of the function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import i64

from ... import te
from ...dialects.sym.expr import Const, SymExpr
from ...frontend.nn import op, spec
from ...frontend.nn.tensor import Tensor
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.variables import SizeVar
from ...script import parse_source
from ...te.axis import index_type
from ...te.create import build_func
from ...transforms.tir.walk import functions
from ..cache import CacheLayout
from . import paged_cache_kernels as paged_cache

INPUTS = ("keys", "values", "table", "starts")


def cache_specs(layout: CacheLayout, sequences: int | str) -> dict[str, spec.Tensor]:
    """Return the specs of the arguments `INPUTS`; pool and table have any number of pages."""
    pool = spec.Tensor(layout.shape(cast(Any, "pool_pages")), layout.dtype)
    table = spec.Tensor((sequences, "pages"), "int32")
    return dict(zip(INPUTS, (pool, pool, table, spec.Tensor((sequences,), "int32")), strict=True))


@dataclass
class PagedKVCache:
    """The cache inside a function, including what it has appended so far. `starts` are the positions of the
    first tokens.

    `cosines` and `sines` rotate queries and keys; None leaves them unrotated.
    """

    layout: CacheLayout
    keys: Tensor
    values: Tensor
    table: Tensor
    starts: Tensor
    _functions: dict[Any, PrimFunc] = field(default_factory=dict[Any, PrimFunc])

    def attention_with_fused_qkv(self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float) -> Tensor:
        """As `attention`, with queries, keys and values in one tensor (sequences, length, heads of all three, size)."""
        heads = self.layout.kv_heads
        query, key, value = op.split(qkv, [num_qo_heads, num_qo_heads + heads], axis=2)
        return self.attention(layer_id, op.permute(query, [0, 2, 1, 3]), op.permute(key, [0, 2, 1, 3]), value, sm_scale)

    def attention(
        self,
        layer: int | SymExpr,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        window: int | None = None,
        softcap: float | None = None,
    ) -> Tensor:
        """Append keys and values of new positions, and attend to all positions up to each query's own.

        `query` and `key` are (sequences, heads, length, size), `value` and the result are (sequences, length,
        heads, size). `layer` may be an argument of the function. `window` and `softcap` are those of
        `llm.nn.paged_cache_kernels.paged_attention`.
        """
        self.keys = self._appended(self.keys, key, layer, heads_first=True)
        self.values = self._appended(self.values, value, layer, heads_first=False)
        sequences, heads, length, size = query.shape
        is_one = isinstance(length, Const) and length.value == 1 or length == 1
        if is_one:  # the queries that look at the same keys are the rows of one product
            groups = self.layout.kv_heads
            query = op.reshape(query, [sequences, groups, heads // groups, size])
        function = self._attention_function(query, not is_one, scale, window, softcap)
        args = [query, self.keys, self.values, self.table, self.starts, _scalar(layer)]
        out = op.tensor_ir_op(function, "paged_attention", args, Tensor.placeholder(query.shape, "float32"))
        if is_one:
            return op.reshape(out, [sequences, 1, heads, size])
        return op.permute(out, [0, 2, 1, 3])

    def _appended(self, pool: Tensor, rows: Tensor, layer: int | SymExpr, heads_first: bool) -> Tensor:
        """Return the pool with the rows of the new positions written in place."""
        key = ("append", heads_first)
        if key not in self._functions:
            self._functions[key] = _append_function(self.layout, heads_first)
        args = [rows, self.table, self.starts, pool, _scalar(layer)]
        return op.tensor_ir_inplace_op(self._functions[key], "append", args, 3, pool)

    def _attention_function(
        self, query: Tensor, causal: bool, scale: float, window: int | None, softcap: float | None
    ) -> PrimFunc:
        heads, _, size = (int(d) if isinstance(d, int) else d for d in query.shape[1:])
        key = (causal, scale, window, softcap)
        if key not in self._functions:
            self._functions[key] = _attention_function(self.layout, query.shape, causal, scale, window, softcap)
        return self._functions[key]


def _scalar(layer: int | SymExpr) -> SymExpr:
    return Const(layer, i64) if isinstance(layer, int) else layer


def _attention_function(
    layout: CacheLayout, query_shape: Any, causal: bool, scale: float, window: int | None, softcap: float | None
) -> PrimFunc:
    """Return the tensor function of `paged_attention` with the layer as a parameter.

    For a single sequence, the heads are split among the threads.
    """
    with index_type(i64):
        rows, pages, pool, layer = (SizeVar(name, "int64") for name in ("rows", "pages", "pool", "layer"))
        sequences = 1 if query_shape[0] == 1 else SizeVar("sequences", "int64")
        known = query_shape[2] if not causal else rows
        query = te.placeholder((sequences, query_shape[1], known, query_shape[3]), "float32", "query")
        shape = layout.shape(cast(Any, pool))
        keys, values = te.placeholder(shape, layout.dtype, "keys"), te.placeholder(shape, layout.dtype, "values")
        table, starts = (
            te.placeholder((sequences, pages), "int32", "table"),
            te.placeholder((sequences,), "int32", "starts"),
        )
        out = paged_cache.paged_attention(
            query, keys, values, table, starts, layer, scale=scale, causal=causal, window=window, softcap=softcap
        )
        args = [query, keys, values, table, starts, layer, out]
        # outputs come before scalars in a call
        return PrimFunc.on(build_func("paged_attention", [*args[:5], out, layer], private=True, index_dtype="int64"))


_APPEND = """\
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def append(new: T.handle, table_of: T.handle, starts_of: T.handle, pool_of: T.handle, layer: T.int64):
        T.func_attr({{"tir.noalias": T.bool(True)}})
        sequences, length, pages, pool_pages = T.int64(), T.int64(), T.int64(), T.int64()
        rows = T.match_buffer(new, ({rows}, {size}), "float32")
        table = T.match_buffer(table_of, (sequences, pages), "int32")
        starts = T.match_buffer(starts_of, (sequences,), "int32")
        pool = T.match_buffer(pool_of, ({layers}, pool_pages, {heads}, {page}, {size}), "{dtype}")
        for b, i, h, d in T.grid(sequences, length, {heads}, {size}):
            with T.block("append"):
                vb, vi, vh, vd = T.axis.remap("SSSS", [b, i, h, d])
                pool[
                    layer, table[vb, (starts[vb] + vi) // {page}], vh, (starts[vb] + vi) % {page}, vd
                ] = T.cast(rows[{place}, vd], "{dtype}")
"""


def _append_function(layout: CacheLayout, heads_first: bool) -> PrimFunc:
    """Return the tensor function that writes rows into a layer of a pool.

    The rows are (sequences, heads, length, size) with `heads_first`, else (sequences, length, heads, size).
    """
    text = _APPEND.format(
        rows=f"sequences, {layout.kv_heads}, length" if heads_first else f"sequences, length, {layout.kv_heads}",
        place="vb, vh, vi" if heads_first else "vb, vi, vh",
        layers=layout.layers,
        heads=layout.kv_heads,
        page=layout.page_size,
        size=layout.head_size,
        dtype=layout.dtype,
    )
    (func,) = functions(parse_source(text))
    func.detach()
    return PrimFunc.on(func)


__all__ = ["INPUTS", "PagedKVCache", "cache_specs"]
