"""Processes that are killed or interrupted anywhere while they write files.

    python ended_processes.py SIGKILL SEED ROUNDS     prints what was wrong afterwards, as JSON
    python ended_processes.py SIGINT SEED ROUNDS
    python ended_processes.py together COUNT ROUNDS   processes that do the same at once, in the same folders

Each round a child of fork goes through the doors of `process_faults`, with programs that no cache has, until the signal
comes. Then another one (after SIGKILL), or the same (after SIGINT), looks at all files and does what was being done.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from process_faults import DOORS, environment, faults_of

from tirax.runtime.container import write_atomically
from tirax.tuning.database import Database

USED = ("build", "save", "export .so", "safetensors", "profile", "cost model", "tirax build", "tirax-opt", "tirax run")
STORED = ("records in SQLite", "records in JSON")
_SECONDS = 60
"""After which a process hangs."""
_AGAIN_SECONDS = 5


def folder_of(room: Path, name: str) -> Path:
    """Where a door writes."""
    return room / str((*USED, *STORED).index(name))


def work(room: Path, number: int) -> None:
    """All doors, once; files hold what was begun and what was done last."""
    for name in (*USED, *STORED):
        folder = folder_of(room, name)
        write_atomically(folder / "begun", [str(number).encode()], durable=False)
        DOORS[name].work(folder, number)
        write_atomically(folder / "done", [str(number).encode()], durable=False)


def work_on(room: Path, number: int) -> None:
    """Until a signal comes."""
    while True:
        work(room, number)
        number += 1


def look(room: Path) -> list[str]:
    """What is wrong with the files: each is whole, of the program before or of this one."""
    wrong: list[str] = []
    for name in USED:
        folder, door = folder_of(room, name), DOORS[name]
        numbers = {int((folder / which).read_text()) for which in ("begun", "done")}
        for output in door.outputs:
            tried = [faults_of(door, folder / output, number, False) for number in numbers]
            wrong += [] if [] in tried else tried[0]
    return wrong


def interrupted(room: Path, number: int) -> list[str]:
    """What is wrong after SIGINT, in the process that took it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        work_on(room, number)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.alarm(_SECONDS)
        wrong = look(room)
        work(room, number + 500)
        return wrong + look(room)
    raise AssertionError("it does not end")


def after(room: Path, number: int) -> list[str]:
    """What is wrong after SIGKILL, in another process."""
    signal.alarm(_SECONDS)
    wrong = look(room)
    work(room, number + 500)
    return wrong + look(room)


def forked(run: Callable[[], object], report: Path) -> int:
    """The number of a child that writes what `run` gives, or its error, into a file, and its stack at SIGUSR1."""
    child = os.fork()
    if child:
        return child
    code = 1
    faulthandler.register(signal.SIGUSR1, stacks_of(report).open("w"))
    try:
        report.write_text(json.dumps(run()))
        code = 0
    except BaseException:  # noqa: BLE001 (whatever it is, it is reported)
        report.write_text(json.dumps([traceback.format_exc()]))
    finally:
        os._exit(code)


def stacks_of(report: Path) -> Path:
    """Where a child that hangs writes where its threads are."""
    return report.with_suffix(".stacks")


def ended(child: int, again: signal.Signals | None = None) -> bool:
    """Whether a child ends in time; one that does not says where it is, and is killed.

    A signal comes `again` each few seconds, as from a user who sees nothing happen: Python drops an interrupt that
    comes in a callback of a weak reference, or in `__del__`.
    """
    start = time.monotonic()
    sent = start
    while (now := time.monotonic()) < start + _SECONDS:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        if again is not None and now > sent + _AGAIN_SECONDS:
            os.kill(child, again)
            sent = now
        time.sleep(0.01)
    os.kill(child, signal.SIGUSR1)
    time.sleep(1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def round_of(room: Path, how: signal.Signals, moment: float, number: int) -> list[str]:
    """What was wrong in a round."""
    report = room / "report"
    run = interrupted if how == signal.SIGINT else work_on
    child = forked(lambda: run(room, number), report)
    time.sleep(moment)
    os.kill(child, how)
    if not ended(child, how):
        return ["the process hangs", stacks_of(report).read_text()]
    if how == signal.SIGKILL and not ended(forked(lambda: after(room, number), report)):
        return ["the next process hangs", stacks_of(report).read_text()]
    return json.loads(report.read_text())


def together(room: Path, count: int, rounds: int) -> list[str]:
    """What is wrong where `count` processes write the same programs, `rounds` of them, into the same files."""

    def run() -> list[str]:
        for number in range(1, rounds + 1):
            work(room, number)
        return []

    reports = [room / f"report{n}" for n in range(count)]
    children = [forked(run, each) for each in reports]
    in_time = [ended(child) for child in children]
    if not all(in_time):
        return ["a process hangs", *(stacks_of(each).read_text() for each in reports)]
    wrong = [line for each in reports for line in json.loads(each.read_text())]
    for name, kind in zip(STORED, ("sqlite", "json"), strict=True):
        records = len(Database.create(kind, work_dir=folder_of(room, name) / "work"))
        wrong += [] if records == rounds else [f"{name}: {records} of {rounds}"]
    return wrong + look(room)


@contextmanager
def folders() -> Generator[Path]:
    """Folders for all doors, and caches, settings and a home of their own."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        places = {"XDG_CACHE_HOME": "caches", "XDG_CONFIG_HOME": "settings", "HOME": "user"}
        own = {name: f"{room}/{place}" for name, place in places.items()}
        with environment(TIRAX_CACHE="1", TIRAX_BUILD_THREADS="1", **own):
            for name in (*USED, *STORED):
                folder_of(room, name).mkdir()
            yield room


def main(how: str, number: int, rounds: int) -> list[list[str]]:
    """What was wrong in any round."""
    with folders() as room:
        if how == "together":
            return [wrong for wrong in [together(room, number, rounds)] if wrong]
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it is ignored, as in a shell's background
        draw, start = random.Random(number), time.monotonic()
        work(room, 0)
        longest = time.monotonic() - start
        moments = [draw.uniform(0, longest) for _ in range(rounds)]
        problems = [round_of(room, signal.Signals[how], at, 1000 * n) for n, at in enumerate(moments, 1)]
        return [wrong for wrong in problems if wrong]


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
