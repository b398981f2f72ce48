"""What this machine has, and what targets say of caches."""

import pytest

from tirax import hardware
from tirax.hardware import Caches, caches_of, host_caches, usable_cores
from tirax.runtime.thread_pool import default_threads
from tirax.target import Target, TargetError


def sysfs(folder, *rows):
    for at, (level, kind, size) in enumerate(rows):
        index = folder / f"index{at}"
        index.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (index / name).write_text(f"{text}\n")
    return folder


def test_the_caches_of_linux(tmp_path):
    rows = ((1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "1280K"), (3, "Unified", "24M"))
    assert caches_of(sysfs(tmp_path, *rows)) == Caches(48 << 10, 1280 << 10, 24 << 20)


def test_without_a_third_level_the_second_is_the_last(tmp_path):
    rows = ((1, "Data", "32768"), (2, "Unified", "2M"), (3, "Unified", "?"))
    assert caches_of(sysfs(tmp_path, *rows)) == Caches(32 << 10, 2 << 20, 2 << 20)


def test_what_no_system_says(tmp_path, monkeypatch):
    monkeypatch.setattr(hardware.os, "sysconf_names", {})
    assert caches_of(tmp_path) == Caches()


def test_the_caches_of_the_c_library(tmp_path, monkeypatch):
    monkeypatch.setattr(hardware.os, "sysconf_names", {"SC_LEVEL1_DCACHE_SIZE": 1, "SC_LEVEL2_CACHE_SIZE": 2})
    sizes = {"SC_LEVEL1_DCACHE_SIZE": 65536, "SC_LEVEL2_CACHE_SIZE": 0}
    monkeypatch.setattr(hardware.os, "sysconf", sizes.__getitem__)
    assert caches_of(tmp_path).l1d == 65536
    assert caches_of(tmp_path).l2 == Caches.l2


def test_targets_have_caches():
    assert Target("llvm").caches == host_caches()
    assert Target("llvm -mcpu=znver4").caches == Caches(32 << 10, 1 << 20, 32 << 20)
    assert Target("llvm -mcpu=x86-64-v3").caches == Caches()
    target = Target("llvm -mcpu=znver4 -l2-size=524288 -l1d-size=16384 -l3-size=1048576")
    assert target.caches == Caches(16384, 524288, 1048576)
    assert Target(target.export()) == target and target.export()["l2-size"] == 524288
    assert "size" not in str(Target("llvm -mcpu=znver4"))
    for wrong in ("0", "-1", "1M"):
        with pytest.raises(TargetError, match="expected: a positive integer"):
            Target(f"llvm -l2-size={wrong}")


def test_there_is_one_count_of_cores(monkeypatch):
    for name in ("TIRAX_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert Target("llvm").cores == default_threads() == usable_cores()
    monkeypatch.setattr(hardware, "cpu_quota", lambda file: 1)
    assert Target("llvm -math=libm").cores == default_threads() == 1
