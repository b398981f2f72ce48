"""Gradients of pools and losses: an element of a pool gathers from the windows that contain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...dialects.relax.grad import POOL_BACKWARD, PoolBackward
from ...dialects.relax.operator import Operator
from ...dialects.sym.expr import Const
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.broadcast import Indices, over_axes
from ...te.tensor import Tensor, compute
from ...topi import broadcast as bc
from ...topi import reduction as rd
from ...transforms.legalize.legalize_rules import Emit, LegalizeRule, operand
from .losses import ones_of_classes
from .pooling import padded_data, spatial_places


@dataclass(frozen=True)
class Windows:
    """Windows of height and width along the dimensions `places`."""

    places: Sequence[int]
    size: Sequence[int]
    strides: Sequence[int]
    head: Sequence[int]
    tail: Sequence[int]

    def axes(self, dtype: Any, letters: str, extents: Sequence[int]) -> list[IterVar]:
        """Return reduction axes for the height and the width."""
        names = (f"{letters}h", f"{letters}w") if letters == "d" else ("wh", "ww")
        return [
            IterVar(n, Const(0, dtype), Const(k, dtype), is_reduction=True) for n, k in zip(names, extents, strict=True)
        ]

    def covering(self, dtype: Any) -> list[IterVar]:
        """Return axes over the windows that contain an element."""
        return self.axes(dtype, "w", [(k + s - 1) // s for k, s in zip(self.size, self.strides, strict=True)])

    def windows(self, i: Indices, back: Sequence[IterVar]) -> tuple[list[PrimExpr], list[PrimExpr], list[PrimExpr]]:
        """Return for the element `i` its padded indices, the indices of a window that contains it, the first such."""
        padded, at, first = list(i), list(i), list[PrimExpr]()
        for n, p in enumerate(self.places):
            dtype = i[p].type
            size, step = tx.const(self.size[n], dtype), tx.const(self.strides[n], dtype)
            padded[p] = i[p] + tx.const(self.head[n], dtype)
            at[p] = tx.div(padded[p], step) - back[n]
            before = tx.div(padded[p] - size, step) + 1
            first.append(tx.select(padded[p] < size, tx.const(0, dtype), before))
        return padded, at, first


def max_pool_backward(grads: Tensor, data: Tensor, windows: Windows) -> Any:
    """Return the gradient of a maximum: that of each window goes to its first greatest element."""
    dtype = data.dims[windows.places[0]].dtype
    padded = padded_data(data, windows.places, windows.head, windows.tail, True)
    extents = [from_sym(d) for d in padded.dims]
    points = windows.axes(dtype, "d", windows.size)

    def position(i: Sequence[PrimExpr]) -> PrimExpr:
        out = i[0]
        for v, extent in zip(i[1:], extents[1:], strict=True):
            out = out * extent + v
        return out

    def greatest(i: Indices) -> Any:
        at = list(i)
        for p, k, s in zip(windows.places, points, windows.strides, strict=True):
            at[p] = i[p] * tx.const(s, i[p].type) + k
        return red.make_reduce(rd.TVM_ARGMAX, (position(at), padded(*at)), points)

    places, _ = over_axes(grads.dims, greatest, "maxpool_grad_argmax", "comm_reduce_idx")
    back = windows.covering(dtype)

    def element(i: Indices) -> Any:
        own, at, first = windows.windows(i, back)
        near = [f <= at[p] for f, p in zip(first, windows.places, strict=True)]
        chosen = tx.logical_and(*near, tx.equal(places(*at), position(own)))
        return red.sum(tx.if_then_else(chosen, grads(*at), tx.const(0, data.type)), axis=back)

    return over_axes(data.dims, element, "T_pool_grad", "pool_grad_max")


def avg_pool_backward(grads: Tensor, data: Tensor, windows: Windows, padded: bool) -> Any:
    """Return the gradient of a mean: that of each window is shared by its elements, the padding, too, if `padded`."""
    back = windows.covering(data.dims[windows.places[0]].dtype)

    def count(at: Sequence[PrimExpr]) -> PrimExpr:
        if padded:
            return tx.const(windows.size[0] * windows.size[1], at[0].type)
        out: PrimExpr | None = None
        for n, p in enumerate(windows.places):
            dtype = at[p].type
            start = at[p] * tx.const(windows.strides[n], dtype) - tx.const(windows.head[n], dtype)
            end = tx.minimum(start + tx.const(windows.size[n], dtype), from_sym(data.dims[p]))
            extent = end - tx.maximum(start, tx.const(0, dtype))
            out = extent if out is None else out * extent
        return tx.maximum(cast(PrimExpr, out), tx.const(1, at[0].type))

    def element(i: Indices) -> Any:
        _, at, first = windows.windows(i, back)
        near: list[PrimExpr] = []
        for f, p in zip(first, windows.places, strict=True):
            near += [f <= at[p], at[p] < from_sym(grads.dims[p])]
        share = tx.div(grads(*at), count(at).astype(grads.type))
        return red.sum(tx.if_then_else(tx.logical_and(*near), share, tx.const(0, grads.type)), axis=back)

    return over_axes(data.dims, element, "T_pool_grad", "pool_grad_avg")


def _pool_backward(op: Operator) -> Emit | None:
    back = cast(PoolBackward, op)
    if any(d != 1 for d in op.attr("dilation")):
        return None
    padding, strides, places = list(op.attr("padding")), op.attr("strides"), spatial_places(op.attr("layout"))
    tail = [t + (s - 1 if op.attr("ceil_mode") else 0) for t, s in zip(padding[2:], strides, strict=True)]
    windows = Windows(places, op.attr("pool_size"), strides, padding[:2], tail)
    args: tuple[Any, ...] = (operand(op, "output_grad"), operand(op, "data"), windows)
    name = op.name.removeprefix("relax.grad.")
    if back.KIND == "max":
        return Emit(max_pool_backward, args, name)
    return Emit(avg_pool_backward, (*args, bool(op.attr("count_include_pad"))), name)


def nll_loss_backward(
    grads: Tensor, predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Any:
    """Return the gradient of `nn.nll_loss` by the predictions."""
    zero = tx.const(0, predictions.type)
    if ignore_index >= 0:
        given = weights

        def kept(i: PrimExpr) -> PrimExpr:
            return tx.select(tx.equal(i, tx.const(ignore_index, i.type)), tx.const(0, given.type), given(i))

        weights = compute(given.dims, kept, "weights_new")
    used = compute(targets.dims, lambda *i: weights(targets(*i)), "all_weights")
    if reduction != "none":
        grads = bc.broadcast_to(grads, targets.dims)
    if reduction == "mean":
        grads = bc.divide(grads, rd.sum(used) if used.ndim else used)
    axis = min(1, predictions.ndim - 1)

    def element(*i: PrimExpr) -> PrimExpr:
        own = (*i[:axis], *i[axis + 1 :])
        value = used(*own) * tx.const(-1, used.type) * grads(*own)
        return tx.select(tx.equal(i[axis], targets(*own)), value, zero)

    names = [f"i{n}" for n in range(predictions.ndim)] if axis else ["i"]
    return compute(predictions.dims, element, "pred_grad", "", None, names)


def _unweighted(grads: Tensor, predictions: Tensor, targets: Tensor, reduction: str, ignore_index: int) -> Any:
    return nll_loss_backward(grads, predictions, targets, ones_of_classes(predictions), reduction, ignore_index)


def _nll_loss_backward(op: Operator) -> Emit:
    grads, predictions, targets, weights = op.args
    attrs = (op.attr("reduction"), op.attr("ignore_index"))
    if weights is None:
        return Emit(_unweighted, (grads, predictions, targets, *attrs), "te_nll_loss_backward_no_weight")
    return Emit(nll_loss_backward, (grads, predictions, targets, weights, *attrs), "nll_loss_backward")


RULES: dict[str, LegalizeRule] = {
    **{cls.name: _pool_backward for (_, rank), cls in POOL_BACKWARD.items() if rank == 2},
    "relax.grad.nll_loss_backward": _nll_loss_backward,
}
