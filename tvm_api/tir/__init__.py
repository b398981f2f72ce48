"""`tvm.tir`: loops over buffers."""

# pyright: reportUnsupportedDunderAll=false

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ... import te as _te
from .._names import NamesOnly, no_attribute, provide
from ..handles import op_parameters

if TYPE_CHECKING:
    from ...te import *  # noqa: F403
    from ._exported import *  # noqa: F403  # pyright: ignore[reportMissingModuleSource]

_NAMES = NamesOnly(
    __name__,
    {
        "handles.tir.buffers": "Buffer decl_buffer Stmt",
        "tvm_api.handles.data_layout": "bijective_layout BijectiveLayout Layout layout",
        "handles.tir.expr_kinds": """
            Add And Broadcast BufferLoad Call Cast Div EQ FloatImm FloorDiv FloorMod GE GT IntImm LE Let LT
            Max Min Mod Mul NE Not Or Ramp Select Shuffle StringImm Sub
        """,
        "tvm_api.handles.device_intrinsics": """
            TVMBackendAllocWorkspace TVMBackendFreeWorkspace anylist_getitem anylist_resetitem
            anylist_setitem_call_cpacked anylist_setitem_call_packed call_cpacked call_cpacked_lowered
            call_packed_lowered create_barriers dp4a end_profile_intrinsic lookup_param make_filled_simdgroup_matrix
            mma_fill mma_store ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_commit_group ptx_cp_async
            ptx_cp_async_barrier ptx_cp_async_bulk ptx_init_barrier_thread_count ptx_ldg32 ptx_ldmatrix ptx_mma
            ptx_mma_sp ptx_wait_barrier ptx_wait_group simdgroup_load simdgroup_multiply_accumulate simdgroup_store
            start_profile_intrinsic tvm_bmma_sync tvm_fill_fragment tvm_global_barrier_kinit tvm_load_matrix_sync
            tvm_mma_sync tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape tvm_storage_sync
            tvm_store_matrix_sync tvm_struct_get tvm_struct_set tvm_thread_allreduce tvm_throw_last_error tvm_tuple
            tvm_warp_activemask tvm_warp_shuffle tvm_warp_shuffle_down tvm_warp_shuffle_up tvm_warp_shuffle_xor
        """,
        "handles.tir.index_map": "IndexMap",
        "handles.tir.intrinsics": """
            assume call_extern call_intrin
            call_llvm_intrin call_llvm_pure_intrin call_packed call_pure_extern call_tir ceildiv clz copysign
            handle_add_byte_offset hypot ignore_loop_partition isnullptr ldexp likely nextafter
            q_multiply_shift q_multiply_shift_per_axis reinterpret tvm_access_ptr
            type_annotation undef vectorcombine vectorhigh vectorlow vscale
        """,
        "handles.tir.math_functions": "exp10 exp2 log1p",
        "handles.tir.prim_expr": "const convert logical_and logical_not logical_or PrimExpr",
        "handles.tir.prim_func": "PrimFunc",
        "handles.tir.block_views": "Block BlockRealize",
        "handles.tir.control_flow": "AssertStmt AttrStmt For ForKind IfThenElse While",
        "handles.tir.domains": "BufferRegion IterVar MatchBufferRegion",
        "handles.tir.stmt": "Evaluate SeqStmt ret=Returned",
        "handles.tir.storage": "Allocate AllocateConst BufferStore DeclBuffer LetStmt",
        "handles.tir.variables": "SizeVar Var",
        "handles.tir.ir_builder": "stmt_list stmt_seq",
        "te.tensor": "ProducerLoad",
        "tvm_api.handles.schedules": "Schedule TensorIntrin",
        "schedule.block_scope": "BlockScope Dependency DepKind ScheduleState",
        "schedule.state": "ScheduleError",
        "schedule.trace": "ExprRV StmtSRef",
        "tvm_api.handles.block_dependence": "BlockDependenceInfo",
        "tvm_api.handles.comm_reducer": "CommReducer",
        "tvm_api.handles.traces": "BlockRV LoopRV",
    },
)

provide(
    __name__,
    {
        "analysis": {
            "handles.tir.domains": "BufferRegion",
            "tvm_api.passes.tir.buffer_access_lca": "detect_buffer_access_lca",
            "tvm_api.passes.tir.out_of_bounds": "OOBChecker=oob_checker",
            "tvm_api.tir.gpu_limits": "verify_gpu_code",
            "transforms.tir.analysis": """
                assert_pure_function calculate_allocated_bytes calculate_workspace_bytes
                estimate_tir_flops expr_deep_equal find_anchor_block get_block_access_region
                get_block_read_write_region is_pure_function undefined_vars verify_memory verify_ssa verify_well_formed
            """,
        },
        "block_dependence_info": {"tvm_api.handles.block_dependence": "BlockDependenceInfo"},
        "buffer": {"handles.tir.buffers": "Buffer decl_buffer"},
        "data_layout": {"tvm_api.handles.data_layout": "BijectiveLayout Layout bijective_layout layout"},
        "expr": {
            "tvm_api.tir": "*",
            "tvm_api.handles.generic": "EqualOp NotEqualOp",
            "handles.tir.prim_expr": "ExprOp=PrimExpr",
        },
        "function": {
            "handles.tir.index_map": "IndexMap",
            "handles.tir.prim_func": "PrimFunc",
            "tvm_api.handles.schedules": "TensorIntrin",
        },
        "generic": {"tvm_api.generic": "*"},
        "op": {"tvm_api.tir": "*"},
        "stmt": {"tvm_api.tir": "*"},
        "ir_builder": {"handles.tir.ir_builder": "BufferVar IRBuilder create"},
        "schedule": {
            "dialects.sched": "InstructionKind",
            "tvm_api.handles.schedules": "Schedule TensorIntrin",
            "schedule.block_scope": "BlockScope CachedFlags Dependency DepKind ScheduleState",
            "schedule.state": "ScheduleError",
            "schedule.trace": "ExprRV StmtSRef",
            "tvm_api.handles.traces": "BlockRV Instruction LoopRV ScheduleDebugMask Trace",
        },
        "tensor_intrin": {"tvm_api.handles.schedules": "TensorIntrin"},
        **{
            f"tensor_intrin.{name}": {
                "tvm_api.handles.schedules": "TensorIntrin",
                "tvm_api.handles.device_tiles.names": "*",
            }
            for name in ("arm_cpu", "cuda", "dot_product_common", "hexagon", "rocm")
        },
        "tensor_intrin.x86": {
            "tvm_api.handles.schedules": "TensorIntrin",
            "tvm_api.handles.tensor_intrinsics": """
                AVX512_DOT_16x4_INTRIN VNNI_DOT_16x4_INTRIN dot_product_16x4_u8i8i32_avx512
                dot_product_16x4_u8i8i32_desc dot_product_16x4_u8i8i32_vnni
            """,
        },
        "schedule.analysis": {
            "tvm_api.handles.suggested_layout": "suggest_index_map",
            "tvm_api.handles.auto_tensorize": "AutoTensorizeMappingInfo get_auto_tensorize_mapping_info",
            "tvm_api.handles.tensorize_info": "TensorizeInfo get_tensorize_loop_mapping",
            "tvm_api.handles.traces": "has_block is_output_block",
        },
        "schedule.instruction": {"dialects.sched": "InstructionKind", "tvm_api.handles.traces": "Instruction"},
        "schedule.schedule": {
            "tvm_api.handles.schedules": "Schedule",
            "schedule.state": "ScheduleError",
            "schedule.trace": "ExprRV",
            "tvm_api.handles.traces": "BlockRV LoopRV",
        },
        "schedule.state": {
            "schedule.block_scope": "CachedFlags ScheduleState",
            "schedule.trace": "StmtSRef",
            "tvm_api.handles.traces": "ScheduleDebugMask",
        },
        "block_scope": {"schedule.block_scope": "BlockScope Dependency DepKind", "schedule.trace": "StmtSRef"},
        "schedule.testing": {
            "tvm_api.testing.schedules": "assert_structural_equal_ignore_global_symbol verify_trace_roundtrip"
        },
        "schedule.trace": {"tvm_api.handles.traces": "Trace"},
        "stmt_functor": {
            "tvm_api.handles.tir_functor": "ir_transform post_order_visit pre_order_visit renew_defs substitute"
        },
    },
)


def __getattr__(name: str) -> Any:
    """Return a name loaded on first use; intrinsics such as `tir.exp` are those of tensor expressions."""
    if name == "transform":
        return import_module(".transform", __name__)
    if name == "build":
        return getattr(import_module("..compilation", __name__), name)
    if name in op_parameters.NAMES:
        return op_parameters.function_of(name)
    if _NAMES.names(name):
        return getattr(_NAMES, name)
    if name.startswith("_") or name not in _te.__all__:
        raise no_attribute(__name__, name)
    return getattr(_te, name)


__all__ = [*_NAMES.__all__, *op_parameters.NAMES, "analysis", "ir_builder", "schedule", "stmt_functor", "transform"]  # noqa: F405
