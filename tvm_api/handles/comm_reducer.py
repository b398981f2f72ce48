"""`tvm.tir.CommReducer`: a reducer by its variables, their combination and the values that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...handles.tir.prim_expr import PrimExpr
from ...te.reduction import Combiner, Reducer
from .tir_functor import substitute


class CommReducer(Reducer):
    """A commutative reduction: `result` combines `lhs` and `rhs`; `identity_element` leaves values as they are."""

    def __init__(
        self,
        lhs: Sequence[PrimExpr],
        rhs: Sequence[PrimExpr],
        result: Sequence[PrimExpr],
        identity_element: Sequence[PrimExpr],
        span: object = None,
    ):
        self.lhs, self.rhs = list(lhs), list(rhs)
        self.result, self.identity_element = list(result), list(identity_element)
        super().__init__(Combiner(self._combined, lambda types: tuple(self.identity_element)))

    def _combined(self, a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, ...]:
        values = dict(zip((*self.lhs, *self.rhs), (*a, *b), strict=True))
        return tuple(substitute(each, values) for each in self.result)


__all__ = ["CommReducer"]
