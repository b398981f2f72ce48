"""`tvm.relax.transform`: passes on Relax programs, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...diagnostics import unknown_name
from ...handles.passes import PythonPass, dataflowblock_pass, function_pass, module_pass

DataflowBlockPass = FunctionPass = PythonPass

_PASSES = {
    "AdjustMatmulOrder": "operators.adjust_matmul_order",
    "AllocateWorkspace": "memory.allocate_workspace",
    "AlterOpImpl": "layout.alter_op_impl",
    "AnnotateTIROpPattern": "fusion.pattern",
    "AttachAttrLayoutFreeBuffers": "layout.attach_attr_layout_free_buffers",
    "AttachGlobalSymbol": "functions.global_symbols",
    "BindParams": "params.bind_params",
    "BindSymbolicVars": "params.bind_symbolic_vars",
    "BundleModelParams": "params.bundle_model_params",
    "CallTIRRewrite": "memory.call_tir_rewrite",
    "CanonicalizeBindings": "bindings.canonicalize_bindings",
    "CombineParallelMatmul": "operators.combine_parallel_matmul",
    "ComputePrimValue": "memory.compute_prim_value",
    "ConvertLayout": "layout.convert_layout",
    "ConvertToDataflow": "bindings.convert_to_dataflow",
    "DataflowUseInplaceCalls": "memory.dataflow_use_inplace_calls",
    "DeadCodeElimination": "bindings.dead_code_elimination",
    "DecomposeOpsForInference": "operators.decompose_ops",
    "DecomposeOpsForTraining": "operators.decompose_ops",
    "EliminateCommonSubexpr": "bindings.eliminate_common_subexpr",
    "ExpandMatmulOfSum": "operators.expand_matmul_of_sum",
    "ExpandTupleArguments": "functions.expand_tuple_arguments",
    "FastMathTransform": "operators.fast_math_transform",
    "FoldBatchnormToConv2D": "operators.fold_batchnorm_to_conv2d",
    "FoldConstant": "bindings.fold_constant",
    "FuseOps": "fusion.fuse_ops",
    "FuseOpsByPattern": "codegen.fuse_ops_by_pattern",
    "FuseTIR": "fusion.fuse_tir",
    "FuseTransposeMatmul": "operators.fuse_transpose_matmul",
    "FusionPattern": "codegen.fusion_pattern",
    "Gradient": "training.gradient",
    "InlinePrivateFunctions": "functions.inline_private_functions",
    "KillAfterLastUse": "memory.kill_after_last_use",
    "LambdaLift": "functions.lambda_lift",
    "LazyGetInput": "params.lazy",
    "LazySetOutput": "params.lazy",
    "LazyTransformParams": "params.lazy_transform_params",
    "LegalizeOps": "legalize",
    "LiftTransformParams": "params.lift_transform_params",
    "LowerRuntimeBuiltin": "memory.lower_runtime_builtin",
    "LowerAllocTensor": "memory.lower_alloc_tensor",
    "MergeCompositeFunctions": "codegen.merge_composite_functions",
    "Normalize": "bindings.normalize",
    "NormalizeGlobalVar": "functions.global_symbols",
    "OptimizeLayoutTransform": "layout.optimize_layout_transform",
    "PatternCheckContext": "codegen.fusion_pattern",
    "RemovePurityChecking": "memory.remove_purity_checking",
    "RemoveRedundantReshape": "operators.remove_redundant_reshape",
    "RemoveUnusedOutputs": "functions.remove_unused_outputs",
    "RemoveUnusedParameters": "functions.remove_unused_parameters",
    "ReorderPermuteDimsAfterConcat": "operators.reorder_permute_dims_after_concat",
    "ReorderTakeAfterMatmul": "operators.reorder_take_after_matmul",
    "RewriteDataflowReshape": "memory.rewrite_dataflow_reshape",
    "RunCodegen": "codegen.run_codegen",
    "SplitCallTIRByPattern": "fusion.split_call_tir_by_pattern",
    "SplitLayoutRewritePreproc": "layout.split_layout_rewrite_preproc",
    "StaticPlanBlockMemory": "memory.static_plan_block_memory",
    "ToMixedPrecision": "operators.to_mixed_precision",
    "ToNonDataflow": "bindings.to_non_dataflow",
    "TopologicalSort": "bindings.topological_sort",
    "UpdateParamStructInfo": "functions.update_param_struct_info",
}
_TUNING = frozenset({"MetaScheduleApplyDatabase", "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR"})


def __getattr__(name: str) -> Any:
    if name in _TUNING:
        return getattr(import_module("...tuning.passes", __package__), name)
    if name not in _PASSES:
        raise AttributeError(str(unknown_name("pass", name, _PASSES)))
    return getattr(import_module(f"...transforms.{_PASSES[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*_PASSES, *_TUNING, *__all__])


__all__ = ["DataflowBlockPass", "FunctionPass", "dataflowblock_pass", "function_pass", "module_pass"]
