"""`tvm.build`, `tvm.compile` and `tvm.relax.build`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..driver.build import build as _build
from ..driver.pipelines import PIPELINES
from ..handles.base_func import BaseFunc
from ..handles.module import IRModule
from ..runtime import Executable, Module
from ..target import Target

_PIPELINES = {"default": "default-cpu", "default_build": "default-cpu", "zero": "optimize"}
"""The pipelines of `relax.build` by TVM's names."""


def enabled(target: str) -> bool:
    """Return whether code can be generated for a kind of target: only for `llvm`."""
    return target.split()[:1] == ["llvm"]


def _module(mod: Any) -> Any:
    return IRModule.from_expr(mod) if isinstance(mod, BaseFunc) else mod


def _pipeline(pipeline: Any) -> Any:
    if not isinstance(pipeline, str):
        return pipeline
    if pipeline in _PIPELINES or pipeline in PIPELINES:
        return _PIPELINES.get(pipeline, pipeline)
    from ..tuning.relax_pipelines import get_pipeline  # imports all of tuning, which most builds do not need

    return get_pipeline(pipeline)


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
    validate: str | None = None,
) -> Executable:
    """Compile a module (or a single function) to an executable. Raises the errors of `tirax.driver.build`.

    `target` is by default the current one (`with Target(…):`), or this machine. `relax_pipeline` (or
    `pipeline`) is the name of a pipeline, a pass or a list of passes. `tir_pipeline`, `exec_mode` and
    `system_lib` are accepted for compatibility with TVM. With `validate="proof"`, each pass is proved to keep what the
    functions compute (`tirax.driver.build.build`).
    """
    chosen = relax_pipeline if pipeline is None else pipeline
    own = _module(mod), target or Target.current(), params, _pipeline(chosen), exec_mode
    return _build(*own, validate=validate)


def compile(mod: Any, target: Any = None, **options: Any) -> Executable:
    """Same as `relax.build`."""
    return build_relax(mod, target, **options)


def build(mod: Any, target: Any = None, name: str = "default_function", **options: Any) -> Module:
    """Compile tensor functions; `build(mod)["main"](a, b, out)` calls one, which writes to its outputs."""
    return build_relax(mod, target, **options).jit()
