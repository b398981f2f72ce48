"""Caches whose secret or folder is not what it should be, and what processes that were ended have left in them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tirax.runtime import cache
from tirax.runtime.cache import DIGEST, ObjectCache

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="FIFOs and devices are Linux's here")


def left_half_written(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and p.name.startswith(".")]


SECRETS = {
    "empty": lambda path: path.write_bytes(b""),
    "short": lambda path: path.write_bytes(bytes(DIGEST - 1)),
    "long": lambda path: path.write_bytes(bytes(1 << 16)),
    "fifo": lambda path: os.mkfifo(path),
    "readable by others": lambda path: (path.write_bytes(bytes(DIGEST)), path.chmod(0o644)),
    "unreadable": lambda path: (path.write_bytes(b"x"), path.chmod(0)),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to a fifo": lambda path: (os.mkfifo(path.with_name("pipe")), path.symlink_to("pipe")),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_what_is_no_secret_is_replaced(kind, tmp_path, monkeypatch):
    """A new secret of the right size, for the user alone; nothing waits."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = cache.secret_file()
    path.parent.mkdir()
    SECRETS[kind](path)
    if not kind.startswith("link"):
        path.chmod(path.stat().st_mode & 0o777 if kind in ("readable by others", "unreadable") else 0o600)
    actual = cache.secret()
    assert len(actual) == DIGEST and any(actual)
    assert path.read_bytes() == actual and path.stat().st_mode & 0o777 == 0o600 and not path.is_symlink()
    assert not left_half_written(path.parent)


def test_a_folder_in_the_place_of_the_secret_disables_the_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    cache.secret_file().mkdir(parents=True)
    objects = ObjectCache(tmp_path / "objects")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        objects.put("key", b"content")
    assert objects.get("key") is None
    with pytest.raises(OSError, match=r"cache\.key"):
        cache.secret()


def test_a_file_system_that_is_not_written_to_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    objects = ObjectCache(tmp_path / "objects")
    objects.put("key", b"content")

    def refuse(*args: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert objects.get("key") == b"content"


def test_what_a_killed_process_left_is_removed_a_day_later(tmp_path, monkeypatch):
    """Also where the clock has gone backwards since: files of the future are nobody's leavings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    objects = ObjectCache(tmp_path / "objects")
    objects.put("key", b"content")
    ages = {".old.o.1234": -100_000, ".new.o.1234": -100, ".future.o.1234": 100_000}
    for name, age in ages.items():
        (objects.directory / name).write_bytes(b"half")
        os.utime(objects.directory / name, (time.time() + age,) * 2)
    os.utime(objects.directory / "key.o", (time.time() + 10**6,) * 2)
    ObjectCache(objects.directory).put("other", b"content")
    assert sorted(p.name for p in objects.directory.iterdir()) == [".future.o.1234", ".new.o.1234", "key.o", "other.o"]
    assert objects.get("key") == b"content"


def test_what_a_clock_in_the_future_left_goes_first(tmp_path, monkeypatch):
    """It counted as what was used last: a cache that was full of it kept nothing else ever after."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    size = 1000
    objects = ObjectCache(tmp_path / "objects", limit=8 * (size + DIGEST))
    for number in range(8):
        objects.put(f"future{number}", bytes(size))
        os.utime(objects.directory / f"future{number}.o", (time.time() + 10**8,) * 2)
    assert objects.get("future7") == bytes(size)  # and is used now
    for number in range(4):
        ObjectCache(objects.directory, objects.limit).put(f"now{number}", bytes(size))
    assert all(objects.get(key) for key in ("now0", "now1", "now2", "now3", "future7"))


@pytest.mark.parametrize("seconds", [-(10**9), 10**9])
def test_a_clock_that_is_wrong_loses_nothing_below_the_limit(tmp_path, monkeypatch, seconds):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    objects, now = ObjectCache(tmp_path / "objects"), time.time
    objects.put("before", b"content")
    monkeypatch.setattr(time, "time", lambda: now() + seconds)
    for key in ("one", "two"):
        ObjectCache(objects.directory).put(key, b"content")
    assert all(objects.get(key) == b"content" for key in ("before", "one", "two"))
