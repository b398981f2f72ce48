"""Linear algebra."""

from __future__ import annotations

from xdsl.ir import Attribute

from ..sym.expr import SymExpr
from .elementwise import broadcast_dims
from .operator import DTYPE, Operator, as_dtype, operator
from .types import TensorType


@operator("relax.matmul", "x1 x2", out_dtype=DTYPE)
class Matmul(Operator):
    """The matrix product of the last two dimensions, the leading ones broadcast; vectors as in numpy.

    The result is of `out_dtype` where that is given, and accumulates in it.
    """

    def infer(self) -> Attribute:
        a, b = self.tensor("x1"), self.tensor("x2")
        if a.element is not None and b.element is not None and a.element != b.element:
            self.fail_dtype("arguments x1 and x2 must have one dtype", a.element, b.element)
        dtype = as_dtype(self.attr("out_dtype")) or (a.element if b.element is not None else None)
        for name, t in (("x1", a), ("x2", b)):
            if t.rank == 0:
                self.fail_shape(f"argument {name} must have a dimension", "rank 1 or more", 0)
        if a.rank is None or b.rank is None:
            return TensorType.of(None, dtype)
        rank = max(a.rank, b.rank, 2) - (a.rank == 1) - (b.rank == 1)
        if a.dims is None or b.dims is None:
            return TensorType.of(None, dtype, rank)
        return TensorType.of(self._shape(a.dims, b.dims), dtype, rank)

    def _shape(self, a: tuple[SymExpr, ...], b: tuple[SymExpr, ...]) -> list[SymExpr] | None:
        inner_a, inner_b = a[-1], b[max(len(b) - 2, 0)]
        if (inner_a - inner_b).constant not in (None, 0):
            self.fail_shape("the last dimension of x1 must agree with x2", f"{inner_a} rows in x2", inner_b)
        if len(a) > 2 or len(b) > 2:
            batch = broadcast_dims(self, ("x1", "x2"), (a[:-2], b[:-2]))
            if batch is None:
                return None
        else:
            batch = ()
        return [*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ())]
