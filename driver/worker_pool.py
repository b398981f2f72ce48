"""Processes that lower parts of a large module while this one lowers others: Python has one thread for it.

    a part as text  ->  `part_worker.py`  ->  key of its LLVM text, object

They start before the graph is optimized: what lowers has to be imported first. Who has nothing to do takes the longest
part that is left; objects are the same whoever made them. What a worker fails to do is done here, where the error is
raised then. Workers lower as passes do by themselves: where a program has set or registered something there are none.
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
"""Workers: each takes about 100 MiB."""
_LARGE = 40
"""So many different operators are several parts, and lowering these takes longer than it does to start a process."""


Kernels = Sequence[Operation]
"""The tensor functions of a part."""


def useful_workers(op: ModuleOp) -> int:
    """How many workers a module is to have that is not lowered yet: none for a small one, or for one thread."""
    different: set[tuple[object, ...]] = set()
    for o in operations(op) if build_threads() > 1 else ():
        if o.results:
            different.add((o.name, *(v.type for v in (*o.operands, *o.results))))
        if len(different) >= _LARGE:
            return min(build_threads() - 1, _MOST)
    return 0


@dataclass(frozen=True)
class Answer:
    """What a worker made of a part: the key of the LLVM text, the object, and seconds by stage."""

    key: str
    code: bytes
    stages: Mapping[str, float]


def write_message(stream: IO[bytes], payload: bytes, **header: Any) -> None:
    """Write bytes, and what is said of them as a line of JSON before."""
    stream.write(json.dumps({**header, "size": len(payload)}).encode() + b"\n" + payload)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[Mapping[str, Any], bytes] | None:
    """What `write_message` wrote; None where the stream ends before."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    header = json.loads(line)
    payload = stream.read(header["size"])
    return (header, payload) if len(payload) == header["size"] else None


class PartWorkers:
    """So many processes that lower and compile for a target, from the beginning of a block to its end."""

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
        """How many processes there are."""
        return len(self._processes)

    def offer(self, parts: Mapping[int, Kernels], passes: Sequence[str]) -> None:
        """Have parts lowered, by their numbers; the longest first. Their kernels stay as they are until then."""
        sizes = {number: sum(len(operations(kernel)) for kernel in part) for number, part in parts.items()}
        self._pending = sorted(parts, key=sizes.__getitem__)
        for process in self._processes:
            thread = Thread(target=self._serve, args=(process, parts, passes), name="tirax-part", daemon=True)
            self._threads.append(thread)
            thread.start()

    def left(self) -> Iterator[int]:
        """The numbers that are to be done here, one after the other; then all others are among `answers`."""
        while self._pending or self._threads:
            while (number := self._take()) is not None:
                yield number
            self._wait()

    def _take(self) -> int | None:
        """A number that nobody else does then; None where there is none."""
        try:
            return self._pending.pop()
        except IndexError:
            return None

    def _serve(self, process: subprocess.Popen[bytes], parts: Mapping[int, Kernels], passes: Sequence[str]) -> None:
        """Have a process do one part after the other; what it fails to do is left for others."""
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
    """The text of a module of kernels."""
    return "\n".join(("builtin.module {", *map(str, kernels), "}"))


def _request(process: subprocess.Popen[bytes], text: str, passes: Sequence[str]) -> Answer | None:
    """What a process makes of a part; None where it has ended."""
    assert process.stdin is not None and process.stdout is not None
    try:
        write_message(process.stdin, text.encode(), passes=list(passes))
        message = read_message(process.stdout)
    except OSError:
        return None
    return None if message is None else Answer(message[0]["key"], message[1], message[0]["stages"])
