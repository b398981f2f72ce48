"""TVM's packed test functions: they return their argument as the corresponding C++ parameter would represent it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import DTypeError
from ...handles.tir.expr_kinds import IntImm
from ...handles.tir.prim_expr import PrimExpr, const
from ...runtime import Device, register_func
from ..ir import String


def echo(value: Any) -> Any:
    """Return the argument, converting a numpy scalar to a Python one."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value


def device_test(dev: Device, device_type: int, device_id: int) -> Device:
    """Return the device. Raises `AssertionError` if its type or index differ."""
    if (dev.device_type, dev.device_id) != (device_type, device_id):
        raise AssertionError(f"{dev} is not device {device_id} of type {device_type}")
    return dev


def _prim_expr(value: Any) -> PrimExpr:
    """Convert a number to a constant, as TVM's argument conversion does."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, bool):
        return const(value, "bool")
    return const(value, "int32" if isinstance(value, int) else "float32")


def _first(values: Sequence[Any]) -> Any:
    return values[0]


def _entry(values: Mapping[Any, Any], key: Any) -> Any:
    return values[key]


def _prim_exprs(values: Sequence[Any]) -> list[PrimExpr]:
    return [_prim_expr(v) for v in values]


def _prim_expr_values(values: Mapping[Any, Any]) -> dict[Any, PrimExpr]:
    return {k: _prim_expr(v) for k, v in values.items()}


def _half_or_text(value: int) -> Any:
    """Return half of an even number as a constant, or a text."""
    return String("argument was odd") if value % 2 else const(value // 2, "int64")


def _kind_of(value: Any) -> str:
    """Return the type of a text or an integer by TVM's name. Raises `DTypeError` for others."""
    if isinstance(value, str):
        return "runtime.String"
    if isinstance(value, IntImm) or (isinstance(value, int) and not isinstance(value, bool)):
        return "IntImm"
    raise DTypeError("the argument is neither a text nor an integer", expected="str or int", found=type(value).__name__)


PACKED = {
    "testing.echo": echo,
    "testing.device_test": device_test,
    "testing.AcceptsBool": bool,
    "testing.AcceptsInt": int,
    "testing.AcceptsObjectRef": echo,
    "testing.AcceptsVariant": _kind_of,
    "testing.ReturnsVariant": _half_or_text,
    "testing.AcceptsObjectRefArray": _first,
    "testing.AcceptsMapReturnsValue": _entry,
    "testing.AcceptsMapReturnsMap": echo,
    "testing.AcceptsPrimExpr": _prim_expr,
    "testing.AcceptsArrayOfPrimExpr": _prim_exprs,
    "testing.AcceptsMapOfPrimExpr": _prim_expr_values,
}
"""The functions by name, for `tvm.get_global_func`."""

for _name, _function in PACKED.items():
    register_func(_name, _function, override=True)

__all__ = ["PACKED", "device_test", "echo"]
