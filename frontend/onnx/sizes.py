"""Symbolic sizes of a model: its named dimensions, those without a name, and sizes that only a run gives."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...dialects.sym.expr import SymExpr, Var, as_expr
from ...handles.tir.dims import dim_of
from ..importing.names import Names

if TYPE_CHECKING:
    from onnx import TypeProto


Declared = list[SymExpr | None]
"""Extents that a model declares, None for those that it does not."""


_ARITHMETIC: dict[type[ast.operator], Callable[[SymExpr, SymExpr], SymExpr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
"""The arithmetic of dimensions that exporters write as text; a quotient is a whole number."""


class Sizes:
    """The symbolic sizes of one function; the same name is the same size."""

    def __init__(self):
        self._names = Names(prefix="d")
        self._count = 0

    def named(self, text: str) -> SymExpr:
        """The size that the model calls `text`: a variable, or arithmetic on some such as `2*n + 1`."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError:
            return Var(self._names[text])
        expr = self._arithmetic(tree)
        return Var(self._names[text]) if expr is None else expr

    def _arithmetic(self, tree: ast.expr) -> SymExpr | None:
        """What a syntax tree says of sizes, None where it is no arithmetic on them."""
        if isinstance(tree, ast.Name):
            return Var(self._names[tree.id])
        if isinstance(tree, ast.Constant) and type(tree.value) is int:
            return as_expr(tree.value)
        build = _ARITHMETIC.get(type(tree.op)) if isinstance(tree, ast.BinOp) else None
        if build is None or not isinstance(tree, ast.BinOp):
            return None
        left, right = self._arithmetic(tree.left), self._arithmetic(tree.right)
        return None if left is None or right is None or right.constant == 0 else build(left, right)

    def fresh(self, hint: str) -> Var:
        """A size of its own."""
        self._count += 1
        return Var(self._names[f"{hint}_{self._count}"])

    def of(self, extent: Any) -> SymExpr:
        """An extent that a caller gave: a number, a name or an expression."""
        if isinstance(extent, str):
            return self.named(extent)
        return as_expr(extent) if isinstance(extent, int) else dim_of(extent)

    def shape_of(self, tensor: TypeProto.Tensor, name: str) -> list[SymExpr] | None:
        """The shape in the type of a value, None where the type has none."""
        if not tensor.HasField("shape"):
            return None
        return [self._extent(d, f"{name}_{i}") for i, d in enumerate(tensor.shape.dim)]

    def declared(self, tensor: TypeProto.Tensor) -> Declared | None:
        """What the model says of the shape of a value between others: numbers, and names of sizes that are known by
        now; None for all else, and instead of it where there is nothing."""
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
