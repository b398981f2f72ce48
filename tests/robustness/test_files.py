"""Files that are cut, flipped, foreign or in the way: executables, parameters, the object cache."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.runtime.cache import ObjectCache, cache_key
from tirax.runtime.errors import DamagedFileError, ExecutableFileError, ForeignFileError
from tirax.runtime.executable import Executable
from tirax.transforms.params.bind_params import BindParams

MAIN = """
relax.func @constant() -> !relax.tensor<[], f32> {
  %c = relax.constant <f32 [] 1.0>
  relax.return %c : !relax.tensor<[], f32>
}
relax.func @main(%x: !T) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  relax.return %a : !T
}
"""
BIND = "relax.func @main(%x: !T) -> !T { relax.return %x : !T }"


@pytest.fixture(scope="module")
def saved(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "main.tirax"
    compiled(MAIN).save(path)
    return path.read_bytes()


def load(tmp_path, data: bytes) -> Executable:
    path = tmp_path / "x.tirax"
    path.write_bytes(data)
    return Executable.load(path)


def test_every_truncation_is_refused(tmp_path, saved):
    for size in [*range(130), *range(130, len(saved), 97), len(saved) - 1]:
        with pytest.raises(ExecutableFileError):
            load(tmp_path, saved[:size])


def test_every_flipped_byte_is_detected(tmp_path, saved):
    rng = random.Random(0)
    for place in [*range(130), *rng.sample(range(len(saved)), 150)]:
        damaged = bytearray(saved)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises(ExecutableFileError):
            load(tmp_path, bytes(damaged))


@pytest.mark.parametrize("data", [b"", b"\x7fELF" + bytes(100), b"PK\3\4" + bytes(100), bytes(4096), b"{}", b"\x89"])
def test_foreign_files(tmp_path, data):
    with pytest.raises((ForeignFileError, DamagedFileError)):
        load(tmp_path, data)


@pytest.mark.parametrize("change", [b"x", bytes(64), bytes(10_000)])
def test_what_is_appended_is_detected(tmp_path, saved, change):
    with pytest.raises(DamagedFileError, match="too long"):
        load(tmp_path, saved + change)


def _sealed(header: bytes, blobs: bytes, size: int | None = None, header_size: int | None = None) -> bytes:
    """A file with a checksum that is right."""
    body = header + bytes(-len(header) % 64) + blobs
    total = 64 + len(body) if size is None else size
    prefix = struct.pack("<8sIIQ8x", b"\x89TIRAX\r\n", 1, len(header) if header_size is None else header_size, total)
    return prefix + hashlib.sha256(prefix + body).digest() + body


def _parts(saved: bytes) -> tuple[dict, bytes]:
    (size,) = struct.unpack_from("<I", saved, 12)
    return json.loads(saved[64 : 64 + size]), saved[64 + -(-size // 64) * 64 :]


GARBAGE = [None, 0, -1, 2**62, 2**64, 1.5, "x", [], {}, [[]], [None], {"a": 1}, [[-1, 5]], [[0, 2**62]], True]


def test_headers_that_promise_too_much(tmp_path, saved):
    header, blobs = _parts(saved)
    text = json.dumps(header).encode()
    for size, header_size in ((2**60, None), (None, 2**31), (None, len(text) + 10**6), (0, None)):
        with pytest.raises(ExecutableFileError):
            load(tmp_path, _sealed(text, blobs, size, header_size))
    for wrong in (b"[" * 100_000, b"{" * 5000, b"nul", b"\xff\xfe", b"[1e999]", b'{"blobs": NaN}', b"9" * 6000):
        with pytest.raises(DamagedFileError):
            load(tmp_path, _sealed(wrong, blobs))


def test_metadata_that_mean_nothing(tmp_path, saved):
    """Somebody who can write a right checksum may write anything: it is refused, or it is read as what it says."""
    header, blobs = _parts(saved)
    assert load(tmp_path, _sealed(json.dumps(header).encode(), blobs))["main"](np.ones((2, 4), np.float32))[0, 0] == 2

    def places(data, path=()):
        yield path
        for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
            yield from places(value, (*path, key))

    paths = [p for p in places(header) if p]
    rng = random.Random(0)
    for path in paths:
        for garbage in rng.sample(GARBAGE, 4):
            changed = json.loads(json.dumps(header))
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = garbage
            try:
                load(tmp_path, _sealed(json.dumps(changed).encode(), blobs))
            except TiraxError:
                continue


def test_a_failed_write_leaves_the_old_file(tmp_path, compiled, monkeypatch):
    path = tmp_path / "x.tirax"
    executable = compiled(MAIN)
    executable.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        executable.save(path)
    monkeypatch.undo()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["x.tirax"])
    for wrong in (tmp_path, tmp_path / "absent" / "x", ".", "/"):
        with pytest.raises(OSError):
            executable.save(wrong)
    assert os.listdir(tmp_path) == ["x.tirax"]


@pytest.fixture
def archives(tmp_path):
    """Files of parameters, all wrong in another way."""
    good = tmp_path / "good.npz"
    np.savez(good, x=np.zeros((3, 4), np.float32))
    data = good.read_bytes()
    files = {
        "text": b"this is no archive",
        "empty": b"",
        "zip": b"PK\3\4garbage",
        "cut": data[:-30],
        "flipped": data[:60] + bytes([data[60] ^ 255]) + data[61:],
    }
    for name, content in files.items():
        (tmp_path / f"{name}.npz").write_bytes(content)
    np.save(tmp_path / "single.npy", np.zeros((3, 4), np.float32))
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    np.savez(tmp_path / "unknown.npz", nobody=np.zeros(3))
    np.savez(tmp_path / "dtype.npz", x=np.zeros((3, 4)))
    np.savez(tmp_path / "rank.npz", x=np.zeros(3, np.float32))
    np.savez(tmp_path / "extent.npz", x=np.zeros((3, 5), np.float32))
    return tmp_path


NAMES = ["text", "empty", "zip", "cut", "flipped", "objects", "unknown", "dtype", "rank", "extent"]


@pytest.mark.parametrize("name", [*(f"{n}.npz" for n in NAMES), "single.npy", "absent.npz", "."])
def test_files_of_parameters(archives, module, name):
    with pytest.raises(TiraxError):
        BindParams("main", file=str(archives / name))(module(BIND))


@pytest.mark.parametrize(
    "value", [None, "x", 1, [[1.0], [1.0, 2.0]], {}, np.zeros((3, 4), object), np.zeros((3, 5), np.float32), object()]
)
def test_parameters_that_are_no_arrays(module, value):
    with pytest.raises(TiraxError):
        BindParams("main", {"x": value})(module(BIND))


# -- the cache of objects -------------------------------------------------------------------------------------------

KEY = cache_key("a program")


@pytest.fixture
def cache(tmp_path):
    store = ObjectCache(tmp_path / "objects")
    store.put(KEY, b"code")
    assert store.get(KEY) == b"code"
    return store


@pytest.mark.parametrize("damage", [lambda d: d[:10], lambda d: b"", lambda d: d[:-1] + b"x", lambda d: bytes(len(d))])
def test_damaged_objects_are_compiled_again(cache, damage):
    (path,) = cache.directory.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


def test_objects_in_a_directory_of_others_are_not_loaded(cache):
    cache.directory.chmod(0o777)
    assert cache.get(KEY) is None
    with pytest.warns(RuntimeWarning, match="others can write"):
        cache.put(KEY, b"other")


def test_links_in_the_cache_do_no_harm(cache, tmp_path):
    """What is stored replaces a link, and does not write through it."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (path,) = cache.directory.iterdir()
    path.unlink()
    path.symlink_to(victim)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert victim.read_bytes() == b"precious"
    assert cache.get(KEY) == b"code"
    other = cache.directory / "loop.o"
    other.symlink_to(other)
    cache.put(cache_key("more"), b"code")
    cache.clear()
    assert cache.get(KEY) is None


@pytest.mark.parametrize("kind", ["file", "link", "device"])
def test_builds_do_without_a_cache(compiled, tmp_path, monkeypatch, kind):
    place = {"file": tmp_path / "file", "link": tmp_path / "link", "device": "/dev/null"}[kind]
    if kind == "file":
        place.write_text("")
    elif kind == "link":
        place.symlink_to(place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    monkeypatch.setattr("tirax.driver.object_cache._cache", ObjectCache())
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        executable = compiled(MAIN)
    assert executable["main"](np.zeros((2, 4), np.float32)).tolist() == [[1.0] * 4] * 2
