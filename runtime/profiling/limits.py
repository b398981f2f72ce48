"""The peak performance of this machine, measured: arithmetic in registers, and memory bandwidth."""

from __future__ import annotations

import ctypes
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hardware import Caches, host_caches
from .. import thread_pool
from ..jit import host_features, link_text

STEPS = 32768
CHAINS = 12
"""Independent chains of multiply-adds."""

_SECONDS = 0.03
_PIECE = 1 << 20
"""Bytes per copy."""
_LARGEST = 128 << 20
"""The largest working set in bytes of a copy test; source and target together are at most twice as large."""


@dataclass(frozen=True)
class Limits:
    """The peak performance of all threads together."""

    threads: int
    operations: float
    """Float32 operations per second; a multiply-add counts as two."""
    bandwidth: tuple[tuple[int, float], ...]
    """(bytes, bytes per second) for working sets up to that size; the last entry holds for all larger ones."""

    def seconds(self, operations: np.ndarray, bytes: np.ndarray) -> np.ndarray:
        """Return the minimum time of some work; unknown (negative) amounts count as none."""
        at = np.searchsorted([size for size, _ in self.bandwidth[:-1]], bytes)
        speed = np.array([s for _, s in self.bandwidth])[at]
        return np.maximum(np.maximum(operations, 0) / self.operations, np.maximum(bytes, 0) / speed)


def measured_limits() -> Limits:
    """Return this machine's limits with the threads of parallel loops, measured once per process in a fraction
    of a second.
    """
    return _measured(thread_pool.num_threads(), host_caches())


@functools.cache
def _measured(threads: int, caches: Caches) -> Limits:
    keep, addresses = link_text(fma_kernel(_lanes()) + _COPY, ["peak", "copy"])
    sizes = (caches.l2 * threads, max(caches.l3, caches.l2 * threads + 1), 8 * caches.l3)
    with ThreadPoolExecutor(threads) as pool:
        operations = _rate(pool, [_peak(addresses["peak"]) for _ in range(threads)])
        speeds = [
            _rate(pool, [_copy(addresses["copy"], min(size, _LARGEST) // threads // 4) for _ in range(threads)])
            for size in sizes
        ]
    del keep
    # A larger memory is not faster: where it seems to be, something else ran meanwhile.
    return Limits(threads, operations, tuple((size, max(speeds[i:])) for i, size in enumerate(sizes)))


Step = Callable[[], float]
"""Does some work, for a fraction of a millisecond; returns its amount."""


def _rate(pool: ThreadPoolExecutor, steps: Sequence[Step]) -> float:
    """Return the work per second of all threads together, by the best step of each, since others may use this
    machine, too.
    """

    def best(step: Step) -> float:
        fastest, end = 0.0, time.perf_counter() + _SECONDS
        while (begin := time.perf_counter()) < end or not fastest:
            work = step()
            fastest = max(fastest, work / (time.perf_counter() - begin))
        return fastest

    return sum(pool.map(best, steps))


def _peak(address: int) -> Step:
    lanes = _lanes()
    numbers = np.full(CHAINS * lanes, 0.5, np.float32)
    data, native = numbers.ctypes.data, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def step(numbers: np.ndarray = numbers) -> float:
        native(data)
        return 2.0 * lanes * CHAINS * STEPS

    return step


def _copy(address: int, size: int) -> Step:
    """Return a step that copies from one array of `size` bytes to another, piece by piece."""
    arrays = np.ones(size, np.uint8), np.ones(size, np.uint8)  # pages that are there
    source, target = (array.ctypes.data for array in arrays)
    piece = min(size, _PIECE)
    times = _PIECE // piece
    places = itertools.cycle(range(0, size - piece + 1, piece))
    native: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)(address)

    def step(arrays: tuple[np.ndarray, np.ndarray] = arrays) -> float:
        at = next(places)
        native(target + at, source + at, piece, times)
        return 2.0 * piece * times

    return step


def _lanes() -> int:
    """Return the number of float32 lanes in a register."""
    features = host_features()
    return 16 if "avx512f" in features else 8 if "avx" in features else 4


def fma_kernel(lanes: int) -> str:
    """Return LLVM text of `peak(float*)`: independent chains of multiply-adds."""
    vector = f"<{lanes} x float>"
    names = range(CHAINS)
    phis = [f"  %a{i} = phi {vector} [%start, %entry], [%b{i}, %loop]" for i in names]
    fma = f"{vector} @llvm.fma.v{lanes}f32"
    steps = [f"  %b{i} = call {fma}({vector} %x, {vector} %y, {vector} %a{i})" for i in names]
    stores = [
        f"  %p{i} = getelementptr {vector}, ptr %out, i64 {i}\n  store {vector} %b{i}, ptr %p{i}, align 4"
        for i in names
    ]
    return "\n".join([
        f"declare {fma}({vector}, {vector}, {vector})",
        "define void @peak(ptr %out) {", "entry:", f"  %start = load {vector}, ptr %out, align 4",
        f"  %q = getelementptr {vector}, ptr %out, i64 1", f"  %x = load {vector}, ptr %q, align 4",
        f"  %r = getelementptr {vector}, ptr %out, i64 2", f"  %y = load {vector}, ptr %r, align 4", "  br label %loop",
        "loop:", "  %n = phi i64 [0, %entry], [%m, %loop]", *phis, *steps, "  %m = add i64 %n, 1",
        f"  %more = icmp slt i64 %m, {STEPS}", "  br i1 %more, label %loop, label %done", "done:", *stores,
        "  ret void", "}\n",
    ])  # fmt: skip


_COPY = """
declare ptr @memcpy(ptr, ptr, i64)
define void @copy(ptr %to, ptr %from, i64 %size, i64 %times) {
entry:
  br label %loop
loop:
  %n = phi i64 [0, %entry], [%m, %loop]
  call ptr @memcpy(ptr %to, ptr %from, i64 %size)
  %m = add i64 %n, 1
  %more = icmp slt i64 %m, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
