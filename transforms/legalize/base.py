"""Operators on shapes and those with effects: calls of what the runtime registers (`runtime/builtins.py`). Devices."""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...ir.verify import location_of
from .rules import BUILDERS, Builder, operand


def shape_of(b: Builder, op: Operator) -> SSAValue:
    """relax.shape_of(x) -> relax.shape [n, m], or a call of the runtime where the shape of x is unknown"""
    x = operand(op, "expr")
    if isinstance(x.type, relax.TensorType) and x.type.dims is not None:
        return b.emit(relax.ShapeOp(x.type.dims))
    return b.emit(relax.CallPurePackedOp("vm.builtin.shape_of", [x], op.result_type))


def tensor_to_shape(b: Builder, op: Operator) -> SSAValue:
    """relax.tensor_to_shape(x) -> relax.call_pure_packed "vm.builtin.tensor_to_shape"(x)"""
    return b.emit(relax.CallPurePackedOp("vm.builtin.tensor_to_shape", [operand(op, "expr")], op.result_type))


def shape_to_tensor(b: Builder, op: Operator) -> SSAValue:
    """relax.shape_to_tensor(s) -> relax.call_pure_packed "relax.run.shape_to_tensor"(s)"""
    return b.emit(relax.CallPurePackedOp("relax.run.shape_to_tensor", [operand(op, "expr")], op.result_type))


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


def placed(b: Builder, op: Operator) -> SSAValue:
    """relax.to_vdevice(x) -> x, for there is one device. Raises `UnsupportedError` for any other."""
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
        "relax.to_vdevice": placed,
        "relax.hint_on_device": placed,
        "relax.memory.ensure_zero_offset": same,
        "relax.print": print_,
        "relax.assert_op": assert_op,
    }
)
