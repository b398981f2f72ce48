"""`tvm.relax`: tensor programs with symbolic shapes."""

# pyright: reportUnsupportedDunderAll=false

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._names import NamesOnly, no_attribute, provide

_FILES = ("op", "testing", "transform")
_GPU_PIPELINES = """
    dataflow_lower_passes finalize_passes get_default_pipeline legalize_passes library_dispatch_passes
"""
_NAMES = NamesOnly(
    __name__,
    {
        "frontend.block_builder": "BlockBuilder",
        "frontend.mutator": "PyExprMutator",
        "handles.relax.binding_rewrite": "DataflowBlockRewrite",
        "handles.relax.calls": """
            call_builtin_with_ctx call_dps_packed call_inplace_packed call_packed call_pure_packed call_tir
            call_tir_inplace call_tir_with_grad
        """,
        "handles.relax.functor": "ExprFunctor PyExprVisitor",
        "handles.relax.names": """
            Binding BindingBlock Call const Constant DataflowBlock DataflowVar DataTypeImm Expr ExternFunc
            FuncStructInfo Function GlobalVar Id If MatchCast NullValue ObjectStructInfo PrimStructInfo
            PrimValue SeqExpr ShapeExpr ShapeStructInfo StringImm StructInfo TensorStructInfo Tuple
            TupleGetItem TupleStructInfo Var VarBinding
        """,
        "tvm_api.handles.relax_utils": "convert_to_expr extern get_shape_of prim_value",
        "handles.struct_info": "VDevice",
        "handles.types": "FuncType ObjectType PackedFuncType ShapeType TensorType TupleType Type",
        "runtime": "Executable",
        "tvm_api.relax.vm": "VirtualMachine=TVMVirtualMachine VMExecutable VMInstrumentReturnKind",
        "tuning.relax_pipelines": "get_default_pipeline get_pipeline register_pipeline",
        "tvm_api.compilation": "build=build_relax",
    },
)

provide(
    __name__,
    {
        "analysis": {
            "handles.relax.analysis": """
                BaseCheckResult all_global_vars all_vars bound_vars called_global_vars can_prove_shape_equal
                check_well_formed collect_non_negative_expressions computable_at_compile_time contains_impure_call
                definable_tir_vars_in_struct_info defined_symbolic_vars derive_call_ret_struct_info detect_recursion
                erase_to_well_defined free_symbolic_vars free_vars get_static_type get_var2val name_to_binding
                post_order_visit remove_all_unused struct_info_base_check struct_info_lca tir_vars_in_struct_info
                udchain used_vars well_formed well_formed_problems
            """,
            "ir.buffers.memory_usage": "estimate_memory_usage has_reshape_pattern",
            "tvm_api.passes.layout.suggest": "suggest_layout_transforms",
        },
        "analysis.analysis": {"tvm_api.relax.analysis": "*"},
        "analysis.estimate_memory_usage": {"ir.buffers.memory_usage": "estimate_memory_usage"},
        "backend": {
            "transforms.codegen.fusion_pattern": "get_pattern get_patterns_with_prefix register_patterns",
        },
        "backend.pattern_registry": {
            "transforms.codegen.fusion_pattern": """
                get_pattern get_patterns_with_prefix register_patterns remove_patterns
            """
        },
        "backend.patterns": {
            "transforms.codegen.library_patterns": """
                make_attention_pattern make_conv2d_pattern make_fused_bias_activation_pattern make_layer_norm_pattern
                make_matmul_dequantize_pattern make_matmul_multiply_pattern make_matmul_pattern
                make_residual_block_pattern make_rms_norm_pattern make_stacked_attention_pattern
            """,
            "tvm_api.passes.operators.attention_pattern": "make_attention_rewrite_pattern",
        },
        "backend.cpu_generic": {
            "tuning.relax_pipelines": """
                dataflow_lower_passes finalize_passes get_default_pipeline legalize_passes library_dispatch_passes
            """
        },
        "backend.cuda": {"tvm_api._refused_functions": _GPU_PIPELINES},
        "backend.cuda.cublas": {"transforms.codegen.vendor_patterns": "partition_for_cublas"},
        "backend.cuda.cudnn": {"tvm_api._refused_functions": "partition_for_cudnn"},
        "backend.cuda.cutlass": {"transforms.codegen.vendor_patterns": "partition_for_cutlass"},
        "backend.metal": {},
        "backend.metal.coreml": {"tvm_api._refused_functions": "partition_for_coreml"},
        "backend.rocm": {"tvm_api._refused_functions": _GPU_PIPELINES},
        "backend.rocm.hipblas": {"tvm_api._refused_functions": "partition_for_hipblas"},
        "backend.utils": {"transforms.codegen.library_patterns": "has_leaking_intermediate_variables"},
        "binding_rewrite": {"handles.relax.binding_rewrite": "DataflowBlockRewrite"},
        "block_builder": {"frontend.block_builder": "BlockBuilder"},
        "dpl": {"tvm_api.handles.type_pattern": "TypePattern", "transforms.dpl": "*"},
        "dpl.context": {"transforms.dpl": "PatternContext"},
        "dpl.pattern": {"tvm_api.handles.type_pattern": "TypePattern", "transforms.dpl": "*"},
        "dpl.rewrite": {
            "transforms.dpl": """
                ExprPatternRewriter OrRewriter PatternMatchingRewriter TupleRewriter rewrite_bindings rewrite_call
            """
        },
        "expr": {
            "handles.relax.names": """
                BaseFunc Binding BindingBlock Call Constant DataTypeImm DataflowBlock DataflowVar Expr ExternFunc
                Function GlobalVar Id If MatchCast NullValue PrimValue SeqExpr ShapeExpr StringImm Tuple TupleGetItem
                Var VarBinding const
            """,
            "tvm_api.handles.relax_utils": "_update_struct_info=update_struct_info extern get_shape_of prim_value",
            "handles.struct_info": "StructInfo",
            "handles.types": "Type",
        },
        "expr_functor": {
            "frontend.mutator": "PyExprMutator mutator",
            "handles.relax.functor": "ExprFunctor PyExprVisitor visitor",
        },
        "frontend": {"frontend.params": "detach_params"},
        "frontend.common": {"frontend.params": "detach_params"},
        "frontend.nn": {
            "frontend.nn": "extern *",
            "frontend.nn.extern": "ExternModule ObjectModule SourceModule",
        },
        "frontend.nn.core": {"frontend.nn.core": "*"},
        "frontend.nn.exporter": {"frontend.nn.exporter": "*"},
        "frontend.nn.extern": {"frontend.nn.extern": "ExternModule ObjectModule SourceModule"},
        "frontend.nn.llm": {
            "tvm_api.llm.kv_cache": "PagedKVCache",
            "tvm_api.llm.position_embedding": "llama_rope",
        },
        "frontend.nn.llm.kv_cache": {"tvm_api.llm.kv_cache": "*"},
        "frontend.nn.llm.position_embedding": {"tvm_api.llm.position_embedding": "*"},
        "frontend.nn.modules": {"frontend.nn.modules": "*"},
        "frontend.nn.op": {"frontend.nn.op": "*"},
        "frontend.nn.spec": {"frontend.nn.spec": "*"},
        "frontend.nn.subroutine": {"frontend.nn.subroutine": "*"},
        "frontend.nn.visitor": {"frontend.nn.visitor": "*"},
        "frontend.onnx": {"frontend.onnx": "from_onnx"},
        "frontend.stablehlo": {"tvm_api.relax.stablehlo_translator": "from_stablehlo"},
        "frontend.torch": {
            "frontend.torch.dynamo": "dynamo_capture_subgraphs relax_dynamo",
            "frontend.torch.exported_program": "from_exported_program",
            "frontend.torch.fx_as_tvm": "from_fx",
        },
        "frontend.torch.dynamo": {"frontend.torch.dynamo": "dynamo_capture_subgraphs relax_dynamo"},
        "frontend.torch.fx_translator": {"frontend.torch.fx_as_tvm": "from_fx"},
        "frontend.torch.exported_program_translator": {"frontend.torch.exported_program": "from_exported_program"},
        "ir": {},
        "ir.instrument": {"ir.passes.instrument": "WellFormedInstrument"},
        "global_info": {"handles.struct_info": "VDevice"},
        "pipeline": {
            "tuning.relax_pipelines": """
                PIPELINE_MAP dataflow_lower_passes default_build_pipeline finalize_passes get_default_pipeline
                get_pipeline legalize_passes library_dispatch_passes register_pipeline static_shape_tuning_pipeline
                zero_pipeline
            """
        },
        "struct_info": {
            "handles.struct_info": """
                FuncStructInfo ObjectStructInfo PrimStructInfo ShapeStructInfo StructInfo TensorStructInfo
                TupleStructInfo
            """
        },
        "ty": {"handles.types": "FuncType ObjectType PackedFuncType ShapeType TensorType TupleType Type"},
        "training": {
            "frontend.training": "AppendLoss SetupTrainer Trainer",
        },
        "training.loss": {"frontend.training.loss": "*"},
        "training.optimizer": {"frontend.training.optimizer": "*"},
        "training.setup_trainer": {"frontend.training.trainer": "ADJOINT BACKBONE LOSS OPTIMIZER SetupTrainer"},
        "training.trainer": {"frontend.training.trainer": "Trainer"},
        "training.utils": {
            "transforms.training.append_loss": "AppendLoss",
            "transforms.training.te_gradients": "register_te_gradient",
        },
        "utils": {"tvm_api.handles.relax_utils": "convert_to_expr copy_with_new_vars"},
        "vm_build": {"runtime": "VMExecutable=Executable", "tvm_api.compilation": "build=build_relax"},
    },
)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return import_module(f".{name}", __name__)
    if _NAMES.names(name):
        return getattr(_NAMES, name)
    raise no_attribute(__name__, name)


__all__ = [
    *_NAMES.__all__, *_FILES, "analysis", "backend", "binding_rewrite", "block_builder", "dpl", "expr", "expr_functor",
    "frontend", "global_info", "pipeline", "struct_info", "training", "ty", "utils", "vm_build",
]  # fmt: skip
