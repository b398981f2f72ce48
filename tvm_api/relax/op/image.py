"""`tvm.relax.op.image`: a function for each operator on images."""

from __future__ import annotations

from typing import Any

from ....handles.relax.calls import operator_attribute, operators_in


def __getattr__(name: str) -> Any:
    return operator_attribute(__name__, "relax.image.", name)


def __dir__() -> list[str]:
    return operators_in("relax.image.")
