"""`build`: a module of relax and tir functions becomes an executable."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError
from ..dialects.relax.external import external_functions
from ..ir.transform import PassContext, Sequential, module_op, new_context, no_gc
from ..ir.verify import verify_module
from ..runtime import abi
from ..runtime.cache import ObjectCache, cache_key
from ..runtime.executable import Executable, TargetInfo
from ..target import Target
from .host.convert import host_data
from .llvm_text import print_llvm
from .pipelines import LOWERING, make_passes, pipeline_passes


@dataclass
class Timings:
    """Seconds by stage, in order: `with timings: build(mod)`; then `timings.stages`, `str(timings)`.

    A stage that runs more than once is added up.
    """

    stages: dict[str, float] = field(default_factory=dict[str, float])

    def __enter__(self) -> Timings:
        _watching().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watching().pop()

    @property
    def total(self) -> float:
        """Seconds of all stages together."""
        return sum(self.stages.values())

    def __str__(self) -> str:
        width = max(map(len, self.stages), default=0)
        lines = [f"{name:{width}} {seconds * 1e3:9.2f} ms" for name, seconds in self.stages.items()]
        return "\n".join([*lines, f"{'total':{width}} {self.total * 1e3:9.2f} ms"])


class _Local(threading.local):
    def __init__(self) -> None:
        self.timings: list[Timings] = []


_local = _Local()


def _watching() -> list[Timings]:
    """The timings that this thread's builds report to."""
    return _local.timings


@contextmanager
def stage(name: str) -> Generator[None]:
    """Time what is inside as a stage, for whoever watches."""
    watching = _watching()
    if not watching:
        yield
        return
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - start
        for timings in watching:
            timings.stages[name] = timings.stages.get(name, 0.0) + seconds


_EXEC_MODES = ("compiled", "bytecode")
_cache = ObjectCache()


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
    wanted = target if isinstance(target, Target) else Target.host() if target is None else Target(str(target))
    with no_gc():
        op = lower(mod, wanted, params=params, pipeline=pipeline)
        return assemble(op, wanted, opt_level)


def lower(
    mod: Any,
    target: Target | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    pipeline: str | Sequence[Any] | Any | None = "default-cpu",
) -> ModuleOp:
    """A new module in the llvm dialect; arguments and errors as for `build`."""
    target = target or Target.host()
    with stage("copy"):
        op = module_op(mod).clone()
    context = new_context()
    if params:
        run_passes([_bind_params(params)], context, op)
    run_passes(_passes(pipeline, target), context, op, verify_each=not isinstance(pipeline, str))
    if _is_high_level(op):
        run_passes(pipeline_passes("lower-cpu", target.text), context, op, verify_each=False)
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
        given = cast("Sequence[Any]", pipeline)
        return [made for p in given for made in (make_passes([p], target.text) if isinstance(p, str) else [_pass(p)])]
    return [_pass(pipeline)]


def _pass(given: Any) -> Any:
    if not callable(given):
        raise TiraxError("this is no pass", expected="a pipeline's name, a pass, a list of passes", found=repr(given))
    return given


def _is_high_level(op: ModuleOp) -> bool:
    return any(inner.name in ("relax.func", "tir.func") for inner in op.body.block.ops)


def run_passes(passes: Sequence[Any], context: Context, op: ModuleOp, *, verify_each: bool = True) -> None:
    """Run passes in place, each a stage of `Timings`.

    The module is verified after each of them, or, without `verify_each`, where it leaves relax and tir for good: from
    there on LLVM verifies what comes out, and xDSL takes long for functions of many blocks.
    """
    for i, p in enumerate(passes):
        name = getattr(p, "name", type(p).__name__)
        if not verify_each and name == LOWERING[0]:
            with stage("verify"):
                verify_module(op, after=passes[i - 1].name if i else None)
        with stage(name):
            if verify_each or name not in LOWERING:
                _run(p, context, op, verify=verify_each)
            else:
                p.apply(context, op)


def _run(p: Any, context: Context, op: ModuleOp, verify: bool) -> None:
    where = PassContext.current()
    with replace(where, verify=where.verify and verify):
        Sequential([p]).apply(context, op)


def assemble(op: ModuleOp, target: Target | None = None, opt_level: int = 3) -> Executable:
    """The executable of a module in the llvm dialect with entry points; its object comes from the cache if it can."""
    target = target or Target.host()
    data = host_data(op)
    with stage("print-llvm"):
        text = print_llvm(op)
    with stage("object"):
        code = _object(text, target, opt_level)
    info = TargetInfo(target.text, target.triple, target.cpu, tuple(sorted(target.features)))
    with stage("executable"):
        return Executable(
            code,
            data.functions,
            slots=data.slots,
            constants=data.constants,
            target=info,
            external=external_functions(op),
        )


@cache
def _versions() -> str:
    return json.dumps([version("tirax"), version("llvmlite"), abi.fingerprint()])


def _object(text: str, target: Target, opt_level: int) -> bytes:
    key = cache_key(text, target.triple, target.cpu, target.feature_string, str(opt_level), _versions())
    found = _cache.get(key)
    if found is not None:
        return found
    from .machine import compile_object

    code = compile_object(text, target, opt_level)
    _cache.put(key, code)
    return code
