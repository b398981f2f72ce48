"""`tvm.tir.transform`: passes on tensor functions, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...diagnostics import unknown_name
from ...ir.transform import PythonPass

PrimFuncPass = PythonPass

_PASSES = {
    "AnnotateEntryFunc": "annotate_entry_func",
    "BF16ComputeLegalize": "bf16_compute_legalize",
    "BindTarget": "bind_target",
    "CommonSubexprElimTIR": "common_subexpr_elim_tir",
    "CompactBufferAllocation": "compact_buffer_allocation",
    "ConvertBlocksToOpaque": "convert_blocks_to_opaque",
    "FP8ComputeLegalize": "fp8_compute_legalize",
    "Filter": "filter",
    "FlattenBuffer": "flatten_buffer",
    "ForceNarrowIndexToInt32": "force_narrow_index_to_int32",
    "HoistIfThenElse": "hoist_if_then_else",
    "LoopPartition": "loop_partition",
    "LowerInitBlock": "lower_init_block",
    "LowerMatchBuffer": "lower_match_buffer",
    "LowerOpaqueBlock": "lower_opaque_block",
    "NarrowDataType": "narrow_data_type",
    "PlanAndUpdateBufferAllocationLocation": "plan_and_update_buffer_allocation_location",
    "RemoveAssume": "remove_assume",
    "RemoveNoOp": "remove_no_op",
    "Simplify": "simplify",
    "StorageRewrite": "storage_rewrite",
    "UnrollLoop": "unroll_loop",
    "VectorizeLoop": "vectorize_loop",
    "VerifyMemory": "verify_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _PASSES:
        raise AttributeError(str(unknown_name("pass", name, _PASSES)))
    return getattr(import_module(f"...transforms.tir.{_PASSES[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*_PASSES, *__all__])


__all__ = ["PrimFuncPass"]
