"""What compiling may cost: one table of limits.

Each is set by `PassContext(config={"tirax.limit.vector.lanes": 65536})` or, for what no context says, by the
environment (`TIRAX_LIMIT_VECTOR_LANES=65536`). docs/limits.md is this table.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...diagnostics import SourceLocation, TiraxError, unknown_name
from ...dialects.sym.expr import SymExpr
from .transform import PassContext

PREFIX = "tirax.limit."


@dataclass(frozen=True)
class Limit:
    """A row: the number, and what it bounds."""

    default: int
    bounds: str


LIMITS = {
    "fold.bytes": Limit(1 << 28, "bytes of a constant that folding makes of smaller ones; above it the call stays"),
    "fold.operations": Limit(1 << 32, "multiplications of a product that is folded; above it the call stays"),
    "fold.iterations": Limit(1 << 16, "iterations of a tensor function that is folded; above it the call stays"),
    "check.iterations": Limit(1 << 24, "iterations of a function that is compared; above it, it is passed over"),
    "unroll.statements": Limit(1 << 16, "statements that an unrolled loop is written out as, in all"),
    "vector.lanes": Limit(1 << 12, "lanes of a vector"),
    "inline.size": Limit(1 << 10, "operations of an expression that values are inlined into; above it they are stored"),
    "sym.terms": Limit(1 << 12, "terms of a product of sizes or indices, which is multiplied out"),
    "sym.size": Limit(1 << 14, "parts of a result of an index map, written out"),
    "egraph.iterations": Limit(16, "how often equality saturation tries all rules; above it the best so far counts"),
    "egraph.nodes": Limit(1000, "expressions that equality saturation adds to a block's own; above it likewise"),
    "import.nodes": Limit(1 << 17, "nodes that calls of a model's functions are expanded to, in all"),
    "import.bytes": Limit(1 << 31, "bytes of the functions of a model, counted once for each call"),
    "parse.depth": Limit(400, "parentheses, calls and operators inside of each other in an expression of TVMScript"),
    "parse.bits": Limit(4096, "bits of an integer that Python's operators compute in a script"),
    "parse.length": Limit(4096, "elements of a sequence that Python's operators compute in a script"),
}
"""The limits by name."""


class LimitError(TiraxError):
    """Something that a limit of compiling forbids; the hint says how to raise it."""


def limit(name: str) -> int:
    """The limit of a name of `LIMITS`, as the context or the environment has it.

    Raises `TiraxError` where that is no number, `NameLookupError` where the context has a limit that does not exist.
    """
    config = PassContext.current().config or {}
    for key in config:
        if key.startswith(PREFIX) and key.removeprefix(PREFIX) not in LIMITS:
            raise unknown_name("limit", key.removeprefix(PREFIX), LIMITS)
    value: Any = config.get(PREFIX + name, os.environ.get(variable(name), LIMITS[name].default))
    try:
        return int(value)
    except (TypeError, ValueError):
        raise TiraxError(f"the limit '{name}' is no number", expected="an integer", found=repr(value)) from None


def variable(name: str) -> str:
    """The environment's variable for a limit."""
    return "TIRAX_LIMIT_" + name.replace(".", "_").upper()


def check_limit(name: str, value: int, what: str, location: SourceLocation | None = None) -> None:
    """Raise `LimitError` where `value` is above the limit; `what` says what is too large."""
    if value > limit(name):
        raise exceeded(name, what, value, location)


def _check_terms(count: int) -> None:
    check_limit("sym.terms", count, "a product of sizes or indices has too many terms")


SymExpr.check_terms = staticmethod(_check_terms)


def exceeded(name: str, what: str, value: object = None, location: SourceLocation | None = None) -> LimitError:
    """The error for what is above a limit."""
    hint = f'PassContext(config={{"{PREFIX}{name}": …}}) or {variable(name)}=… raises the limit'
    return LimitError(what, location=location, expected=f"at most {limit(name)} ({name})", found=value, hint=hint)


def table() -> str:
    """The limits as a table of Markdown."""
    rows = [f"| `{name}` | {row.default} | {row.bounds} |" for name, row in LIMITS.items()]
    return "\n".join(["| limit | default | what it bounds |", "|---|---|---|", *rows])
