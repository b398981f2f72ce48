"""Matrix registers (AMX on x86): the semantics of their instructions for the interpreter.

Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG, TILELOADD, TDPBUSD, TDPBF16PS, …
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..diagnostics import TiraxError
from ..ir.matrix_registers import CONFIGURE, LOAD, RELEASE, STORE, ZERO

_ROW_BYTES, _REGISTERS = 64, 8
_PALETTE = 1
_KINDS = {"u": np.dtype(np.uint8), "s": np.dtype(np.int8)}


class MatrixRegisterError(TiraxError, ValueError):
    """An instruction that a processor would reject."""


class _Registers(threading.local):
    """The registers of a thread: rows of 64 bytes, with the number of used rows and bytes for each.

    Empty until configured.
    """

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.data = np.zeros((0, 0, 0), np.uint8)

    def configure(self, memory: np.ndarray) -> None:
        """Set the sizes from a 64-byte configuration; all registers become 0."""
        sizes = memory.view(np.uint8)[:_ROW_BYTES]
        if sizes[0] != _PALETTE:
            raise MatrixRegisterError("the sizes of registers are of another kind", expected="1", found=str(sizes[0]))
        widths = sizes[16 : 16 + 2 * _REGISTERS].view(np.uint16)
        self.shapes = [(int(rows), int(width)) for rows, width in zip(sizes[48 : 48 + _REGISTERS], widths, strict=True)]
        self.data = np.zeros((len(self.shapes), _ROW_BYTES // 4, _ROW_BYTES), np.uint8)

    def part(self, number: Any) -> np.ndarray:
        """Return a view of the rows and bytes that a register uses."""
        if int(number) >= len(self.shapes) or 0 in self.shapes[int(number)]:
            raise MatrixRegisterError(f"register {int(number)} is used before it has a size")
        rows, width = self.shapes[int(number)]
        return self.data[int(number), :rows, :width]


_registers = _Registers()


def _configure(memory: Any) -> None:
    _registers.configure(memory)


def _release() -> None:
    _registers.shapes = []


def _zero(number: Any) -> None:
    _registers.part(number)[:] = 0


def _rows(number: Any, memory: Any, stride: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each row of a register with its position in memory."""
    register, data = _registers.part(number), memory.view(np.uint8)
    rows = [(row, data[at * int(stride) :][: len(row)]) for at, row in enumerate(register)]
    if int(stride) < 0 or any(len(part) < len(row) for row, part in rows):
        raise MatrixRegisterError(f"register {int(number)} has rows where there is no memory")
    return rows


def _load(number: Any, memory: Any, stride: Any) -> None:
    for row, part in _rows(number, memory, stride):
        row[:] = part


def _store(number: Any, memory: Any, stride: Any) -> None:
    for row, part in _rows(number, memory, stride):
        part[:] = row


def _multiply(a: np.dtype, b: np.dtype, sums: np.dtype) -> Callable[..., None]:
    """Return the instruction C[m, n] += A[m, …] * B[…, n], where elements come in groups of 32 bits."""
    wide = np.dtype(np.int64 if sums.kind == "i" else np.float64)

    def run(to: Any, left: Any, right: Any) -> None:
        total, x, y = (_registers.part(number) for number in (to, left, right))
        if x.shape[1] != 4 * len(y) or total.shape != (len(x), y.shape[1]):
            raise MatrixRegisterError("the sizes of registers do not fit each other")
        rows = x.copy().view(a).astype(wide)
        columns = y.copy().view(b).astype(wide).reshape(len(y), y.shape[1] // 4, -1)
        products = rows @ columns.transpose(0, 2, 1).reshape(rows.shape[1], -1)
        old = total.copy().view(sums).astype(wide)
        total[:] = (old + products).astype(sums).view(np.uint8)

    return run


_BRAIN, _FLOAT, _INT = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.int32)
INSTRUCTIONS: dict[str, Callable[..., None]] = {
    CONFIGURE: _configure,
    RELEASE: _release,
    ZERO: _zero,
    LOAD: _load,
    STORE: _store,
    **{f"llvm.x86.tdpb{a}{b}d": _multiply(_KINDS[a], _KINDS[b], _INT) for a in "us" for b in "us"},
    "llvm.x86.tdpbf16ps": _multiply(_BRAIN, _BRAIN, _FLOAT),
}
"""Instructions by name; arguments are register numbers, memory that starts at an address, and the row stride in bytes.

Floats are rounded once, where an instruction may round after each product.
"""
