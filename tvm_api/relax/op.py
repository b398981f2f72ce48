"""`tvm.relax.op`: a function for each Relax operator, `relax.op.add(x, y)`."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...dialects.relax.registered import GRADIENT
from ...handles.relax.calls import (
    call_builtin_with_ctx,
    call_dps_packed,
    call_inplace_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
    invoke_closure,
    invoke_pure_closure,
    operator_attribute,
    operators_in,
)
from ...handles.relax.expr import NullValue
from ...handles.relax.registered import register_op_attr
from .._names import add_module, is_refused, no_attribute
from ..operators import collectives as collectives
from ..operators import lifting as lifting

if TYPE_CHECKING:
    from ._operators import *  # noqa: F403  # pyright: ignore[reportMissingModuleSource]
    from ._operators import image, nn  # pyright: ignore[reportMissingModuleSource]


class _Family(ModuleType):
    """A module with a function for each operator whose name starts with the module's name."""

    def __getattr__(self, name: str) -> Any:
        return operator_attribute(self.__name__, self._prefix, name)

    def __dir__(self) -> list[str]:
        return operators_in(self._prefix)

    @property
    def _prefix(self) -> str:
        return f"relax.{self.__name__.rpartition('.')[2]}."


for _family in ("builtin", "ccl", "fft", "grad", "image", "linalg", "memory", "nn", "vm"):
    add_module(_Family(f"{__name__}.{_family}", f"`tvm.relax.op.{_family}`: a function for each of its operators."))


def null_value() -> NullValue:
    """Return a null object."""
    return NullValue()


def register_gradient(op_name: str, fgradient: Any = None, level: int = 10) -> Any:
    """Register `fgradient(var, call, gradient, builder)` as the gradient of an operator; returns a decorator
    without it.

    It returns a list of expressions, one for each argument. Raises `TiraxError` if another rule is registered
    with the same level and has not been reset.
    """
    return register_op_attr(op_name, GRADIENT, fgradient, level)


def __getattr__(name: str) -> Any:
    if is_refused(__name__, name):
        raise no_attribute(__name__, name)
    return operator_attribute(__name__, "relax.", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *operators_in("relax.")])


__all__ = [
    "call_dps_packed",
    "call_inplace_packed",
    "call_builtin_with_ctx",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "image",
    "invoke_closure",
    "invoke_pure_closure",
    "nn",
    "null_value",
    "register_gradient",
]
