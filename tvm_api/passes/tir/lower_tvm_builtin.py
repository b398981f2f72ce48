"""`lower-tvm-builtin`: packed calls and allocations as TVM's runtime does them.

call_packed("f", x, A)  ->  x and A in a frame on the stack, with codes of their kinds; call_packed_lowered("f", frame)
allocate(n)             ->  TVMBackendAllocWorkspace(…), unless it fits on the stack; freed at the end of its scope
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, IntegerType, ModuleOp, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.attributes import PyValue
from ....dialects.dtypes import bit_width, byte_size, is_float, is_unsigned, lanes_of, scalar_of, ui64
from ....dialects.names import name_of, set_name
from ....dialects.sym.expr import Const
from ....handles.target import Target
from ....handles.tir import expr_kinds as kinds
from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import expr_node
from ....handles.tir.prim_expr import PrimExpr, cast, const
from ....handles.tir.stmt import planted_in
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import is_expression
from ....ir.rewriting.edit import inline_before
from ....transforms.tir.walk import functions, remove_dead
from . import abi_writer as abi
from .abi_writer import device_call

_LOWERED = {
    "tvm_call_cpacked": "tvm_call_cpacked_lowered",
    "tvm_call_packed": "tvm_call_packed_lowered",
}
_KEPT = "disable_lower_builtin"
_ON_STACK, _ALIGNMENT = 1024, 64
"""Bytes below which an allocation of a CPU stays, and the alignment of others."""
_INT, _FLOAT, _HANDLE, _NULL, _TENSOR, _TEXT, _BOOL = 0, 2, 3, 4, 7, 11, 15
_CPU = 1


@dataclass(frozen=True)
class LowerTVMBuiltin(Pass):
    """Lower packed calls, arrays and shapes on the stack, and allocations of functions of the host.

    The host's functions have a target with the key `cpu`, or `tir.is_host_func`. Raises `TiraxError` where no device
    is known.
    """

    name = "lower-tvm-builtin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            attrs = {} if func.func_attrs is None else func.func_attrs.data
            target = attrs.get("target")
            known = Target(target.config) if isinstance(target, tir.TargetAttr) else None
            if "tir.is_host_func" in attrs or (known is not None and "cpu" in known.keys):
                device = None if known is None else const(int(known.kind.default_device_type), "int32")
                _Lowering(device).frame(func.body.block)
                remove_dead(func)


@dataclass
class _Sizes:
    shapes: int = -1
    """Elements of shapes; -1 if there is no shape, not even one of rank 0."""
    arrays: int = 0
    values: int = 0


@dataclass
class _Frame:
    """The memory on the stack for the calls of a function, or of an iteration of a parallel loop."""

    now: _Sizes = field(default_factory=_Sizes)
    most: _Sizes = field(default_factory=_Sizes)
    shapes: SSAValue | None = None
    arrays: SSAValue | None = None
    values: SSAValue | None = None
    codes: SSAValue | None = None

    def record(self) -> None:
        self.most.shapes = max(self.most.shapes, self.now.shapes)
        self.most.arrays = max(self.most.arrays, self.now.arrays)
        self.most.values = max(self.most.values, self.now.values)


class _Lowering:
    """Lowers the statements of blocks in order."""

    def __init__(self, device_type: PrimExpr | None):
        self.device_type = device_type
        self.device_id: PrimExpr | None = None

    def frame(self, block: Block) -> None:
        """Lower a block whose calls have memory of their own."""
        frame = _Frame()
        before: list[Operation] = []
        for op in _calls_of(block):
            _measure(op, frame)
        inside = Block()
        writer = abi.Writer(inside)
        if frame.most.values:
            kinds_of = writer.let("stack_tcode", _stack("arg_tcode", frame.most.values), tir.HandleType(i32))
            vector = tir.BufferType.of([Const(frame.most.values, ui64)], i32)
            frame.codes = writer.declare("stack_tcode", kinds_of, vector)
            frame.values = writer.let("stack_value", _stack("arg_value", frame.most.values)).ssa
        if frame.most.arrays:
            frame.arrays = writer.let("stack_array", _stack("array", frame.most.arrays)).ssa
        if frame.most.shapes != -1:
            sizes = writer.let("stack_shape", _stack("shape", frame.most.shapes), tir.HandleType(i64))
            frame.shapes = writer.declare("stack_shape", sizes, tir.BufferType.of([Const(frame.most.shapes, i64)], i64))
        before = list(inside.ops)
        self.block(block, frame)
        first = block.first_op
        for op in before:
            op.detach()
            if first is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, first)

    def block(self, block: Block, frame: _Frame) -> None:
        """Lower the statements of a block."""
        op = block.first_op
        while op is not None:
            following = op.next_op
            if isinstance(op, tir.AllocateOp):
                self._allocate(op)
                following = op.next_op if op.parent is not None else self._resumed
            elif not is_expression(op) or _is_call(op):
                self._statement(op, frame)
            op = following

    def _statement(self, op: Operation, frame: _Frame) -> None:
        if _is_call(op):
            _Call(self, op, frame).lower()
            return
        if isinstance(op, tir.AttrOp) and op.key.data in ("device_id", "device_type"):
            name = "device_id" if op.key.data == "device_id" else "device_type"
            outer = getattr(self, name)
            setattr(self, name, expr_node(op.value))
            self.block(op.body.block, frame)
            setattr(self, name, outer)
            _unwrap(op)
            return
        for region in op.regions:
            for inner in region.blocks:
                if isinstance(op, tir.ForOp) and op.kind is tir.ForKind.PARALLEL:
                    self.frame(inner)
                else:
                    self.block(inner, frame)

    def device(self, op: Operation) -> tuple[PrimExpr, PrimExpr]:
        """Return the type and the number of the device around an operation. Raises `TiraxError` if unknown."""
        if self.device_type is None:
            raise TiraxError("Unknown device type in current IR", location=location_of(op))
        if self.device_id is None:
            raise TiraxError("Unknown device id in current IR", location=location_of(op))
        return cast(i32, self.device_type), cast(i32, self.device_id)

    def _allocate(self, op: tir.AllocateOp) -> None:
        notes: dict[str, PyValue] = {} if op.annotations is None else dict(op.annotations.data)
        self._resumed = op.next_op
        if _KEPT in notes or self._fits(op):
            return
        kind, number = self.device(op)
        total: PrimExpr = const(byte_size(op.dtype), "uint64")
        for extent in op.extents:
            total = total * cast("uint64", tx.from_sym(extent))
        scalar = scalar_of(op.dtype)
        types = [const(_type_code(scalar), "int32"), const(bit_width(scalar), "int32")]
        block = op.parent
        assert block is not None
        rest = []
        following = op.next_op
        while following is not None:
            rest.append(following)
            following = following.next_op
        for each in rest:
            each.detach()
        writer = abi.Writer(block)
        taken = device_call("TVMBackendAllocWorkspace", [kind, number, total, *types], tir.HANDLE)
        data = writer.let(name_of(op.result) or "buffer", taken, op.result.type)
        op.result.replace_all_uses_with(data.ssa)
        op.detach()
        op.erase()
        writer.attribute("storage_alignment", _ALIGNMENT, data)
        inside = writer.block
        _throw_if(inside, abi.is_null(data))
        inside.add_ops(rest)
        freed = device_call("TVMBackendFreeWorkspace", [kind, number, data], i32)
        _throw_if(inside, kinds.NE(freed, const(0, "int32")))
        self._resumed = rest[0] if rest else None

    def _fits(self, op: tir.AllocateOp) -> bool:
        device = self.device_type
        if device is None or op.scope.data != "global":
            return False
        owner = device.ssa.owner
        if not isinstance(owner, tir.ConstOp) or owner.py_value != _CPU:
            return False
        size = byte_size(op.dtype)
        for extent in op.extents:
            size *= extent.constant or 0
        return 0 < size < _ON_STACK


def _throw_if(block: Block, condition: PrimExpr) -> None:
    inside = Block()
    error = device_call("tvm_throw_last_error", [], tir.HANDLE)
    inside.add_op(tir.EvaluateOp(planted_in(error, inside)))
    block.add_op(tir.IfOp(planted_in(condition, block), Region(inside)))


def _unwrap(op: tir.AttrOp) -> None:
    inline_before(op.body.block, op)
    op.detach()
    op.erase()


def _stack(kind: str, count: int) -> PrimExpr:
    return device_call("tvm_stack_alloca", [kind, count], tir.HANDLE)


def _is_call(op: Operation) -> bool:
    return isinstance(op, tir.CallPackedOp) or (isinstance(op, tir.DeviceCallOp) and op.func.data in _LOWERED)


def _calls_of(block: Block) -> list[Operation]:
    """Return the packed calls in a block that share its memory, those that are no arguments of others."""
    found: list[Operation] = []
    for op in block.ops:
        if _is_call(op) and not any(_is_call(use.operation) for use in op.results[0].uses):
            found.append(op)
        if isinstance(op, tir.ForOp) and op.kind is tir.ForKind.PARALLEL:
            continue
        for region in op.regions:
            for inner in region.blocks:
                found += _calls_of(inner)
    return found


def _arguments(op: Any) -> list[SSAValue]:
    """Return the arguments of a packed call, without its name and its resource handle."""
    return list(op.call_args) if isinstance(op, tir.CallPackedOp) else list(op.call_args)[1:-1]


def _measure(op: Operation, frame: _Frame) -> None:
    """Add what a call needs of the stack."""
    before = _Sizes(frame.now.shapes, frame.now.arrays, frame.now.values)
    args = _arguments(op)
    frame.now.values += len(args) + 1
    for arg in args:
        _measure_argument(arg, frame)
    frame.record()
    frame.now = before


def _measure_argument(value: SSAValue, frame: _Frame) -> None:
    if isinstance(value.type, tir.BufferType):
        frame.now.arrays += 1
        strides = value.type.explicit_strides or ()
        frame.now.shapes = max(frame.now.shapes, 0) + value.type.rank + len(strides)
        return
    op = value.owner
    if not isinstance(op, Operation) or not (is_expression(op) or isinstance(op, tir.CallExpr)):
        return
    if _is_call(op):
        _measure(op, frame)
        return
    if isinstance(op, tir.DeviceCallOp) and op.func.data == "tvm_stack_make_array":
        frame.now.arrays += 1
    if isinstance(op, tir.DeviceCallOp) and op.func.data == "tvm_stack_make_shape":
        frame.now.shapes = max(frame.now.shapes, 0) + len(op.call_args)
    for operand in op.operands:
        if not isinstance(operand.type, tir.BufferType):
            _measure_argument(operand, frame)


class _Call:
    """Lowers one packed call: what it writes stands before it."""

    def __init__(self, lowering: _Lowering, op: Any, frame: _Frame):
        self.lowering, self.op, self.frame = lowering, op, frame
        self.place = Block()

    def lower(self) -> None:
        op, frame = self.op, self.frame
        if any(_is_call(use.operation) for use in op.results[0].uses):
            return  # with the call that it is an argument of
        result = self._call(op)
        block = op.parent
        assert block is not None
        for new in list(self.place.ops):
            new.detach()
            block.insert_op_before(new, op)
        op.results[0].replace_all_uses_with(result)
        op.detach()
        op.erase()
        frame.now = _Sizes()

    def _call(self, op: Any) -> SSAValue:
        frame = self.frame
        shapes, arrays, first = frame.now.shapes, frame.now.arrays, frame.now.values
        args = _arguments(op)
        frame.now.values += len(args) + 1
        lowered = [self._argument(arg) for arg in args]
        for i, value in enumerate(lowered):
            self._pass(value, first + i)
        frame.now = _Sizes(shapes, arrays, first)
        assert frame.values is not None and frame.codes is not None
        named = isinstance(op, tir.CallPackedOp)
        name = expr_node(tir.StringImmOp(op.func.data).result if named else op.call_args[0])
        codes = frame.codes.owner.data if isinstance(frame.codes.owner, tir.DeclBufferOp) else frame.codes
        values: list[Any] = [name, expr_node(frame.values), expr_node(codes), first, first + len(args)]
        values += [] if named else [expr_node(op.call_args[-1])]
        kind = "tvm_call_packed" if named else op.func.data
        return planted_in(device_call(_LOWERED[kind], values, i32), self.place)

    def _argument(self, value: SSAValue) -> PrimExpr:
        if isinstance(value.type, tir.BufferType):
            return self._buffer(value, value.type)
        op = value.owner
        if isinstance(op, Operation) and _is_call(op):
            return expr_node(self._call(op))
        if isinstance(op, tir.DeviceCallOp) and op.func.data == "tvm_stack_make_shape":
            return self._shape([expr_node(a) for a in op.call_args])
        if isinstance(op, tir.DeviceCallOp) and op.func.data == "tvm_stack_make_array":
            index = self._next_array()
            data, shape, strides, rank, zero, offset = (self._argument(a) for a in op.call_args)
            return self._array(index, data, shape, strides, rank, zero.type, offset)
        return expr_node(value)

    def _next_array(self) -> int:
        self.frame.now.arrays += 1
        return self.frame.now.arrays - 1

    def _buffer(self, buffer: SSAValue, t: tir.BufferType) -> PrimExpr:
        """Return the address of a tensor on the stack for a buffer."""
        index = self._next_array()
        declared = buffer.owner
        data = declared.data if isinstance(declared, tir.DeclBufferOp) else tir.BufferDataOp(buffer).result
        shape = self._shape([tx.from_sym(d) for d in t.dims])
        given = t.explicit_strides
        strides = const(0, "int32") if given is None else self._shape([tx.from_sym(s) for s in given])
        offset = const(0, "int32") if t.elem_offset is None else tx.from_sym(t.elem_offset)
        return self._array(index, expr_node(data), shape, strides, const(t.rank, "int32"), t.dtype, offset)

    def _shape(self, extents: Sequence[PrimExpr]) -> PrimExpr:
        frame = self.frame
        first = max(frame.now.shapes, 0)
        frame.now.shapes = first + len(extents)
        assert frame.shapes is not None
        for i, extent in enumerate(extents):
            value = planted_in(cast(i64, extent), self.place)
            index = planted_in(const(first + i, "int32"), self.place)
            self.place.add_op(tir.StoreOp(value, frame.shapes, [index]))
        owner = frame.shapes.owner
        assert isinstance(owner, tir.DeclBufferOp)
        view = tir.DeclBufferOp(owner.data, tir.BufferType.of([Const(first + 1, i32)], i64), alias=True)
        set_name(view.result, name_of(owner.data))
        self.place.add_op(view)
        element = tir.LoadOp(view.result, [const(first, "int32").ssa])
        return expr_node(tir.CallIntrinOp("address_of", [element.result], tir.address_type(view.result)).result)

    def _array(
        self,
        index: int,
        data: PrimExpr,
        shape: PrimExpr,
        strides: PrimExpr,
        rank: PrimExpr,
        dtype: Attribute,
        offset: PrimExpr,
    ) -> PrimExpr:
        assert self.frame.arrays is not None
        arrays = expr_node(self.frame.arrays)
        if _is_zero(strides):
            strides = _nothing()
        size = byte_size(dtype)
        first = offset if _is_zero(offset) else offset * const(size, offset.dtype)
        kind, number = self.lowering.device(self.op)
        scalar = scalar_of(dtype)
        fields = (
            (abi.DATA, data),
            (abi.SHAPE, shape),
            (abi.STRIDES, strides),
            (abi.NDIM, rank),
            (abi.TYPE_CODE, const(_type_code(scalar), "uint8")),
            (abi.TYPE_BITS, const(bit_width(scalar), "uint8")),
            (abi.TYPE_LANES, const(lanes_of(dtype), "uint16")),
            (abi.BYTE_OFFSET, cast(ui64, first)),
            (abi.DEVICE_ID, number),
            (abi.DEVICE_TYPE, kind),
        )
        for which, value in fields:
            self._set(arrays, index, which, value)
        return abi.field(arrays, abi.ADDRESS, tir.HANDLE, index)

    def _set(self, struct: PrimExpr, index: int, which: int, value: PrimExpr) -> None:
        call = device_call("tvm_struct_set", [struct, index, which, value], i32)
        self.place.add_op(tir.EvaluateOp(planted_in(call, self.place)))

    def _pass(self, value: PrimExpr, slot: int) -> None:
        """Write an argument and the code of its kind into the frame."""
        frame = self.frame
        assert frame.values is not None and frame.codes is not None
        was, code = value.type, _HANDLE
        if isinstance(was, IntegerType):
            value, code = cast(i64, value), _BOOL if was == i1 else _INT
        elif is_float(was):
            value, code = cast(f64, value), _FLOAT
        owner = value.ssa.owner
        self._set(expr_node(frame.values), slot, abi.VALUE, value)
        if isinstance(owner, tir.StringImmOp):
            code = _TEXT
        elif isinstance(owner, tir.DeviceCallOp) and owner.func.data == "tvm_struct_get" and _is_address(owner):
            code = _TENSOR
        if code != _HANDLE:
            self._store_code(self.place, code, slot)
            return
        sides = [Block(), Block()]
        for side, number in zip(sides, (_NULL, code), strict=True):
            self._store_code(side, number, slot)
        empty = planted_in(abi.is_null(value), self.place)
        self.place.add_op(tir.IfOp(empty, Region(sides[0]), Region(sides[1])))

    def _store_code(self, block: Block, code: int, slot: int) -> None:
        assert self.frame.codes is not None
        number, index = (planted_in(const(n, "int32"), block) for n in (code, slot))
        block.add_op(tir.StoreOp(number, self.frame.codes, [index]))


def _is_zero(value: PrimExpr) -> bool:
    owner = value.ssa.owner
    return isinstance(owner, tir.ConstOp) and owner.py_value == 0


def _is_address(get: tir.DeviceCallOp) -> bool:
    return _is_zero(expr_node(get.call_args[2]))


def _nothing() -> PrimExpr:
    return expr_node(tir.ReinterpretOp(const(0, "uint64").ssa, tir.HANDLE).result)


def _type_code(scalar: Attribute) -> int:
    if isinstance(scalar, BFloat16Type):
        return 4
    if is_float(scalar):
        return 2
    return 1 if is_unsigned(scalar) or scalar == i1 else 0


__all__ = ["LowerTVMBuiltin"]
