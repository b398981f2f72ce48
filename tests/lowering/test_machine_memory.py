"""What LLVM compiles leaves no memory behind."""

from __future__ import annotations

import ctypes
import gc

import pytest

from tirax.lowering.machine import compile_object

_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
MODULE = """
%t{i} = type {{ [{i} x float], i64 }}
define void @f{i}(ptr noalias %a, ptr noalias %b, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr %t{i}, ptr %b, i64 %i
  %v = load float, ptr %p
  %w = fmul float %v, {i}.0
  store float %w, ptr %q
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %loop, label %end
end:
  ret void
}}
"""


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


def _bytes_in_use() -> int:
    """What malloc has given and not got back."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        pytest.skip("mallinfo2 is glibc's, from 2.33 on")
    mallinfo.restype = _Memory
    gc.collect()
    actual = mallinfo()
    return actual.uordblks + actual.hblkhd


def test_modules_leave_no_memory():
    """Each differs in names, types and constants; a pass manager alone has 32 KB."""
    for i in range(5):
        compile_object(MODULE.format(i=i + 1))
    before, count = _bytes_in_use(), 60
    for i in range(10, 10 + count):
        compile_object(MODULE.format(i=i))
    assert (_bytes_in_use() - before) / count < 4096
