"""Run work in forked processes, so that a crash or hang is just an outcome."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_MEMORY = 12 << 30
_DEPTH = 6000


@dataclass(frozen=True)
class Outcome:
    """The outcome of a process: its `report`, or, if that is None, how it failed (`crash` or `hang`)."""

    report: Any = None
    status: str = ""
    message: str = ""


def in_fork(body: Callable[[], Any], seconds: float) -> Outcome:
    """Return the JSON result of `body`, run in a child process for at most `seconds`."""
    return in_forks([body], seconds)[0]


def in_forks(bodies: Sequence[Callable[[], Any]], seconds: float) -> list[Outcome]:
    """Return the results of all bodies, run at once in child processes for at most `seconds`."""
    children = [_child(body) for body in bodies]
    deadline = time.monotonic() + seconds
    data = _all_of([pipe for _, pipe in children], deadline)
    return [_outcome(pid, data[pipe], seconds) for pid, pipe in children]


def _child(body: Callable[[], Any]) -> tuple[int, int]:
    """Fork a process that runs `body`; return its pid and the pipe that it writes its result to."""
    read, write = os.pipe()
    pid = fork_child(lambda: send_report(write, body()))
    os.close(write)
    return pid, read


def _outcome(pid: int, data: bytes | None, seconds: float) -> Outcome:
    if data is None:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if data is None:
        return Outcome(None, "hang", f"more than {seconds:.0f} s")
    return Outcome(None, "crash", exit_text(code)) if code else Outcome(json.loads(data))


def fork_child(body: Callable[[], None]) -> int:
    """Fork a process that runs `body`, prints nothing and exits; return its pid."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.environ["TIRAX_CACHE"] = "0"
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        sys.setrecursionlimit(_DEPTH)
        body()
        os._exit(0)
    except BaseException:  # noqa: BLE001 (a child must not go on as its parent)
        os._exit(70)


def send_report(pipe: int, report: Any) -> None:
    """Write a line of JSON to a pipe."""
    data = json.dumps(report).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]


def _all_of(pipes: Sequence[int], deadline: float) -> dict[int, bytes | None]:
    """Read pipes to their ends and close them; None for those that do not end before the deadline."""
    data: dict[int, bytes] = dict.fromkeys(pipes, b"")
    still = set(pipes)
    while still and (ready := select.select(list(still), [], [], max(0.0, deadline - time.monotonic()))[0]):
        for pipe in ready:
            chunk = os.read(pipe, 1 << 20)
            data[pipe] += chunk
            if not chunk:
                still.discard(pipe)
    for pipe in pipes:
        os.close(pipe)
    return {pipe: None if pipe in still else data[pipe] for pipe in pipes}


def exit_text(code: int) -> str:
    """Describe how a process ended, from its exit code."""
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
