"""Calls of functions outside the module: C functions of this process, and LLVM intrinsics."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute

from ..dialects import tir
from ..dialects.dtypes import dtype_of, numpy_dtype
from ..ir.locations import location_of
from ..ir.passes.extern import ExternError, check_extern
from . import matrix_registers, scalars
from .scalars import InterpreterError

C_TYPES: dict[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
}  # fmt: skip


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def call_extern(_i: Interpreter, op: Any, args: PythonValues) -> PythonValues:
    """Call a C function of this process: numbers by value, buffers by address, strings unchanged."""
    _check(op)
    try:
        function = _process()[op.func.data]
    except AttributeError:
        message = f"{op.name}: this process has no C function '{op.func.data}'"
        raise InterpreterError(message, location=location_of(op)) from None
    arguments = [_argument(op, a) for a in args]
    function.argtypes = [type(a) for a in arguments]
    if isinstance(op.result.type, tir.HandleType):
        function.restype = ctypes.c_void_p
        return (np.uint64(function(*arguments) or 0),)
    function.restype = None if op.result.type == tir.VOID else _c_type(op, op.result.type)
    result = function(*arguments)
    return (None if function.restype is None else scalars.of_type(result, op.result.type),)


def _check(op: Any) -> None:
    """Raise `InterpreterError` if the program may not call the function."""
    try:
        check_extern(op.func.data)
    except ExternError as error:
        raise InterpreterError(
            error.message, location=location_of(op), expected=error.expected, hint=error.hint
        ) from error


def _argument(op: Any, value: Any) -> Any:
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    kind = C_TYPES.get(str(np.asarray(value).dtype))
    if kind is None:
        message = f"{op.name} '{op.func.data}': no C type for {np.asarray(value).dtype}"
        raise InterpreterError(message, location=location_of(op))
    return kind(value.item())


def _c_type(op: Any, t: Attribute) -> Any:
    kind = None if isinstance(t, tir.HandleType) else C_TYPES.get(str(numpy_dtype(t)))
    if kind is None:
        raise InterpreterError(f"{op.name} '{op.func.data}': no C type for the result", location=location_of(op))
    return kind


def _address_of(i: Interpreter, op: tir.CallIntrinOp, _args: PythonValues) -> Any:
    """Return the memory that starts at an element."""
    load = op.call_args[0].owner
    if not isinstance(load, tir.LoadOp):
        raise InterpreterError("address_of takes an element of a buffer", location=location_of(op))
    buffer, *indices = i.get_values(load.operands)
    first = [int(np.ravel(index)[0]) for index in indices]
    return buffer.reshape(-1)[int(np.ravel_multi_index(first, buffer.shape)) if first else 0 :]


def _access_pointer(_i: Interpreter, op: tir.CallIntrinOp, args: PythonValues) -> Any:
    _, data, offset = args[:3]
    return data.view(numpy_dtype(op.call_args[0].type))[int(offset) :]


ADDRESSES: dict[str, Callable[..., Any]] = {
    "address_of": _address_of,
    "tvm_access_ptr": _access_pointer,
    "type_annotation": lambda _i, op, _args: scalars.of_type(0, op.result.type),
    "handle_add_byte_offset": lambda _i, _op, args: args[0].view(np.uint8)[int(args[1]) :],
    "isnullptr": lambda _i, _op, _args: np.bool_(False),
}
"""Intrinsics on addresses; an address is represented by the memory that starts there."""

_REDUCTIONS: dict[str, np.ufunc] = {
    **dict.fromkeys(("fadd", "add"), np.add),
    **dict.fromkeys(("fmul", "mul"), np.multiply),
    **dict.fromkeys(("smax", "umax"), np.maximum),
    **dict.fromkeys(("smin", "umin"), np.minimum),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "fmax": np.fmax,
    "fmin": np.fmin,
}
_REDUCE = "llvm.vector.reduce."


def _reduction(combine: np.ufunc) -> Callable[..., Any]:
    """Return the implementation of a vector reduction, of (vector) or (start, vector)."""

    def run(*args: Any) -> Any:
        *start, lanes = args
        total = combine.reduce(lanes, dtype=lanes.dtype)
        return combine(start[0], total) if start else total

    return run


def _fused(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c with one rounding: float64 holds products of float32 exactly."""
    if a.dtype != np.float64:
        return scalars.INTRINSICS["fma"](a, b, c)
    wide = np.longdouble
    return (np.asarray(a, wide) * np.asarray(b, wide) + np.asarray(c, wide)).astype(a.dtype)[()]


def _dot(a: str, b: str) -> Callable[..., Any]:
    """Return the implementation of a dot-product instruction on (sums, x, y), with elements of the dtypes a and b.

    Each sum gets the products of as many elements as fit in its bytes. Floats are rounded once, where an instruction
    may round after each product.
    """
    kinds = [numpy_dtype(dtype_of(name)) for name in (a, b)]

    def run(sums: Any, *factors: Any) -> Any:
        wide = np.int64 if sums.dtype.kind == "i" else np.float64
        x, y = (np.ascontiguousarray(f).view(kind).astype(wide) for f, kind in zip(factors, kinds, strict=True))
        return (sums.astype(wide) + (x * y).reshape(len(sums), -1).sum(axis=1)).astype(sums.dtype)

    return run


def _pairs(x: Any, y: Any) -> Any:
    """Return the products of int16 elements, summed in adjacent pairs; sums wrap."""
    return (x.astype(np.int64) * y.astype(np.int64)).reshape(-1, 2).sum(axis=1).astype(np.int32)


def _compress(lanes: Any, mask: Any, otherwise: Any) -> Any:
    """Return the lanes that the mask selects, packed at the front, followed by lanes of the other vector."""
    return np.concatenate([lanes[mask], otherwise[mask.sum() :]])


_BY_NAME = {
    **{name: name for name in ("sqrt", "exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "asin")},
    **{name: name for name in ("acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow", "ldexp", "copysign", "fabs")},
    **{name: name for name in ("floor", "ceil", "trunc", "round", "nearbyint")},
    "rint": "nearbyint",
    "roundeven": "nearbyint",
    "abs": "abs",
    "ctpop": "popcount",
}
_INTRINSICS: dict[str, Callable[..., Any]] = {
    **{f"llvm.{name}": scalars.INTRINSICS[own] for name, own in _BY_NAME.items()},
    **{_REDUCE + name: _reduction(combine) for name, combine in _REDUCTIONS.items()},
    "llvm.fma": _fused,
    "llvm.fmuladd": _fused,
    "llvm.ctlz": lambda x, *_: scalars.of_clz(x),
    "llvm.minnum": np.fmin,
    "llvm.maxnum": np.fmax,
    "llvm.smax": np.maximum,
    "llvm.umax": np.maximum,
    "llvm.smin": np.minimum,
    "llvm.umin": np.minimum,
    "llvm.experimental.vector.compress": _compress,
    "llvm.x86.avx512.vpdpbusd": _dot("uint8", "int8"),
    "llvm.x86.avx2.pmadd.wd": _pairs,
    "llvm.x86.avx512bf16.dpbf16ps": _dot("bfloat16", "bfloat16"),
    "llvm.aarch64.neon.sdot.v4i32": _dot("int8", "int8"),
    "llvm.aarch64.neon.udot.v4i32": _dot("uint8", "uint8"),
    "llvm.aarch64.neon.usdot.v4i32": _dot("uint8", "int8"),
    **matrix_registers.INSTRUCTIONS,
    "llvm.arithmetic.fence": lambda x: x,
    "llvm.prefetch": lambda *_: None,
    "llvm.assume": lambda *_: None,
}


def call_llvm(_i: Interpreter, op: Any, args: PythonValues) -> PythonValues:
    """Call an LLVM intrinsic; a type suffix (`llvm.fabs.f32`) is ignored. Only a few are supported."""
    name = op.func.data
    function = _INTRINSICS.get(name) or _INTRINSICS.get(name.rpartition(".")[0])
    if function is None:
        raise InterpreterError(f"{op.name} '{name}' cannot be interpreted", location=location_of(op))
    return (function(*args),)
