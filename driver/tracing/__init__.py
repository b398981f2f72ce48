"""A trace of lowering: the program after every pass, from its source to assembly, as one HTML file.

    TIRAX_TRACE=trace.html python program.py

`recorder.py` is a pass instrument that writes records, `file.py` the file with them, `viewer.js` and `viewer.css`
display it. None of this is imported unless a trace is requested.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ...ir.passes.transform import PassContext
from ...locks import Lock

if TYPE_CHECKING:
    from ...runtime.profiling.report import Report
    from ...runtime.profiling.watched import Tell
    from .file import TraceFile
    from .recorder import Recorder

VARIABLE = "TIRAX_TRACE"
"""The environment variable with the file of the trace; `%p` in its name is the process id."""


class _Open:
    """The trace file of this process, and the number of programs in it."""

    def __init__(self) -> None:
        self.file: TraceFile | None = None
        self.process = 0
        self.path = ""
        self.programs = 0
        self.lock = Lock()


_open = _Open()


def traced() -> AbstractContextManager[Tell | None]:
    """Return a context that traces a program if the environment requests it and no trace is active.

    The value of the context writes profiles of calls into the trace.
    """
    path = os.environ.get(VARIABLE)
    if not path or any(hasattr(i, "begin_build") for i in PassContext.current().instruments or ()):
        return nullcontext()
    return _traced(path)


@contextmanager
def _traced(path: str) -> Generator[Tell | None]:
    recorder = _new_recorder(path)
    if recorder is None:
        yield None
        return
    where, process = PassContext.current(), os.getpid()

    def tell(report: Report, args: Sequence[Any]) -> None:
        if os.getpid() == process:  # in a fork the file is the parent's
            shapes = [str(list(arg.shape)) for arg in args if hasattr(arg, "shape")]
            recorder.profile(report, ", ".join(shapes))

    with where.quietly(instruments=[*(where.instruments or ()), recorder]), recording(recorder):
        yield tell


def _new_recorder(path: str) -> Recorder | None:
    from .file import TraceFile
    from .recorder import Recorder

    with _open.lock:
        if _open.file is not None and _open.path == path and _open.process != os.getpid() and "%p" not in path:
            return None  # a fork: the file is the parent's
        if _open.file is None or (_open.path, _open.process) != (path, os.getpid()):
            _open.file, _open.path, _open.process, _open.programs = TraceFile(path), path, os.getpid(), 0
        _open.programs += 1
        return Recorder(_open.file, _open.programs - 1, f"program {_open.programs}")


@contextmanager
def recording(recorder: Recorder) -> Generator[None]:
    """Record everything compiled inside as the program of a recorder; errors are recorded, too."""
    try:
        yield
    except BaseException as error:
        recorder.failed(error)
        raise


@contextmanager
def trace(path: str, title: str = "") -> Generator[Recorder]:
    """Write a trace of the first program that is built inside.

    with trace("model.html") as recorder:
        executable = build(mod)
        recorder.profile(executable.profile("main", x))

    Raises `TiraxError` if the file cannot be written.
    """
    from .file import TraceFile
    from .recorder import Recorder

    file = TraceFile(path)
    try:
        recorder, where = Recorder(file, title=title or path), PassContext.current()
        with where.quietly(instruments=[*(where.instruments or ()), recorder]), recording(recorder):
            yield recorder
    finally:
        file.close()
