"""Kernels that return a number."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import bit_width, is_float, is_unsigned
from .builder import I64
from .function import HostFunction
from .kernels import KernelCall, call_kernel
from .values import Prim, ssa


def scalar_of_kernel(f: HostFunction, call: KernelCall) -> Prim:
    """Call a kernel; the number that it returns. Raises `UnsupportedError` where it has assertions, too."""
    dtype = call.signature.result
    if dtype is None or call.signature.assertions:
        raise UnsupportedError(f"the kernel '{call.signature.name}' returns no number", expected="a scalar, no assert")
    value = call_kernel(f, call)
    assert value is not None
    return Prim(dtype, _as_double(f, value) if is_float(dtype) else ssa(_as_i64(f, value, dtype)))


def _as_double(f: HostFunction, value: SSAValue) -> SSAValue:
    while value.type != f64:  # bfloat16 by f32: a direct conversion is a libgcc function that may be absent
        value = f.code.cast(llvm.FPExtOp, value, f64 if value.type == f32 else f32)
    return value


def _as_i64(f: HostFunction, value: SSAValue, dtype: Attribute) -> SSAValue:
    if bit_width(dtype) == 64:
        return value
    widen = llvm.ZExtOp if is_unsigned(dtype) or bit_width(dtype) == 1 else llvm.SExtOp
    return f.code.cast(widen, value, I64)
