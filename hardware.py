"""The hardware of this machine: the cores that this process may use, and the caches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .diagnostics import TiraxError

BUILD_THREADS = "TIRAX_BUILD_THREADS"

_MOST_CORES = 1024
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def usable_cores() -> int:
    """Return the cores that this process may use, by its affinity and the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, cpu_quota(_QUOTA)))


def build_threads() -> int:
    """Return the number of threads of a build: `TIRAX_BUILD_THREADS`, else all usable cores. Raises `TiraxError`."""
    text = os.environ.get(BUILD_THREADS, "").strip()
    if not text:
        return usable_cores()
    if not text.isdecimal() or int(text) < 1:
        raise TiraxError(f"{BUILD_THREADS} is '{text}'", expected="a number of threads, 1 or more")
    return int(text)


def cpu_quota(file: Path) -> int:
    """Return the cores that a container may use, from a file `quota period` (microseconds); 1024 if unlimited."""
    try:
        quota, period = file.read_text().split()
    except (OSError, ValueError):  # another system, or no container
        return _MOST_CORES
    return _MOST_CORES if not quota.isdecimal() else -(-int(quota) // int(period))


@dataclass(frozen=True)
class Caches:
    """Cache sizes in bytes: a core's data caches, and the last-level cache, which cores share."""

    l1d: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 8 << 20


@cache
def host_caches() -> Caches:
    """Return the caches of this machine; sizes that the system does not report default to `Caches()`."""
    return caches_of(_CACHES)


def caches_of(folder: Path) -> Caches:
    """Return the caches that Linux reports; a missing level defaults to the next smaller one, or to `Caches()`."""
    sizes = dict(_levels(folder))
    if 1 not in sizes:
        sizes = {level: size for level, size in _configured().items() if size > 0} | sizes
    l1d = sizes.get(1, Caches.l1d)
    l2 = sizes.get(2, Caches.l2)
    return Caches(l1d, l2, sizes.get(3, l2 if sizes else Caches.l3))


def _levels(folder: Path) -> Iterator[tuple[int, int]]:
    """Yield (level, bytes) of each data cache."""
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
            if kind != "Instruction":
                yield int(level), int(size[:-1]) * _UNITS[size[-1]] if size[-1] in _UNITS else int(size)
        except (OSError, ValueError, IndexError):  # not reported by this system
            continue


def _configured() -> dict[int, int]:
    """Return the sizes by level according to the C library, 0 if unknown."""
    names = {1: "SC_LEVEL1_DCACHE_SIZE", 2: "SC_LEVEL2_CACHE_SIZE", 3: "SC_LEVEL3_CACHE_SIZE"}
    known = getattr(os, "sysconf_names", {})
    return {level: os.sysconf(name) for level, name in names.items() if name in known}
