"""tirax's dialects, passes and targets for xDSL, each loaded on first use.

`xdsl-opt` finds them through the entry point `xdsl.universe`; `tirax-opt` uses the same tables. A new pass
is one more row.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from xdsl.universe import Universe

from .diagnostics import TiraxError, raised_outside

_DIALECTS = {
    "sym": "dialects.sym:Sym",
    "relax": "dialects.relax:Relax",
    "tir": "dialects.tir:Tir",
    "host": "dialects.host:Host",
    "sched": "dialects.sched:Sched",
}

EXTENDED = {
    "affine": "dialects.xdsl_extras.extended:Affine",
    "arith": "dialects.xdsl_extras.extended:Arith",
    "bufferization": "dialects.xdsl_extras.extended:Bufferization",
    "func": "dialects.xdsl_extras.extended:Func",
    "linalg": "dialects.xdsl_extras.extended:Linalg",
    "llvm": "dialects.xdsl_extras.extended:LLVM",
    "math": "dialects.xdsl_extras.extended:Math",
    "memref": "dialects.xdsl_extras.extended:MemRef",
    "scf": "dialects.xdsl_extras.extended:Scf",
    "tensor": "dialects.xdsl_extras.extended:Tensor",
    "tosa": "dialects.xdsl_extras.extended:Tosa",
    "transform": "dialects.xdsl_extras.extended:Transform",
    "vector": "dialects.xdsl_extras.extended:Vector",
}
"""Upstream dialects with operations that xDSL's lack. `xdsl-opt`, which takes each name once, has xDSL's."""

READ = {
    "stablehlo": "dialects.stablehlo:StableHLO",
    "chlo": "dialects.stablehlo:CHLO",
    "quant": "dialects.stablehlo:Quant",
    "sdy": "dialects.stablehlo:Sdy",
}
"""Dialects of other projects that xDSL lacks: they are imported, no pass of tirax has operations of them."""

_PASSES: dict[str, str] = {
    "normalize": "transforms.bindings.normalize:Normalize",
    "canonicalize-bindings": "transforms.bindings.canonicalize_bindings:CanonicalizeBindings",
    "dead-code-elimination": "transforms.bindings.dead_code_elimination:DeadCodeElimination",
    "eliminate-common-subexpr": "transforms.bindings.eliminate_common_subexpr:EliminateCommonSubexpr",
    "fold-constant": "transforms.bindings.fold_constant:FoldConstant",
    "bind-params": "transforms.params.bind_params:BindParams",
    "to-non-dataflow": "transforms.bindings.to_non_dataflow:ToNonDataflow",
    "convert-to-dataflow": "transforms.bindings.convert_to_dataflow:ConvertToDataflow",
    "lambda-lift": "transforms.functions.lambda_lift:LambdaLift",
    "normalize-global-var": "transforms.functions.global_symbols:NormalizeGlobalVar",
    "attach-global-symbol": "transforms.functions.global_symbols:AttachGlobalSymbol",
    "lift-transform-params": "transforms.params.lift_transform_params:LiftTransformParams",
    "bundle-model-params": "transforms.params.bundle_model_params:BundleModelParams",
    "remove-redundant-reshape": "transforms.operators.remove_redundant_reshape:RemoveRedundantReshape",
    "expand-transposed-convolutions": (
        "transforms.operators.expand_transposed_convolutions:ExpandTransposedConvolutions"
    ),
    "fuse-attention": "transforms.operators.fuse_attention:FuseAttention",
    "fuse-layers": "transforms.operators.fuse_layers:FuseLayers",
    "fuse-transpose-attention": "transforms.operators.fuse_transpose_attention:FuseTransposeAttention",
    "fuse-transpose-matmul": "transforms.operators.fuse_transpose_matmul:FuseTransposeMatmul",
    "fold-batchnorm-to-conv2d": "transforms.operators.fold_batchnorm_to_conv2d:FoldBatchnormToConv2D",
    "scale-after-product": "transforms.operators.scale_after_product:ScaleAfterProduct",
    "sink-reshape": "transforms.operators.sink_reshape:SinkReshape",
    "quantized-to-integer": "transforms.operators.quantized_to_integer:QuantizedToInteger",
    "unsigned-activations": "transforms.operators.unsigned_activations:UnsignedActivations",
    "requantize": "transforms.operators.requantize:Requantize",
    "tabulate-bytes": "transforms.operators.tabulate_bytes:TabulateBytes",
    "flush-denormal-weights": "transforms.operators.flush_denormal_weights:FlushDenormalWeights",
    "quantize-weights": "transforms.operators.quantize_weights:QuantizeWeights",
    "interleave-blocks": "transforms.operators.interleave_blocks:InterleaveBlocks",
    "split-einsums": "transforms.operators.split_einsums:SplitEinsums",
    "split-products": "transforms.operators.split_products:SplitProducts",
    "pack-weights": "transforms.operators.pack_weights:PackWeights",
    "pack-convolutions": "transforms.operators.pack_convolutions:PackConvolutions",
    "attach-variable-bounds": "transforms.functions.attach_variable_bounds:AttachVariableBounds",
    "sink-loop-constants": "transforms.functions.sink_loop_constants:SinkLoopConstants",
    "simplify-inference": "transforms.operators.simplify_inference:SimplifyInference",
    "decompose-ops-for-inference": "transforms.operators.decompose_ops:DecomposeOpsForInference",
    "decompose-ops-for-training": "transforms.operators.decompose_ops:DecomposeOpsForTraining",
    "to-mixed-precision": "transforms.operators.to_mixed_precision:ToMixedPrecision",
    "gradient": "transforms.training.gradient:Gradient",
    "convert-layout": "transforms.layout.convert_layout:ConvertLayout",
    "channels-last": "transforms.layout.channels_last:ChannelsLast",
    "attach-attr-layout-free-buffers": (
        "transforms.layout.attach_attr_layout_free_buffers:AttachAttrLayoutFreeBuffers"
    ),
    "split-layout-rewrite-preproc": "transforms.layout.split_layout_rewrite_preproc:SplitLayoutRewritePreproc",
    "legalize-ops": "transforms.legalize:LegalizeOps",
    "annotate-tir-op-pattern": "transforms.fusion.pattern:AnnotateTIROpPattern",
    "widen-at-use": "transforms.fusion.widen_at_use:WidenAtUse",
    "fuse-ops": "transforms.fusion.fuse_ops:FuseOps",
    "fuse-tir": "transforms.fusion.fuse_tir:FuseTIR",
    "apply-dpl-patterns": "transforms.dpl.apply_dpl_patterns:ApplyDplPatterns",
    "merge-composite-functions": "transforms.codegen.merge_composite_functions:MergeCompositeFunctions",
    "rewrite-dataflow-reshape": "transforms.bindings.rewrite_dataflow_reshape:RewriteDataflowReshape",
    "apply-schedule": "schedule.schedule:ApplySchedule",
    "convert-sched-to-transform": "schedule.mlir_transform.write:ConvertSchedToTransform",
    "apply-transform": "frontend.mlir.transform:ApplyTransform",
    "meta-schedule-apply-database": "tuning.passes:MetaScheduleApplyDatabase",
    "meta-schedule-tune-irmod": "tuning.passes:MetaScheduleTuneIRMod",
    "meta-schedule-tune-tir": "tuning.passes:MetaScheduleTuneTIR",
    "plan-schedule": "schedule.cpu.policy.default_schedule:PlanSchedule",
    "default-schedule": "schedule.cpu.policy.default_schedule:DefaultSchedule",
    "lower-narrow-types": "transforms.tir.storage_legalize:LowerNarrowTypes",
    "lower-init-block": "transforms.tir.lower_init_block:LowerInitBlock",
    "plan-and-update-buffer-allocation-location": (
        "transforms.tir.plan_and_update_buffer_allocation_location:PlanAndUpdateBufferAllocationLocation"
    ),
    "convert-blocks-to-opaque": "transforms.tir.convert_blocks_to_opaque:ConvertBlocksToOpaque",
    "compact-buffer-allocation": "transforms.tir.compact_buffer_allocation:CompactBufferAllocation",
    "lower-match-buffer": "transforms.tir.lower_match_buffer:LowerMatchBuffer",
    "lower-opaque-block": "transforms.tir.lower_opaque_block:LowerOpaqueBlock",
    "unroll-loop": "transforms.tir.unroll_loop:UnrollLoop",
    "promote-buffers-to-stack": "transforms.tir.promote_buffers_to_stack:PromoteBuffersToStack",
    "unroll-marked-loops": "transforms.tir.unroll_marked_loops:UnrollMarkedLoops",
    "simplify-scheduled": "transforms.tir.simplify:SimplifyScheduled",
    "simplify-divisions": "transforms.tir.simplify:SimplifyDivisions",
    "vectorize-loop": "transforms.tir.vectorize_loop:VectorizeLoop",
    "vectorize-for-target": "transforms.tir.vectorize_loop:VectorizeForTarget",
    "bf16-storage-legalize": "transforms.tir.storage_legalize:BF16StorageLegalize",
    "fp8-storage-legalize": "transforms.tir.storage_legalize:FP8StorageLegalize",
    "share-buffers": "transforms.tir.share_buffers:ShareBuffers",
    "remove-assume": "transforms.tir.asserts:RemoveAssume",
    "verify-memory": "transforms.tir.verify_memory:VerifyMemory",
    "lower-asserts": "transforms.tir.asserts:LowerAsserts",
    "skip-assert": "transforms.tir.asserts:SkipAssert",
    "convert-for-loops-to-serial": "transforms.tir.parallelize_loops:ConvertForLoopsToSerial",
    "parallelize-loops": "transforms.tir.parallelize_loops:ParallelizeLoops",
    "mark-unrolled-loops": "transforms.tir.mark_unrolled_loops:MarkUnrolledLoops",
    "guard-indices": "transforms.tir.guard_indices:GuardIndices",
    "report-indices": "transforms.tir.guard_indices:ReportIndices",
    "flatten-buffer": "transforms.tir.flatten_buffer:FlattenBuffer",
    "tir-simplify": "transforms.tir.simplify:TirSimplify",
    "convert-tir-to-linalg": "lowering.tir_to_linalg:ConvertTirToLinalg",
    "convert-tir-to-scf": "lowering.tir_to_scf:ConvertTirToScf",
    "outline-parallel": "lowering.tir_to_scf:OutlineParallel",
    "lift-closures": "transforms.functions.lambda_lift:LiftClosures",
    "merge-kernels": "lowering.host.symbols:MergeKernels",
    "lower-relax-calls": "lowering.host.calls:LowerRelaxCalls",
    "plan-memory": "lowering.memory.plan:PlanMemory",
    "promote-tiles": "lowering.tir_to_scf.promote:PromoteTiles",
    "convert-host-to-func": "lowering.host.convert:ConvertHostToFunc",
    "isolate-kernels": "lowering.host.symbols:IsolateKernels",
    "lower-scf": "lowering.convert_to_llvm:LowerScf",
    "expand-math": "lowering.vector_math:ExpandMath",
    "convert-to-llvm": "lowering.convert_to_llvm:ConvertToLLVM",
}

_TVM_PASSES: dict[str, str] = {
    "bind-symbolic-vars": "tvm_api.passes.params.bind_symbolic_vars:BindSymbolicVars",
    "inline-private-functions": "tvm_api.passes.functions.inline_private_functions:InlinePrivateFunctions",
    "expand-tuple-arguments": "tvm_api.passes.functions.expand_tuple_arguments:ExpandTupleArguments",
    "remove-unused-parameters": "tvm_api.passes.functions.remove_unused_parameters:RemoveUnusedParameters",
    "remove-unused-outputs": "tvm_api.passes.functions.remove_unused_outputs:RemoveUnusedOutputs",
    "lazy-transform-params": "tvm_api.passes.params.lazy_transform_params:LazyTransformParams",
    "lazy-get-input": "tvm_api.passes.params.lazy:LazyGetInput",
    "lazy-set-output": "tvm_api.passes.params.lazy:LazySetOutput",
    "expand-matmul-of-sum": "tvm_api.passes.operators.expand_matmul_of_sum:ExpandMatmulOfSum",
    "reorder-permute-dims-after-concat": (
        "tvm_api.passes.operators.reorder_permute_dims_after_concat:ReorderPermuteDimsAfterConcat"
    ),
    "reorder-take-after-matmul": "tvm_api.passes.operators.reorder_take_after_matmul:ReorderTakeAfterMatmul",
    "combine-parallel-matmul": "tvm_api.passes.operators.combine_parallel_matmul:CombineParallelMatmul",
    "adjust-matmul-order": "tvm_api.passes.operators.adjust_matmul_order:AdjustMatmulOrder",
    "fast-math-transform": "tvm_api.passes.operators.fast_math_transform:FastMathTransform",
    "topological-sort": "tvm_api.passes.bindings.topological_sort:TopologicalSort",
    "alter-op-impl": "tvm_api.passes.layout.alter_op_impl:AlterOpImpl",
    "optimize-layout-transform": "tvm_api.passes.layout.optimize_layout_transform:OptimizeLayoutTransform",
    "call-tir-rewrite": "tvm_api.passes.memory.call_tir_rewrite:CallTIRRewrite",
    "static-plan-block-memory": "tvm_api.passes.memory.static_plan_block_memory:StaticPlanBlockMemory",
    "remove-purity-checking": "tvm_api.passes.memory.remove_purity_checking:RemovePurityChecking",
    "lower-runtime-builtin": "tvm_api.passes.memory.lower_runtime_builtin:LowerRuntimeBuiltin",
    "compute-prim-value": "tvm_api.passes.memory.compute_prim_value:ComputePrimValue",
    "vm-shape-lower": "tvm_api.passes.memory.vm_shape_lower:VMShapeLower",
    "dataflow-use-inplace-calls": "tvm_api.passes.memory.dataflow_use_inplace_calls:DataflowUseInplaceCalls",
    "allocate-workspace": "tvm_api.passes.memory.allocate_workspace:AllocateWorkspace",
    "lower-alloc-tensor": "tvm_api.passes.memory.lower_alloc_tensor:LowerAllocTensor",
    "kill-after-last-use": "tvm_api.passes.memory.kill_after_last_use:KillAfterLastUse",
    "unify-thread-binding": "tvm_api.passes.tir.unify_thread_binding:UnifyThreadBinding",
    "lift-thread-binding": "tvm_api.passes.tir.lift_thread_binding:LiftThreadBinding",
    "rewrite-unsafe-select": "tvm_api.passes.tir.rewrite_unsafe_select:RewriteUnsafeSelect",
    "decorate-device-scope": "tvm_api.passes.tir.decorate_device_scope:DecorateDeviceScope",
    "tvm-flatten-buffer": "tvm_api.passes.tir.flatten_buffer:FlattenBuffer",
    "tvm-lower-match-buffer": "tvm_api.passes.tir.lower_match_buffer:LowerMatchBuffer",
    "lower-cross-thread-reduction": "tvm_api.passes.tir.lower_cross_thread_reduction:LowerCrossThreadReduction",
    "convert-ssa": "tvm_api.passes.tir.convert_ssa:ConvertSSA",
    "reduce-branching-through-overcompute": "tvm_api.passes.tir.reduce_branches:ReduceBranchingThroughOvercompute",
    "use-assume-to-reduce-branches": "tvm_api.passes.tir.reduce_branches:UseAssumeToReduceBranches",
    "remove-weight-layout-rewrite-block": (
        "tvm_api.passes.tir.remove_weight_layout_rewrite_block:RemoveWeightLayoutRewriteBlock"
    ),
    "tvm-remove-assume": "tvm_api.passes.tir.remove_assume:RemoveAssume",
    "tvm-plan-and-update-buffer-allocation-location": (
        "tvm_api.passes.tir.plan_buffer_allocation:PlanAndUpdateBufferAllocationLocation"
    ),
    "make-unpacked-api": "tvm_api.passes.tir.make_unpacked_api:MakeUnpackedAPI",
    "lower-device-kernel-launch": "tvm_api.passes.tir.lower_device_kernel_launch:LowerDeviceKernelLaunch",
    "lower-tvm-builtin": "tvm_api.passes.tir.lower_tvm_builtin:LowerTVMBuiltin",
    "inject-ptx-async-copy": "tvm_api.passes.tir.inject_ptx:InjectPTXAsyncCopy",
    "inject-ptxldg32": "tvm_api.passes.tir.inject_ptx:InjectPTXLDG32",
    "lower-thread-allreduce": "tvm_api.passes.tir.lower_thread_allreduce:LowerThreadAllreduce",
    "instrument-profile-intrinsics": ("tvm_api.passes.tir.instrument_profile_intrinsics:InstrumentProfileIntrinsics"),
    "make-packed-api": "tvm_api.passes.tir.make_packed_api:MakePackedAPI",
    "annotate-device-regions": "tvm_api.passes.tir.device_regions:AnnotateDeviceRegions",
    "split-host-device": "tvm_api.passes.tir.device_regions:SplitHostDevice",
    "inject-virtual-thread": "tvm_api.passes.tir.inject_virtual_thread:InjectVirtualThread",
    "renormalize-split-pattern": "tvm_api.passes.tir.renormalize_split_pattern:RenormalizeSplitPattern",
    "remove-no-op": "tvm_api.passes.tir.remove_no_op:RemoveNoOp",
    "common-subexpr-elim-tir": "tvm_api.passes.tir.common_subexpr_elim_tir:CommonSubexprElimTIR",
    "narrow-data-type": "tvm_api.passes.tir.narrow_index:NarrowDataType",
    "force-narrow-index-to-int32": "tvm_api.passes.tir.narrow_index:ForceNarrowIndexToInt32",
    "bf16-compute-legalize": "tvm_api.passes.tir.compute_legalize:BF16ComputeLegalize",
    "fp8-compute-legalize": "tvm_api.passes.tir.compute_legalize:FP8ComputeLegalize",
    "annotate-entry-func": "tvm_api.passes.tir.whole_functions:AnnotateEntryFunc",
    "bind-target": "tvm_api.passes.tir.whole_functions:BindTarget",
    "loop-partition": "tvm_api.passes.tir.loop_partition:LoopPartition",
    "lower-intrin": "tvm_api.passes.tir.lower_intrin:LowerIntrin",
    "remove-store-undef": "tvm_api.passes.tir.remove_store_undef:RemoveStoreUndef",
    "tir-inline-private-functions": "tvm_api.passes.tir.inline_private_functions:InlinePrivateFunctions",
    "hoist-expression": "tvm_api.passes.tir.hoist_expression:HoistExpression",
    "hoist-if-then-else": "tvm_api.passes.tir.hoist_expression:HoistIfThenElse",
    "simplify": "tvm_api.passes.tir.simplify:Simplify",
    "storage-rewrite": "tvm_api.passes.tir.storage_rewrite:StorageRewrite",
    "thread-sync": "tvm_api.passes.tir.thread_sync:ThreadSync",
    "default-gpu-schedule": "tvm_api.passes.tir.default_gpu_schedule:DefaultGPUSchedule",
    "inject-double-buffer": "tvm_api.passes.tir.inject_double_buffer:InjectDoubleBuffer",
    "inject-software-pipeline": "tvm_api.passes.tir.inject_software_pipeline:InjectSoftwarePipeline",
    "pointer-value-type-rewrite": "tvm_api.passes.tir.pointer_value_type_rewrite:PointerValueTypeRewrite",
}
"""Passes of TVM's API that no pipeline of tirax runs."""

_ALL_PASSES = {**_PASSES, **_TVM_PASSES}

_TARGETS: dict[str, str] = {
    "asm": "lowering.emit:AssemblyTarget",
    "obj": "lowering.emit:ObjectTarget",
}


PLUGINS = "TIRAX_PLUGINS"
"""The environment variable with the names of the plug-ins to load."""


class PluginError(TiraxError, ImportError):
    """Raised for a plug-in that cannot be loaded."""

    __str__ = TiraxError.__str__


def load_plugin(entry: EntryPoint) -> Any:
    """Load the object of an entry point. Raises `PluginError` with the plug-in's name and the line that raised."""
    try:
        return entry.load()
    except Exception as error:  # whatever a plug-in raises, the error must name the plug-in
        package = f" of the package {entry.dist.name}" if entry.dist is not None else ""
        raise PluginError(
            f"the plug-in '{entry.name}'{package} cannot be loaded",
            location=raised_outside(error),
            expected=f"a module '{entry.value}' that can be imported",
            found=f"{type(error).__name__}: {str(error).removeprefix('error: ')}",
            hint=f"repair the package, uninstall it, or leave it out: {PLUGINS}= (names of those to keep, by commas)",
        ) from error


def chosen_plugins(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by name.

    `TIRAX_PLUGINS=a,b` in the environment keeps plug-ins of other names out, `TIRAX_PLUGINS=` all of them; tirax and
    xDSL themselves remain.
    """
    chosen = os.environ.get(PLUGINS)
    names = None if chosen is None else {name.strip() for name in chosen.split(",")} | {"tirax", "xdsl"}
    return sorted((e for e in entry_points(group=group) if names is None or e.name in names), key=lambda e: e.name)


@cache
def full_universe() -> Universe:
    """Return what tirax, xDSL and plug-ins (the entry points `xdsl.universe`) provide. Raises `PluginError`."""
    parts: dict[str, dict[str, Any]] = {"dialect": {}, "pass": {}, "target": {}}
    for entry in chosen_plugins("xdsl.universe"):
        universe = load_plugin(entry)
        if not isinstance(universe, Universe):
            expected = "an xdsl.universe.Universe"
            raise PluginError(f"the plug-in '{entry.name}' is not a universe", expected=expected, found=entry.value)
        tables = (universe.all_dialects, universe.all_passes, universe.all_targets)
        for (kind, known), table in zip(parts.items(), tables, strict=True):
            both = sorted(known.keys() & table.keys())
            if both:
                raise PluginError(
                    f"the plug-in '{entry.name}' has the {kind} '{both[0]}', which another one has, too",
                    hint=f"uninstall one of the packages, rename what it brings, or leave it out: {PLUGINS}=",
                )
            known |= table
    parts["dialect"] |= {name: _lazy(path) for name, path in (EXTENDED | READ).items()}
    return Universe(all_dialects=parts["dialect"], all_passes=parts["pass"], all_targets=parts["target"])


def _lazy(path: str) -> Callable[[], Any]:
    module, _, attribute = path.partition(":")
    return lambda: getattr(import_module(f".{module}", __package__), attribute)


def pass_classes(of_tir: bool) -> dict[str, str]:
    """Return the passes on tensor functions, or those on Relax, as class names with their modules."""
    rows = [path.split(":") for path in _ALL_PASSES.values() if path.startswith(("transforms.", "tvm_api.passes."))]
    return {name: module for module, name in rows if (module.split(".")[-2] == "tir") is of_tir}


def pass_names(of_tir: bool) -> list[str]:
    """Return the names of the passes on tensor functions and lower levels, or of those on Relax."""
    below = ("transforms.tir.", "tvm_api.passes.tir.", "schedule.", "lowering.")
    return [name for name, path in _ALL_PASSES.items() if path.startswith(below) is of_tir]


def passes_by_room() -> dict[str, list[str]]:
    """Return the sorted pass names by package; those of TVM's API come last."""
    rooms: dict[str, list[str]] = {}
    for name, path in _ALL_PASSES.items():
        rooms.setdefault(path.split(".")[0], []).append(name)
    return {room: sorted(names) for room, names in rooms.items()}


TIRAX_UNIVERSE = Universe(
    all_dialects={name: _lazy(path) for name, path in _DIALECTS.items()},
    all_passes={name: _lazy(path) for name, path in _ALL_PASSES.items()},
    all_targets={name: _lazy(path) for name, path in _TARGETS.items()},
)
