"""Jobs in subprocesses: a job that crashes, hangs or uses too much memory affects only itself.

A process starts fresh (it inherits only the environment) and serves one job after another; after a failure
it is killed, and the next job gets a new one. Jobs and answers are JSON over the process's own pipes.

`run_isolated` is the single entry point. The caller chooses what runs it (a thread, a pool of the standard
library, a dask worker on another machine), so any `concurrent.futures.Executor` works.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import IO, Any, cast

from ..diagnostics import TiraxError
from ..locks import Lock, locked_file

_START_SECONDS = 60.0
"""The time a process may take to start, in seconds, which does not count for the job."""
_HEADER = 8


@dataclass(frozen=True)
class Limits:
    """The limits of a job: seconds, and bytes of address space (None: half of the machine's memory).

    With `alone`, no other such job runs on this machine at the same time, and the job is pinned to `cores`
    processors, as measurements require.
    """

    seconds: float = 30.0
    memory: int | None = None
    alone: bool = False
    cores: int = 1


class JobFailure(TiraxError):
    """The failure of a job; `kind` is `crash`, `timeout`, `memory` or `error`."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def run_isolated(job: str, payload: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Run `worker.JOBS[job](payload)` in another process.

    Never raises for failures of the job: the answer then contains an `error` with a `kind`.
    """
    if limits.alone:
        with _measuring, locked_file(_MEASURING_FILE):
            return _run(job, payload, limits)
    return _run(job, payload, limits)


def _run(job: str, payload: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    child = _take(limits)
    try:
        answer = child.call(job, payload, limits.seconds)
    except JobFailure as failure:
        child.kill()
        return {"error": failure.message, "kind": failure.kind}
    except BaseException:
        child.kill()
        raise
    if answer.get("kind") == "memory":
        child.kill()
    else:
        _give_back(limits, child)
    return answer


def submit(executor: Executor, job: str, payload: Mapping[str, Any], limits: Limits) -> Future[dict[str, Any]]:
    """Run `run_isolated` on an executor; if the executor is broken, the future reports it."""
    try:
        return executor.submit(run_isolated, job, payload, limits)
    except Exception as error:  # noqa: BLE001 (an executor that is broken raises what it likes)
        failed: Future[dict[str, Any]] = Future()
        failed.set_result(lost_answer(error))
        return failed


def answer_of(future: Future[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of a job, or an error answer if the executor lost it."""
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 (each executor has its own errors for workers that died)
        return lost_answer(error)


def lost_answer(error: Exception) -> dict[str, Any]:
    """Return the error answer for a job that the executor lost."""
    return {"error": f"the executor lost the job: {type(error).__name__}: {error}", "kind": "executor"}


class Child:
    """A process that serves jobs."""

    def __init__(self, limits: Limits):
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        arguments = json.dumps({"memory": limits.memory, "cores": limits.cores if limits.alone else 0})
        # Each candidate is compiled only once: caching it would evict other objects.
        environment = {**os.environ, "TIRAX_CACHE": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker", arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )
        self._in, self._out = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        os.set_blocking(self._out.fileno(), False)
        self._started = False

    def call(self, job: str, payload: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Run a job and return its answer. Raises `JobFailure`."""
        if not self._started:
            self._receive(time.monotonic() + _START_SECONDS)
            self._started = True
        data = json.dumps({"job": job, "payload": payload, "seconds": seconds}).encode()
        try:
            self._in.write(len(data).to_bytes(_HEADER, "little") + data)
            self._in.flush()
        except OSError:
            raise self._crashed() from None
        return json.loads(self._receive(time.monotonic() + seconds))

    def _receive(self, deadline: float) -> bytes:
        size = int.from_bytes(self._read(_HEADER, deadline), "little")
        return self._read(size, deadline)

    def _read(self, size: int, deadline: float) -> bytes:
        parts: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            while size:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise JobFailure("timeout", "the time limit was reached")
                part = os.read(self._out.fileno(), size)
                if not part:
                    raise self._crashed()
                parts.append(part)
                size -= len(part)
        return b"".join(parts)

    def _crashed(self) -> JobFailure:
        code = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        message = lines[0] if lines else ""
        if message.startswith("Traceback"):  # the error is its last line
            message = lines[-1]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        kind = "memory" if message.startswith("MemoryError") else "crash"
        return JobFailure(kind, f"the process ended by {how}{message and ': '}{message}")

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._out, self._log):
            stream.close()
        try:
            self._in.close()
        except BrokenPipeError:
            return


_idle: dict[Limits, list[Child]] = {}
_lock = Lock()


def _key(limits: Limits) -> Limits:
    """Return the limits that a process cannot change after its start: memory and processors."""
    return Limits(0.0, limits.memory, limits.alone, limits.cores)


def _take(limits: Limits) -> Child:
    with _lock:
        waiting = _idle.get(_key(limits))
        if waiting:
            return waiting.pop()
    return Child(limits)


def _give_back(limits: Limits, child: Child) -> None:
    with _lock:
        _idle.setdefault(_key(limits), []).append(child)


def close_idle() -> None:
    """End the idle processes; later jobs start new ones."""
    with _lock:
        children = [child for waiting in _idle.values() for child in waiting]
        _idle.clear()
    for child in children:
        child.kill()


atexit.register(close_idle)
os.register_at_fork(after_in_child=_idle.clear)  # the processes are those of the parent
_measuring = Lock()
_MEASURING_FILE = os.path.join(tempfile.gettempdir(), f"tirax-measuring-{os.getuid()}.lock")
"""Locked, with the lock, by the one that measures on this machine: concurrent measurements distort each other."""
