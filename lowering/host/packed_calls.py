"""Calls of packed functions from kernels: for each a function in front of the Python object, which the kernel calls.

    PyObject* entry_<kernel>.packed.<i>(null, words, n)

reads the arguments from `words`, 64 bits each (an array as its address and its extents), calls the packed function with
the GIL held, and writes the number that it returns to `words[0]`. Null says that an exception is set: then the kernel
stops, and the function that called it gives the exception on. Arrays that a packed function gets are views of the
kernel's memory: it must not keep them.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import ArrayAttr, StringAttr, f64, i1
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name, is_float, is_unsigned, lanes_of
from ...dialects.relax.types import Dims, dims_attr
from ...dialects.sym.expr import product
from ...ir.verification.verify import location_of
from ...runtime import abi
from ...runtime.abi import Slot
from ..tir_to_scf.signature import PACKED_DIMS, PACKED_ENTRY
from .function import HostFunction, HostModule
from .native import I32, I64, PTR
from .symbols import ENTRY_PREFIX
from .values import array_over, as_long, new_descr


def packed_entries(module: HostModule, kernel: tir.FuncOp) -> list[func.FuncOp]:
    """The functions for the calls in a kernel, which are noted at the calls.

    Raises `UnsupportedError` for an argument that is neither a number, a string nor a buffer.
    """
    made: list[func.FuncOp] = []
    for call in [op for op in kernel.walk() if isinstance(op, tir.CallPackedOp)]:
        name = f"{kernel.sym_name.data}.packed.{len(made)}"
        call.attributes[PACKED_ENTRY] = StringAttr(ENTRY_PREFIX + name)
        call.attributes[PACKED_DIMS] = ArrayAttr([_dims(call, a) for a in call.call_args])
        made.append(_entry(HostFunction(module, name), call))
    return made


def _dims(call: tir.CallPackedOp, value: SSAValue) -> Dims:
    """The extents that an argument is passed with: of a buffer its own, of an address their product."""
    owner, t = value.owner, value.type
    if isinstance(t, tir.BufferType):
        return dims_attr(t.dims)
    if isinstance(owner, tir.BufferDataOp):
        return dims_attr([product(cast(tir.BufferType, owner.buffer.type).dims)])
    if isinstance(owner, tir.StringImmOp) or not (isinstance(t, tir.HandleType) or lanes_of(t) > 1):
        return dims_attr([])
    raise UnsupportedError(
        f"an argument of {t} for the packed function '{call.func.data}'",
        location=location_of(call),
        expected="numbers, strings, and buffers",
    )


def _entry(f: HostFunction, call: tir.CallPackedOp) -> func.FuncOp:
    state = f.call("PyGILState_Ensure", [], I32)
    f.before_return = lambda: f.call("PyGILState_Release", [state], None)
    args: list[SSAValue] = []
    at = 0
    for value, dims in zip(call.call_args, cast("ArrayAttr[Dims]", call.attributes[PACKED_DIMS]), strict=True):
        obj, at = _object(f, value, len(dims), at)
        args.append(obj)
    result = f.own(f.vectorcall(f.slot(f.module.slot("packed", call.func.data)), args))
    none, zero = f.slot(Slot.NONE), f.integer(0)
    number = f.choose(
        f.compare("eq", result, none), lambda: zero, lambda: as_long(f, result) if _gives_number(call) else zero
    )
    f.store(number, f.args)
    f.check(f.select(f.is_null(f.call("PyErr_Occurred", [])), none, f.null))
    f.jump(f.cleanup, none)
    return f.complete()


def _gives_number(call: tir.CallPackedOp) -> bool:
    """Whether anything but a statement uses the result."""
    return any(not isinstance(use.operation, tir.EvaluateOp) for use in call.result.uses)


def _object(f: HostFunction, value: SSAValue, rank: int, at: int) -> tuple[SSAValue, int]:
    """The Python object of an argument whose words begin at `at`, and where the next one's begin."""
    t, owner = value.type, value.owner
    if isinstance(owner, tir.StringImmOp):
        return f.slot(f.module.slot("value", owner.value.data)), at
    word = f.read(f.address(f.args, at, I64), I64)
    buffer = owner.buffer.type if isinstance(owner, tir.BufferDataOp) else t
    if isinstance(buffer, tir.BufferType):
        return _array(f, word, buffer.dtype, rank, at + 1), at + 1 + rank
    if is_float(t):
        return f.own(f.call("PyFloat_FromDouble", [f.pure(arith.BitcastOp, (word,), f64)])), at + 1
    if t == i1:
        return f.own(f.call("PyBool_FromLong", [word])), at + 1
    if is_unsigned(t) and dtype_name(t) == "uint64":
        return f.own(f.call("PyLong_FromUnsignedLongLong", [word])), at + 1
    return f.own(f.call("PyLong_FromLongLong", [word])), at + 1


def _array(f: HostFunction, data: SSAValue, element: Attribute, rank: int, at: int) -> SSAValue:
    """An array over the kernel's memory; the extents lie in the words from `at`."""
    descr, address = new_descr(f, element), f.pure(llvm.IntToPtrOp, (data,), PTR)
    return f.own(array_over(f, descr, rank, f.address(f.args, at, I64), address, f.integer(abi.OUTPUT_FLAGS, I32)))
