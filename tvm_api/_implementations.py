"""The modules that TVM's packages import their names from: each has the names of its package here."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ._names import NamesOnly

IMPLEMENTATIONS = {
    "dlight.analysis": "common_analysis gemv",
    "ir": "global_info",
    "meta_schedule": "extracted_task",
    "meta_schedule.builder": "builder local_builder",
    "meta_schedule.cost_model": "cost_model random_model xgb_model",
    "meta_schedule.database": """
        database json_database memory_database ordered_union_database schedule_fn_database union_database
    """,
    "meta_schedule.feature_extractor": "feature_extractor per_store_feature random_feature_extractor",
    "meta_schedule.measure_callback": "add_to_database measure_callback remove_build_artifact update_cost_model",
    "meta_schedule.mutator": """
        mutate_compute_location mutate_parallel mutate_thread_binding mutate_tile_size mutate_unroll mutator
    """,
    "meta_schedule.postproc": """
        disallow_dynamic_loop postproc rewrite_cooperative_fetch rewrite_layout rewrite_parallel_vectorize_unroll
        rewrite_reduction_block rewrite_tensorize rewrite_unbound_block verify_gpu_code
    """,
    "meta_schedule.runner": "config local_runner runner",
    "meta_schedule.schedule_rule": """
        add_rfactor apply_custom_rule auto_bind auto_inline cross_thread_reduction multi_level_tiling
        parallel_vectorize_unroll random_compute_location schedule_rule
    """,
    "meta_schedule.search_strategy": "evolutionary_search replay_func replay_trace search_strategy",
    "meta_schedule.space_generator": "post_order_apply schedule_fn space_generator space_generator_union",
    "meta_schedule.task_scheduler": "gradient_based round_robin task_scheduler",
    "relax.backend.cpu_generic": "pipeline",
    "relax.backend.cuda": "pipeline",
    "relax.backend.rocm": "pipeline",
    "relax.frontend.onnx": "onnx_frontend",
    "relax.frontend.stablehlo": "stablehlo_translator",
    "relax.op": """
        base binary create datatype index linear_algebra manipulate mask qdq sampling search set sorting statistical
        ternary unary
    """,
    "relax.op.builtin": "builtin",
    "relax.op.ccl": "ccl",
    "relax.op.grad": "grad",
    "relax.op.image": "image",
    "relax.op.memory": "memory view",
    "relax.op.nn": "nn",
    "relax.op.vm": "vm",
    "relax.transform": """
        fast_math fold_batch_norm_to_conv2d_for_inference fuse_transpose_matmul lazy_transform_params
        optimize_layout_transform remove_redundant_reshape
    """,
    "runtime": "executable object_generic",
    "script.ir_builder.tir": "ir",
    "te": "tag",
    "tir": "build",
    "tir.analysis": "analysis",
    "topi": "broadcast einsum scan scatter scatter_elements searchsorted sort tensor",
    "topi.image": "dilation2d grid_sample resize",
    "topi.nn": """
        batch_matmul batch_norm batch_to_space_nd conv1d conv1d_transpose conv2d conv2d_transpose conv3d
        conv3d_transpose dense depth_to_space depthwise_conv2d dilate elemwise fifo_buffer flatten group_norm
        instance_norm layer_norm local_response_norm loss mapping pad pooling rms_norm softmax space_to_batch_nd
        space_to_depth upsampling
    """,
    "topi.testing": "batch_matmul gather_python layer_norm_python softmax_python strided_slice_python",
}
"""The modules inside of each package. A package's attribute of the same name stays what it is (`topi.sort`)."""


def implementation_modules() -> Iterator[str]:
    """Yield the paths of the modules without `tvm.`."""
    for package, names in IMPLEMENTATIONS.items():
        yield from (f"{package}.{name}" for name in names.split())


def install(root: str) -> None:
    """Make the modules importable."""
    for inside in implementation_modules():
        path = f"{root}.{inside}"
        if path not in sys.modules:
            package = next(p for p in (inside, *_above(inside)) if p in IMPLEMENTATIONS)
            sys.modules[path] = NamesOnly(path, {f"tvm_api.{package}": "*"})


def _above(path: str) -> Iterator[str]:
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


__all__ = ["IMPLEMENTATIONS", "implementation_modules", "install"]
