"""`build`: a module of relax and tir functions becomes an executable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError
from ..dialects.relax.external import external_functions
from ..ir.passes.extern import check_calls
from ..ir.passes.transform import PassContext, Sequential, module_op, new_context, no_gc, run_pass, verifying
from ..ir.verification.dominance import check_dominance
from ..runtime.executable import Executable, TargetInfo
from ..target import Target
from .build_cache import entry_of
from .host.convert import SITES, ConvertHostToFunc, host_data
from .llvm_text import print_llvm
from .object_cache import object_of_module, object_of_texts
from .parts import Part, check_declared, divide
from .pipelines import HOST, LOWERING, PIPELINES, make_passes, pipeline_passes
from .timings import Timings, stage

__all__ = ["Timings", "assemble", "build", "lower", "run_passes", "stage"]


_EXEC_MODES = ("compiled", "bytecode")
_TO_HOST = HOST[-1]
"""After this pass a module has all that its executable needs but code."""


def build(
    mod: Any,
    target: Target | str | None = None,
    params: Mapping[str, Any] | None = None,
    pipeline: str | Sequence[Any] | Any | None = "default-cpu",
    exec_mode: str = "compiled",
    *,
    opt_level: int = 3,
) -> Executable:
    """Compile a module (an `IRModule` or `ModuleOp`), which stays as it is.

    `target` is this machine by default. `params` are bound to parameters of `main` by name first. `pipeline` is a name
    of `pipelines.PIPELINES`, a pass, a list of passes or their names, or None; what it leaves of relax and tir is
    lowered by `lower-cpu` after it. `exec_mode` is accepted for TVM's sake: code is always native. `opt_level` is
    LLVM's.

    Raises `NameLookupError` (pipeline, pass), `UnsupportedError` (ops without native code), `ShapeError`, `DTypeError`,
    `VerifyError`, `TargetError`.
    """
    if exec_mode not in _EXEC_MODES:
        raise TiraxError(f"unknown exec_mode '{exec_mode}'", expected=" or ".join(_EXEC_MODES))
    resolved = target if isinstance(target, Target) else Target.host() if target is None else Target(str(target))
    with no_gc():
        op = _copy(mod, params)
        entry = entry_of(op, PIPELINES.get(pipeline, ()) if isinstance(pipeline, str) else (), resolved, opt_level)
        executable = None if entry is None else entry.load()
        if executable is None:
            executable = _build(op, pipeline, resolved, opt_level)
            if entry is not None:
                entry.store(executable)
        else:
            executable.instrument = lambda: _build(op.clone(), pipeline, resolved, opt_level).instrumented
        return executable


def _build(op: ModuleOp, pipeline: str | Sequence[Any] | Any | None, target: Target, opt_level: int) -> Executable:
    """The executable of a module, which is used up."""
    named = _run_own(op, pipeline, target)
    if not named:
        return assemble(op, target, opt_level)
    before = op.clone()
    executable = _from_host(op, named, target, opt_level)
    context = PassContext.current()
    executable.instrument = lambda: _instrumented(before, named, target, opt_level, context)
    return executable


def _run_own(op: ModuleOp, pipeline: str | Sequence[Any] | Any | None, target: Target) -> tuple[str, ...]:
    """Run what a pipeline has before the passes of the host; the names of those that are left, none for code."""
    named = PIPELINES.get(pipeline, ()) if isinstance(pipeline, str) else ()
    at = named.index(HOST[0]) if _TO_HOST in named else len(named)
    passes = make_passes(named[:at], target.text) if named else _passes(pipeline, target)
    run_passes(passes, new_context(), op, verify_each=not isinstance(pipeline, str))
    return named[at:] or (LOWERING if _is_high_level(op) else ())


def _from_host(op: ModuleOp, named: Sequence[str], target: Target, opt_level: int, profile: bool = False) -> Executable:
    """The executable of a module from where the passes `named` begin, which are those of the host and all behind."""
    at = named.index(_TO_HOST)
    passes = [*make_passes(named[:at], target.text), ConvertHostToFunc(profile)]
    run_passes(passes, new_context(), op, verify_each=False)
    return assemble(op, target, opt_level, named[at + 1 :])


def _instrumented(
    op: ModuleOp, named: Sequence[str], target: Target, opt_level: int, context: PassContext
) -> Executable:
    """An executable that says what runs when; kernels are those of the other one."""
    with no_gc(), context:
        return _from_host(op.clone(), named, target, opt_level, profile=True)


def lower(
    mod: Any,
    target: Target | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    pipeline: str | Sequence[Any] | Any | None = "default-cpu",
) -> ModuleOp:
    """A new module in the llvm dialect; arguments and errors as for `build`."""
    target = target or Target.host()
    op, context = _copy(mod, params), new_context()
    run_passes(_passes(pipeline, target), context, op, verify_each=not isinstance(pipeline, str))
    if _is_high_level(op):
        run_passes(pipeline_passes("lower-cpu", target.text), context, op, verify_each=False)
    return op


def _copy(mod: Any, params: Mapping[str, Any] | None) -> ModuleOp:
    """The module to be lowered, its parameters bound."""
    with stage("copy"):
        op = module_op(mod).clone()
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
        raise TiraxError("this is no pass", expected="a pipeline's name, a pass, a list of passes", found=repr(step))
    return step


def _is_high_level(op: ModuleOp) -> bool:
    return any(inner.name in ("relax.func", "tir.func") for inner in op.body.block.ops)


def run_passes(passes: Sequence[Any], context: Context, op: ModuleOp, *, verify_each: bool = True) -> None:
    """Run passes in place, each a stage of `Timings`.

    The module is verified after each of them, or, without `verify_each`, where it leaves relax and tir for good: from
    there on LLVM verifies what comes out, and xDSL takes long for functions of many blocks.
    """
    with verifying(op) as verifier:  # one for all of them: what a pass leaves as it is, is not verified again
        for i, p in enumerate(passes):
            name = getattr(p, "name", type(p).__name__)
            if not verify_each and name == LOWERING[0]:
                with stage("verify"):
                    verifier.verify(op, after=passes[i - 1].name if i else None)
            with stage(name):
                _run(p, context, op, verify_each)


def _run(p: Any, context: Context, op: ModuleOp, verify_each: bool) -> None:
    where = PassContext.current()
    with where.quietly(verify=where.verify and verify_each):
        if verify_each or getattr(p, "name", "") not in LOWERING:
            Sequential([p]).apply(context, op)
        else:
            run_pass(p, context, op)


def assemble(op: ModuleOp, target: Target | None = None, opt_level: int = 3, passes: Sequence[str] = ()) -> Executable:
    """The executable of a module with entry points, in the llvm dialect after `passes` (names; those after
    `convert-host-to-func`). Its object comes from the cache if it can; then they do not run.
    """
    target = target or Target.host()
    data = host_data(op)
    check_calls(op)

    def texts() -> Iterator[str]:
        lowering = make_passes(passes, target.text)
        profiled = {"fewest": 1} if SITES in op.attributes else {}  # kernels stay functions
        parts = divide(op, **profiled) if passes else [Part(op)]
        exported = frozenset(name for part in parts for name in part.exported)
        for part in parts:
            run_passes(lowering, new_context(), part.module, verify_each=False)
            check_declared(part.module, exported)
            part.export()
            with stage("print-llvm"):
                text = print_llvm(part.module)
            yield text

    code = object_of_module(op, target, opt_level, texts) if passes else object_of_texts(texts(), target, opt_level)
    info = TargetInfo(target.text, target.triple, target.cpu, tuple(sorted(target.features)))
    with stage("executable"):
        return Executable(
            code,
            data.functions,
            slots=data.slots,
            constants=data.constants,
            target=info,
            external=external_functions(op),
            sites=data.sites,
        )
