"""Fuse the transposition of a matrix into its product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const
from ...handles.tir.prim_expr import PrimExpr
from ...ir.passes.transform import Pass
from ...te import reduction
from ...te.axis import IterVar
from ...te.broadcast import broadcast_indices, broadcast_shapes
from ...te.tensor import Tensor, compute
from .rules import producer
from .te_calls import call_tensor_functions

_HALVES = (f16, bf16)


@dataclass(frozen=True)
class FuseTransposeMatmul(Pass):
    """Replace a product with a tensor whose last two dimensions are swapped by one tensor function, `NT_matmul`.

    wt = permute_dims(w); y = matmul(x, wt)  ->  y = call_tir(NT_matmul, (x, w))
    wide = astype(half); wt = permute_dims(wide); y = matmul(x, wt)  ->  y = call_tir(NT_matmul, (x, half))

    Products of unknown sizes are kept. The transposed tensor is removed if it has no other use.
    """

    name = "fuse-transpose-matmul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        call_tensor_functions(op, {"relax.matmul": _matmul})


def _matmul(op: Operator) -> tuple[Callable[..., Any], list[SSAValue], str] | None:
    x, weights = op.operands
    transpose = producer(weights, "permute_dims")
    if transpose is None or not isinstance(weights.type, TensorType) or (rank := weights.type.rank) is None or rank < 2:
        return None
    axes = transpose.attr("axes")
    if axes is None and rank > 2:
        return None
    if axes is not None and [a % rank for a in axes] != [*range(rank - 2), rank - 1, rank - 2]:
        return None
    out = op.results[0].type
    assert isinstance(out, TensorType) and out.element is not None
    return partial(nt_matmul, out_dtype=out.element), [x, _before_widening(transpose.operands[0])], "NT_matmul"


def _before_widening(value: SSAValue) -> SSAValue:
    """Return the 16-bit source of float32 numbers: kernels widen as they load, which is as exact and reads less."""
    cast = producer(value, "astype")
    if cast is None or not isinstance(value.type, TensorType) or value.type.element != f32:
        return value
    (source,) = cast.operands
    halves = isinstance(source.type, TensorType) and source.type.element in _HALVES
    return source if halves else value


def nt_matmul(a: Tensor, b: Tensor, out_dtype: Attribute) -> Tensor:
    """Return the product of `a` and of `b` with its last two dimensions swapped; the leading ones broadcast.

    `a` has the shape [K] or [..., M, K], `b` [..., N, K]; operands are converted to `out_dtype` first.
    """
    batch_a, batch_b = a.dims[:-2], b.dims[:-2]
    batch = broadcast_shapes([batch_a, batch_b]) if batch_a or batch_b else []
    rows, extent = list(a.dims[-2:-1]), a.dims[-1]
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> Any:
        own = i[: len(batch)]
        left = a(*broadcast_indices(batch_a, own, batch), *i[len(batch) : len(batch) + len(rows)], k)
        right = b(*broadcast_indices(batch_b, own, batch), *i[len(batch) + len(rows) :], k)
        return reduction.sum(left.astype(out_dtype) * right.astype(out_dtype), axis=k)

    return compute([*batch, *rows, b.dims[-2]], element, "NT_matmul")
