"""Attention helpers besides matrix products: key-value caches."""

from __future__ import annotations

from ..dialects.sym.expr import SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.tensor import Tensor, compute


def cached(past: Tensor, new: Tensor, starts: Tensor, length: SymExpr) -> Tensor:
    """Return `past` (batch, heads, length, size) with the rows of `new` written from `starts[batch]` on.

    The result has `length` rows; rows in neither tensor are zero.
    """

    def element(b: PrimExpr, h: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        row = i - starts(b).astype(i.type)
        is_new = tx.logical_and(row >= 0, row < from_sym(new.dims[2]))
        is_old = i < from_sym(past.dims[2])
        old = tx.if_then_else(is_old, past(b, h, i, j), tx.const(0, past.type))
        return tx.if_then_else(is_new, new(b, h, row, j), old)

    return compute([new.dims[0], new.dims[1], length, new.dims[3]], element, "cached")
