"""Rules of operators on shapes, with side effects or on devices: calls of runtime functions (`runtime/builtins.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation, SSAValue

from ... import topi
from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...ir.locations import location_of
from .legalize_rules import BUILDERS, Builder, known_shape, operand, result_tensor


def shape_of(b: Builder, op: Operator) -> SSAValue:
    """relax.shape_of(x) -> relax.shape [n, m], or a runtime call if the shape of x is unknown"""
    return _shape_of(b.emit, operand(op, "expr"))


def _shape_of(emit: Callable[[Operation], SSAValue], x: SSAValue) -> SSAValue:
    t = cast(relax.TensorType, x.type)
    if t.dims is not None:
        return emit(relax.ShapeOp(t.dims))
    return emit(relax.CallPurePackedOp("vm.builtin.shape_of", [x], relax.ShapeType.of(ndim=t.rank)))


def tensor_to_shape(b: Builder, op: Operator) -> SSAValue:
    """relax.tensor_to_shape(x) -> relax.call_pure_packed "vm.builtin.tensor_to_shape"(x)"""
    return b.emit(relax.CallPurePackedOp("vm.builtin.tensor_to_shape", [operand(op, "expr")], op.result_type))


def shape_to_tensor(b: Builder, op: Operator) -> SSAValue:
    """relax.shape_to_tensor(s) -> extents(), which fuses, or a runtime call if the rank is unknown or TVM has one"""
    shape = operand(op, "expr")
    if not b.tvm_forms and isinstance(shape.type, relax.ShapeType) and shape.type.dims is not None:
        return b.call_te(topi.extents, shape)
    return b.emit(relax.CallPurePackedOp("relax.run.shape_to_tensor", [operand(op, "expr")], op.result_type))


def unique(b: Builder, op: Operator) -> SSAValue:
    """relax.unique(x, …) -> relax.call_pure_packed "relax.run.unique"(x, …)"""
    return b.emit(relax.CallPurePackedOp("relax.run.unique", op.operands, op.result_type))


def nonzero(b: Builder, op: Operator) -> SSAValue:
    """relax.nonzero(x) -> relax.call_pure_packed "relax.run.nonzero"(x)"""
    return b.emit(relax.CallPurePackedOp("relax.run.nonzero", op.operands, op.result_type))


def dynamic_strided_slice(b: Builder, op: Operator) -> SSAValue:
    """relax.dynamic_strided_slice(x, begin, end, strides) -> dynamic_strided_slice(x, begin, end, strides)

    A shape function computes the extents of the result first, which `match_cast` binds to symbolic variables.
    """
    rank = result_tensor(op).rank
    if rank is None or not all(known_shape(v.type) for v in op.operands):
        return op.results[0]
    extents = b.call_te(topi.shape_func_dynamic_strided_slice, *op.operands, primfunc_name_hint="shape_func")
    extents_call = relax.CallPurePackedOp("vm.builtin.tensor_to_shape", [extents], relax.ShapeType.of(ndim=rank))
    dims = b.fresh_vars(rank)
    b.emit(relax.MatchCastOp(b.emit(extents_call), relax.ShapeType.of(dims)))
    return b.call_te(
        topi.dynamic_strided_slice, *op.operands, output_shape=dims, primfunc_name_hint="dynamic_strided_slice"
    )


def view(b: Builder, op: Operator) -> SSAValue:
    """relax.memory.view(x, …) -> relax.call_pure_packed "runtime.TVMArrayCreateView"(x, shape, dtype, offset)

    Omitted arguments become explicit. The view may be a copy.
    """
    args = view_arguments(b.emit, op)
    if args is None:
        return op.results[0]
    return b.emit(relax.CallPurePackedOp("runtime.TVMArrayCreateView", args, op.result_type))


def view_arguments(emit: Callable[[Operation], SSAValue], op: Operator) -> list[SSAValue] | None:
    """Return the arguments of the packed function that makes a view, or None if its dtype is unknown."""
    data, *optional = op.operands
    element = result_tensor(op).element
    if element is None:
        return None
    shape, dtype, offset = (None if isinstance(v.type, TupleType) else v for v in optional)
    return [
        data,
        _shape_of(emit, data) if shape is None else shape,
        emit(relax.DataTypeOp(element)) if dtype is None else dtype,
        emit(relax.PrimValueOp(0)) if offset is None else offset,
    ]


def _format(op: Operator) -> SSAValue:
    return relax.StringOp(cast(str, op.attr("format"))).result


def print_(b: Builder, op: Operator) -> SSAValue:
    """relax.print(x, format=f) -> relax.call_packed "relax.run.print"(f, x)"""
    return b.emit(relax.CallPackedOp("relax.run.print", [_format(op), *op.operands], op.result_type))


def assert_op(b: Builder, op: Operator) -> SSAValue:
    """relax.assert_op(c, x, format=f) -> relax.call_packed "relax.run.assert_op"(c, f, x)"""
    condition, *args = op.operands
    return b.emit(relax.CallPackedOp("relax.run.assert_op", [condition, _format(op), *args], op.result_type))


_CPU = ("", "llvm", "cpu")


def to_vdevice(b: Builder, op: Operator) -> SSAValue:
    """relax.to_vdevice(x) -> x, as there is only one device. Raises `UnsupportedError` for any other."""
    device = cast(str, op.attr("dst_vdevice"))
    if device.partition(":")[0] not in _CPU:
        raise UnsupportedError(
            f"{op.name}: there is no device '{device}'", location=location_of(op), expected="llvm or cpu", found=device
        )
    return same(b, op)


def same(b: Builder, op: Operator) -> SSAValue:
    """relax.memory.ensure_zero_offset(x) -> x"""
    return b.emit(relax.BindOp(operand(op, "data"), op.result_type))


BUILDERS.update(
    {
        "relax.shape_of": shape_of,
        "relax.tensor_to_shape": tensor_to_shape,
        "relax.shape_to_tensor": shape_to_tensor,
        "relax.dynamic_strided_slice": dynamic_strided_slice,
        "relax.memory.view": view,
        "relax.unique": unique,
        "relax.nonzero": nonzero,
        "relax.to_vdevice": to_vdevice,
        "relax.hint_on_device": to_vdevice,
        "relax.memory.ensure_zero_offset": same,
        "relax.print": print_,
        "relax.assert_op": assert_op,
    }
)
