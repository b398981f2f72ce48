"""Matrix-register instructions (AMX on x86) by their LLVM names; operands are register numbers.

The registers belong to a thread: `ldtilecfg` configures their sizes, `tilerelease` releases them.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ..dialects import tir

CONFIGURE, RELEASE = "llvm.x86.ldtilecfg", "llvm.x86.tilerelease"
ZERO, LOAD, STORE = "llvm.x86.tilezero", "llvm.x86.tileloadd64", "llvm.x86.tilestored64"
_PRODUCTS = "llvm.x86.tdp"


def is_tile_instruction(op: Operation) -> bool:
    """Return whether an operation uses or configures these registers."""
    if not isinstance(op, tir.CallLLVMEffectOp):
        return False
    return op.func.data in (CONFIGURE, RELEASE, ZERO, LOAD, STORE) or op.func.data.startswith(_PRODUCTS)


def configure_registers(ops: Iterable[Operation]) -> bool:
    """Return whether operations, in order, configure these registers before using them, or do not use them."""
    first = next((op for op in ops if isinstance(op, tir.CallLLVMEffectOp) and is_tile_instruction(op)), None)
    return first is None or first.func.data == CONFIGURE
