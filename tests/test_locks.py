"""Locks after an interrupt at any place: nobody has to wait for a traceback that somebody keeps."""

from __future__ import annotations

import fcntl
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tirax.locks import Lock, locked_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="flock")


def interrupted(work: Callable[[], object], at: int) -> KeyboardInterrupt | None:
    """The interrupt that comes as the call number `at` of `work` returns, or None where it makes fewer calls.

    CPython looks for signals where functions begin and where calls into C end.
    """
    left = at

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        left -= event in ("call", "c_return")
        if not left:
            sys.setprofile(None)
            raise KeyboardInterrupt

    try:
        sys.setprofile(on_event)
        work()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None


def places(work: Callable[[], object], is_free: Callable[[], bool]) -> list[int]:
    """The places at which an interrupt leaves something locked; there have to be some at which one comes."""
    locked, at = [], 1
    while (kept := interrupted(work, at)) is not None:
        locked += [] if is_free() else [at]
        del kept
        at += 1
    assert at > 3
    return locked


def test_a_file(tmp_path):
    path = tmp_path / "lock"

    def work() -> None:
        with locked_file(path):
            len("something")

    def is_free() -> bool:
        with path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    assert places(work, is_free) == []
    with locked_file(path):
        assert not is_free()


def test_a_lock():
    lock = Lock()

    def work() -> None:
        with lock:
            len("something")
        len("something")

    def is_free() -> bool:
        answers: list[Any] = []
        thread = threading.Thread(
            target=lambda: answers.append(lock.acquire(blocking=False) and lock.release() is None)
        )
        thread.start()
        thread.join()
        return answers == [True]

    assert places(work, is_free) == []
    with lock, lock:
        assert not is_free()
    assert is_free()
