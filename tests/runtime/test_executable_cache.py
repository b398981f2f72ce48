"""The cache of executables on disk: what is stored comes back, and what is damaged does not."""

import threading
from pathlib import Path

import numpy as np
import pytest

from tirax.runtime import executable_cache
from tirax.runtime.executable import Executable
from tirax.runtime.executable_cache import ExecutableCache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExecutableCache:
    monkeypatch.delenv("TIRAX_CACHE", raising=False)
    return ExecutableCache(tmp_path / "executables")


def inputs(*sizes: int) -> list[np.ndarray]:
    """Aligned bytes that nobody writes to, as constants of programs are."""
    arrays: list[np.ndarray] = []
    for size in sizes:
        memory = np.empty(size + 64, np.uint8)
        start = -memory.ctypes.data % 64
        own = memory[start : start + size]
        own[:] = np.arange(size)
        arrays.append(np.frombuffer(own.data.toreadonly(), np.uint8))
    return arrays


def executable(*constants: np.ndarray) -> Executable:
    return Executable(b"code", [], slots=[("constant", 0)], constants=constants)


def test_round_trip(cache: ExecutableCache):
    (weights,) = inputs(4096)
    packed = np.arange(12, dtype=np.float32).reshape(3, 4)
    stored = executable(weights.view(np.int32).reshape(32, 32), packed, np.empty((0, 3), np.int8))
    assert cache.get("key", {0: weights}) is None
    cache.put("key", stored, [weights])
    loaded = cache.get("key", {0: weights})
    assert loaded is not None and (loaded.code, loaded.slots) == (b"code", stored.slots)
    for one, other in zip(loaded.constants, stored.constants, strict=True):
        assert one.dtype == other.dtype and one.ctypes.data % 64 == 0 and not one.flags.writeable
        np.testing.assert_array_equal(one, other)
    assert cache.get("another", {0: weights}) is None


def test_what_the_program_has_is_not_stored_again(cache: ExecutableCache):
    weights = inputs(1 << 16)
    cache.put("key", executable(weights[0].view(np.float32)), weights)
    (path,) = cache.directory.iterdir()
    assert path.stat().st_size < 4096
    elsewhere = inputs(1 << 16)
    loaded = cache.get("key", dict(enumerate(elsewhere)))
    assert loaded is not None and loaded.constants[0].ctypes.data == elsewhere[0].ctypes.data
    assert loaded.cached is not None and loaded.cached.places == (0,)
    assert cache.get("key", {}) is None


def test_constants_are_mapped_and_outlive_the_file(cache: ExecutableCache):
    cache.put("key", executable(np.arange(1 << 14)), [])
    loaded = cache.get("key", {})
    cache.clear()
    assert loaded is not None and cache.get("key", {}) is None
    np.testing.assert_array_equal(loaded.constants[0], np.arange(1 << 14))


def test_damage_anywhere_is_a_miss(cache: ExecutableCache):
    constant = np.arange(1 << 15)  # large enough for the native checksum
    cache.put("key", executable(constant), [])
    (path,) = cache.directory.iterdir()
    data = path.read_bytes()
    damaged = [data[:size] for size in (0, 10, 40, 200, len(data) // 2, len(data) - 64)]
    damaged += [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in (0, 33, 39, 60, 1000, len(data) // 2)]
    for content in damaged:
        path.write_bytes(content)
        assert cache.get("key", {}) is None and not path.exists()
        cache.put("key", executable(constant), [])
        assert cache.get("key", {}) is not None


def test_a_file_for_another_key_or_user_is_a_miss(
    cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    cache.put("key", executable(np.arange(4)), [])
    (path,) = cache.directory.iterdir()
    path.with_name("other.x").write_bytes(path.read_bytes())
    assert cache.get("other", {}) is None
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another user"))
    assert cache.get("key", {}) is None


def test_the_oldest_go_above_the_limit_and_large_ones_are_not_stored(tmp_path: Path, cache: ExecutableCache):
    small = ExecutableCache(tmp_path / "small", limit=40_000)
    for i in range(12):
        small.put(f"key{i}", executable(np.full(1000, i)), [])
    left = [i for i in range(12) if small.get(f"key{i}", {}) is not None]
    assert 11 in left and 0 not in left
    assert sum(path.stat().st_size for path in small.directory.iterdir()) <= 40_000
    small.put("large", executable(np.arange(2000)), [])
    assert small.get("large", {}) is None


def test_little_room_on_the_disk(cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch):
    free = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(executable_cache.shutil, "disk_usage", lambda path: free)
    cache.put("key", executable(np.arange(1000)), [])
    assert not cache.directory.exists()


def test_large_ones_are_written_on_a_thread(cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executable_cache, "_LARGE", 1000)
    cache.put("key", executable(np.arange(1000)), [])
    cache.finish()
    assert cache.get("key", {}) is not None


@pytest.mark.parametrize("value", ["0", "objects"])
def test_off(cache: ExecutableCache, monkeypatch: pytest.MonkeyPatch, value: str):
    cache.put("key", executable(np.arange(4)), [])
    monkeypatch.setenv("TIRAX_CACHE", value)
    assert cache.get("key", {}) is None
    cache.put("other", executable(np.arange(4)), [])
    assert len(list(cache.directory.iterdir())) == 1


def test_several_write_and_read_at_once(cache: ExecutableCache):
    """Each has a cache of its own, as processes have."""
    wrong: list[object] = []

    def work(number: int) -> None:
        own = ExecutableCache(cache.directory)
        for _ in range(20):
            own.put("key", executable(np.arange(1 << 12)), [])
            loaded = own.get("key", {})
            if loaded is not None and not np.array_equal(loaded.constants[0], np.arange(1 << 12)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and cache.get("key", {}) is not None
    assert [path.name for path in cache.directory.iterdir()] == ["key.x"]
