"""Calls of C functions, other kernels, packed functions, and LLVM intrinsics with effects."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError, unknown_name
from ...dialects import tir
from ...dialects.dtypes import is_float
from ...dialects.relax.types import Dims
from ...dialects.sym import SymAttr
from ...ir.llvm_names import is_llvm_intrinsic
from ...ir.locations import location_of
from ..convert_to_llvm.core import make_call
from ..convert_to_llvm.failures import MAY_FAIL
from .casts import as_memref, convert, pointer_to
from .intrinsics import LLVM_INTRINSICS, call_llvm_intrinsic, scalar_or_vector
from .signature import PACKED_DIMS, PACKED_ENTRY, POINTER, STATUS_TYPE, memref_of, scalar_type
from .statements import KernelLowerer, StatementRule


def _call_extern(op: tir.CallExternOp, at: KernelLowerer) -> None:
    args = [pointer_to(at.emit, at.values.value(a)) for a in op.call_args]
    name, results = op.func.data, _results(op.result.type)
    types = [a.type for a in args]
    declared = at.externs.setdefault(name, func.FuncOp.external(name, types, results)).function_type
    called = FunctionType.from_lists(types, results)
    if declared != called:
        raise UnsupportedError(
            f"C function '{name}' is called with arguments or results of two kinds",
            location=location_of(op),
            expected=str(declared),
            found=str(called),
        )
    _append(op, func.CallOp(name, args, results), at)


def _append(op: tir.CallExpr, call: func.CallOp, at: KernelLowerer) -> None:
    at.structured(call)
    if call.results:
        at.values.bind(op.result, call.results[0])


def _call(op: tir.CallOp, at: KernelLowerer) -> None:
    """Lower a call of another kernel of the module."""
    signature = at.signatures[op.func.data]
    args = [_argument(t, v, at) for t, v in zip(signature.params, op.call_args, strict=True)]
    noted = op.attributes.get(tir.CallOp.SIZES)
    for name in signature.symbolic_vars:
        if not isinstance(noted, DictionaryAttr) or name not in noted.data:
            message = f"the call of @{op.func.data} does not say what its size '{name}' is"
            raise UnsupportedError(message, location=location_of(op), hint="flatten-buffer notes it before")
        size = cast(SymAttr, noted.data[name])
        args.append(at.emit.from_index(at.values.symbolic(size.data), i64))
    if signature.result is not None:
        place = memref.AllocaOp.get(scalar_type(signature.result), 8, [1])
        at.emit.local(place)
        args.append(as_memref(at.emit, place.memref, memref_of(signature.result)))
    status = at.structured(func.CallOp(signature.name, args, [STATUS_TYPE]))
    status.attributes[MAY_FAIL] = UnitAttr()
    at.may_fail = True
    if signature.result is not None:
        at.values.bind(op.result, at.emit.append(memref.LoadOp.get(args[-1], [at.emit.index(0)])).results[0])
    elif op.result.type != tir.VOID:
        at.values.bind(op.result, status.results[0])


def _argument(t: Attribute, value: SSAValue, at: KernelLowerer) -> SSAValue:
    """Convert an argument of a kernel: a buffer becomes a bare pointer to its elements."""
    lowered = at.values.value(value)
    if isinstance(t, tir.HandleType):
        return pointer_to(at.emit, lowered)
    if not isinstance(t, tir.BufferType) or lowered.type == memref_of(t.dtype):
        return lowered
    return as_memref(at.emit, lowered, memref_of(t.dtype))


def _call_packed(op: tir.CallPackedOp, at: KernelLowerer) -> None:
    """Call the entry point that the host emitted for this packed call, with arguments as words; it returns null if it
    raised.
    """
    emit = at.emit
    entry, dims = op.attributes.get(PACKED_ENTRY), op.attributes.get(PACKED_DIMS)
    if entry is None:
        raise UnsupportedError(
            f"the packed function '{op.func.data}' is called from a kernel that is built by itself",
            location=location_of(op),
            hint="build the module: relax.build(mod)",
        )
    extents = cast("ArrayAttr[Dims]", dims)
    words = [word for value, dims in zip(op.call_args, extents, strict=True) for word in _words(value, dims, at)]
    place = memref.AllocaOp.get(i64, 8, [max(1, len(words))])
    emit.local(place)
    for i, word in enumerate(words):
        emit.append(memref.StoreOp.create(operands=(word, place.memref, emit.index(i))))
    null = emit.append(llvm.ZeroOp.create(result_types=(POINTER,))).results[0]
    args = [null, pointer_to(emit, place.memref), emit.constant(len(words), i64)]
    result = at.structured(make_call(args, POINTER, SymbolRefAttr(cast(StringAttr, entry)))).results[0]
    at.values.packed_results[op.result] = result
    number = emit.append(memref.LoadOp.get(place.memref, [emit.index(0)])).results[0]
    at.values.bind(op.result, emit.convert(arith.TruncIOp, arith.TruncIOp, number, i32))


def _words(value: SSAValue, dims: Dims, at: KernelLowerer) -> list[SSAValue]:
    """Convert an argument of a packed function to words: a number to 64 bits, a buffer to its address and extents, a
    string to none.
    """
    if isinstance(value.owner, tir.StringImmOp):
        return []
    emit, lowered = at.emit, at.values.value(value)
    if isinstance(lowered.type, MemRefType):
        extents = [emit.from_index(at.values.symbolic(d.data), i64) for d in dims]
        return [emit.append(llvm.PtrToIntOp(pointer_to(emit, lowered))).results[0], *extents]
    if is_float(value.type):
        return [emit.pure(arith.BitcastOp, (convert(emit, lowered, value.type, f64),), i64)]
    return [convert(emit, lowered, value.type, i64)]


def _call_llvm(op: tir.CallLLVMEffectOp, at: KernelLowerer) -> None:
    """Call an LLVM intrinsic for its effect; the tir result is 0 if the intrinsic returns void."""
    name = op.func.data
    if not is_llvm_intrinsic(name):
        raise unknown_name("LLVM intrinsic", name, LLVM_INTRINSICS, location_of(op))
    args = [pointer_to(at.emit, at.values.value(a)) for a in op.call_args]
    gives = op.result.type != tir.VOID and not name.startswith(_WITHOUT_RESULT)
    result = call_llvm_intrinsic(at.emit, name, args, scalar_or_vector(op.result.type) if gives else None)
    if op.result.type != tir.VOID:
        zero = None if gives else at.emit.constant(0, scalar_or_vector(op.result.type))
        at.values.bind(op.result, zero or result)
    at.emit.forget_loads(None)


_WITHOUT_RESULT = ("llvm.prefetch", "llvm.assume", "llvm.trap", "llvm.debugtrap", "llvm.memcpy", "llvm.memmove",
                   "llvm.memset", "llvm.masked.store", "llvm.masked.scatter", "llvm.donothing")  # fmt: skip
"""Intrinsics that return void, although TVM's scripts write a result type for them."""


def _device_call(op: tir.DeviceCallOp, at: KernelLowerer) -> None:
    name = op.func.data
    raise UnsupportedError(
        f"no code is made for T.{name}", location=location_of(op), hint=tir.DEVICE_INTRINSICS[name].why
    )


def _results(dtype: Attribute) -> list[Attribute]:
    """Return the result types of a call of this type."""
    if dtype == tir.VOID:
        return []
    return [POINTER if isinstance(dtype, tir.HandleType) else scalar_or_vector(dtype)]


CALL_RULES: dict[type[Operation], StatementRule] = {
    tir.CallExternOp: _call_extern,
    tir.CallPureExternOp: _call_extern,
    tir.CallOp: _call,
    tir.CallPackedOp: _call_packed,
    tir.CallLLVMEffectOp: _call_llvm,
    tir.DeviceCallOp: _device_call,
}
