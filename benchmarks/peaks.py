"""What the machine can do, measured in the same run: multiply-adds in registers, and moving memory."""

from __future__ import annotations

import ctypes

import numpy as np

from tirax.runtime.jit import link_text
from tirax.target import Target

_STEPS = 32768
_CHAINS = 12


def fma_kernel(lanes: int) -> str:
    """LLVM text of `peak(float*)`: chains of multiply-adds that do not wait for each other."""
    vector = f"<{lanes} x float>"
    names = range(_CHAINS)
    phis = [f"  %a{i} = phi {vector} [%start, %entry], [%b{i}, %loop]" for i in names]
    steps = [f"  %b{i} = call {vector} @llvm.fma.v{lanes}f32({vector} %x, {vector} %y, {vector} %a{i})" for i in names]
    stores = [
        f"  %p{i} = getelementptr {vector}, ptr %out, i64 {i}\n  store {vector} %b{i}, ptr %p{i}, align 4"
        for i in names
    ]
    return "\n".join([
        f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})",
        "define void @peak(ptr %out) {", "entry:", f"  %start = load {vector}, ptr %out, align 4",
        f"  %q = getelementptr {vector}, ptr %out, i64 1", f"  %x = load {vector}, ptr %q, align 4",
        f"  %r = getelementptr {vector}, ptr %out, i64 2", f"  %y = load {vector}, ptr %r, align 4", "  br label %loop",
        "loop:", "  %n = phi i64 [0, %entry], [%m, %loop]", *phis, *steps, "  %m = add i64 %n, 1",
        f"  %more = icmp slt i64 %m, {_STEPS}", "  br i1 %more, label %loop, label %done", "done:", *stores,
        "  ret void", "}",
    ])  # fmt: skip


class Peak:
    """`peak.call()` runs `peak.flop` operations on one thread, in registers as wide as the target's."""

    def __init__(self, target: str = "llvm") -> None:
        lanes = Target(target).lanes("float32")
        self._keep, addresses = link_text(fma_kernel(lanes), ["peak"])
        self._out = np.full(_CHAINS * lanes, 0.5, np.float32)
        self._address = self._out.ctypes.data  # asking for it takes a microsecond
        self._native = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["peak"])
        self.flop = 2 * lanes * _CHAINS * _STEPS

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
