"""Classification losses."""

from __future__ import annotations

from xdsl.ir import Attribute

from ..dtypes import is_float
from .indexing import integer_tensor, same_dtype
from .operator import Operator, operator
from .types import TensorType


def _float_predictions(op: Operator) -> TensorType:
    t = op.tensor("predictions")
    if t.element is not None and not is_float(t.element):
        op.fail_dtype("argument predictions must be of a floating point type", "float32", t.element)
    return t


@operator("relax.nn.cross_entropy_with_logits", "predictions labels")
class CrossEntropyWithLogits(Operator):
    """-sum(predictions * labels), divided by the first extent if there are several dimensions."""

    def infer(self) -> Attribute:
        a, b = _float_predictions(self), self.tensor("labels")
        same_dtype(self, "predictions", "labels")
        if a.rank is not None and b.rank is not None and a.rank != b.rank:
            self.fail_shape("argument labels must have the rank of predictions", a.rank, b.rank)
        for i, (x, y) in enumerate(zip(a.dims or (), b.dims or (), strict=False)):
            self.require_equal(x, y, f"argument labels has another extent in dimension {i}", x, y)
        return TensorType.of([], a.element)


@operator("relax.nn.nll_loss", "predictions targets weights?", reduction="mean", ignore_index=-100)
class NLLLoss(Operator):
    """-predictions[…, target, …] * weights[target], 0 if the target is `ignore_index`.

    predictions are (batch, classes, …), targets (batch, …), or (classes,) and a scalar. `reduction`: `none`, `sum`, or
    `mean` (the sum divided by the sum of the weights).
    """

    def infer(self) -> Attribute:
        p, t = _float_predictions(self), integer_tensor(self, "targets")
        if self.attr("reduction") not in ("none", "sum", "mean"):
            self.fail_shape("attribute reduction is unknown", "none, sum, mean", self.attr("reduction"))
        if p.rank == 0:
            self.fail_shape("argument predictions must have a dimension of classes", "rank 1 or more", 0)
        if p.rank is not None and t.rank is not None and p.rank != t.rank + 1:
            self.fail_shape("argument targets must have a dimension less than predictions", p.rank - 1, t.rank)
        self._check_targets(p, t)
        self._check_weights(p)
        if self.attr("reduction") != "none":
            return TensorType.of([], p.element)
        if p.dims is None:
            return TensorType.of(None, p.element, None if p.rank is None else p.rank - 1)
        return TensorType.of([*p.dims[:1], *p.dims[2:]] if len(p.dims) > 1 else [], p.element)

    def _check_targets(self, p: TensorType, t: TensorType) -> None:
        others = () if p.dims is None else (*p.dims[:1], *p.dims[2:]) if len(p.dims) > 1 else ()
        for i, (a, b) in enumerate(zip(others, t.dims or (), strict=False)):
            self.require_equal(a, b, f"argument targets has another extent than predictions in dimension {i}", a, b)

    def _check_weights(self, p: TensorType) -> None:
        if len(self.operands) < 3:
            return
        same_dtype(self, "predictions", "weights")
        w = self.tensor("weights")
        if w.rank not in (None, 1):
            self.fail_shape("argument weights must be a vector", "rank 1", w.rank)
        if p.dims is not None and w.dims is not None:
            classes = p.dims[min(1, len(p.dims) - 1)]
            self.require_equal(
                classes, w.dims[0], "argument weights must have an element for each class", classes, w.dims[0]
            )
