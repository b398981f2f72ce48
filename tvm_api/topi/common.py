"""What the operators share: arguments as TVM takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from ...diagnostics import TiraxError
from ...dialects.dtypes import dtype_of
from ...handles.tir.prim_expr import PrimExpr
from ...te.tensor import Tensor


def integer(value: int | PrimExpr) -> int:
    """A Python integer. Raises `TiraxError` for a symbolic expression."""
    return int(value)


def integers(value: Any, count: int) -> list[int]:
    """As many integers as asked, one standing for all. Raises `TiraxError` for another number of them."""
    if not isinstance(value, list | tuple):
        return [integer(value)] * count
    if len(value) != count:
        raise TiraxError("another number of integers is needed", expected=count, found=len(value))
    return [integer(v) for v in value]


def axes(value: Any) -> int | list[int] | None:
    """An axis, several or (None) all."""
    if value is None:
        return None
    return [integer(v) for v in value] if isinstance(value, list | tuple) else integer(value)


def element_type(dtype: str | Attribute | None, default: Attribute) -> Attribute:
    """A dtype, `default` where it is left out."""
    if dtype is None or dtype == "":
        return default
    return dtype_of(dtype) if isinstance(dtype, str) else dtype


def no_rewritten_layout(layout: str, original_shape: Any) -> None:
    """Refuses what TVM's auto-scheduler passes to operators whose weights it has laid out anew."""
    if layout or original_shape is not None:
        raise TiraxError(
            "weights that a tuner has laid out anew are not supported",
            expected="no auto_scheduler_rewritten_layout, no meta_schedule_original_shape",
            found=layout or original_shape,
        )


def tensors(values: Sequence[Tensor] | Tensor) -> list[Tensor]:
    """One tensor or several."""
    return [values] if isinstance(values, Tensor) else list(values)
