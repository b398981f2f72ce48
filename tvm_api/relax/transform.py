"""`tvm.relax.transform`: passes on Relax programs, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...diagnostics import unknown_name
from ...ir.transform import function_pass, module_pass

_PASSES = {
    "AnnotateTIROpPattern": "annotate_tir_op_pattern",
    "BindParams": "bind_params",
    "BindSymbolicVars": "bind_symbolic_vars",
    "CanonicalizeBindings": "canonicalize_bindings",
    "ConvertToDataflow": "convert_to_dataflow",
    "DeadCodeElimination": "dead_code_elimination",
    "DecomposeOpsForInference": "decompose_ops",
    "EliminateCommonSubexpr": "eliminate_common_subexpr",
    "ExpandMatmulOfSum": "expand_matmul_of_sum",
    "ExpandTupleArguments": "expand_tuple_arguments",
    "FoldConstant": "fold_constant",
    "FuseOps": "fuse_ops",
    "FuseOpsByPattern": "dpl.fuse_ops_by_pattern",
    "FuseTIR": "fuse_tir",
    "FusionPattern": "dpl.fusion_pattern",
    "InlinePrivateFunctions": "inline_private_functions",
    "LegalizeOps": "legalize",
    "MergeCompositeFunctions": "dpl.merge_composite_functions",
    "Normalize": "normalize",
    "PatternCheckContext": "dpl.fusion_pattern",
    "RemoveRedundantReshape": "remove_redundant_reshape",
    "RemoveUnusedOutputs": "remove_unused_outputs",
    "RemoveUnusedParameters": "remove_unused_parameters",
    "ReorderPermuteDimsAfterConcat": "reorder_permute_dims_after_concat",
    "ReorderTakeAfterMatmul": "reorder_take_after_matmul",
    "ToNonDataflow": "to_non_dataflow",
    "TopologicalSort": "topological_sort",
}


def __getattr__(name: str) -> Any:
    if name not in _PASSES:
        raise AttributeError(str(unknown_name("pass", name, _PASSES)))
    return getattr(import_module(f"...transforms.{_PASSES[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*_PASSES, *__all__])


__all__ = ["function_pass", "module_pass"]
