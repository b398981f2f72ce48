"""What the machine can do, measured in the same run: multiply-adds in registers, and moving memory."""

from __future__ import annotations

import ctypes

import numpy as np

from tirax.runtime.jit import link_text
from tirax.runtime.profiling.limits import CHAINS, STEPS, fma_kernel
from tirax.target import Target


class Peak:
    """`peak.call()` runs `peak.flop` operations on one thread, in registers as wide as the target's."""

    def __init__(self, target: str = "llvm") -> None:
        lanes = Target(target).lanes("float32")
        self._keep, addresses = link_text(fma_kernel(lanes), ["peak"])
        self._out = np.full(CHAINS * lanes, 0.5, np.float32)
        self._address = self._out.ctypes.data  # asking for it takes a microsecond
        self._native = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["peak"])
        self.flop = 2 * lanes * CHAINS * STEPS

    def call(self) -> None:
        self._native(self._address)


class Copy:
    """`copy.call()` copies `size` bytes from one array to another."""

    def __init__(self, size: int):
        self._from = np.ones(max(1, size // 4), np.float32)
        self._to = np.empty_like(self._from)
        self.traffic = 2 * self._from.nbytes

    def call(self) -> None:
        np.copyto(self._to, self._from)
