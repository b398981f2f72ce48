"""Instructions on registers that hold matrices (AMX of x86), by LLVM's names, which have the numbers of registers.

They are a thread's own: `ldtilecfg` says how large they are, `tilerelease` that they are needed no more.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ..dialects import tir

CONFIGURE, RELEASE = "llvm.x86.ldtilecfg", "llvm.x86.tilerelease"
ZERO, LOAD, STORE = "llvm.x86.tilezero", "llvm.x86.tileloadd64", "llvm.x86.tilestored64"
_PRODUCTS = "llvm.x86.tdp"


def is_tile_instruction(op: Operation) -> bool:
    """Whether an operation uses or configures these registers."""
    if not isinstance(op, tir.CallLLVMEffectOp):
        return False
    return op.func.data in (CONFIGURE, RELEASE, ZERO, LOAD, STORE) or op.func.data.startswith(_PRODUCTS)


def configure_registers(ops: Iterable[Operation]) -> bool:
    """Whether operations, in order, configure these registers before they use them, or do not use them."""
    first = next((op for op in ops if isinstance(op, tir.CallLLVMEffectOp) and is_tile_instruction(op)), None)
    return first is None or first.func.data == CONFIGURE
