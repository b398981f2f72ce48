"""TVM's public names over tirax: `import tirax.tvm_api as tvm`, and programs written for TVM 0.19-0.20 run.

Nothing is computed here. Sub-modules are loaded when they are first used; those that hold names only have no files,
they are rows of tables (`_names.py`).
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
    register_func,
)
from ._names import provide

if TYPE_CHECKING:
    from ..handles.module import IRModule
    from . import ir, meta_schedule, relax, script, tir, topi
    from .compilation import build, compile

    arith: ModuleType
    error: ModuleType
    nd: ModuleType
    runtime: ModuleType
    target: ModuleType
    te: ModuleType
    testing: ModuleType
    transform: ModuleType

__tirax_script_dialect__ = "tvm"
__version__ = "0.20.0"

_FILES = frozenset(("ir", "meta_schedule", "relax", "script", "tir", "topi"))

_LATE = {"IRModule": "..handles.module", "build": ".compilation", "compile": ".compilation"}
"""Names whose modules bring most of the compiler, which is loaded when they are first asked for."""

provide(
    __name__,
    {
        "arith": {
            "handles.arith.analyzer": """
                Analyzer ConstIntBound ConstraintScope IntSet IntervalSet ModularSet ProofStrength
                estimate_region_lower_bound estimate_region_strict_bound estimate_region_upper_bound neg_inf pos_inf
            """,
            "handles.arith.iter_map": """
                IterMapExpr IterMapResult IterMark IterSplitExpr IterSumExpr detect_iter_map inverse_affine_iter_map
                iter_map_simplify normalize_iter_map_to_expr normalize_to_iter_sum subspace_divide
            """,
            "handles.arith.linear": """
                IntConstraints IntConstraintsTransform deduce_bound detect_clip_bound detect_linear_equation
                solve_linear_equations
            """,
            "ir.affine.iter_map": "IterMapLevel",
        },
        "error": {
            "diagnostics": """
                TVMError=TiraxError InternalError=TiraxError OpNotImplemented=UnsupportedError
                DiagnosticError=TiraxError
            """
        },
        "nd": {"runtime": "Device NDArray array cpu cuda device empty from_dlpack"},
        "runtime": {
            "runtime": """
                Device Executable Module NDArray ShapeTuple cpu cuda device get_global_func list_global_func_names
                load_module num_threads register_func remove_global_func
            """,
            "tvm_api": "ndarray=nd",
        },
        "target": {"target": "Target"},
        "te": {"te.create": "create_prim_func=prim_func_of", "te": "*"},
        "testing": {"frontend.testing": "*"},
        "transform": {"tvm_api.ir.transform": "*"},
    },
)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return import_module(f".{name}", __name__)
    if name in _LATE:
        globals()[name] = getattr(import_module(_LATE[name], __package__), name)
        return globals()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__])


__all__ = [
    "Device", "IRModule", "TVMError", "arith", "build", "compile", "cpu", "cuda", "device", "error",
    "get_global_func", "ir", "meta_schedule", "nd", "register_func", "relax", "runtime", "script", "target",
    "te", "testing", "tir", "topi", "transform",
]  # fmt: skip
