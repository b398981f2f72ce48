"""Registers that hold matrices (AMX of x86): Linux gives them to the processes that ask for them.

arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), of Linux 5.16 and later: Documentation/arch/x86/xstate.rst. All
threads of the process have them from then on, and processes that it forks.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

MATRIX_FEATURES = "amx-"
"""How LLVM's names of the features begin that use these registers."""
_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18


@functools.cache
def has_matrix_registers() -> bool:
    """Return whether this process may use them: it is asked for once."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST, ctypes.c_ulong(_TILE_DATA)) == 0
