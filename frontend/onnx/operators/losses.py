"""Loss functions."""

from __future__ import annotations

from typing import Any

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..values import Value, as_value, op

_NO_CLASS = -(2**31)
"""A class index that no class has."""


def _nll(node: Node, predictions: Value, target: Value, weights: Value | None) -> Expr:
    """Return -predictions[…, target, …] * weights[target] over one spatial dimension, reduced as the node specifies."""
    ignored = node.attr("ignore_index", _NO_CLASS)
    attrs = {"reduction": node.attr("reduction"), "ignore_index": ignored}
    return op("nn.nll_loss", predictions, target, weights, **attrs)


@converter("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node: Node, x: Value, target: Value, weights: Value | None = None) -> Expr:
    return _nll(node, x, target, weights)


@converter("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node: Node, x: Value, target: Value, weights: Value | None = None) -> Any:
    """Return the loss and the log-probabilities."""
    logs = as_value(node.emit(op("nn.log_softmax", x, axis=1)))
    return _nll(node, logs, target, weights), logs
