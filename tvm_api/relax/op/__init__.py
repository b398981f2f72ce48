"""`tvm.relax.op`: a function for each Relax operator, `relax.op.add(x, y)`."""

from __future__ import annotations

from typing import Any

from ....handles.relax.calls import (
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
from . import image, nn


def __getattr__(name: str) -> Any:
    return operator_attribute(__name__, "relax.", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *operators_in("relax.")])


__all__ = [
    "call_dps_packed",
    "call_inplace_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "image",
    "invoke_closure",
    "invoke_pure_closure",
    "nn",
]
