"""The table of converters: for each operator of PyTorch a function that builds it in Relax.

A row is registered by the name of an ATen operator without namespace, for all of its overloads, or by the
name of one overload that differs; overloads are looked up first. Other namespaces are spelled out.

    @row("rsub")
    def rsub(e: Emitter, x: Expr, other: Any, alpha: Any = 1) -> Expr:
        return subtract(e, other, x, alpha)

    @row("max.dim")                      # max.default and max.other have rows of their own
    @row("prims::convert_element_type")

Arguments are those of the operator's schema, with its order, defaults and names, except that `self` is `x`.
Arguments about placement and layout (`IGNORED`) are omitted. Keyword-only arguments are passed by keyword.
Callers without a schema, such as the importer of torch.fx, call a row as a Python function.

| in the schema | as an argument of a row |
|---|---|
| Tensor | an `Expr`: a variable, or a constant |
| Tensor[], Tensor?[] | a list of them, with None |
| int, SymInt | an `int`, or a `SymExpr` if it is symbolic |
| Scalar, float, bool, str | the Python value |
| ScalarType | the name of a dtype, such as `"float32"` |

The result is an `Expr`, which is bound unless it is a variable; a list for several results; or an `int` or
`SymExpr`. Bind intermediate results that deserve a name with `e.emit`. For unsupported arguments a row
raises `UnsupportedError("…")`: all such reasons are reported together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ...tables import Table

Converter = Callable[..., Any]
_Row = TypeVar("_Row", bound=Converter)

IGNORED = frozenset(("layout", "device", "pin_memory", "memory_format", "generator", "non_blocking", "copy"))
"""Arguments that are omitted: all tensors are dense, row-major and on the CPU, and random rows need no
generator.
"""


def _load_operators() -> None:
    from . import operators

    operators.load()


CONVERTERS: Table[Converter] = Table("converter", _load_operators)
"""The converter of each operator (`max`) or overload (`max.dim`)."""


row = CONVERTERS.row
"""The decorator of a converter, with the names of its operators or overloads."""


def add_rows(rows: Iterable[tuple[str, Converter]]) -> None:
    """Register a family of similar rows."""
    for name, function in rows:
        row(name)(function)


def lookup(operator: str, overload: str = "default") -> Converter | None:
    """Return the row for an overload of an operator, `lookup("max", "dim")`, or None if there is none."""
    return CONVERTERS.get(f"{operator}.{overload}") or CONVERTERS.get(operator)
