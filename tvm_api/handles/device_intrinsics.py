"""Intrinsics of other devices and of TVM's later stages, as functions of `tvm.tir`.

They can be built, printed and rewritten, but not compiled. Their result types are rows of
`dialects.tir.intrinsics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects import tir
from ...handles.tir.expr_kinds import CLASSES
from ...handles.tir.prim_expr import PrimExpr

_Call = CLASSES["Call"]
_NAMED = {
    "call_cpacked": "tvm_call_cpacked",
    "call_packed_lowered": "tvm_call_packed_lowered",
    "call_cpacked_lowered": "tvm_call_cpacked_lowered",
}
"""Intrinsics whose TVM functions have other names."""


def device_intrinsic(name: str) -> Callable[..., PrimExpr]:
    """Return a function that builds calls of an intrinsic from its arguments, with its dtype where TVM has it."""
    row = tir.DEVICE_INTRINSICS[_NAMED.get(name, name)]

    def build(*args: Any, **kwargs: Any) -> PrimExpr:
        operands = [*args, *(v for key, v in kwargs.items() if key not in ("dtype", "span"))]
        dtype = kwargs.get("dtype")
        if dtype is None and row.result in (tir.FIRST, tir.LAST) and operands:
            dtype = operands.pop(0 if row.result == tir.FIRST else -1)
        if dtype is None:
            dtype = operands[1].dtype if row.result == tir.SECOND and len(operands) > 1 else row.result
        return _Call(dtype or "void", _NAMED.get(name, name), operands)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The intrinsic `{name}`, of which no code is made: {row.why}."
    return build


FUNCTIONS: dict[str, Callable[..., PrimExpr]] = {
    name: device_intrinsic(name) for name in (*tir.DEVICE_INTRINSICS, *_NAMED)
}
"""The functions by their names in `tvm.tir`."""


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
