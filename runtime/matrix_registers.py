"""Matrix registers (AMX of x86): Linux grants them to processes that request them.

arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), since Linux 5.16: Documentation/arch/x86/xstate.rst. The permission
applies to all threads of the process and to its later forks.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

MATRIX_FEATURES = "amx-"
"""Prefix of LLVM's names of the features that use these registers."""
_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18


@functools.cache
def has_matrix_registers() -> bool:
    """Return whether this process may use them; permission is requested once."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST, ctypes.c_ulong(_TILE_DATA)) == 0
