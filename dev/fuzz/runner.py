"""Run cases in child processes, so that a crash or hang is just a finding.

parent  ->  worker (forked): case after case, a line to the parent before and after each
        ->  a forked child for every attempt at making a finding smaller
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...tools.forks import exit_text, fork_child, in_fork, send_report
from ...tools.reduce.search import gist
from .kinds import KINDS, Kind
from .tape import Choices, Tape, shrunk

CASE_SECONDS = 60.0
"""CPU seconds after which a case counts as hanging; a multiple of the slowest sound one."""

_WAITING = 10
"""The limit in wall-clock time, as a multiple: on a busy machine most of it is waiting."""

REDUCING_SECONDS = 20.0
"""Time limit for reducing one finding."""

_QUIET_SECONDS = 0.2


@dataclass(frozen=True)
class Finding:
    """A failed case and its failure."""

    kind: str
    status: str
    message: str
    choices: Choices
    text: str

    @property
    def signature(self) -> str:
        """Return what findings of the same cause share: the message without numbers and names."""
        return f"{self.kind} {self.status} {gist(self.message)}"


@dataclass
class Tally:
    """The results of a run of one kind."""

    kind: str
    cases: int = 0
    compared: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    repeats: Counter[str] = field(default_factory=Counter[str])

    @property
    def blind(self) -> bool:
        """Whether cases ran but none of them compared anything."""
        return self.cases > 0 and self.compared == 0


def attempt(name: str, choices: Choices | None, seed: int = 0) -> tuple[str, str, int, Choices, str]:
    """Draw a case and check it in this process; return status, message, results compared, choices, text."""
    kind: Kind = KINDS[name]
    tape = Tape(seed, choices)
    text = ""
    try:
        text = kind.draw(tape)
        compared = kind.check(text)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is a finding)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = "" if str(error).startswith("error:") else f" ({os.path.basename(place.filename)}:{place.name})"
        first = (str(error).strip().splitlines() or [""])[0]
        return "failed", f"{type(error).__name__}: {first}{where}", 0, tape.drawn, text
    return "ok", "", compared, tape.drawn, text


def fuzz(
    name: str,
    seconds: float,
    seed: int = 0,
    count: int | None = None,
    jobs: int = 1,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Run cases of one kind from `seed` on, until time or `count` is used up; new findings are reduced at the end."""
    tally = Tally(name)
    start = time.monotonic()
    deadline = start + seconds
    workers = [_Worker(name, range(seed + j, sys.maxsize, jobs), deadline) for j in range(jobs)]
    try:
        while workers and time.monotonic() < deadline + CASE_SECONDS and (count is None or tally.cases < count):
            for worker in list(workers):
                for event in worker.events(_QUIET_SECONDS / jobs):
                    _add(tally, event)
                if worker.done:
                    workers.remove(worker)
            progress(tally)
    finally:
        for worker in workers:
            worker.stop()
    tally.seconds = time.monotonic() - start
    tally.findings = {key: _reduced(finding) for key, finding in tally.findings.items()}
    return tally


def _add(tally: Tally, event: Finding | int | None) -> None:
    tally.cases += 1
    if isinstance(event, Finding):
        tally.repeats[event.signature] += 1
        tally.findings.setdefault(event.signature, event)
    elif event:
        tally.compared += event
    else:
        tally.refused += 1


class _Worker:
    """A forked process that runs seeds, restarted after a case that ended it."""

    def __init__(self, name: str, seeds: range, deadline: float):
        self.name, self.seeds, self.deadline = name, iter(seeds), deadline
        self.done = False
        self._start()

    def _start(self) -> None:
        read, write = os.pipe()
        self.seed = next(self.seeds)
        self._rest = b""
        self.pid = fork_child(lambda: _run_seeds(self.name, self.seed, self.seeds, self.deadline, write))
        os.close(write)
        self._pipe = read
        self._begin()

    def _begin(self) -> None:
        self._since, self._computed = time.monotonic(), _cpu_seconds(self.pid)

    def _hangs(self) -> bool:
        """Return whether the running case exceeds the time limit."""
        waited = time.monotonic() - self._since
        if waited <= CASE_SECONDS:
            return False
        return waited > _WAITING * CASE_SECONDS or _cpu_seconds(self.pid) - self._computed > CASE_SECONDS

    def events(self, timeout: float) -> Iterator[Finding | int | None]:
        """Yield what is reported within `timeout` seconds: a finding, or how much a case compared."""
        ready, _, _ = select.select([self._pipe], [], [], timeout)
        data = os.read(self._pipe, 1 << 20) if ready else b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            report = json.loads(line)
            self._begin()
            if report["status"] == "next":
                while self.seed != report["seed"]:
                    self.seed = next(self.seeds)
            elif report["status"] == "ok":
                yield report["compared"] or None
            else:
                yield Finding(self.name, "failed", report["message"], report["choices"], report["text"])
        if ready and not data:
            yield from self._ended()
        elif self._hangs():
            os.kill(self.pid, signal.SIGKILL)
            yield from self._ended("hang", f"more than {CASE_SECONDS:.0f} s")

    def _ended(self, status: str = "", message: str = "") -> Iterator[Finding]:
        """Handle the end of the process, and yield a finding if a case was running."""
        os.close(self._pipe)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if code == 0:
            self.done = True
            return
        tape = Tape(self.seed)
        text = KINDS[self.name].draw(tape)
        yield Finding(self.name, status or "crash", message or exit_text(code), tape.drawn, text)
        self._start()

    def stop(self) -> None:
        """Kill the process."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._pipe)


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, or wall-clock time if the system does not report it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run_seeds(name: str, first: int, seeds: Iterator[int], deadline: float, pipe: int) -> None:
    seed = first
    while time.monotonic() < deadline:
        send_report(pipe, {"status": "next", "seed": seed})
        status, message, compared, choices, text = attempt(name, None, seed)
        if status == "ok":
            send_report(pipe, {"status": "ok", "compared": compared})
        else:
            send_report(pipe, {"status": "failed", "message": message, "choices": choices, "text": text})
        seed = next(seeds)


# Making findings smaller: each attempt in a child, as it may crash as the finding does.


def outcome(name: str, choices: Choices) -> Finding | None:
    """Return the finding of a case's choices, run in a child process; None if the case is sound."""
    result = in_fork(lambda: attempt(name, choices), CASE_SECONDS)
    if result.report is None:
        return Finding(name, result.status, result.message, choices, KINDS[name].draw(Tape(played=choices)))
    status, message, _compared, _drawn, text = result.report
    return None if status == "ok" else Finding(name, status, message, choices, text)


def _reduced(finding: Finding) -> Finding:
    """Return the same finding with a smaller case."""

    def fails(choices: Choices) -> bool:
        smaller = outcome(finding.kind, choices)
        return smaller is not None and smaller.signature == finding.signature

    smallest = outcome(finding.kind, shrunk(finding.choices, fails, REDUCING_SECONDS))
    return finding if smallest is None else replace(smallest, status=finding.status, message=smallest.message)
