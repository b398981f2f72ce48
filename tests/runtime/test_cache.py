"""The cache of objects on disk."""

import hashlib
import os
import stat
import threading
import warnings
from pathlib import Path

import pytest

from tirax.runtime.cache import ObjectCache, cache_key, default_directory, secret_file


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectCache:
    monkeypatch.delenv("TIRAX_CACHE", raising=False)
    return ObjectCache(tmp_path / "objects")


def test_round_trip(cache: ObjectCache):
    key = cache_key("ir", "target", "1.0")
    assert cache.get(key) is None
    cache.put(key, b"code")
    assert cache.get(key) == b"code" == ObjectCache(cache.directory).get(key)
    cache.put(key, b"other")
    assert cache.get(key) == b"other"
    cache.clear()
    assert cache.get(key) is None


def test_keys_depend_on_every_part():
    keys = {
        cache_key("a", "b"),
        cache_key("ab", ""),
        cache_key("", "ab"),
        cache_key("a", b"b", ""),
        cache_key("b", "a"),
    }
    assert len(keys) == 5 and cache_key("a", "b") == cache_key(b"a", b"b")


def test_the_directory_is_private(cache: ObjectCache):
    cache.put(cache_key("a"), b"code")
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700


def test_a_directory_that_others_can_write_to_is_not_used(cache: ObjectCache):
    key = cache_key("a")
    cache.put(key, b"code")
    cache.directory.chmod(0o777)
    assert cache.get(key) is None
    with pytest.warns(RuntimeWarning, match="others can write"):
        cache.put(key, b"more")
    cache.directory.chmod(0o700)
    assert cache.get(key) == b"code"


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 100])
def test_damaged_entries_are_dropped(cache: ObjectCache, damage: bytes):
    key = cache_key("a")
    cache.put(key, b"code")
    (path,) = cache.directory.iterdir()
    path.write_bytes(damage)
    assert cache.get(key) is None and not path.exists()


def test_least_recently_used_entries_go_first(tmp_path: Path):
    cache = ObjectCache(tmp_path / "o", limit=10_000)
    keys = [cache_key(str(i)) for i in range(12)]
    for age, key in enumerate(keys[:9]):
        cache.put(key, bytes(1000))
        os.utime(cache.directory / f"{key}.o", (1000 + age, 1000 + age))
    assert cache.get(keys[0]) is not None  # used now, so the youngest
    cache.put(keys[9], bytes(1000))
    left = [key for key in keys if cache.get(key) is not None]
    assert keys[0] in left and keys[9] in left and keys[1] not in left
    assert sum(path.stat().st_size for path in cache.directory.iterdir()) <= 7_500
    cache.put(keys[10], bytes(5000))
    assert cache.get(keys[10]) is None


def test_it_can_be_turned_off(cache: ObjectCache, monkeypatch: pytest.MonkeyPatch):
    key = cache_key("a")
    cache.put(key, b"code")
    monkeypatch.setenv("TIRAX_CACHE", "0")
    assert cache.get(key) is None
    cache.put(cache_key("b"), b"code")
    assert len(list(cache.directory.iterdir())) == 1


def test_a_failure_to_write_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TIRAX_CACHE", raising=False)
    (tmp_path / "file").write_text("in the way")
    cache = ObjectCache(tmp_path / "file" / "objects")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        cache.put(cache_key("a"), b"code")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(cache_key("a"), b"code")
        assert cache.get(cache_key("a")) is None


def test_default_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "tirax" / "objects"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_directory() == tmp_path / ".cache" / "tirax" / "objects"


def test_threads(cache: ObjectCache):
    keys = [cache_key(str(i)) for i in range(5)]
    wrong: list[object] = []

    def work() -> None:
        for _ in range(20):
            for i, key in enumerate(keys):
                cache.put(key, bytes([i]) * 1000)
                content = cache.get(key)
                if content not in (None, bytes([i]) * 1000):
                    wrong.append(content)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and all(cache.get(key) is not None for key in keys)


def test_an_entry_that_somebody_else_wrote_is_not_loaded(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    key, other = cache_key("a"), cache_key("b")
    cache.put(key, b"code")
    (path,) = cache.directory.iterdir()
    planted = cache.directory / f"{other}.o"
    planted.write_bytes(path.read_bytes())
    assert cache.get(other) is None, "what was compiled for another key"
    planted.write_bytes(hashlib.sha256(b"evil").digest() + b"evil")
    assert cache.get(other) is None, "a checksum is no signature"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another user"))
    assert cache.get(key) is None, "the secret of another user"


def test_the_secret_is_private(cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    cache.put(cache_key("a"), b"code")
    path = secret_file()
    assert path == tmp_path / "tirax" / "cache.key" and stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "second"))
    secret_file().parent.mkdir(parents=True)
    secret_file().write_bytes(b"known to all")
    secret_file().chmod(0o644)
    cache.put(cache_key("b"), b"code")
    assert secret_file().read_bytes() != b"known to all", "one that others could read is replaced"
    assert cache.get(cache_key("b")) == b"code"
