"""`tvm.te`: tensor expressions."""

from typing import Any

from .. import te as _te
from ..handles.tir.prim_func import PrimFunc


def create_prim_func(ops: Any, index_dtype_override: str | None = None) -> PrimFunc:
    """A tensor function of the given inputs and outputs, as `te.create_prim_func` and as a handle."""
    return PrimFunc.on(_te.create_prim_func(ops, index_dtype_override))


def __getattr__(name: str) -> Any:
    return getattr(_te, name)


__all__: list[str] = []
__all__ += _te.__all__
