"""Relax pipelines under TVM's names, with their options, for `relax.get_pipeline`.

`zero` optimizes, `default` and `default_build` lower, `static_shape_tuning` tunes. `get_default_pipeline`
combines the four pass lists of a target into the complete pipeline. `lower-cpu` lowers the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError, UnsupportedError, unknown_name
from ..driver.pipelines import PIPELINES, TVM_BUILD, make_passes, pipeline_passes
from ..ir.passes.transform import Sequential, run_pass
from ..target import Target
from ..transforms.bindings.canonicalize_bindings import CanonicalizeBindings
from ..transforms.bindings.fold_constant import FoldConstant
from ..transforms.fusion.fuse_ops import FuseOps
from ..transforms.fusion.fuse_tir import FuseTIR
from ..transforms.fusion.pattern import AnnotateTIROpPattern
from ..transforms.layout.attach_attr_layout_free_buffers import AttachAttrLayoutFreeBuffers
from ..transforms.layout.split_layout_rewrite_preproc import SplitLayoutRewritePreproc
from ..transforms.legalize import LegalizeOps
from ..transforms.operators.decompose_ops import DecomposeOpsForInference
from ..transforms.params.lift_transform_params import LiftTransformParams
from .database import Database
from .passes import MetaScheduleApplyDatabase, MetaScheduleTuneIRMod

_Maker = TypeVar("_Maker", bound=Callable[..., Any])

_LEGALIZE = ("legalize-ops", "annotate-tir-op-pattern", "fold-constant", "fuse-ops", "fuse-tir")
_DATAFLOW = ("rewrite-dataflow-reshape", "to-non-dataflow", "remove-purity-checking", "call-tir-rewrite")
_FINALIZE = TVM_BUILD[TVM_BUILD.index("static-plan-block-memory") :]


class _Zero(Sequential):
    """Passes, followed by the schedules of the current database, if there is one when they run."""

    def __init__(self, passes: Iterable[Any], enable_warning: bool):
        super().__init__(passes, name="_pipeline")
        object.__setattr__(self, "_apply_database", MetaScheduleApplyDatabase(enable_warning=enable_warning))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        super().apply(ctx, op)
        if Database.current() is not None:
            run_pass(self._apply_database, ctx, op)  # pyright: ignore[reportAttributeAccessIssue]


class _ForTarget(Sequential):
    """Passes that run under a target."""

    def __init__(self, passes: Iterable[Any], target: Target):
        super().__init__(passes, name="_pipeline")
        object.__setattr__(self, "target", target)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with self.target:  # pyright: ignore[reportAttributeAccessIssue]
            super().apply(ctx, op)


def zero_pipeline(*, enable_warning: bool = False) -> Sequential:
    """Legalize and fuse operators, and apply the current database; warn of operators without a rule or record."""
    legalize = LegalizeOps(enable_warning=enable_warning)
    return _Zero([legalize, AnnotateTIROpPattern(), FoldConstant(), FuseOps(), FuseTIR()], enable_warning)


def default_build_pipeline() -> Sequential:
    """Legalize operators and plan memory in Relax, as TVM does before the passes of its virtual machine."""
    return Sequential(make_passes(TVM_BUILD), name="_pipeline")


def static_shape_tuning_pipeline(
    total_trials: int,
    target: str | Target,
    work_dir: str = "tuning_logs",
    cpu_weight_prepack: bool = False,
    max_trials_per_task: int | None = None,
) -> Sequential:
    """Optimize like `zero`, tune the tensor functions with `total_trials` trials, and apply the best schedules.

    Without trials only the records of `work_dir` are applied. With `cpu_weight_prepack` a function
    `main_transform_params` rearranges the weights for the schedules. Raises `UnsupportedError` for targets
    other than CPUs.
    """
    resolved = _cpu(target)
    prepare: list[Any] = []
    finish: list[Any] = []
    if cpu_weight_prepack:
        prepare = [AttachAttrLayoutFreeBuffers()]
        finish = [SplitLayoutRewritePreproc(), LiftTransformParams(), FoldConstant()]
    if total_trials > 0:
        tune = MetaScheduleTuneIRMod(
            work_dir=work_dir, max_trials_global=total_trials, max_trials_per_task=max_trials_per_task
        )
        prepare.append(tune)
    optimize = [DecomposeOpsForInference(), CanonicalizeBindings(), zero_pipeline()]
    return _ForTarget([*optimize, *prepare, MetaScheduleApplyDatabase(work_dir), *finish], resolved)


PIPELINE_MAP: dict[str, Callable[..., Any]] = {
    "zero": zero_pipeline,
    "default": default_build_pipeline,
    "default_build": default_build_pipeline,
    "static_shape_tuning": static_shape_tuning_pipeline,
}
"""The pipeline factories by name; `register_pipeline` adds those of users."""


def get_pipeline(name: str = "zero", **options: Any) -> Any:
    """Return a pipeline as one pass: one of `PIPELINE_MAP`, with its options, or one of tirax's own (`optimize`, …).

    Raises `NameLookupError`, and `TiraxError` for unknown options.
    """
    make = PIPELINE_MAP.get(name)
    if make is None:
        if name not in PIPELINES:
            raise unknown_name("pipeline", name, [*PIPELINE_MAP, *PIPELINES])
        make = _pipeline_factory(name)
    signature = inspect.signature(make)
    try:
        signature.bind(**options)
    except TypeError as error:
        raise TiraxError(f"the pipeline '{name}': {error}", expected=str(signature)) from error
    return make(**options)


def _pipeline_factory(name: str) -> Callable[[], Sequential]:
    return lambda: Sequential(pipeline_passes(name), name="_pipeline")


def register_pipeline(name: str) -> Callable[[_Maker], _Maker]:
    """Return a decorator that registers a pass factory for `get_pipeline(name, …)`.

    Raises `TiraxError` if the name is already registered.
    """
    if name in PIPELINE_MAP or name in PIPELINES:
        raise TiraxError(f"there is a pipeline '{name}' already")

    def register(make: _Maker) -> _Maker:
        PIPELINE_MAP[name] = make
        return make

    return register


def _cpu(target: Any) -> Target:
    """Return `target`, by default the current target or this machine. Raises `UnsupportedError` for GPUs."""
    resolved = (Target.current() or Target.host()) if target is None else target
    text = str(resolved)
    if text.partition(" ")[0] != "llvm":
        raise UnsupportedError(
            f"there is no pipeline for the target '{text}'",
            expected="llvm",
            hint="tirax generates code for CPUs only; passes may be put together by tvm.transform.Sequential",
        )
    return resolved if isinstance(resolved, Target) else Target(text)


def library_dispatch_passes(target: Any = None) -> list[Any]:
    """Return no passes: sorting, scans and sampling are legalized like other operators. Raises `UnsupportedError`
    for GPUs.
    """
    _cpu(target)
    return []


def legalize_passes(target: Any = None) -> list[Any]:
    """Return the passes that legalize operators to tensor functions and fuse them. Raises `UnsupportedError` for
    GPUs.
    """
    return make_passes(_LEGALIZE, _cpu(target).text)


def dataflow_lower_passes(target: Any = None) -> list[Any]:
    """Return the passes that remove dataflow and purity and write results to tensors. Raises `UnsupportedError`
    for GPUs.
    """
    return make_passes(_DATAFLOW, _cpu(target).text)


def finalize_passes(target: Any = None) -> list[Any]:
    """Return the passes that plan and allocate memory with runtime builtins. Raises `UnsupportedError` for GPUs."""
    return make_passes(_FINALIZE, _cpu(target).text)


def get_default_pipeline(target: Any = None) -> Sequential:
    """Return the four pass lists of a target in sequence, run under it. Raises `UnsupportedError` for GPUs."""
    resolved = _cpu(target)
    stages = (library_dispatch_passes, legalize_passes, dataflow_lower_passes, finalize_passes)
    return _ForTarget([p for stage in stages for p in stage(resolved)], resolved)
