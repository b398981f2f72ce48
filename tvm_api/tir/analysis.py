"""`tvm.tir.analysis`: what can be found out about tensor functions."""

from ...transforms.tir.analysis import (
    BufferRegion,
    assert_pure_function,
    calculate_allocated_bytes,
    calculate_workspace_bytes,
    detect_buffer_access_lca,
    estimate_tir_flops,
    expr_deep_equal,
    find_anchor_block,
    get_block_access_region,
    get_block_read_write_region,
    is_pure_function,
    undefined_vars,
    verify_memory,
    verify_well_formed,
)

__all__ = [
    "BufferRegion",
    "assert_pure_function",
    "calculate_allocated_bytes",
    "calculate_workspace_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "expr_deep_equal",
    "find_anchor_block",
    "get_block_access_region",
    "get_block_read_write_region",
    "is_pure_function",
    "undefined_vars",
    "verify_memory",
    "verify_well_formed",
]
