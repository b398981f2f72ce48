"""Functions of `tvm.tir` that build calls: external functions, LLVM intrinsics, and intrinsics that te does not
have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr, i1, i32

from ...diagnostics import DTypeError, NameLookupError
from ...dialects import tir
from ...dialects.dtypes import bit_width, dtype_name, dtype_of, is_float, lanes_of, scalar_of
from ...ir.llvm_names import base_name, is_llvm_intrinsic
from .buffers import Buffer
from .expr_kinds import CLASSES, CallOp, argument
from .math_functions import power
from .placeholders import placeholder_value
from .prim_expr import (
    DTypeLike,
    ExprLike,
    PrimExpr,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    const,
    convert,
    floordiv,
    logical_and,
    logical_or,
    match_types,
    maximum,
    minimum,
    multiply,
    shift_left,
    shift_right,
    subtract,
)
from .variables import Var

_Call = CLASSES["Call"]
pow = power


def call_packed(*args: Any, span: object = None) -> PrimExpr:
    """Return a call of a packed function: `call_packed("name", a, b)`; a buffer is passed as an array."""
    return _Call("int32", "tvm_call_packed", args)


def call_intrin(dtype: DTypeLike, func_name: str | CallOp, *args: Any, span: object = None) -> PrimExpr:
    """Return a call of an intrinsic by name, such as `tir.exp`."""
    return _Call(dtype, func_name, args)


def call_extern(dtype: DTypeLike, func_name: str, *args: Any, span: object = None) -> PrimExpr:
    """Return a call of a C function."""
    return _Call(dtype, "call_extern", (func_name, *args))


def call_pure_extern(dtype: DTypeLike, func_name: str, *args: Any, span: object = None) -> PrimExpr:
    """Return a call of a C function without effects."""
    return _Call(dtype, "call_pure_extern", (func_name, *args))


def _llvm_call(dtype: DTypeLike, kind: str, name: str, args: tuple[Any, ...]) -> PrimExpr:
    """Return a call; TVM's leading uint32, the number of arguments in the signature, is dropped."""
    _require_known(name)
    first = args[0] if args else None
    number = first.constant if isinstance(first, PrimExpr) and first.dtype == "uint32" else None
    call: PrimExpr = _Call(dtype, kind, (base_name(name), *(args if number is None else args[1:])))
    cast(tir.LLVMCall, call.ssa.owner).counted = None if number is None else int(number)
    return call


def call_tir(global_var: Any, *args: Any) -> PrimExpr:
    """Return a call of a tensor function of the module by its `GlobalVar`; buffers are passed by address (`A.data`)."""
    returned = getattr(getattr(global_var.struct_info, "ret", None), "dtype", None)
    result = dtype_of(returned) if isinstance(returned, str) else tir.VOID
    return PrimExpr(tir.CallOp(global_var.name_hint, [argument(a) for a in args], result).result)


def _require_known(name: Any) -> None:
    """Raise `NameLookupError` unless the name is an LLVM intrinsic."""
    if isinstance(name, str) and not is_llvm_intrinsic(name):
        raise NameLookupError(f"Unknown llvm intrinsic function {name}", expected="such as llvm.fma", found=name)


def call_llvm_intrin(dtype: DTypeLike, name: str, *args: Any, span: object = None) -> PrimExpr:
    """Return a call of an LLVM intrinsic, which may have effects. Raises `NameLookupError` for an unknown name."""
    return _llvm_call(dtype, "call_llvm_intrin", name, args)


def call_llvm_pure_intrin(dtype: DTypeLike, name: str, *args: Any, span: object = None) -> PrimExpr:
    """Return a call of an LLVM intrinsic without effects. Raises `NameLookupError` for an unknown name."""
    return _llvm_call(dtype, "call_llvm_pure_intrin", name, args)


def address_of(obj: Buffer | PrimExpr, span: object = None) -> PrimExpr:
    """Return the address of an element; for a buffer that of the first one."""
    element = obj
    if isinstance(obj, Buffer):
        zeros = [tir.ConstOp(0, d.dtype).result for d in obj.type.dims]
        element = PrimExpr(tir.LoadOp(obj.ssa, zeros).result)
    owner = argument(element).owner
    if not isinstance(owner, tir.LoadOp):
        raise DTypeError("an element of a buffer is expected", found=str(obj))
    return PrimExpr(tir.CallIntrinOp("address_of", [owner.result], tir.address_type(owner.buffer)).result)


def reinterpret(dtype: DTypeLike, value: ExprLike, span: object = None) -> PrimExpr:
    """Return the same bits as another type; the value itself for its own type. Raises `DTypeError` if the sizes
    differ.
    """
    x = convert(value)
    element = dtype_of(dtype) if isinstance(dtype, str) else dtype
    if x.type == element:
        return x
    bits = [bit_width(scalar_of(t)) * lanes_of(t) for t in (x.type, element)]
    if bits[0] != bits[1]:
        raise DTypeError("the types must have the same number of bits", expected=dtype_name(element), found=x.dtype)
    return PrimExpr(tir.ReinterpretOp(x.ssa, element).result)


def ceildiv(lhs: ExprLike, rhs: ExprLike, span: object = None) -> PrimExpr:
    """Return ceil(lhs / rhs) of integers."""
    a, b = match_types(lhs, rhs)
    return floordiv(subtract(add(a, b), const(1, a.type)), b)


def _pair(name: str) -> Callable[[ExprLike, ExprLike], PrimExpr]:
    def build(x1: ExprLike, x2: ExprLike) -> PrimExpr:
        a, b = match_types(x1, x2)
        return PrimExpr(tir.CallIntrinOp(name, [a.ssa, b.ssa], a.type).result)

    build.__name__, build.__doc__ = name, f"{name}(x1, x2)"
    return build


copysign, hypot, ldexp, nextafter = (_pair(n) for n in ("copysign", "hypot", "ldexp", "nextafter"))


def clz(x: ExprLike) -> PrimExpr:
    """Count the leading zero bits of an integer, as an int32. Raises `DTypeError` for floats."""
    value = convert(x)
    if is_float(value.type):
        raise DTypeError("clz is for integers", found=value.dtype)
    return PrimExpr(tir.CallIntrinOp("clz", [value.ssa], tir.with_lanes(i32, value.type)).result)


def likely(cond: ExprLike, span: object = None) -> PrimExpr:
    """Mark a condition as likely."""
    value = convert(cond)
    return PrimExpr(tir.CallIntrinOp("likely", [value.ssa], value.type).result)


def isnullptr(x: PrimExpr, span: object = None) -> PrimExpr:
    """Return whether an address is null, as an expression."""
    return PrimExpr(tir.CallIntrinOp("isnullptr", [x.ssa], i1).result)


def assume(cond: ExprLike = True) -> PrimExpr:
    """Return a condition that passes may assume."""
    return PrimExpr(tir.CallIntrinOp("assume", [convert(cond).ssa], i1).result)


def undef() -> PrimExpr:
    """Return an undefined value."""
    return PrimExpr(tir.CallIntrinOp("undef", [], i32).result)


def type_annotation(dtype: DTypeLike) -> PrimExpr:
    """Return a dtype as an argument of an intrinsic."""
    element = dtype_of(dtype) if isinstance(dtype, str) else dtype
    return PrimExpr(tir.CallIntrinOp("type_annotation", [], element).result)


def _of_vectors(name: str, dtype: DTypeLike, *vectors: PrimExpr) -> PrimExpr:
    result = dtype_of(dtype) if isinstance(dtype, str) else dtype
    return PrimExpr(tir.CallIntrinOp(name, [v.ssa for v in vectors], result).result)


def vectorlow(dtype: DTypeLike, vec: PrimExpr) -> PrimExpr:
    """Return the first half of the lanes, as a vector of `dtype`."""
    return _of_vectors("vectorlow", dtype, vec)


def vectorhigh(dtype: DTypeLike, vec: PrimExpr) -> PrimExpr:
    """Return the last half of the lanes, as a vector of `dtype`."""
    return _of_vectors("vectorhigh", dtype, vec)


def vectorcombine(dtype: DTypeLike, vec1: PrimExpr, vec2: PrimExpr) -> PrimExpr:
    """Return the lanes of one vector and those of another, as a vector of `dtype`."""
    return _of_vectors("vectorcombine", dtype, vec1, vec2)


def vscale() -> PrimExpr:
    """Return the vector length of the machine as a multiple of the minimum; code is only generated for fixed
    lengths.
    """
    return PrimExpr(tir.CallIntrinOp("vscale", [], i32).result)


def ignore_loop_partition(predicate: ExprLike) -> PrimExpr:
    """Mark a condition by which loops are not partitioned."""
    return PrimExpr(tir.CallIntrinOp("ignore_loop_partition", [convert(predicate).ssa], i1).result)


def pointer_variable(dtype: str | None, storage_scope: str) -> Var:
    """Return a pointer variable to elements of a data type, to `void`, or (None) to anything."""
    element = tir.VOID if dtype == "void" else dtype and dtype_of(dtype)
    t = tir.HandleType(element, StringAttr(storage_scope)) if element else tir.HANDLE
    return Var.of(placeholder_value(t, "handle"))


def handle_add_byte_offset(handle: PrimExpr, offset: ExprLike) -> PrimExpr:
    """Return an address advanced by some bytes."""
    values = [handle.ssa, convert(offset).ssa]
    return PrimExpr(tir.CallIntrinOp("handle_add_byte_offset", values, tir.HANDLE).result)


def tvm_access_ptr(
    ptype: PrimExpr | str, data: PrimExpr, offset: ExprLike, extent: ExprLike, rw_mask: ExprLike
) -> PrimExpr:
    """Return the address of a part of a buffer, whose elements are of `ptype`."""
    element = type_annotation(ptype) if isinstance(ptype, str) else ptype
    values = [element.ssa, data.ssa, *(convert(v).ssa for v in (offset, extent, rw_mask))]
    return PrimExpr(tir.CallIntrinOp("tvm_access_ptr", values, tir.HANDLE).result)


def q_multiply_shift_per_axis(
    x: ExprLike,
    y: ExprLike,
    ls: ExprLike,
    rs: ExprLike,
    q: ExprLike,
    is_lshift_required: ExprLike,
    is_rshift_required: ExprLike,
) -> PrimExpr:
    """Like `q_multiply_shift`, with left and right shifts that differ from axis to axis."""
    values = [convert(v).ssa for v in (x, y, ls, rs, q, is_lshift_required, is_rshift_required)]
    return PrimExpr(tir.CallIntrinOp("q_multiply_shift_per_axis", values, i32).result)


def q_multiply_shift(x: ExprLike, y: ExprLike, q: ExprLike, s: ExprLike) -> PrimExpr:
    """Return round(x * y * 2**-q * 2**s) of 32-bit integers, halves rounded up."""
    values = [convert(v).ssa for v in (x, y, q, s)]
    return PrimExpr(tir.CallIntrinOp("q_multiply_shift", values, i32).result)


__all__ = [
    "add", "address_of", "assume", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "call_extern",
    "call_intrin", "call_llvm_intrin", "call_llvm_pure_intrin", "call_packed", "call_pure_extern", "call_tir",
    "ceildiv", "clz", "convert", "copysign", "handle_add_byte_offset", "hypot", "ignore_loop_partition", "isnullptr",
    "ldexp", "likely", "logical_and", "logical_or", "maximum", "minimum", "multiply", "nextafter", "pow",
    "q_multiply_shift", "q_multiply_shift_per_axis", "reinterpret", "shift_left", "shift_right", "subtract",
    "tvm_access_ptr", "type_annotation", "undef", "vectorcombine", "vectorhigh", "vectorlow", "vscale",
]  # fmt: skip
