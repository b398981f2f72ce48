"""A check for remaining stack space, made before recursive calls and calls of Python.

`i32 tirax_has_stack()` is 0 if less than 256 KiB are left, or less than half of a smaller stack: kernels and error
reporting need some. Python's own recursion limit counts levels, which differ in size. If threads do not know their
stacks (not Linux), the result is always 1. The code is `native/linux_stack.ll`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading

from .jit import link_native, native_text

SYMBOL = "tirax_has_stack"


@functools.cache
def has_stack_address() -> int:
    """Return the address of `tirax_has_stack`, compiled at the first call and never unloaded."""
    tracker, addresses = link_native([_file(sys.platform)], (SYMBOL, "stack_set_main"))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(addresses["stack_set_main"])(*_main_stack())
    return addresses[SYMBOL]


def stack_text(system: str = sys.platform) -> str:
    """Return the code as LLVM text for a system (`linux`, `darwin`, …)."""
    return native_text(_file(system))


def _file(system: str) -> str:
    return "linux_stack" if system == "linux" else "any_stack"


def _main_stack() -> tuple[int, int]:
    """Return the bounds of the main thread's stack, which are slow to determine; (0, 0) if unknown."""
    process, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(128)
    low, size = ctypes.c_size_t(), ctypes.c_size_t()
    main = ctypes.c_size_t(threading.main_thread().ident or 0)
    if sys.platform != "linux" or process.pthread_getattr_np(main, attributes):
        return 0, 0
    process.pthread_attr_getstack(attributes, ctypes.byref(low), ctypes.byref(size))
    process.pthread_attr_destroy(attributes)
    return low.value, low.value + size.value
