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
    "DeadCodeElimination": "dead_code_elimination",
    "EliminateCommonSubexpr": "eliminate_common_subexpr",
    "FoldConstant": "fold_constant",
    "FuseOps": "fuse_ops",
    "FuseOpsByPattern": "dpl.fuse_ops_by_pattern",
    "FuseTIR": "fuse_tir",
    "FusionPattern": "dpl.fusion_pattern",
    "LegalizeOps": "legalize",
    "MergeCompositeFunctions": "dpl.merge_composite_functions",
    "Normalize": "normalize",
    "PatternCheckContext": "dpl.fusion_pattern",
}


def __getattr__(name: str) -> Any:
    if name not in _PASSES:
        raise AttributeError(str(unknown_name("pass", name, _PASSES)))
    return getattr(import_module(f"...transforms.{_PASSES[name]}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*_PASSES, *__all__])


__all__ = ["function_pass", "module_pass"]
