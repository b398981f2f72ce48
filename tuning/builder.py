"""Builders: compile candidates to artifacts in subprocesses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr

from ..diagnostics import unknown_name
from ..dialects import tir
from ..driver.build import build as compile_module
from ..handles.module import IRModule
from ..hardware import usable_cores
from ..runtime.registry import get_global_func
from ..transforms.fusion.pattern import ATTRIBUTE
from .processes import Limits, answer_of, submit
from .types import BuilderInput, BuilderResult
from .worker import decode

SCHEDULED = "tir.is_scheduled"
"""The attribute of a function that must not be scheduled any further."""


class Builder:
    """Builds modules. Subclass it, or use `LocalBuilder`."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Return a result for each input, in order; a failed build has an `error_msg`."""
        raise NotImplementedError(type(self).__name__)

    def build_reference(self, build_input: BuilderInput) -> BuilderResult | None:
        """Build the unscheduled module that results are compared with, or return None to skip the comparison."""
        return None

    @staticmethod
    def create(kind: Builder | str = "local", **options: Any) -> Builder:
        """Return `kind` if it is a builder, or a new `LocalBuilder` for `local`. Raises `NameLookupError`."""
        if isinstance(kind, Builder):
            return kind
        if kind != "local":
            raise unknown_name("builder", kind, ["local"])
        return LocalBuilder(**options)


PyBuilder = Builder


class LocalBuilder(Builder):
    """Builds in fresh subprocesses, each with a time and memory limit.

    `executor` runs the builds; by default it is a pool of `max_workers` threads of this process, one per
    processor. Artifacts come back as bytes and are written here, so an executor may run on other machines.

    Custom functions `f_build(mod, target, params)`, which returns an executable, and `f_export(executable)`,
    which returns the path of its file, may be passed as callables or by their registered names. They run in
    threads of this process, after `initializer()`. If they exceed the time limit the build fails, but the
    thread keeps running.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        memory_bytes: int | None = None,
        executor: Executor | None = None,
        f_build: Callable[..., Any] | str | None = None,
        f_export: Callable[..., Any] | str | None = None,
        initializer: Callable[[], None] | None = None,
    ):
        if initializer is not None:
            initializer()
        self.own = None if f_build is f_export is None else _OwnFunctions(_function(f_build), _function(f_export))
        self.max_workers = max_workers or usable_cores()
        self.limits = Limits(timeout_sec, memory_bytes)
        self.executor = executor or ThreadPoolExecutor(self.max_workers, "tirax-builder")

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Like `Builder.build`; marks the functions as scheduled so that they are built as they are."""
        marked = [BuilderInput(scheduled(i.mod), i.target) for i in build_inputs]
        if self.own is not None:
            return [self._built_here(self.own, i) for i in marked]
        futures = [submit(self.executor, "build", _payload(i), self.limits) for i in marked]
        try:
            return [_result(answer_of(f)) for f in futures]
        finally:  # where this is interrupted, what has not begun need not begin
            for future in futures:
                future.cancel()

    def build_reference(self, build_input: BuilderInput) -> BuilderResult | None:
        """Like `Builder.build_reference`; the function gets the default schedule."""
        return _result(answer_of(submit(self.executor, "build", _payload(build_input), self.limits)))

    def _built_here(self, own: _OwnFunctions, build_input: BuilderInput) -> BuilderResult:
        """Build with the user's own functions; an exception becomes the error of the result."""
        future = self.executor.submit(own, build_input)
        try:
            return BuilderResult(str(future.result(self.limits.seconds)), None)
        except TimeoutError:
            return BuilderResult(None, f"LocalBuilder: Timeout, took more than {self.limits.seconds} seconds")
        except Exception as error:  # noqa: BLE001 (whatever is wrong with a candidate costs that candidate)
            return BuilderResult(None, f"LocalBuilder: An exception occurred\n{type(error).__name__}: {error}")


def _function(function: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    """Return a function, looking it up if it is a registered name. Raises `NameLookupError`."""
    return get_global_func(function) if isinstance(function, str) else function


@dataclass(frozen=True)
class _OwnFunctions:
    """The user's build and export functions; None selects tirax's own."""

    build: Callable[..., Any] | None
    export: Callable[..., Any] | None

    def __call__(self, build_input: BuilderInput) -> Any:
        """Build and export one input, and return the path of the file."""
        if self.build is not None:
            executable = self.build(build_input.mod, build_input.target, None)
        else:
            executable = compile_module(build_input.mod, build_input.target, pipeline="lower-cpu")
        return self.export(executable) if self.export is not None else _saved(executable)


def _saved(executable: Any) -> Path:
    path = Path(tempfile.mkdtemp(prefix="tirax-"), "candidate.tirax")
    executable.save(path)
    return path


def _payload(build_input: BuilderInput) -> dict[str, Any]:
    return {"module": str(build_input.mod.op), "target": build_input.target.text, "processor": build_input.target.cpu}


def scheduled(mod: IRModule) -> IRModule:
    """Return a copy whose functions are marked as scheduled."""
    out = mod.clone()
    for func in out.op.body.block.ops:
        if isinstance(func, tir.FuncOp):
            mark_scheduled(func)
    return out


def mark_scheduled(func: tir.FuncOp) -> None:
    """Mark a function as scheduled, so that nothing else schedules it or fuses it with others."""
    attrs = dict(func.func_attrs.data) if func.func_attrs is not None else {}
    attrs.pop(ATTRIBUTE, None)
    attrs[SCHEDULED] = BoolAttr.from_bool(True)
    func.func_attrs = DictionaryAttr(dict(sorted(attrs.items())))


def _result(answer: dict[str, Any]) -> BuilderResult:
    if "error" in answer:
        return BuilderResult(None, f"{answer['kind']}: {answer['error']}")
    folder = tempfile.mkdtemp(prefix="tirax-")
    path = Path(folder, "candidate.tirax")
    path.write_bytes(decode(answer["artifact"]))
    return BuilderResult(str(path), None)


def remove_artifact(result: BuilderResult) -> None:
    """Delete the file of a build and its folder."""
    if result.artifact_path is not None:
        path = Path(result.artifact_path)
        path.unlink(missing_ok=True)
        if path.parent.exists():
            path.parent.rmdir()
