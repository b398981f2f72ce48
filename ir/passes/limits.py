"""Limits on the cost of compilation, in one table.

Each is set by `PassContext(config={"tirax.limit.vector.lanes": 65536})`, otherwise by the environment
(`TIRAX_LIMIT_VECTOR_LANES=65536`). docs/limits.md shows this table.
"""

from __future__ import annotations

import os
from typing import Any

from ...diagnostics import SourceLocation, TiraxError
from ...dialects.sym.expr import SymExpr
from .options import LIMITS, PREFIX
from .transform import PassContext


class LimitError(TiraxError):
    """A program exceeds a limit of compilation; the hint tells how to raise it."""


def limit(name: str) -> int:
    """Return the limit named `name`, from the context, the environment or the default.

    Raises `TiraxError` if the setting is not a number.
    """
    config = PassContext.current().config or {}
    value: Any = config.get(PREFIX + name, os.environ.get(variable(name), LIMITS[name].default))
    try:
        return int(value)
    except (TypeError, ValueError):
        raise TiraxError(f"the limit '{name}' is no number", expected="an integer", found=repr(value)) from None


def variable(name: str) -> str:
    """Return the environment variable for a limit."""
    return "TIRAX_LIMIT_" + name.replace(".", "_").upper()


def check_limit(name: str, value: int, what: str, location: SourceLocation | None = None) -> None:
    """Raise `LimitError` if `value` exceeds the limit; `what` describes the value."""
    if value > limit(name):
        raise exceeded(name, what, value, location)


def _check_terms(count: int) -> None:
    check_limit("sym.terms", count, "a product of sizes or indices has too many terms")


SymExpr.check_terms = staticmethod(_check_terms)


def exceeded(name: str, what: str, value: object = None, location: SourceLocation | None = None) -> LimitError:
    """Return the error for a value that exceeds a limit."""
    hint = f'PassContext(config={{"{PREFIX}{name}": …}}) or {variable(name)}=… raises the limit'
    return LimitError(what, location=location, expected=f"at most {limit(name)} ({name})", found=value, hint=hint)


def table() -> str:
    """Return the limits as a Markdown table."""
    rows = [f"| `{name}` | {row.default} | {row.bounds} |" for name, row in LIMITS.items()]
    return "\n".join(["| limit | default | what it bounds |", "|---|---|---|", *rows])
