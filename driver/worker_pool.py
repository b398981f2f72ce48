"""Processes that lower parts of a large module while this one lowers others: Python code runs on one thread at a time.

    a part as text  ->  `part_worker.py`  ->  key of its LLVM text, object

They start before the graph is optimized, because the lowering has to be imported first. An idle worker takes the
largest remaining part; objects do not depend on who compiled them. A part that a worker fails to compile is compiled
here, where the error is raised. Workers run passes with default settings: if a program has changed settings or
registered rules, there are no workers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from types import TracebackType
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.quick import operations
from ..hardware import build_threads
from ..target import Target
from .subprocess_build import python_process

_MOST = 3
"""Maximum number of workers: each takes about 100 MiB."""
_LARGE = 40
"""Number of distinct operators from which a module has several parts, and lowering them takes longer than
starting a process.
"""


Kernels = Sequence[Operation]
"""The tensor functions of a part."""


def useful_workers(op: ModuleOp) -> int:
    """Return the number of workers for a module that is not lowered yet: none for a small one, or with one thread."""
    different: set[tuple[object, ...]] = set()
    for o in operations(op) if build_threads() > 1 else ():
        if o.results:
            different.add((o.name, *(v.type for v in (*o.operands, *o.results))))
        if len(different) >= _LARGE:
            return min(build_threads() - 1, _MOST)
    return 0


@dataclass(frozen=True)
class Answer:
    """The result of a worker for a part: the key of the LLVM text, the object, and seconds by stage."""

    key: str
    code: bytes
    stages: Mapping[str, float]


def write_message(stream: IO[bytes], payload: bytes, **header: Any) -> None:
    """Write bytes after a line of JSON that describes them."""
    stream.write(json.dumps({**header, "size": len(payload)}).encode() + b"\n" + payload)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[Mapping[str, Any], bytes] | None:
    """Read a message of `write_message`; return None at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    header = json.loads(line)
    payload = stream.read(header["size"])
    return (header, payload) if len(payload) == header["size"] else None


class PartWorkers:
    """A pool of processes that lower and compile for a target, for the duration of a `with` block."""

    def __init__(self, count: int, target: Target, opt_level: int):
        self._count = count
        self._settings = [target.text, str(opt_level)]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[Thread] = []
        self._pending: list[int] = []
        self.answers: dict[int, Answer] = {}

    def __enter__(self) -> PartWorkers:
        command, environment = python_process("tirax.driver.worker", self._settings)
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        try:
            for _ in range(self._count if sys.executable else 0):
                process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=nothing)
                self._processes.append(process)
        except OSError:  # no (further) process can be started
            pass
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.kill()
        self._wait()
        for process in self._processes:
            process.communicate()  # closes its pipes

    @property
    def count(self) -> int:
        """The number of processes."""
        return len(self._processes)

    def offer(self, parts: Mapping[int, Kernels], passes: Sequence[str]) -> None:
        """Have parts lowered, the largest first; `parts` are keyed by number. Their kernels must not change
        until then.
        """
        sizes = {number: sum(len(operations(kernel)) for kernel in part) for number, part in parts.items()}
        self._pending = sorted(parts, key=sizes.__getitem__)
        for process in self._processes:
            thread = Thread(target=self._serve, args=(process, parts, passes), name="tirax-part", daemon=True)
            self._threads.append(thread)
            thread.start()

    def left(self) -> Iterator[int]:
        """Yield the numbers of the parts to be lowered here, one at a time; when it ends, all others are in
        `answers`.
        """
        while self._pending or self._threads:
            while (number := self._take()) is not None:
                yield number
            self._wait()

    def _take(self) -> int | None:
        """Return the number of a part that nobody else will do, or None if there is none left."""
        try:
            return self._pending.pop()
        except IndexError:
            return None

    def _serve(self, process: subprocess.Popen[bytes], parts: Mapping[int, Kernels], passes: Sequence[str]) -> None:
        """Have a process lower one part after the other; parts that it fails on are left for others."""
        while (number := self._take()) is not None:
            answer = None
            try:
                answer = _request(process, _text(parts[number]), passes)
            finally:
                if answer is None:
                    self._pending.append(number)
            if answer is None:
                return
            self.answers[number] = answer

    def _wait(self) -> None:
        while self._threads:
            self._threads.pop().join()


def _text(kernels: Kernels) -> str:
    """Return the text of a module of kernels."""
    return "\n".join(("builtin.module {", *map(str, kernels), "}"))


def _request(process: subprocess.Popen[bytes], text: str, passes: Sequence[str]) -> Answer | None:
    """Return a process's answer for a part, or None if the process has ended."""
    assert process.stdin is not None and process.stdout is not None
    try:
        write_message(process.stdin, text.encode(), passes=list(passes))
        message = read_message(process.stdout)
    except OSError:
        return None
    return None if message is None else Answer(message[0]["key"], message[1], message[0]["stages"])
