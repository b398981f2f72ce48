"""`make-packed-api`: functions that take their arguments as TVM's packed functions do.

main(A: buffer, n)   ->   main(args, arg_type_ids, num_args, out_ret_value, out_ret_tcode, resource_handle)

The function checks the number and the kinds of its arguments, reads them, checks what it assumes about its buffers,
computes, and returns 0. It is text: native entry points have a convention of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, IntegerType, ModuleOp, NoneType, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....diagnostics import TiraxError, UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import (
    bit_width,
    byte_size,
    dtype_name,
    is_float,
    is_unsigned,
    lanes_of,
    scalar_of,
    ui8,
    ui16,
    ui64,
)
from ....dialects.names import name_of, set_name
from ....dialects.sym.expr import Const, SymExpr
from ....handles.target import Target
from ....handles.tir import expr_kinds as kinds
from ....handles.tir.expr_kinds import expr_node
from ....handles.tir.prim_expr import PrimExpr, cast, const, if_then_else
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import copied
from ....ir.rewriting.edit import insert_before
from ....transforms.tir.walk import functions, with_attr
from . import abi_writer as abi
from .abi_writer import Writer

CALLING_CONV, PACKED = "calling_conv", 1
DEVICE_CONTEXT = "device_api_context"
_INT, _FLOAT, _HANDLE, _NULL, _TENSOR, _ARRAY, _BOOL = 0, 2, 3, 4, 7, 13, 15
"""The codes of the kinds of arguments."""
_CPU = 1


def target_of(func: tir.FuncOp, name: str) -> tir.TargetAttr:
    """Return the target of a function. Raises `TiraxError` if it has none."""
    attr = None if func.func_attrs is None else func.func_attrs.data.get("target")
    if not isinstance(attr, tir.TargetAttr):
        why = f"{name} required the function to be annotated with tvm::attr::kTarget (target)"
        raise TiraxError(why, location=location_of(func), hint="run bind-target before")
    return attr


def has_convention(func: tir.FuncOp) -> bool:
    """Return whether a function was lowered to a convention of calls before."""
    attr = None if func.func_attrs is None else func.func_attrs.data.get(CALLING_CONV)
    return attr is not None and getattr(getattr(attr, "value", None), "data", 0) != 0


def handle_name(func: tir.FuncOp, index: int) -> str:
    """Return the name of the handle of a parameter."""
    param = func.params[index]
    name = name_of(param) or f"arg{index}"
    if not isinstance(param.type, tir.BufferType):
        return name
    return f"{name}_handle" if func.handle_names is None else func.handle_names.data[index].data


def replace_addresses(block: Block) -> None:
    """Replace the addresses of buffers that are declared at an address by that."""
    for op in [o for o in block.walk() if isinstance(o, tir.BufferDataOp)]:
        if isinstance(op.buffer.owner, tir.DeclBufferOp):
            op.result.replace_all_uses_with(op.buffer.owner.data)
            op.detach()
            op.erase()


def has_constant_layout(t: tir.BufferType) -> bool:
    """Return whether all numbers in a buffer's type are known."""
    return all(d.constant is not None for d in t.exprs())


@dataclass(frozen=True)
class MakePackedAPI(Pass):
    """Make the arguments of public functions those of packed functions.

    Functions whose target has no host, and those that were lowered before, remain; calls between public functions
    become packed ones. Raises `TiraxError` for a function without a target, `UnsupportedError` for a buffer with
    symbolic extents.
    """

    name = "make-packed-api"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        packed = {f.sym_name.data for f in functions(op) if not f.private and not has_convention(f)}
        for func in functions(op):
            for call in [o for o in func.walk() if isinstance(o, tir.CallOp) and o.func.data in packed]:
                _call_packed(call)
            if func.sym_name.data in packed and (host := target_of(func, "MakePackedAPI").config.get("host")):
                _Entry(func).write()
                with_attr(func, CALLING_CONV, PACKED)
                with_attr(func, "target", tir.TargetAttr.of(host))


def _call_packed(call: tir.CallOp) -> None:
    name = tir.StringImmOp(call.func.data)
    zero = tir.ConstOp(0, ui64)
    nothing = tir.ReinterpretOp(zero.result, tir.HANDLE)
    values = [name.result, *call.call_args, nothing.result]
    new = tir.DeviceCallOp("tvm_call_cpacked", values, i32)
    insert_before(call, name, zero, nothing, new)
    call.result.replace_all_uses_with(new.result)
    call.detach()
    call.erase()


class _Entry:
    """Writes the new body of a function."""

    def __init__(self, func: tir.FuncOp):
        self.func = func
        self.name = func.sym_name.data
        device = Target(target_of(func, "MakePackedAPI").config).get_target_device_type()
        self.device_type = device
        self.old = func.body.block
        names = {"args": tir.HANDLE, "arg_type_ids": tir.HandleType(i32), "num_args": i32}
        names |= {"out_ret_value": tir.HandleType(NoneType()), "out_ret_tcode": tir.HandleType(i32)}
        names |= {"resource_handle": tir.HANDLE}
        self.block = Block(arg_types=list(names.values()))
        for arg, name in zip(self.block.args, names, strict=True):
            set_name(arg, name)
        self.writer = Writer(self.block)
        self.values: dict[SSAValue, SSAValue] = {}
        self.asserts: list[tuple[PrimExpr, str, PrimExpr | None]] = []
        """Conditions that are checked after all definitions, with messages; the third one may exempt from it."""
        self.device_id: PrimExpr | None = None

    def write(self) -> None:
        params = list(enumerate(self.func.params))
        context = next((p for _, p in params if name_of(p) == DEVICE_CONTEXT), None)
        passed = [(i, p) for i, p in params if p is not context]
        if context is not None:
            self.values[context] = self.block.args[5]
            set_name(self.block.args[5], DEVICE_CONTEXT)
        addresses = self._arguments(passed)
        for i, param in passed:
            if isinstance(param.type, tir.BufferType):
                self._tensor(param, param.type, addresses[i], f"{self.name}.{handle_name(self.func, i)}")
        writer = self.writer
        if self.device_id is not None:
            writer.attribute("device_id", self.device_id, "default")
            writer.attribute("device_type", self.device_type, "default")
        self._checks()
        for _, param in passed:
            if isinstance(param.type, tir.BufferType):
                data = expr_node(self.values.pop(param))
                self.values[param] = writer.declare(name_of(param) or "buffer", data, param.type)
        self._body()

    def _arguments(self, passed: Sequence[tuple[int, SSAValue]]) -> dict[int, PrimExpr]:
        """Write the checks of the arguments' number and kinds, and read them."""
        writer = self.writer
        args, types, count = (expr_node(a) for a in self.block.args[:3])
        number = const(len(passed), "int32")
        writer.check(kinds.EQ(count, number), f"{self.name}: num_args should be {len(passed)}")
        if passed:
            writer.check(_no(abi.is_null(args)), f"{self.name}: TVMValue* arg pointer was NULL")
            writer.check(_no(abi.is_null(types)), f"{self.name}: int* type_codes was NULL")
        codes = writer.declare("arg_type_ids", types, vector_of(len(self.func.params), i32))
        values: dict[int, PrimExpr] = {}
        for i, param in passed:
            code = writer.let(f"{handle_name(self.func, i)}_code", abi.load(codes, i))
            allowed, kind, values[i] = _argument(args, param.type, i)
            condition = kinds.EQ(code, const(allowed[0], "int32"))
            for other in allowed[1:]:
                condition = kinds.Or(condition, kinds.EQ(code, const(other, "int32")))
            writer.check(condition, f"{self.name}: Expect arg[{i}] to be {kind}")
        for i, param in passed:
            values[i] = writer.let(handle_name(self.func, i), values[i], _type_of_handle(param.type))
            if not isinstance(param.type, tir.BufferType):
                self.values[param] = values[i].ssa
        return values

    def _require(self, condition: PrimExpr, argument: str) -> None:
        found = abi.constraint(self.writer, condition, argument)
        if found is not None:
            self.asserts.append((*found, None))

    def _tensor(self, buffer: SSAValue, t: tir.BufferType, handle: PrimExpr, name: str) -> None:
        """Write what is read of a tensor, and collect its checks."""
        if not has_constant_layout(t):
            raise UnsupportedError("a packed function of symbolic extents", location=location_of(self.func))
        writer = self.writer
        writer.check(_no(abi.is_null(handle)), f"{name} is expected to have non-NULL DLTensor* pointer")
        rank = kinds.EQ(const(t.rank, "int32"), abi.field(handle, abi.NDIM, i32))
        writer.check(rank, f"{name}.ndim is expected to equal {t.rank}")
        packed = dtype_name(t.dtype) in ("int4", "uint4", "int1")
        if not packed:
            message = f"{name}.dtype is expected to be {dtype_name(t.dtype)}"
            self.asserts.append((_has_type(handle, t.dtype), message, None))
        shape = writer.let(f"{name}.shape", abi.field(handle, abi.SHAPE, tir.HANDLE), tir.HandleType(i64))
        extents = writer.declare(f"{name}.shape", shape, vector_of(t.rank, i64))
        for k, dim in enumerate([] if packed else t.dims):
            self._require(kinds.EQ(_number(dim), cast(dim.dtype, abi.load(extents, k))), f"{name}.shape[{k}]")
        self._strides(t, handle, name)
        offset = 0 if t.elem_offset is None else t.elem_offset.constant or 0
        first = abi.field(handle, abi.BYTE_OFFSET, ui64)
        self._require(kinds.EQ(const(offset * byte_size(t.dtype), "uint64"), first), f"{name}.byte_offset")
        kind = kinds.EQ(const(self.device_type, "int32"), abi.field(handle, abi.DEVICE_TYPE, i32))
        self._require(kind, f"{name}.device_type")
        device = abi.field(handle, abi.DEVICE_ID, i32)
        if self.device_id is None:
            self.device_id = writer.let("dev_id", device)
        else:
            self._require(kinds.EQ(self.device_id, device), f"{name}.device_id")
        of_data = tir.address_type(buffer)
        data = writer.let(name_of(buffer) or "buffer", abi.field(handle, abi.DATA, tir.HANDLE), of_data)
        self.values[buffer] = data.ssa
        empty = any(d.constant == 0 for d in t.dims)
        there = const(True, "bool") if empty else _no(abi.is_null(data))
        self.asserts.append((there, f"{name} is expected to have non-NULL data pointer", None))
        writer.attribute("storage_alignment", t.align.data, data)

    def _strides(self, t: tir.BufferType, handle: PrimExpr, name: str) -> None:
        writer = self.writer
        given = t.explicit_strides or ()
        address = writer.let(f"{name}.strides", abi.field(handle, abi.STRIDES, tir.HANDLE), tir.HandleType(i64))
        strides = writer.declare(f"{name}.strides", address, vector_of(len(given), i64))
        nothing = abi.is_null(address)
        if given:
            step: PrimExpr = const(1, "int32")
            for k in reversed(range(t.rank)):
                actual = cast(t.dims[k].dtype, abi.load(strides, k))
                value = if_then_else(nothing, step, actual)
                self._require(kinds.EQ(_number(given[k]), value), f"{name}.strides[{k}]")
                step = step * cast(t.dims[k].dtype, abi.load(strides, k))
            return
        expected, compact = 1, list[PrimExpr]()
        width = t.dims[0].dtype if t.dims else i32
        for k in reversed(range(t.rank)):
            extent = t.dims[k].constant or 0
            actual = cast(width, abi.load(strides, k))
            if extent != 1:
                compact.append(kinds.EQ(const(expected, dtype_name(width)), actual))
            expected *= extent
        if t.rank:
            condition = compact[0] if compact else const(True, "bool")
            for more in compact[1:]:
                condition = kinds.And(condition, more)
            self.asserts.append((condition, f"{name}.strides: expected to be compact array", nothing))

    def _checks(self) -> None:
        for condition, message, exempt in self.asserts:
            if exempt is None:
                self.writer.check(condition, message)
                continue
            inside = Writer(Block())
            inside.check(condition, message)
            unless = abi.planted_in(_no(exempt), self.writer.block)
            self.writer.block.add_op(tir.IfOp(unless, Region(inside.block)))

    def _body(self) -> None:
        """Write the computation, whose results go to `out_ret_value`, and the status."""
        writer = self.writer
        outside = writer.block
        if self.device_id is not None and self.device_type != _CPU:
            setter = tir.CallPackedOp(
                "__tvm_set_device",
                [abi.planted_in(const(self.device_type, "int32"), outside), self.device_id.ssa],
                i32,
            )
            outside.add_ops([setter, tir.EvaluateOp(setter.result)])
        writer.attribute("compute_scope", f"{self.name}_compute_")
        copied(self.old.ops, writer.block, dict(self.values))
        replace_addresses(writer.block)
        for op in [o for o in writer.block.walk() if isinstance(o, tir.ReturnOp)]:
            self._write_result(op)
        writer.block = outside
        writer.end()
        self.func.body.add_block(self.block)
        self.func.body.detach_block(self.old)
        self.old.erase(safe_erase=False)
        self.func.ret_type = i32
        self.func.handle_names = None

    def _write_result(self, op: tir.ReturnOp) -> None:
        value = expr_node(op.value)
        code, dtype = _kind_of_result(value.type, self.func)
        results = [(self.block.args[3], dtype, cast(dtype, value)), (self.block.args[4], i32, const(code, "int32"))]
        inside = Block()
        for address, element, stored in results:
            buffer = tir.DeclBufferOp(address, vector_of(1, element, strides=[Const(1, i32)]), alias=True)
            set_name(buffer.result, name_of(address))
            inside.add_op(buffer)
            what = abi.planted_in(stored, inside)
            index = abi.planted_in(const(0, "int32"), inside)
            inside.add_op(tir.StoreOp(what, buffer.result, [index]))
        inside.add_op(tir.ReturnOp(abi.planted_in(const(0, "int32"), inside)))
        for new in list(inside.ops):
            new.detach()
            insert_before(op, new)
        op.detach()
        op.erase()


def vector_of(length: int, dtype: Attribute, strides: list[SymExpr] | None = None) -> tir.BufferType:
    """Return the type of a buffer of one dimension."""
    return tir.BufferType.of([Const(length, i32)], dtype, strides=strides)


def _no(condition: PrimExpr) -> PrimExpr:
    return expr_node(tir.NotOp(condition.ssa).result)


def _number(dim: SymExpr) -> PrimExpr:
    return const(dim.constant or 0, dtype_name(dim.dtype))


def _has_type(handle: PrimExpr, dtype: Attribute) -> PrimExpr:
    """Return the condition that a tensor's elements are of a type."""
    scalar = scalar_of(dtype)
    whole = 1 if is_unsigned(scalar) or scalar == i1 else 0
    code = 4 if isinstance(scalar, BFloat16Type) else 2 if is_float(scalar) else whole
    bits = bit_width(scalar)
    parts = (
        (abi.TYPE_CODE, ui8, const(code, "uint8")),
        (abi.TYPE_BITS, ui8, const(bits, "uint8")),
        (abi.TYPE_LANES, ui16, const(lanes_of(dtype), "uint16")),
    )
    first, second, third = (kinds.EQ(abi.field(handle, kind, t), value) for kind, t, value in parts)
    return kinds.And(kinds.And(first, second), third)


def _argument(args: PrimExpr, t: Attribute, index: int) -> tuple[Sequence[int], str, PrimExpr]:
    """Return the codes that an argument may have, what it is called, and its value."""

    def content(dtype: Attribute) -> PrimExpr:
        return abi.field(args, abi.VALUE, dtype, index)

    if isinstance(t, tir.BufferType | tir.HandleType):
        return (_HANDLE, _ARRAY, _TENSOR, _NULL), "pointer", content(tir.HANDLE)
    if t == i1:
        return (_BOOL, _INT), "boolean", cast(i1, content(i64))
    if isinstance(t, IntegerType):
        return (_INT, _BOOL), "int", cast(t, content(i64))
    return (_FLOAT,), "float", cast(t, content(f64))


def _type_of_handle(t: Attribute) -> Attribute | None:
    return t if isinstance(t, tir.HandleType) else None


def _kind_of_result(t: Attribute, func: tir.FuncOp) -> tuple[int, Attribute]:
    if t == i1:
        return _BOOL, i64
    if isinstance(t, IntegerType):
        return _INT, i64
    if is_float(t):
        return _FLOAT, f64
    raise UnsupportedError(f"data type {t} not supported yet", location=location_of(func))


__all__ = ["MakePackedAPI"]
