"""Work in a forked process, so that one that crashes or hangs is an outcome and no more."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_MEMORY = 12 << 30
_DEPTH = 6000


@dataclass(frozen=True)
class Outcome:
    """What came of a process: the `report` it wrote, or, where it is None, how it ended (`crash` or `hang`)."""

    report: Any = None
    status: str = ""
    message: str = ""


def in_fork(body: Callable[[], Any], seconds: float) -> Outcome:
    """What `body` gives, as JSON has it, in a process of its own that may take so long."""
    read, write = os.pipe()
    pid = forked(lambda: say(write, body()))
    os.close(write)
    data, hangs = _all_of(read, seconds)
    os.close(read)
    if hangs:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if hangs:
        return Outcome(None, "hang", f"more than {seconds:.0f} s")
    return Outcome(None, "crash", how(code)) if code else Outcome(json.loads(data))


def forked(body: Callable[[], None]) -> int:
    """The number of a child process that does `body`, prints nothing and ends."""
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


def say(pipe: int, report: Any) -> None:
    """Write a line of JSON to a pipe."""
    data = json.dumps(report).encode() + b"\n"
    while data:
        data = data[os.write(pipe, data) :]


def _all_of(pipe: int, seconds: float) -> tuple[bytes, bool]:
    """What is written into a pipe until its end, and whether that did not come in time."""
    data, deadline = b"", time.monotonic() + seconds
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not (chunk := os.read(pipe, 1 << 20)):
            return data, False
        data += chunk
    return data, True


def how(code: int) -> str:
    """How a process ended, from its exit code."""
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
