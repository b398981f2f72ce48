"""Einstein sums, outer products, quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ..dialects.sym.expr import Const, SymExpr
from ..ir import prim_expr as tx
from ..ir.prim_expr import PrimExpr
from ..te import reduction as red
from ..te.tensor import IterVar, Tensor, compute
from .util import Indices, over_axes, zero_like


def einsum(xs: Sequence[Tensor], inputs: Sequence[str], result: str, extents: Mapping[str, SymExpr]) -> Tensor:
    """The sum of products over the letters of `inputs` that `result` lacks; digits are dimensions that broadcast."""
    summed = [c for c in dict.fromkeys("".join(inputs)) if c not in result]
    ks = {c: IterVar(c, Const(0, extents[c].dtype), extents[c], is_reduction=True) for c in summed}

    def factor(x: Tensor, term: str, where: Mapping[str, PrimExpr]) -> PrimExpr:
        at = [zero_like(d) if c.isdigit() and d.constant == 1 else where[c] for c, d in zip(term, x.dims, strict=True)]
        return x(*at)

    def element(i: Indices) -> Any:
        where = {**dict(zip(result, i, strict=True)), **ks}
        out = factor(xs[0], inputs[0], where)
        for x, term in zip(xs[1:], inputs[1:], strict=True):
            out = out * factor(x, term, where)
        return red.sum(out, axis=list(ks.values()))

    return over_axes([extents[c] for c in result], element, "T_einsum", "einsum")


def outer(x: Tensor, y: Tensor) -> Tensor:
    """The products of each element of one vector with each of another."""
    return compute([x.dims[0], y.dims[0]], lambda i, j: x(i) * y(j), "outer")


def ewise_fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """x * y + z"""
    return over_axes(x.dims, lambda i: x(*i) * y(*i) + z(*i), "T_ewise_fma", "elemwise")


def _parameter(t: Tensor, i: Sequence[PrimExpr], axis: int) -> PrimExpr:
    return t(i[axis]) if t.ndim else t()


def quantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, dtype: Attribute) -> Tensor:
    """round(data / scale) + zero_point, limited to what `dtype` can hold."""
    low, high = (tx.const(float(bound(dtype).constant or 0), data.type) for bound in (tx.min_value, tx.max_value))

    def element(*i: PrimExpr) -> PrimExpr:
        scaled = tx.round_(tx.div(data(*i), _parameter(scale, i, axis).astype(data.type)))
        shifted = scaled + _parameter(zero_point, i, axis).astype(data.type)
        return tx.maximum(tx.minimum(shifted, high), low).astype(dtype)

    return compute(data.dims, element, "quantized", "injective")


def dequantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, dtype: Attribute) -> Tensor:
    """(data - zero_point) * scale"""

    def element(*i: PrimExpr) -> PrimExpr:
        moved = data(*i).astype(i32) - _parameter(zero_point, i, axis).astype(i32)
        return moved.astype(dtype) * _parameter(scale, i, axis).astype(dtype)

    return compute(data.dims, element, "dequantized", "injective")


__all__ = ["dequantize", "einsum", "ewise_fma", "outer", "quantize"]
