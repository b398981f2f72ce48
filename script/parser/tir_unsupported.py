"""What TVM's `T` has and tirax has not, with the reason, which is what the diagnostic says."""

from __future__ import annotations

import ast

from ...diagnostics import UnsupportedError
from .source import Source

_GPU = "it is for GPUs; tirax compiles for CPUs"
_THREADS = "use T.thread_binding, or T.parallel on CPUs"
_ABI = "it is a step of TVM's lowering of packed calls; write T.call_packed"
_VM = "it is a step of TVM's lowering to its virtual machine; call from Relax"
_BUILDER = "it is a step of TVM's builder of programs; write the Python statement"
_NODE = "it is a class of TVM's IR; write the expression"
_REDUCER = "it stands in the axis of T.reduce only; a block has T.axis.reduce"
_PROFILE = "it is for profiling on Hexagon"

UNSUPPORTED: dict[str, str] = {
    "realize": (
        "it is what the schedules of te made, which TVM 0.20 has no more: no pass of it makes or lowers one; "
        "memory is T.alloc_buffer, or T.allocate and T.decl_buffer"
    ),
    "prefetch": "call llvm.prefetch: T.call_llvm_intrin",
    "launch_thread": _THREADS,
    "env_thread": _THREADS,
    "thread_return": _GPU,
    "dp4a": _GPU,
    "CommReducer": "write T.comm_reducer(lambda x, y: x + y, [T.float32(0)])",
    **dict.fromkeys(("iter_var", "IterVar", "Range"), _REDUCER),
    **dict.fromkeys(("masked_load", "masked_store"), "write A.vload(…, predicate=mask), or A.vstore"),
    **dict.fromkeys(("If", "Then", "Else", "While", "arg", "func_name", "func_ret", "buffer_decl"), _BUILDER),
    **dict.fromkeys(("block_name_suffix_context", "add_to_parent"), _BUILDER),
    **dict.fromkeys(("Call", "CallEffectKind", "BufferLoad", "ProducerLoad"), _NODE),
    **dict.fromkeys(("ptr", "buffer_var", "Ptr", "Tuple", "void"), _NODE),
    **dict.fromkeys(("tvm_stack_alloca", "tvm_stack_make_array", "tvm_stack_make_shape", "tvm_struct_get"), _ABI),
    **dict.fromkeys(("tvm_struct_set", "tvm_throw_last_error", "tvm_call_packed_lowered", "call_packed_lowered"), _ABI),
    **dict.fromkeys(("tvm_call_cpacked", "call_cpacked", "call_cpacked_lowered", "tvm_call_cpacked_lowered"), _ABI),
    **dict.fromkeys(("TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace", "lookup_param", "tvm_tuple"), _ABI),
    **dict.fromkeys(("anylist_getitem", "anylist_resetitem", "anylist_setitem_call_packed"), _VM),
    **dict.fromkeys(("anylist_setitem_call_cpacked", "call_tir"), _VM),
    **dict.fromkeys(("start_profile_intrinsic", "end_profile_intrinsic"), _PROFILE),
    "llvm_lookup_intrinsic_id": "give the name itself to T.call_llvm_intrin",
    **dict.fromkeys(("tvm_thread_allreduce", "tvm_storage_sync", "tvm_global_barrier_kinit"), _GPU),
    **dict.fromkeys(("tvm_kernel_replace_point", "tvm_warp_activemask", "tvm_warp_shuffle"), _GPU),
    **dict.fromkeys(("tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor"), _GPU),
    **dict.fromkeys(("tvm_mma_sync", "tvm_bmma_sync", "tvm_fill_fragment", "tvm_load_matrix_sync"), _GPU),
    **dict.fromkeys(("tvm_store_matrix_sync", "mma_store", "mma_fill", "mma_store_legacy", "mma_fill_legacy"), _GPU),
    **dict.fromkeys(("ptx_mma", "ptx_mma_sp", "ptx_ldmatrix", "ptx_cp_async", "ptx_cp_async_bulk"), _GPU),
    **dict.fromkeys(("ptx_commit_group", "ptx_wait_group", "ptx_cp_async_barrier", "ptx_wait_barrier"), _GPU),
    **dict.fromkeys(("ptx_init_barrier_thread_count", "ptx_arrive_barrier", "create_barriers"), _GPU),
    **dict.fromkeys(("ptx_arrive_barrier_expect_tx", "ptx_mma_legacy", "ptx_ldmatrix_legacy", "ptx_ldg32"), _GPU),
    **dict.fromkeys(("make_filled_simdgroup_matrix", "simdgroup_load", "simdgroup_store"), _GPU),
    **dict.fromkeys(("simdgroup_multiply_accumulate", "texture2d_load", "texture2d_store"), _GPU),
}
"""Name -> why, and what to write instead."""


def unsupported(site: Source, node: ast.AST, name: str) -> UnsupportedError | None:
    """The error for what TVM has and tirax does not; None for any other name."""
    if name not in UNSUPPORTED:
        return None
    return UnsupportedError(f"T.{name} is not supported", location=site.place(node), hint=UNSUPPORTED[name])
