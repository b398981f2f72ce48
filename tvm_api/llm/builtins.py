"""The packed functions of the paged KV cache and of sampling, registered without importing what they need."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...runtime import register_func
from ...runtime.errors import ArgumentError
from .sampling import FUNCTIONS

_METHODS = {
    "kv_state": "add_sequence begin_forward clear end_forward fork_sequence popn remove_sequence",
    "attention_kv_cache": """
        attention_with_fused_qkv debug_get_kv empty get_num_available_pages get_query_positions
        get_total_sequence_length
    """,
}
"""The methods of `PagedAttentionKVCache`, by the prefix of their name."""


def _create(*args: Any) -> Any:
    from .paged_state import create  # most of the compiler

    return create(*args)


def _call(method: str, cache: Any, *args: Any) -> Any:
    if type(cache).__name__ != "PagedAttentionKVCache":
        raise ArgumentError(f"{method} needs a paged KV cache", found=type(cache).__name__)
    return getattr(cache, method)(*args)


def register() -> None:
    """Register the packed functions."""
    register_func("vm.builtin.paged_attention_kv_cache_create", _create, override=True)
    for name, function in FUNCTIONS.items():
        register_func(name, function, override=True)
    for family, methods in _METHODS.items():
        for method in methods.split():
            register_func(f"vm.builtin.{family}_{method}", partial(_call, method), override=True)


__all__ = ["register"]
