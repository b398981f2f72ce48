"""Support vector machines, of the domain ai.onnx.ml."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ....handles.relax.expr import Expr
from ....topi.pairwise import class_probabilities
from ..node import Node
from ..table import converter
from ..values import Output, Value, as_value, op
from .classical import ML, Labels, class_labels, labels_of_best, matrix, transformed
from .elementwise import converted


def _inputs(node: Node, x: Value) -> Value:
    dtype = "float64" if x.dtype == "float64" else "float32"
    return as_value(node.emit(as_value(matrix(node, x, dtype)).expr))


def _kernel(node: Node, x: Value, vectors: Any) -> Expr:
    """Return the kernel's value of each row and each support vector."""
    kind = node.attr("kernel_type")
    gamma, coef0, degree = node.attr("kernel_params") or (0.0, 0.0, 0.0)
    if kind == "RBF":
        difference = op("subtract", op("expand_dims", x, axis=[1]), Value.constant(vectors, x.dtype))
        distance = op("sum", op("power", difference, 2.0), axis=[2])
        return op("exp", op("multiply", distance, -gamma))
    product = op("matmul", x, Value.constant(np.ascontiguousarray(vectors.T), x.dtype))
    if kind == "LINEAR":
        return product
    affine = op("add", op("multiply", product, gamma), coef0)
    if kind == "SIGMOID":
        return op("tanh", affine)
    if kind != "POLY":
        raise node.error("an attribute has a value that means nothing here", found=kind)
    return op("power", affine, float(int(degree)))


def _floats(node: Node, name: str) -> Any:
    if not node.attr(name):
        raise node.error(f"the attribute {name} is missing")
    return np.array(node.attr(name), np.float64)


def _as_rows(node: Node, name: str, rows: int, columns: int = -1) -> Any:
    values = _floats(node, name)
    if values.size % abs(rows * columns) or not values.size:
        raise node.error(f"the attribute {name} is no matrix", expected=(rows, columns), found=values.size)
    return values.reshape(rows, columns)


@converter("SVMRegressor", domain=ML)
def svm_regressor(node: Node, x: Value) -> Output:
    data = _inputs(node, x)
    count = node.attr("n_supports", 0)
    kernel = _kernel(node, data, _as_rows(node, "support_vectors", count)) if count else data
    y = op("matmul", kernel, Value.constant(_as_rows(node, "coefficients", -1, 1), data.dtype))
    y = op("add", y, float(_floats(node, "rho")[0]))
    if node.attr("one_class"):
        one = Value.constant(1.0, "float32")
        return op("where", op("greater", y, 0), one, Value.constant(-1.0, "float32"))
    return transformed(node, converted(as_value(y), "float32"))


@converter("SVMClassifier", domain=ML)
def svm_classifier(node: Node, x: Value) -> tuple[Output, Output]:
    """Return labels and scores: of a linear machine for each class, else of each pair of classes, with probabilities
    for each class.
    """
    labels = class_labels(node, "classlabels_ints")
    data = _inputs(node, x)
    if not sum(node.attr("vectors_per_class") or []):
        return _linear(node, data, labels)
    pairs = _pairs(node, data, len(labels))
    label = labels_of_best(node, _votes(pairs, len(labels)), labels)
    if node.attr("prob_a"):
        a, b = (Value.constant(_floats(node, name), data.dtype) for name in ("prob_a", "prob_b"))
        odds = op("sigmoid", op("negative", op("add", op("multiply", pairs, a), b)))
        pairs = node.emit(node.call_te(class_probabilities, node.emit(odds), len(labels)))
    elif len(labels) == 2 and node.attr("post_transform") != "PROBIT":
        pairs = node.emit(op("concat", [op("negative", pairs), pairs], axis=1))
    return label, transformed(node, converted(as_value(pairs), "float32"))


def _linear(node: Node, x: Value, labels: Labels) -> tuple[Output, Output]:
    weights = np.ascontiguousarray(_as_rows(node, "coefficients", len(labels)).T)
    y = op("add", op("matmul", x, Value.constant(weights, x.dtype)), float(_floats(node, "rho")[0]))
    scores = node.emit(as_value(converted(as_value(y), "float32")).expr)
    if len(labels) == 1:
        return op("squeeze", op("astype", op("greater", scores, 0), dtype="int64"), axis=[1]), scores
    return labels_of_best(node, scores, labels), transformed(node, scores)


def _pairs(node: Node, x: Value, classes: int) -> Expr:
    """Return the score of each pair of classes, positive for the first one."""
    counts = node.attr("vectors_per_class")
    pairs, rho = list(combinations(range(classes), 2)), _floats(node, "rho")
    if len(counts) != classes or len(rho) < len(pairs):
        raise node.error("each class has vectors, each pair of them a rho", expected=classes, found=len(counts))
    starts = np.cumsum([0, *counts])
    coefficients = _as_rows(node, "coefficients", classes - 1, int(starts[-1]))
    weights = np.zeros((starts[-1], len(pairs)))
    for k, (i, j) in enumerate(pairs):
        first, second = (slice(starts[c], starts[c + 1]) for c in (i, j))
        weights[first, k], weights[second, k] = coefficients[j - 1, first], coefficients[i, second]
    kernel = _kernel(node, x, _as_rows(node, "support_vectors", int(starts[-1])))
    y = op("matmul", kernel, Value.constant(weights, x.dtype))
    return node.emit(op("add", y, Value.constant(rho[: len(pairs)], x.dtype)))


def _votes(pairs: Expr, classes: int) -> Expr:
    """Return how many pairs each class wins."""
    change = np.zeros((classes * (classes - 1) // 2, classes), np.float32)
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        change[k, i], change[k, j] = 1, -1
    won = op("astype", op("greater", pairs, 0), dtype="float32")
    lost = Value.constant(np.maximum(-change, 0).sum(axis=0))
    return op("add", op("matmul", won, Value.constant(change)), lost)
