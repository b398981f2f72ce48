"""`tvm.build`, `tvm.compile` and `tvm.relax.build`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..diagnostics import TiraxError
from ..handles.base_func import BaseFunc
from ..handles.module import IRModule
from ..ir.passes.transform import Sequential
from ..lowering.build import build as _build
from ..lowering.pipelines import pipeline_passes
from ..runtime import Executable, Module
from ..target import Target

_PIPELINES = {"default": "default-cpu", "default_build": "default-cpu", "zero": "optimize"}
"""TVM's names of pipelines -> ours."""
_PASSES = {"zero": "tvm-zero", "default_build": "tvm-build"}
"""What `get_pipeline` gives by TVM's names: the passes that TVM runs, in its order."""
_Maker = TypeVar("_Maker", bound=Callable[..., Any])
_REGISTERED: dict[str, Callable[..., Any]] = {}
"""Pipelines of users."""


def _module(mod: Any) -> Any:
    return IRModule.from_expr(mod) if isinstance(mod, BaseFunc) else mod


def _pipeline(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    return _REGISTERED[given]() if given in _REGISTERED else _PIPELINES.get(given, given)


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

    `target` is by default the one that was entered (`with Target(…):`), or this machine.
    `relax_pipeline` (or `pipeline`) is the name of a pipeline, a pass or a list of passes. `tir_pipeline`, `exec_mode`
    and `system_lib` are accepted for TVM's sake.
    """
    chosen = relax_pipeline if pipeline is None else pipeline
    return _build(_module(mod), target or Target.current(), params, _pipeline(chosen), exec_mode)


def compile(mod: Any, target: Any = None, **options: Any) -> Executable:
    """As `relax.build`."""
    return build_relax(mod, target, **options)


def build(mod: Any, target: Any = None, name: str = "default_function", **options: Any) -> Module:
    """Compile tensor functions; `build(mod)["main"](a, b, out)` calls one, writing into its outputs."""
    return build_relax(mod, target, **options).jit()


def get_pipeline(name: str = "zero", **options: Any) -> Any:
    """A named pipeline as one pass; `options` go to one that `register_pipeline` added. Raises `NameLookupError`."""
    registered = _REGISTERED.get(name)
    if registered is not None:
        return registered(**options)
    return Sequential(pipeline_passes(_PASSES.get(name, _PIPELINES.get(name, name))), name="_pipeline")


def get_default_pipeline(target: Any = None) -> Any:
    """The pipeline that `relax.build` runs; it is the same for all targets."""
    return get_pipeline("default")


def register_pipeline(name: str) -> Callable[[_Maker], _Maker]:
    """The decorator of a function that makes a pass: `get_pipeline(name, …)` calls it.

    Raises `TiraxError` for a name that is taken.
    """

    def register(make: _Maker) -> _Maker:
        if name in _REGISTERED or name in _PIPELINES:
            raise TiraxError(f"there is a pipeline '{name}' already")
        _REGISTERED[name] = make
        return make

    return register
