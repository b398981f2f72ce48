"""`tvm.tir.transform`: passes on tensor functions, loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...diagnostics import unknown_name
from ...handles.passes import PythonPass, prim_func_pass
from ...handles.passes import apply_to_prim_funcs as Apply  # noqa: N812 - TVM's name
from ...universe import pass_classes
from .._names import provide

PrimFuncPass = PythonPass

_OWN = frozenset(
    (
        "GuardIndices", "LowerAsserts", "LowerNarrowTypes", "MarkUnrolledLoops", "ParallelizeLoops",
        "PromoteBuffersToStack", "ReportIndices", "ShareBuffers", "SimplifyDivisions", "SimplifyScheduled",
        "TirSimplify", "UnrollMarkedLoops", "VectorizeForTarget",
    )
)  # fmt: skip
"""Passes that TVM does not have."""
_PASSES = {
    **{name: module for name, module in pass_classes(of_tir=True).items() if name not in _OWN},
    "Filter": "tvm_api.passes.tir.whole_functions",
}
_FLAGS: dict[str, str] = dict.fromkeys(
    ("HoistedConditionals", "HoistedLetBindings"), "tvm_api.passes.tir.hoist_expression"
)

_THREADS = "for devices with threads in groups; functions here are for CPUs"
_ABI = "entry points of Relax functions call kernels directly: there is no packed calling convention to lower to"
LEFT_OUT: dict[str, str] = {
    "CombineContextCall": _ABI,
    "LowerCustomDatatypes": "data types are those of `dialects/dtypes.py`",
    "ExtractPrimFuncConstants": "constants of tensor functions are part of the kernels",
    "InstrumentBoundCheckers": "guard-indices keeps the indices that are data inside of their buffers",
    "LowerVtcmAlloc": "for Hexagon",
    "VerifyVTCMLimit": "for Hexagon",
    "LowerAsyncDMA": "for Hexagon",
    "TextureFlatten": "for textures of Adreno GPUs",
    "InjectRollingBuffer": "the schedule primitive `rolling_buffer` does it",
    "LowerAutoCopy": _THREADS,
    "LowerWarpMemory": _THREADS,
    "LowerDeviceStorageAccessInfo": _THREADS,
    "InferFragment": _THREADS,
    "MergeSharedMemoryAllocations": _THREADS,
    "ManifestSharedMemoryLocalStage": _THREADS,
    "TransformMmaBufferLayout": _THREADS,
    "InjectPermutedLayout": _THREADS,
}
"""Unsupported passes of TVM on tensor functions, with the reason."""

provide(
    __name__,
    {
        "function_pass": {"tvm_api.tir.transform": "PrimFuncPass prim_func_pass"},
        "transform": {"tvm_api.tir.transform": "*"},
    },
)


def __getattr__(name: str) -> Any:
    if name in LEFT_OUT:
        raise AttributeError(f"tir.transform.{name} is not provided: {LEFT_OUT[name]}")
    module = _PASSES.get(name) or _FLAGS.get(name)
    if module is None:
        raise AttributeError(str(unknown_name("pass", name, _PASSES)))
    return getattr(import_module(f"...{module}", __package__), name)


def __dir__() -> list[str]:
    return sorted([*_PASSES, *_FLAGS, *__all__])


__all__ = ["LEFT_OUT", "Apply", "PrimFuncPass", "prim_func_pass"]
