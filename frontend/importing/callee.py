"""The function that a `func.call` of MLIR names, for importers that convert its body where it is called."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects import func
from xdsl.ir import Operation

from ...diagnostics import UnsupportedError
from ...ir.locations import location_of


def callee_of(
    functions: Mapping[str, func.FuncOp], name: str, at: Operation, converting: Collection[func.FuncOp]
) -> func.FuncOp:
    """Return the function `name`, which `at` calls.

    Raises `UnsupportedError` for one without a body, and for one of those that are being converted: it calls itself.
    """
    callee = functions.get(name)
    if callee is None or callee.is_declaration:
        raise UnsupportedError(f"a call of @{name}, which has no body", location=location_of(at))
    if callee in converting:
        raise UnsupportedError(f"@{name} calls itself", location=location_of(at))
    return callee
