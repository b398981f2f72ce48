"""`build`: compile a module of relax and tir functions to an executable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError, nesting_checked
from ..dialects.quick import clone
from ..ir.passes.transform import PassContext, module_op, new_context, no_gc
from ..ir.verification.dominance import check_dominance
from ..runtime.executable import Executable
from ..target import Target
from .build_cache import described_entry, entry_of
from .pipelines import HOST, LOWERING, PIPELINES, TO_HOST, make_passes, pipeline_passes
from .run import run_passes
from .subprocess_build import build_in_subprocess
from .timings import IN_SUBPROCESS, Timings, stage
from .tracing import traced

__all__ = ["Timings", "build", "build_described", "lower", "run_passes", "stage"]


_EXEC_MODES = ("compiled", "bytecode")


@nesting_checked()
def build(
    mod: Any,
    target: Target | str | Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    pipeline: str | Sequence[Any] | Any | None = "default-cpu",
    exec_mode: str = "compiled",
    *,
    opt_level: int = 3,
    in_subprocess: bool = False,
    validate: str | None = None,
) -> Executable:
    """Compile a module (an `IRModule` or `ModuleOp`); the module is not modified.

    `target` defaults to this machine. `params` are first bound to parameters of `main` by name. `pipeline` is a name of
    `pipelines.PIPELINES`, a pass, a list of passes or their names, or None; relax and tir functions that remain after
    it are lowered by `lower-cpu`. `exec_mode` is accepted for compatibility with TVM: code is always native.
    `opt_level` is LLVM's. With `in_subprocess`, a program that the cache of executables can hold is compiled in another
    process (`subprocess_build.py`). With `validate="proof"`, each pass down to the lowering of tir is proved to keep
    what the functions compute ([proofs.md](proofs.md)): `Executable.proofs` has the findings, and a pass that is wrong
    raises `MeaningError` with the counterexample.

    Raises `NameLookupError` (pipeline, pass), `UnsupportedError` (ops without native code), `ShapeError`, `DTypeError`,
    `VerifyError`, `TargetError`.
    """
    if exec_mode not in _EXEC_MODES:
        raise TiraxError(f"unknown exec_mode '{exec_mode}'", expected=" or ".join(_EXEC_MODES))
    resolved = target if isinstance(target, Target) else Target.host() if target is None else Target(_described(target))
    if validate is not None:
        return _validated(validate, _copy(mod, params), pipeline, resolved, opt_level)
    with no_gc(), traced() as watch:
        op = _copy(mod, params)
        entry = entry_of(op, PIPELINES.get(pipeline, ()) if isinstance(pipeline, str) else (), resolved, opt_level)
        executable = None if entry is None else entry.load()
        if executable is None and in_subprocess and entry is not None:
            with stage(IN_SUBPROCESS):
                build_in_subprocess(op, str(pipeline), resolved.text, opt_level)
            executable = entry.load()
        if executable is None and entry is not None:
            executable = _build(clone(op), pipeline, resolved, opt_level, profiled=False)
            entry.store(executable)
        if executable is None:
            executable = _build(op, pipeline, resolved, opt_level)
        else:
            executable.instrument = lambda: _profiled(op, pipeline, resolved, opt_level)
        executable.watch = watch
        return executable


def _validated(
    validate: str, op: ModuleOp, pipeline: str | Sequence[Any] | Any | None, target: Target, opt_level: int
) -> Executable:
    """Return the executable of a module, which is consumed, with a proof of each pass."""
    from ..proof.steps import Proofs, require_validation

    require_validation(validate)
    current, proofs = PassContext.current(), Proofs()
    with no_gc(), current.quietly(instruments=[*(current.instruments or ()), proofs]):
        executable = _build(op, pipeline, target, opt_level)
    executable.proofs = proofs
    return executable


def _described(target: Any) -> Any:
    """Return the description of a target: a dictionary, or the text of any other object."""
    return cast("Mapping[str, Any]", target) if isinstance(target, Mapping) else str(target)


def build_described(
    description: str | None,
    rooms: tuple[str, ...],
    module: Callable[[], Any],
    target: Target,
    *,
    in_subprocess: bool = False,
    elsewhere: Callable[[], None] | None = None,
) -> Executable:
    """Return the executable stored under a description, or build `module()` if the cache has none.

    `elsewhere` may compile it before that, in another process that creates the module itself. `description` and the
    sources of `rooms` (folders of tirax) must determine the module; without a description nothing is cached.
    """
    pipeline = "default-cpu"
    entry = None if description is None else described_entry(description, rooms, PIPELINES[pipeline], target)
    executable = None if entry is None else entry.load()
    if executable is None and entry is not None and elsewhere is not None:
        with stage(IN_SUBPROCESS):
            elsewhere()
        executable = entry.load()
    if executable is None:
        executable = build(module(), target, pipeline=pipeline, in_subprocess=in_subprocess)
        if entry is not None:
            entry.store(executable)
    executable.instrument = lambda: build(module(), target, pipeline=pipeline).instrumented
    return executable


def _profiled(op: ModuleOp, pipeline: str | Sequence[Any] | Any | None, target: Target, opt_level: int) -> Executable:
    """Return an instrumented executable of a module, whose plain executable may come from the cache.

    Passes run without the caller's `PassContext`. This costs an extra build when a profile is requested, but no copy of
    the kernels has to be kept for it.
    """
    with no_gc(), PassContext():
        return _build(clone(op), pipeline, target, opt_level).instrumented


def _build(
    op: ModuleOp,
    pipeline: str | Sequence[Any] | Any | None,
    target: Target,
    opt_level: int,
    profiled: bool = True,
) -> Executable:
    """Return the executable of a module, which is consumed; with `profiled` it can create an instrumented one later."""
    from .assemble import assemble, from_host, instrumented
    from .object_cache import is_plain
    from .worker_pool import PartWorkers, useful_workers

    context = PassContext.current()
    context.notify("begin_build", op, target, opt_level)
    count = useful_workers(op) if is_plain(context) else 0
    with PartWorkers(count, target, opt_level) as workers:
        named = _run_own(op, pipeline, target)
        before = clone(op) if named and profiled else op
        executable = from_host(op, named, target, opt_level, workers) if named else assemble(op, target, opt_level)
    context.notify("end_build")
    if named and profiled:
        executable.instrument = lambda: instrumented(before, named, target, opt_level, context)
    return executable


def _run_own(op: ModuleOp, pipeline: str | Sequence[Any] | Any | None, target: Target) -> tuple[str, ...]:
    """Run the passes of a pipeline that precede those of the host; return the names of the remaining ones, none
    if there is no code.
    """
    named = PIPELINES.get(pipeline, ()) if isinstance(pipeline, str) else ()
    at = named.index(HOST[0]) if TO_HOST in named else len(named)
    passes = make_passes(named[:at], target.text) if named else _passes(pipeline, target)
    run_passes(passes, new_context(), op, verify_each=not isinstance(pipeline, str))
    return named[at:] or (LOWERING if _is_high_level(op) else ())


@nesting_checked()
def lower(
    mod: Any,
    target: Target | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    pipeline: str | Sequence[Any] | Any | None = "default-cpu",
) -> ModuleOp:
    """Return a new module in the llvm dialect; arguments and errors as for `build`."""
    target = target or Target.host()
    op, context = _copy(mod, params), new_context()
    run_passes(_passes(pipeline, target), context, op, verify_each=not isinstance(pipeline, str))
    if _is_high_level(op):
        run_passes(pipeline_passes("lower-cpu", target.text), context, op, verify_each=False)
    return op


def _copy(mod: Any, params: Mapping[str, Any] | None) -> ModuleOp:
    """Return the module to be lowered, its parameters bound."""
    with stage("copy"):
        op = clone(module_op(mod))
    with stage("verify"):
        check_dominance(op)
    if params:
        run_passes([_bind_params(params)], new_context(), op)
    return op


def _bind_params(params: Mapping[str, Any]) -> Any:
    from ..transforms.params.bind_params import BindParams

    if not isinstance(params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TiraxError("params are not a mapping", expected="{name: array}", found=type(params).__name__)
    return BindParams("main", params)


def _passes(pipeline: str | Sequence[Any] | Any | None, target: Target) -> list[Any]:
    if pipeline is None:
        return []
    if isinstance(pipeline, str):
        return pipeline_passes(pipeline, target.text)
    if isinstance(pipeline, Sequence):
        steps = cast("Sequence[Any]", pipeline)
        return [step for p in steps for step in (make_passes([p], target.text) if isinstance(p, str) else [_pass(p)])]
    return [_pass(pipeline)]


def _pass(step: Any) -> Any:
    if not callable(step):
        raise TiraxError("this is not a pass", expected="a pipeline's name, a pass, a list of passes", found=repr(step))
    return step


def _is_high_level(op: ModuleOp) -> bool:
    return any(inner.name in ("relax.func", "tir.func") for inner in op.body.block.ops)
