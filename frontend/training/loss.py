"""Losses: each builds a Relax function of predictions and targets, for tensors of given struct info."""

from __future__ import annotations

from typing import Any, Literal

from ...diagnostics import TiraxError
from ...handles.relax.calls import call_operator
from ...handles.relax.expr import Expr, Var
from ...handles.relax.function import Function
from ...handles.struct_info import TensorStructInfo
from ..block_builder import BlockBuilder

Reduction = Literal["mean", "sum", "none"]


class Loss:
    """Base class of losses: `loss(predictions, targets)` returns the function for tensors of this struct info.

    `reduction`: `mean` or `sum` of the losses of all elements, or `none`. Raises `TiraxError` for others.
    """

    _NAMES = ("predictions", "targets", "weights")

    def __init__(self, loss_name: str, num_backbone_outputs: int = 1, reduction: Reduction = "mean"):
        if reduction not in ("mean", "sum", "none"):
            raise TiraxError("the reduction is unknown", expected="mean, sum or none", found=reduction)
        self._loss_name = loss_name
        self._reduction = reduction
        self._num_backbone_outputs = num_backbone_outputs

    @property
    def num_backbone_outputs(self) -> int:
        """The number of model results that are arguments of the loss."""
        return self._num_backbone_outputs

    def _elements(self, bb: BlockBuilder, *args: Var) -> Expr:
        """Return the losses of the elements, or the reduced loss if `_reduces`."""
        raise NotImplementedError(self._loss_name)

    _reduces = True

    def __call__(self, predictions: Any, targets: Any, weights: Any = None) -> Function:
        """Return the function for arguments of the given struct info (or like the given variables)."""
        return self.function(predictions, targets, *([] if weights is None else [weights]))

    def function(self, *args: Any) -> Function:
        """Return the function for arguments of a number that `num_backbone_outputs` determines."""
        infos = [a.struct_info if isinstance(a, Expr) else a for a in args]
        params = [Var(name, info) for name, info in zip(self._NAMES, infos, strict=False)]
        bb = BlockBuilder()
        with bb.function(self._loss_name, params):
            with bb.dataflow():
                value = self._elements(bb, *params)
                if self._reduces and self._reduction != "none":
                    value = call_operator(f"relax.{self._reduction}", value)
                result = bb.emit_output(value)
            bb.emit_func_output(result)
        return bb.get()[self._loss_name]


class L1Loss(Loss):
    """The absolute difference: |predictions - targets|."""

    def __init__(self, reduction: Reduction = "mean"):
        super().__init__("l1_loss", reduction=reduction)

    def _elements(self, bb: BlockBuilder, *args: Var) -> Expr:
        predictions, targets = args
        return call_operator("relax.abs", predictions - targets)


class MSELoss(Loss):
    """The squared difference: (predictions - targets) ** 2."""

    def __init__(self, reduction: Reduction = "mean"):
        super().__init__("mse_loss", reduction=reduction)

    def _elements(self, bb: BlockBuilder, *args: Var) -> Expr:
        predictions, targets = args
        difference = bb.emit(predictions - targets)
        return difference * difference


class CrossEntropyLoss(Loss):
    """nll_loss(log_softmax(predictions), targets) with label targets; an optional third argument are class weights.

    Targets equal to `ignore_index` do not count.
    """

    _reduces = False

    def __init__(self, reduction: Reduction = "mean", ignore_index: int = -100):
        super().__init__("cross_entropy_loss", reduction=reduction)
        self.ignore_index = ignore_index

    def _elements(self, bb: BlockBuilder, *args: Var) -> Expr:
        predictions, targets, *weights = args
        logits = bb.emit(call_operator("relax.nn.log_softmax", predictions))
        return self._class_index_loss(logits, targets, weights[0] if weights else None)

    def _class_index_loss(self, logits: Expr, targets: Expr, weights: Expr | None) -> Expr:
        return call_operator("relax.nn.nll_loss", logits, targets, weights, self._reduction, self.ignore_index)


class CategoricalCrossEntropyLoss(CrossEntropyLoss):
    """-log_softmax(predictions) * targets with one-hot targets.

    With weights, or a non-negative `ignore_index`, the labels are the positions of the largest targets.
    """

    def __init__(self, reduction: Reduction = "mean", ignore_index: int = -100):
        super().__init__(reduction, ignore_index)
        self._loss_name = "categorical_cross_entropy_loss"

    def _elements(self, bb: BlockBuilder, *args: Var) -> Expr:
        predictions, targets, *weights = args
        logits = bb.emit(call_operator("relax.nn.log_softmax", predictions))
        if weights or self.ignore_index >= 0:
            labels = bb.emit(call_operator("relax.argmax", targets, axis=1))
            flat = call_operator("relax.reshape", labels, (-1,))
            return self._class_index_loss(logits, flat, weights[0] if weights else None)
        info = predictions.struct_info
        dtype = info.dtype if isinstance(info, TensorStructInfo) else None
        product = bb.emit(-logits * call_operator("relax.astype", targets, dtype))
        return product if self._reduction == "none" else call_operator(f"relax.{self._reduction}", product)


__all__ = ["CategoricalCrossEntropyLoss", "CrossEntropyLoss", "L1Loss", "Loss", "MSELoss"]
