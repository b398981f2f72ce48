"""The table of converters: for each operator of PyTorch a function that says it in Relax.

A row is a function by the name of an operator of ATen without its namespace, for all of its overloads, or by the name
of one overload where that means something else; the overload is looked up first. Other namespaces are written out.

    @row("rsub")
    def rsub(e: Emitter, x: Expr, other: Any, alpha: Any = 1) -> Expr:
        return subtract(e, other, x, alpha)

    @row("max.dim")                      # max.default and max.other have rows of their own
    @row("prims::convert_element_type")

Arguments are those of the operator's schema, in its order, with its defaults and, but for `self`, which is `x`, by its
names; those that say where and how a tensor lies (`IGNORED`) are left out. What the schema wants by keyword comes by
keyword. Callers that have no schema, such as the importer of torch.fx, call a row as a Python function.

| of the schema | as an argument of a row |
|---|---|
| Tensor | an `Expr`: a variable, or a constant |
| Tensor[], Tensor?[] | a list of them, with None |
| int, SymInt | an `int`, or a `SymExpr` where it is symbolic |
| Scalar, float, bool, str | Python's own |
| ScalarType | the name of a dtype, such as `"float32"` |

The result is an `Expr`, which is bound to a variable unless it is one; a list of results for several; or an `int` or
`SymExpr`. Intermediate results that a program by hand would name are bound with `e.emit`. What an operator cannot do of
certain arguments it says by `raise UnsupportedError("…")`: such reasons are all reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ...tables import Table

Converter = Callable[..., Any]
_Row = TypeVar("_Row", bound=Converter)

IGNORED = frozenset(("layout", "device", "pin_memory", "memory_format", "generator", "non_blocking", "copy"))
"""Arguments that are left out: all tensors are dense, row major and on the CPU, and random numbers have no row."""


def _load_operators() -> None:
    from . import operators

    operators.load()


CONVERTERS: Table[Converter] = Table("converter", _load_operators)
"""The converter of each operator (`max`) or overload (`max.dim`)."""


row = CONVERTERS.row
"""The decorator of a converter, with the names of its operators or overloads."""


def add_rows(rows: Iterable[tuple[str, Converter]]) -> None:
    """Add rows of a family that differ in little."""
    for name, function in rows:
        row(name)(function)


def lookup(operator: str, overload: str = "default") -> Converter | None:
    """The row for an overload of an operator: `lookup("max", "dim")`; None where there is none."""
    return CONVERTERS.get(f"{operator}.{overload}") or CONVERTERS.get(operator)
