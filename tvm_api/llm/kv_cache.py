"""`tvm.relax.frontend.nn.llm.kv_cache`: the paged KV cache as an object of the functions of a model.

    cache = TIRPagedKVCache(attn_kind="mha", max_batch_size=max_batch_size, …, dtype="float32", target=target)
    out = cache.attention_with_fused_qkv(layer, qkv, heads, sm_scale)

creates it in one function, and attends to it in others, which take it as an argument.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Literal

from ...diagnostics import UnsupportedError
from ...frontend.nn.tensor import Object, Tensor, current_builder
from ...handles.relax.calls import call_dps_packed, call_pure_packed
from ...handles.relax.expr import Expr, PrimValue, ShapeExpr, StringImm
from ...handles.struct_info import ObjectStructInfo, TensorStructInfo
from ...runtime.errors import ArgumentError

Kind = Literal["mha", "mla"]


class AttnKind(IntEnum):
    """Multi-head attention, also of grouped queries, or latent attention."""

    MHA = 0
    MLA = 1


class RopeMode(IntEnum):
    """Whether the cache rotates queries and keys. `INLINE` is `NORMAL`: keys are rotated before they are stored."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


class PagedKVCache(Object):
    """A paged KV cache, as an argument of the functions that attend to it, or created by one."""

    extern_mods: Sequence[Any] = ()

    def attention_with_fused_qkv(self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float) -> Tensor:
        """Rotate queries and keys, append keys and values, and attend to all positions up to each query's own.

        `qkv` is (batch, length, query heads + 2 * heads, size), the result (batch, length, `num_qo_heads`, size): one
        row for the positions of all sequences of the step, one after the other, or a row for each where each has one
        new position.
        """
        batch, length, heads, size = qkv.shape
        rows = qkv.reshape(batch * length, heads, size)
        info = TensorStructInfo((batch * length, num_qo_heads, size), qkv.dtype)
        args = [self._expr, PrimValue(layer_id), PrimValue(float(sm_scale)), rows.expr_handle]
        out = call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", args, info)
        return Tensor(_expr=current_builder().emit(out)).reshape(batch, length, num_qo_heads, size)

    def get_query_positions(self, total_length: Any) -> Tensor:
        """Return the position of each new one in its sequence, (`total_length`,), int32."""
        name = "vm.builtin.attention_kv_cache_get_query_positions"
        call = call_pure_packed(name, self._expr, sinfo_args=TensorStructInfo((total_length,), "int32"))
        return Tensor(_expr=current_builder().emit(call))

    def self_attention(self, layer_id: int, q: Tensor, k: Tensor, v: Tensor, sm_scale: float) -> Any:
        """Refuse: it is a part of latent attention."""
        raise _latent("self_attention")

    def cross_attention(self, layer_id: int, q: Tensor, v_head_dim: int, sm_scale: float) -> Any:
        """Refuse: it is a part of latent attention."""
        raise _latent("cross_attention")

    def append_mla_kv(self, layer_id: int, kv: Tensor) -> Any:
        """Refuse: it is a part of latent attention."""
        raise _latent("append_mla_kv")

    def merge_attn_output_inplace(
        self, o_self_attn: Tensor, lse_self_attn: Tensor, o_cross_attn: Tensor, lse_cross_attn: Tensor
    ) -> Any:
        """Refuse: it is a part of latent attention."""
        raise _latent("merge_attn_output_inplace")

    @staticmethod
    def create_generic(
        attn_kind: Kind,
        max_batch_size: Any,
        max_total_seq_len: Any,
        prefill_chunk_size: Any,
        page_size: Any,
        support_sliding_window: Any,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        rope_mode: RopeMode,
        rope_scale: float,
        rope_theta: float,
        dtype: str,
        mla_original_qk_head_dim: int = 0,
        mla_original_v_head_dim: int = 0,
        rotary_dim: int | None = None,
        rope_scaling: Mapping[str, Any] | None = None,
        rope_ext_factors: Expr | None = None,
        layer_partition: Any = None,
        enable_disaggregation: bool = False,
        name: str = "paged_kv_cache",
    ) -> PagedKVCache:
        """Create a cache for whatever is compiled for, as MLC LLM does; see `TIRPagedKVCache`."""
        return TIRPagedKVCache(
            attn_kind, max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window,
            [0, num_hidden_layers] if layer_partition is None else layer_partition,
            num_hidden_layers, num_attention_heads, num_key_value_heads, qk_head_dim, v_head_dim,
            mla_original_qk_head_dim, mla_original_v_head_dim, rope_mode, rope_scale, rope_theta, rope_scaling or {},
            PrimValue(0) if rope_ext_factors is None else rope_ext_factors,
            qk_head_dim if rotary_dim is None else rotary_dim, enable_disaggregation, dtype, None, name,
        )  # fmt: skip


class TIRPagedKVCache(PagedKVCache):
    """A new cache, with compiled kernels."""

    def __init__(
        self,
        attn_kind: Kind,
        max_batch_size: Any,
        max_total_seq_len: Any,
        prefill_chunk_size: Any,
        page_size: Any,
        support_sliding_window: Any,
        layer_partition: Any,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        mla_original_qk_head_dim: int,
        mla_original_v_head_dim: int,
        rope_mode: RopeMode,
        rope_scale: float,
        rope_theta: float,
        rope_scaling: Mapping[str, Any],
        rope_ext_factors: Expr,
        rotary_dim: int,
        enable_disaggregation: bool,
        dtype: str,
        target: Any,
        name: str = "paged_kv_cache",
    ):
        """Create the cache in the function that is exported.

        `max_batch_size`, `max_total_seq_len`, `prefill_chunk_size`, `page_size` and `support_sliding_window` are
        integers or symbolic ones; `layer_partition` is a shape, the first layer and one past the last.
        `rope_ext_factors` is an array of float32 for `rope_scaling["rope_type"] == "longrope"`, else any number.
        `dtype` is that of `qkv`, float32 or float16. `target` is not looked at: the host's processor runs it. Raises
        `UnsupportedError` for latent attention and disaggregation, `ArgumentError` where keys and values differ in
        size.
        """
        if attn_kind != "mha":
            raise _latent(f"attn_kind={attn_kind!r}")
        if enable_disaggregation:
            raise UnsupportedError("a KV cache on several machines", hint="enable_disaggregation=False")
        if qk_head_dim != v_head_dim:
            raise ArgumentError("keys and values differ in size", expected=qk_head_dim, found=v_head_dim)
        partition = layer_partition if isinstance(layer_partition, ShapeExpr) else ShapeExpr(list(layer_partition))
        call = call_pure_packed(
            "vm.builtin.paged_attention_kv_cache_create",
            ShapeExpr([max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window]),
            partition,
            ShapeExpr([num_attention_heads, num_key_value_heads, qk_head_dim, rotary_dim]),
            ShapeExpr([int(AttnKind.MHA)] * num_hidden_layers),
            PrimValue(int(rope_mode)),
            PrimValue(float(rope_scale)),
            PrimValue(float(rope_theta)),
            StringImm(json.dumps(dict(rope_scaling))),
            rope_ext_factors,
            StringImm(dtype),
            sinfo_args=ObjectStructInfo(),
        )
        super().__init__(_expr=call, _name=name)


def _latent(what: str) -> UnsupportedError:
    return UnsupportedError(f"{what}: latent attention", hint="attn_kind='mha' and attention_with_fused_qkv")


__all__ = ["AttnKind", "PagedKVCache", "RopeMode", "TIRPagedKVCache"]
