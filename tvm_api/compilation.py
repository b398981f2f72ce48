"""`tvm.build`, `tvm.compile` and `tvm.relax.build`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.module import IRModule
from ..ir.relax_function import BaseFunc
from ..ir.transform import Sequential
from ..lowering.build import build as _build
from ..lowering.pipelines import pipeline_passes
from ..runtime import Executable, Module

_PIPELINES = {"default": "default-cpu", "default_build": "default-cpu", "zero": "optimize"}
"""TVM's names of pipelines -> ours."""


def _module(mod: Any) -> Any:
    return IRModule.from_expr(mod) if isinstance(mod, BaseFunc) else mod


def _pipeline(given: Any) -> Any:
    return _PIPELINES.get(given, given) if isinstance(given, str) else given


def build_relax(
    mod: Any,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
    exec_mode: str = "bytecode",
    *,
    pipeline: Any = None,
    system_lib: bool | None = None,
) -> Executable:
    """Compile a module (or a function alone) to an executable; errors are those of `tirax.lowering.build`.

    `relax_pipeline` (or `pipeline`) is the name of a pipeline, a pass or a list of passes. `tir_pipeline`, `exec_mode`
    and `system_lib` are accepted for TVM's sake.
    """
    chosen = relax_pipeline if pipeline is None else pipeline
    return _build(_module(mod), target, params, _pipeline(chosen), exec_mode)


def compile(mod: Any, target: Any = None, **options: Any) -> Executable:
    """As `relax.build`."""
    return build_relax(mod, target, **options)


def build(mod: Any, target: Any = None, name: str = "default_function", **options: Any) -> Module:
    """Compile tensor functions; `build(mod)["main"](a, b, out)` calls one, writing into its outputs."""
    return build_relax(mod, target, **options).jit()


def get_pipeline(name: str = "zero") -> Sequential:
    """A named pipeline as one pass. Raises `NameLookupError`."""
    return Sequential(pipeline_passes(_PIPELINES.get(name, name)))
