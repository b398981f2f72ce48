"""Losses of classification."""

from __future__ import annotations

from typing import Any

from ...dialects.relax.operator import Operator
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr
from ...te.broadcast import Indices, over_axes
from ...te.tensor import Tensor
from ...topi import broadcast as bc
from ...topi import elementwise as ew
from ...topi import reduction as rd
from ...transforms.legalize.legalize_rules import Emit


def nll_loss(predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int) -> Any:
    """Return the negative predictions of the targets times the weights of their classes, 0 for `ignore_index`."""
    zero = tx.const(0, predictions.type)

    def kept(i: Indices, value: PrimExpr) -> PrimExpr:
        return tx.select(tx.not_equal(targets(*i), tx.const(ignore_index, targets.type)), value, zero)

    def loss(i: Indices) -> PrimExpr:
        target = targets(*i)
        own = predictions(*i[:1], target, *i[1:])
        return kept(i, (zero - own) * weights(target))

    losses = over_axes(targets.dims, loss, "nll_loss", "broadcast")
    if reduction == "mean":
        used = over_axes(targets.dims, lambda i: kept(i, weights(targets(*i))), "nll_loss", "broadcast")
        return bc.divide(losses, used) if not targets.ndim else bc.divide(rd.sum(losses), rd.sum(used))
    return rd.sum(losses) if reduction == "sum" and targets.ndim else losses


def _unweighted(predictions: Tensor, targets: Tensor, reduction: str, ignore_index: int) -> Any:
    return nll_loss(predictions, targets, ones_of_classes(predictions), reduction, ignore_index)


def ones_of_classes(predictions: Tensor) -> Tensor:
    """Return a weight of 1 for each class."""
    return ew.full([predictions.dims[min(1, predictions.ndim - 1)]], predictions.type, 1.0)


def _nll_loss(op: Operator) -> Emit:
    predictions, targets, weights = op.args
    attrs = (op.attr("reduction"), op.attr("ignore_index"))
    if weights is None:
        return Emit(_unweighted, (predictions, targets, *attrs), "nll_loss_without_weight")
    return Emit(nll_loss, (predictions, targets, weights, *attrs), "nll_loss")


RULES = {"relax.nn.nll_loss": _nll_loss}
