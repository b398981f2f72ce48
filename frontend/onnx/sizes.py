"""Symbolic sizes of a model: named dimensions, unnamed ones, and sizes only known at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...dialects.sym.expr import SymExpr, Var, as_expr
from ...handles.tir.dims import dim_of
from ...untrusted import ExpressionError, read_expression
from ..importing.names import Names

if TYPE_CHECKING:
    from onnx import TypeProto


Declared = list[SymExpr | None]
"""The declared extents of a value, None for those that are not declared."""


_ARITHMETIC: dict[str, Callable[[SymExpr, SymExpr], SymExpr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "//": operator.floordiv,
    "%": operator.mod,
}
"""The arithmetic in dimension names written by exporters; division is integer division."""


class Sizes:
    """The symbolic sizes of one function; equal names are the same size.

    `plain` are the names of dimensions on their own: expressions over these are parsed, any other text is a
    name.
    """

    def __init__(self, plain: Iterable[str] = ()):
        self._plain = frozenset(plain)
        self._names = Names(prefix="d")
        self._count = 0

    def named(self, text: str) -> SymExpr:
        """Return the size named `text` in the model: a variable, or an expression such as `2*n + 1`."""
        try:
            expr = self._arithmetic(read_expression(text, {}, _ARITHMETIC))
        except ExpressionError:
            expr = None
        return Var(self._names[text]) if expr is None or expr.constant is not None else expr

    def _arithmetic(self, tree: object) -> SymExpr | None:
        """Evaluate a syntax tree over known sizes, or return None if it is not arithmetic."""
        match tree:
            case int() if abs(tree) < 1 << 63:
                return as_expr(tree)
            case ("var", str() as name) if name in self._plain:
                return Var(self._names[name])
            case (str() as symbol, left, right) if symbol in _ARITHMETIC:
                a, b = self._arithmetic(left), self._arithmetic(right)
                return None if a is None or b is None or b.constant == 0 else _ARITHMETIC[symbol](a, b)
            case _:
                return None

    def fresh(self, hint: str) -> Var:
        """Return a new size."""
        self._count += 1
        return Var(self._names[f"{hint}_{self._count}"])

    def of(self, extent: Any) -> SymExpr:
        """Return an extent passed by the caller: a number, a name or an expression."""
        if isinstance(extent, str):
            return self.named(extent)
        return as_expr(extent) if isinstance(extent, int) else dim_of(extent)

    def shape_of(self, tensor: TypeProto.Tensor, name: str) -> list[SymExpr] | None:
        """Return the shape in the type of a value, or None if the type has none."""
        if not tensor.HasField("shape"):
            return None
        return [self._extent(d, f"{name}_{i}") for i, d in enumerate(tensor.shape.dim)]

    def declared(self, tensor: TypeProto.Tensor) -> Declared | None:
        """Return the declared shape of an intermediate value: numbers and sizes known so far, and None for other
        extents.

        Returns None if nothing is declared.
        """
        known = [self._declared(d) for d in tensor.shape.dim] if tensor.HasField("shape") else []
        return known if any(e is not None for e in known) else None

    def _declared(self, dim: Any) -> SymExpr | None:
        if dim.HasField("dim_value"):
            return as_expr(dim.dim_value) if dim.dim_value >= 0 else None
        return self.named(dim.dim_param) if dim.dim_param in self._names else None

    def _extent(self, dim: Any, place: str) -> SymExpr:
        if dim.HasField("dim_value"):
            return as_expr(dim.dim_value) if dim.dim_value >= 0 else self.fresh(place)
        return self.named(dim.dim_param) if dim.dim_param not in ("", "?") else self.fresh(place)
