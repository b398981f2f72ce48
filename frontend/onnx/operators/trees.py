"""Ensembles of decision trees, of the domain ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....handles.relax.expr import Expr
from ....topi.trees import Form, tree_ensemble
from ..forests import Forest, forest_of_leaves, forest_of_nodes, tables_of
from ..masked_trees import masked_tables
from ..node import Node
from ..table import converter
from ..values import Output, Value, as_value, op
from .classical import ML, POST_TRANSFORMS, binary_scores, class_labels, labels_of_best, matrix, transformed
from .elementwise import converted


@converter("TreeEnsembleRegressor", domain=ML)
def tree_regressor(node: Node, x: Value) -> Output:
    """Return a float32 for each target, whatever the input's dtype."""
    targets = node.attr("n_targets", 1)
    forest = forest_of_nodes(_attributes(node, "target_weights"), "target", targets)
    y = _aggregated(node, x, forest, node.attr("aggregate_function"))
    base = _base_values(node)
    y = y if base is None else op("add", y, Value.constant(base, as_value(y).dtype))
    return converted(as_value(transformed(node, converted(as_value(y), "float32"))), "float32")


@converter("TreeEnsemble", since=5, domain=ML)
def trees(node: Node, x: Value) -> Output:
    names = ("AVERAGE", "SUM", "MIN", "MAX")
    number, post = node.attr("aggregate_function", 1), node.attr("post_transform", 0)
    if not 0 <= number < len(names) or not 0 <= post < len(POST_TRANSFORMS):
        raise node.error("an attribute has a value that means nothing here", found=(number, post))
    y = _aggregated(node, x, forest_of_leaves(_Attributes(node)), names[number])
    return converted(as_value(transformed(node, y, POST_TRANSFORMS[post])), x.dtype)


@converter("TreeEnsembleClassifier", domain=ML)
def tree_classifier(node: Node, x: Value) -> tuple[Output, Output]:
    """Return labels and float32 scores. All weights of one class of two: the score of the other is its opposite."""
    labels = class_labels(node, "classlabels_int64s")
    attributes = _attributes(node, "class_weights")
    ids = sorted(set(attributes["class_ids"]))
    y: Any = _aggregated(node, x, forest_of_nodes(attributes, "class", max(len(labels), 2)), "SUM")
    base = _base_values(node)
    if len(ids) == 1 and len(labels) <= 2:
        y = op("strided_slice", y, axes=[1], begin=[ids[0]], end=[ids[0] + 1])
        if base is not None:
            y = op("add", y, Value.constant(base[-1], as_value(y).dtype))
        positive = min(attributes["class_weights"]) >= 0
        return binary_scores(node, converted(as_value(y), "float32"), labels, positive)
    y = y if base is None else op("add", y, Value.constant(base, as_value(y).dtype))
    scores = node.emit(as_value(transformed(node, converted(as_value(y), "float32"))).expr)
    return labels_of_best(node, scores, labels), scores


class _Attributes(dict[str, Any]):
    """The attributes of a node, whose missing ones are errors of the model."""

    def __init__(self, node: Node):
        super().__init__(node.attributes)
        self._node = node

    def __missing__(self, name: str) -> Any:
        raise self._node.error(f"the attribute {name} is missing")


def _attributes(node: Node, weights: str) -> dict[str, Any]:
    """Return the attributes, with those that may be tensors under their plain names."""
    result = _Attributes(node)
    for name in ("nodes_values", weights):
        if result.get(f"{name}_as_tensor") is not None:
            result[name] = result[f"{name}_as_tensor"].tolist()
    return result


def _base_values(node: Node) -> Any:
    tensor = node.attr("base_values_as_tensor")
    values = node.attr("base_values") if tensor is None else tensor.tolist()
    return values or None


def _aggregated(node: Node, x: Value, forest: Forest, function: str) -> Expr:
    """Return the aggregated weights of the leaves in float64: votes of trees that are even stay so when rounded."""
    if function not in ("SUM", "AVERAGE", "MIN", "MAX"):
        raise node.error("an attribute has a value that means nothing here", found=function)
    dtype = "float64" if x.dtype == "float64" else "float32"
    data = as_value(node.emit(as_value(matrix(node, x, dtype)).expr))
    features = data.dims[1].constant
    if features is None:
        raise node.unsupported("a symbolic number of features")
    combined = "SUM" if function == "AVERAGE" else function
    t = tables_of(forest, features, np.dtype(dtype).type, combined)
    if t.missing:
        low = op("where", op("isnan", data), float("-inf"), data)
        data = as_value(node.emit(op("concat", [data, low], axis=1)))
    masks = masked_tables(t, forest.targets, combined)
    tables = [t.nodes, t.roots, t.depths, *([] if t.is_single else [t.begins, t.targets, t.weights])]
    operands = [Value.constant(a) for a in [*tables, *(masks.operands if masks else [])]]
    form = Form(forest.targets, combined, t.is_single, masks.classes if masks else ())
    y = node.emit(node.call_te(tree_ensemble, data, *operands, form=form))
    return op("divide", y, float(len(forest.roots))) if function == "AVERAGE" else y
