"""TVM's public names on top of tirax: programs written for TVM 0.19-0.20 run with `import tirax.tvm_api as tvm`.

This package only maps names. Submodules are loaded on first use; those that consist of names alone have no
files but rows in tables (`_names.py`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..diagnostics import TiraxError as TVMError
from ..runtime import (
    Device,
    cpu,
    cuda,
    device,
    get_global_func,
    metal,
    opencl,
    register_func,
    rocm,
    vulkan,
)
from . import _device, _implementations
from ._names import no_attribute, provide
from ._refused import install
from .llm import builtins

if TYPE_CHECKING:
    from ..handles.module import IRModule
    from . import contrib, ir, meta_schedule, relax, script, tir, topi
    from .compilation import build, compile
    from .handles.data_type import DataType

    arith: ModuleType
    dlight: ModuleType
    error: ModuleType
    nd: ModuleType
    runtime: ModuleType
    target: ModuleType
    te: ModuleType
    testing: ModuleType
    transform: ModuleType

__tirax_script_dialect__ = "tvm"
__version__ = "0.20.0"

install()
builtins.register()
_device.install()

_FILES = frozenset(("contrib", "ir", "meta_schedule", "relax", "script", "testing", "tir", "topi"))

_LATE = {
    "DataType": ".handles.data_type",
    "DataTypeCode": ".handles.data_type",
    "IRModule": "..handles.module",
    "cl": ".nd",
    "gpu": ".nd",
    "mtl": ".nd",
    "build": ".compilation",
    "compile": ".compilation",
}
"""Names in modules that import most of the compiler, loaded on first use."""

provide(
    __name__,
    {
        "arith": {
            "tvm_api.handles.arith.analyzer": """
                Analyzer ConstIntBound ConstraintScope Extension IntSet IntervalSet ModularSet ProofStrength
                estimate_region_lower_bound estimate_region_strict_bound estimate_region_upper_bound neg_inf pos_inf
                union_lower_bound
            """,
            "tvm_api.handles.iter_map": """
                IterMapResult detect_iter_map inverse_affine_iter_map iter_map_simplify normalize_iter_map_to_expr
                normalize_to_iter_sum subspace_divide
            """,
            "tvm_api.handles.iter_maps.nodes": "IterMapExpr IterMark IterSplitExpr IterSumExpr",
            "tvm_api.handles.linear_equations": """
                IntConstraints IntConstraintsTransform deduce_bound detect_clip_bound detect_linear_equation
                solve_linear_equations solve_linear_inequalities
            """,
            "tvm_api.handles.linear_inequalities": "IntGroupBounds",
            "ir.affine.iter_map": "IterMapLevel",
        },
        "_ffi": {"runtime": "get_global_func register_func"},
        "_ffi.base": {"diagnostics": "TVMError=TiraxError"},
        "_ffi.runtime_ctypes": {"tvm_api.handles.data_type": "DataType DataTypeCode", "runtime": "Device"},
        "arith.analyzer": {
            "tvm_api.arith": "Analyzer ConstIntBound ConstraintScope Extension ModularSet ProofStrength"
        },
        "arith.bound": {"tvm_api.arith": "deduce_bound"},
        "arith.int_set": {
            "tvm_api.arith": """
                IntSet IntervalSet estimate_region_lower_bound estimate_region_strict_bound estimate_region_upper_bound
                neg_inf pos_inf union_lower_bound
            """
        },
        "arith.int_solver": {
            "tvm_api.arith": """
                IntConstraints IntConstraintsTransform IntGroupBounds solve_linear_equations solve_linear_inequalities
            """
        },
        "arith.iter_affine_map": {
            "tvm_api.arith": """
                IterMapExpr IterMapLevel IterMapResult IterMark IterSplitExpr IterSumExpr detect_iter_map
                inverse_affine_iter_map iter_map_simplify normalize_iter_map_to_expr normalize_to_iter_sum
                subspace_divide
            """
        },
        "arith.pattern": {"tvm_api.arith": "detect_clip_bound detect_linear_equation"},
        "dlight": {
            "tvm_api.dlight_rules": """
                ApplyDefaultSchedule BlockInfo IterInfo ScheduleRule normalize_prim_func try_inline
                try_inline_contiguous_spatial
            """
        },
        "generic": {
            "tvm_api.tir": "add multiply subtract",
            "tvm_api.handles.generic": "cast divide floordiv",
            "te": "*",
        },
        "dlight.analysis": {
            "tvm_api.dlight.base.analysis": "*",
            "tvm_api.dlight.cpu.gemv": "get_reduction_expr is_gemv normalize",
        },
        "dlight.base": {
            "tvm_api.dlight_rules": "ApplyDefaultSchedule ScheduleRule try_inline try_inline_contiguous_spatial",
            "tvm_api.dlight.cpu.utils": "auto_vectorize get_bytes get_extent",
            "tvm_api.dlight.base.analysis": """
                BlockInfo IterInfo collect_block_iter_vars_used_in_access_region collect_vars_used_in_prim_expr
                detect_dominant_read is_broadcast_epilogue normalize_prim_func
            """,
        },
        "dlight.base.analysis": {
            "tvm_api.dlight_rules.block_info": """
                BlockInfo IterInfo collect_block_iter_vars_used_in_access_region collect_vars_used_in_prim_expr
                detect_dominant_read get_root_block is_broadcast_epilogue normalize_prim_func
            """,
            "tvm_api._refused_functions": "get_max_shared_memory_per_block get_max_threads_per_block",
        },
        "dlight.base.common_schedules": {"tvm_api.dlight_rules": "try_inline try_inline_contiguous_spatial"},
        "dlight.base.schedule_rule": {"tvm_api.dlight_rules": "ScheduleRule"},
        "dlight.base.utils": {"tvm_api.dlight.cpu.utils": "auto_vectorize get_bytes get_extent"},
        "dlight.base.transform": {"tvm_api.dlight_rules": "ApplyDefaultSchedule"},
        "dlight.cpu": {"tvm_api.dlight_rules.gemv": "GEMV"},
        "dlight.cpu.base": {"tvm_api.dlight_rules.schedule_rule": "CPUScheduleRule"},
        "dlight.cpu.gemv": {"tvm_api.dlight_rules.gemv": "GEMV get_reduction_expr is_gemv normalize"},
        "dlight.cpu.utils": {"tvm_api.dlight_rules.loops": "auto_vectorize get_bytes get_extent"},
        "driver": {"tvm_api": "build compile"},
        "instrument": {"tvm_api.ir.instrument": "*"},
        "driver.build_module": {"tvm_api": "build compile"},
        "error": {
            "diagnostics": """
                TVMError=TiraxError InternalError=TiraxError OpNotImplemented=UnsupportedError
                DiagnosticError=TiraxError
            """
        },
        "nd": {
            "runtime": "Device NDArray cl=opencl cpu cuda device gpu=cuda metal mtl=metal opencl rocm vulkan",
            "tvm_api.handles.arrays": "array empty from_dlpack numpyasarray webgpu",
        },
        "runtime": {
            "runtime": """
                Device Executable Module NDArray PackedFunc ShapeTuple cl=opencl cpu cuda device get_global_func
                gpu=cuda list_global_func_names load_module metal mtl=metal num_threads opencl register_func
                remove_global_func rocm vulkan
            """,
            "runtime.param_dict": """
                load_param_dict load_param_dict_from_file save_param_dict save_param_dict_to_file
            """,
            "tvm_api.ir": "Array Map String",
            "tvm_api.handles.containers": "convert",
            "handles.tir.prim_expr": "const",
            "tvm_api.handles.data_type": "DataType DataTypeCode",
            "handles.object_path": "ObjectPath",
            "runtime.profiling.report": "Report",
            "tvm_api.compilation": "enabled",
            "tvm_api": "ndarray=nd",
        },
        "runtime.device": {"runtime": "Device"},
        "runtime.module": {"runtime": "Module load_module num_threads", "tvm_api.compilation": "enabled"},
        "runtime.params": {
            "runtime.param_dict": """
                load_param_dict load_param_dict_from_file save_param_dict save_param_dict_to_file
            """
        },
        "runtime.ndarray": {"tvm_api.nd": "*"},
        "runtime.packed_func": {"runtime": "PackedFunc"},
        "runtime.profiling": {"runtime.profiling.report": "Report"},
        "runtime.relax_vm": {"tvm_api.relax.vm": "VirtualMachine=TVMVirtualMachine VMInstrumentReturnKind"},
        "runtime.vm": {"tvm_api.relax.vm": "VirtualMachine=TVMVirtualMachine VMExecutable"},
        "runtime.object_path": {
            "handles.object_path": """
                ArrayIndexPath AttributeAccessPath MapValuePath MissingArrayElementPath MissingMapEntryPath ObjectPath
                RootPath UnknownAttributeAccessPath
            """
        },
        "runtime.container": {"tvm_api.ir": "Array Map String", "runtime": "ShapeTuple"},
        "target": {"handles.target": "Target TargetKind arm_cpu bifrost create cuda hexagon intel_graphics mali rocm"},
        "target.target": {
            "handles.target": "Target TargetKind arm_cpu bifrost create cuda hexagon intel_graphics mali rocm"
        },
        "te": {
            "handles.tir.intrinsics": "ceildiv",
            "handles.tir.prim_expr": "add multiply subtract",
            "te.create": "create_prim_func=prim_func_of",
            "te": "*",
        },
        "te.operation": {"tvm_api.te": "*"},
        "te.tensor": {"tvm_api.te": "*"},
        "transform": {"tvm_api.ir.transform": "*"},
        # The parts that `tir` was split into in 0.22, by their new names.
        "tirx": {"tvm_api.tir": "*"},
        "tirx.analysis": {"tvm_api.tir.analysis": "*"},
        "tirx.stmt_functor": {"tvm_api.tir.stmt_functor": "*"},
        "tirx.transform": {"tvm_api.tir.transform": "CommonSubexprElim=CommonSubexprElimTIR StmtSimplify=Simplify *"},
        "s_tir": {"tvm_api.tir": "SBlock=Block SBlockRealize=BlockRealize *", "tvm_api": "dlight meta_schedule"},
        "s_tir.schedule": {"tvm_api.tir.schedule": "SBlockRV=BlockRV *"},
        "s_tir.analysis": {"tvm_api.tir.analysis": "*"},
        "s_tir.transform": {"tvm_api.tir.transform": "StmtSimplify=Simplify *"},
    },
)

_implementations.install(__name__)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return import_module(f".{name}", __name__)
    if name in _LATE:
        globals()[name] = getattr(import_module(_LATE[name], __package__), name)
        return globals()[name]
    raise no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted([*__all__])


__all__ = [
    "DataType", "Device", "IRModule", "TVMError", "arith", "build", "compile", "contrib", "cpu", "cuda", "device",
    "dlight", "error", "get_global_func", "ir", "meta_schedule", "metal", "nd", "opencl", "register_func", "relax",
    "rocm", "runtime", "script", "target", "te", "testing", "tir", "topi", "transform", "vulkan",
]  # fmt: skip
