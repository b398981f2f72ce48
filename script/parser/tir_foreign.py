"""Functions of `T` that call external code: C functions, LLVM and device intrinsics, packed functions."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ...dialects import tir
from ...dialects.dtypes import ui32
from ...dialects.sym.expr import Const, i32
from ...dialects.tir.types import HANDLE
from ...ir.llvm_names import base_name
from .tir_state import Builder, TirParser
from .tir_values import as_dtype, expr
from .values import CallSite, Imm, describe


def _arguments(p: TirParser, values: list[Any], site: CallSite) -> list[SSAValue]:
    """Return the arguments of a foreign call: strings, buffers and expressions."""
    out: list[SSAValue] = []
    for value in values:
        if isinstance(value, str):
            out.append(p.emit(tir.StringImmOp(value), site.node))
        elif isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
            out.append(value)
        else:
            out.append(expr(p, value, site.node))
    return out


def _name_argument(site: CallSite, position: int) -> str:
    name = site.args[position] if len(site.args) > position else None
    if not isinstance(name, str):
        raise site.error("the name of the function must be a string", found=describe(name))
    return name


def _result_type(p: TirParser, site: CallSite) -> Attribute:
    """Return the result type, which is the first argument of a call; "void" for no result."""
    return tir.VOID if site.args[0] in ("void", "") else as_dtype(p, site.args[0], site.node)


def _typed_call(cls: type[tir.CallExpr]) -> Builder:
    """Return the builder of `f(dtype, "name", *args)`."""

    def build(p: TirParser, site: CallSite) -> SSAValue:
        name = _name_argument(site, 1)
        rest = site.args[2:]
        counted = None
        if issubclass(cls, tir.LLVMCall):
            name = base_name(name)
        if issubclass(cls, tir.LLVMCall) and rest and isinstance(rest[0], Imm | Const) and rest[0].dtype == ui32:
            counted, rest = int(rest[0].value), rest[1:]
        call = cls(name, _arguments(p, rest, site), _result_type(p, site))
        if isinstance(call, tir.LLVMCall):
            call.counted = counted
        return p.emit(call, site.node)

    return build


def _call_packed(p: TirParser, site: CallSite) -> SSAValue:
    name = _name_argument(site, 0)
    return p.emit(tir.CallPackedOp(name, _arguments(p, site.args[1:], site), i32), site.node)


def _call_intrin(p: TirParser, site: CallSite) -> SSAValue:
    name = _name_argument(site, 1).removeprefix("tir.")
    args = _arguments(p, site.args[2:], site)
    return p.emit(tir.intrinsic(name, args, _result_type(p, site)), site.node)


DEVICE_NAMES = {
    **{name: name for name in tir.DEVICE_INTRINSICS},
    "call_cpacked": "tvm_call_cpacked",
    "call_packed_lowered": "tvm_call_packed_lowered",
    "call_cpacked_lowered": "tvm_call_cpacked_lowered",
}
"""Device intrinsics by their names, including the aliases in scripts."""


def _device_call(name: str) -> Builder:
    """Return the builder of a device intrinsic whose dtype is the first or last argument, a keyword argument, or
    absent.
    """
    place = tir.DEVICE_INTRINSICS[name].result

    def build(p: TirParser, site: CallSite) -> SSAValue:
        dtype = site.kwargs.pop("dtype", None)
        if dtype is None and site.args and place in (tir.FIRST, tir.LAST):
            dtype = site.args.pop(0 if place == tir.FIRST else -1)
        args = _arguments(p, [*site.args, *site.kwargs.values()], site)
        result = None if dtype is None else tir.VOID if dtype in ("", "void") else as_dtype(p, dtype, site.node)
        return p.emit(tir.DeviceCallOp(name, args, tir.result_of_device_intrinsic(name, args, result)), site.node)

    return build


def _string(p: TirParser, site: CallSite) -> SSAValue:
    return p.emit(tir.StringImmOp(_name_argument(site, 0)), site.node)


def _llvm_name(p: TirParser, site: CallSite) -> str:
    """Parse `T.llvm_lookup_intrinsic_id("llvm.fma.f32")` as the name, which the call itself accepts."""
    return base_name(_name_argument(site, 0))


def _call_of(name: str, spec: str, result: Attribute) -> Builder:
    """Return the builder of an intrinsic whose arguments are all required and passed unchanged."""

    def build(p: TirParser, site: CallSite) -> SSAValue:
        args = _arguments(p, site.bind(spec), site)
        data = [p.emit(tir.BufferDataOp(a), site.node) if isinstance(a.type, tir.BufferType) else a for a in args]
        return p.emit(tir.CallIntrinOp(name, data, result), site.node)

    return build


FOREIGN_CALLS: dict[str, Builder] = {
    **{name: _device_call(intrinsic) for name, intrinsic in DEVICE_NAMES.items()},
    "call_extern": _typed_call(tir.CallExternOp),
    "call_pure_extern": _typed_call(tir.CallPureExternOp),
    "call_llvm_intrin": _typed_call(tir.CallLLVMEffectOp),
    "call_llvm_pure_intrin": _typed_call(tir.CallLLVMIntrinOp),
    "call_packed": _call_packed,
    "tvm_call_packed": _call_packed,
    "call_intrin": _call_intrin,
    "tvm_access_ptr": _call_of("tvm_access_ptr", "ptype data offset extent rw_mask", HANDLE),
    "handle_add_byte_offset": _call_of("handle_add_byte_offset", "handle offset", HANDLE),
    "isnullptr": _call_of("isnullptr", "val", i1),
    "assume": _call_of("assume", "cond", i1),
    "undef": _call_of("undef", "", i32),
    "q_multiply_shift": _call_of("q_multiply_shift", "x y q s", i32),
    "q_multiply_shift_per_axis": _call_of(
        "q_multiply_shift_per_axis", "x y ls rs q is_lshift_required is_rshift_required", i32
    ),
    "StringImm": _string,
    "llvm_lookup_intrinsic_id": _llvm_name,
}
"""Calls of C functions, LLVM and device intrinsics, by name in `T`."""
