"""`tvm.relax.transform`: passes on Relax programs, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...diagnostics import unknown_name
from ...ir.transform import function_pass, module_pass

_PASSES = {
    "AnnotateTIROpPattern": "fusion.annotate_tir_op_pattern",
    "BindParams": "params.bind_params",
    "BindSymbolicVars": "params.bind_symbolic_vars",
    "CanonicalizeBindings": "bindings.canonicalize_bindings",
    "ConvertToDataflow": "bindings.convert_to_dataflow",
    "DeadCodeElimination": "bindings.dead_code_elimination",
    "DecomposeOpsForInference": "operators.decompose_ops",
    "EliminateCommonSubexpr": "bindings.eliminate_common_subexpr",
    "ExpandMatmulOfSum": "operators.expand_matmul_of_sum",
    "ExpandTupleArguments": "functions.expand_tuple_arguments",
    "FoldConstant": "bindings.fold_constant",
    "FuseOps": "fusion.fuse_ops",
    "FuseOpsByPattern": "dpl.fuse_ops_by_pattern",
    "FuseTIR": "fusion.fuse_tir",
    "FusionPattern": "dpl.fusion_pattern",
    "InlinePrivateFunctions": "functions.inline_private_functions",
    "LegalizeOps": "legalize",
    "MergeCompositeFunctions": "dpl.merge_composite_functions",
    "Normalize": "bindings.normalize",
    "PatternCheckContext": "dpl.fusion_pattern",
    "RemoveRedundantReshape": "operators.remove_redundant_reshape",
    "RemoveUnusedOutputs": "functions.remove_unused_outputs",
    "RemoveUnusedParameters": "functions.remove_unused_parameters",
    "ReorderPermuteDimsAfterConcat": "operators.reorder_permute_dims_after_concat",
    "ReorderTakeAfterMatmul": "operators.reorder_take_after_matmul",
    "ToNonDataflow": "bindings.to_non_dataflow",
    "TopologicalSort": "bindings.topological_sort",
}


def __getattr__(name: str) -> Any:
    if name not in _PASSES:
        raise AttributeError(str(unknown_name("pass", name, _PASSES)))
    return getattr(import_module(f"...transforms.{_PASSES[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*_PASSES, *__all__])


__all__ = ["function_pass", "module_pass"]
