"""Models and features of classical machine learning, of the domain ai.onnx.ml; trees are in `trees.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....handles.relax.expr import Expr
from .. import strings
from ..node import Node
from ..table import converter
from ..values import Output, Value, as_value, op
from .elementwise import converted
from .indexing import from_front

ML = "ai.onnx.ml"

POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""By their numbers in `TreeEnsemble`."""


def matrix(node: Node, x: Value, dtype: str) -> Output:
    """Return the rows of features in a dtype; a vector is one row."""
    if x.rank not in (1, 2):
        raise node.error("the input has one row for each example", expected="rank 1 or 2", found=x.rank)
    return converted(x if x.rank == 2 else as_value(op("reshape", x, (1, x.dims[0]))), dtype)


def _floating(x: Value) -> str:
    """Return the dtype to compute in."""
    return "float64" if x.dtype == "float64" else "float32"


def _rows(node: Node, x: Value) -> Value:
    """Return the rows of features in the dtype to compute in, bound."""
    return as_value(node.emit(as_value(matrix(node, x, _floating(x))).expr))


def _single(x: Output) -> Output:
    return converted(as_value(x), "float32")


def transformed(node: Node, scores: Output, name: str | None = None) -> Output:
    """Return scores after the attribute `post_transform`, or that of a name."""
    name = name or node.attr("post_transform", "NONE")
    if name not in POST_TRANSFORMS:
        raise node.error("an attribute has a value that means nothing here", expected=POST_TRANSFORMS, found=name)
    if name == "NONE":
        return scores
    bound = node.emit(as_value(scores).expr)
    if name == "SOFTMAX":
        return op("nn.softmax", bound, axis=-1)
    if name == "LOGISTIC":
        return op("sigmoid", bound)
    return _softmax_zero(node, bound) if name == "SOFTMAX_ZERO" else _probit(node, bound)


def _softmax_zero(node: Node, x: Expr) -> Expr:
    """Return a softmax in which scores of zero stay so."""
    most = node.emit(op("max", x, axis=[-1], keepdims=True))
    other = op("greater", op("abs", x), 1e-7)
    shifted = op("exp", op("subtract", x, most))
    parts = node.emit(op("where", other, shifted, op("multiply", x, op("exp", op("negative", most)))))
    total = node.emit(op("sum", parts, axis=[-1], keepdims=True))
    return op("where", op("equal", total, 0), 0.5, op("divide", parts, total))


def _probit(node: Node, x: Expr) -> Expr:
    """Return the quantiles of the normal distribution, by the approximation of the inverse error function (Winitzki,
    2008) that ONNX defines them with.
    """
    y = node.emit(op("subtract", op("multiply", x, 2.0), 1.0))
    log = node.emit(op("log", op("multiply", op("subtract", 1.0, y), op("add", y, 1.0))))
    v = node.emit(op("add", op("multiply", log, 0.5), 2.0 / (math.pi * 0.147)))
    root = op("sqrt", op("subtract", op("multiply", v, v), op("multiply", log, 1.0 / 0.147)))
    size = op("sqrt", op("subtract", root, v))
    quantile = op("multiply", op("where", op("less", y, 0), op("negative", size), size), 1.41421356)
    return op("where", op("equal", op("abs", y), 1.0), 0.0, quantile)


Labels = list[int] | list[str]


def class_labels(node: Node, name: str) -> Labels:
    """Return the labels of a classifier."""
    labels = node.attr(name) or node.attr("classlabels_strings")
    if not labels:
        raise node.error(f"the attribute {name} is missing")
    return list(labels)


def labels_of_best(node: Node, scores: Output, labels: Labels) -> Output:
    """Return the label of the greatest score of each row, the first of equals."""
    return taken(node, labels, op("argmax", scores, axis=-1))


def taken(node: Node, labels: Labels, places: Expr) -> Output:
    """Return labels by their places."""
    if isinstance(labels[-1], int):
        return op("take", Value.constant(labels, "int64"), places, axis=0)
    return strings.gathered(node.graph.builder, np.array(labels, object), as_value(node.emit(places)))


def binary_scores(node: Node, score: Output, labels: Labels, positive: bool) -> tuple[Output, Output]:
    """Return labels and two scores from that of the second class; `positive` says that it is a probability."""
    s = node.emit(as_value(score).expr)
    plain = node.attr("post_transform") == "PROBIT" or (node.attr("post_transform") == "NONE" and positive)
    other = op("subtract", 1.0, s) if plain else op("negative", s)
    both = node.emit(op("concat", [other, s], axis=1))
    return labels_of_best(node, both, _with_other(labels)), transformed(node, both)


def _with_other(labels: Labels) -> Labels:
    """Return two labels: that of the first class, where a classifier has none of its own, means nothing."""
    return labels if len(labels) == 2 else [0, labels[0]] if isinstance(labels[0], int) else ["", labels[0]]


@converter("Scaler", domain=ML)
def scaler(node: Node, x: Value) -> Output:
    dtype = _floating(x)
    offset, scale = (Value.constant(node.attr(*a), dtype) for a in (("offset", [0.0]), ("scale", [1.0])))
    return _single(op("multiply", op("subtract", converted(x, dtype), offset), scale))


@converter("Normalizer", domain=ML)
def normalizer(node: Node, x: Value) -> Output:
    data = node.emit(as_value(converted(x, _floating(x))).expr)
    norm = node.attr("norm")
    if norm not in ("MAX", "L1", "L2"):
        raise node.error("an attribute has a value that means nothing here", found=norm)
    parts = op("multiply", data, data) if norm == "L2" else op("abs", data)
    size = op("max" if norm == "MAX" else "sum", parts, axis=[-1], keepdims=True)
    size = op("sqrt", size) if norm == "L2" else size
    return _single(op("divide", data, op("maximum", size, 1e-30)))


@converter("Imputer", domain=ML)
def imputer(node: Node, x: Value) -> Expr:
    """Replace elements that equal a value, or that are NaN, by those of their columns."""
    kind = "float" if node.attr("imputed_value_floats") else "int64"
    values, absent = node.attr(f"imputed_value_{kind}s"), node.attr(f"replaced_value_{kind}")
    if not values:
        raise node.error("the attributes imputed_value_floats and imputed_value_int64s are missing")
    where = op("isnan", x) if math.isnan(absent) else op("equal", x, absent)
    return op("where", where, Value.constant(values, x.dtype), x)


@converter("Binarizer", domain=ML)
def binarizer(node: Node, x: Value) -> Output:
    """Return 1 for elements above the threshold, which is not rounded to integers of the input."""
    data = as_value(x if x.dtype.startswith("float") else converted(x, "float64"))
    return converted(as_value(op("greater", data, node.attr("threshold"))), x.dtype)


@converter("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(node: Node, x: Value, y: Value) -> Expr:
    """Return columns by number; a vector is one row."""
    flat = y if y.rank == 1 else as_value(op("flatten", y))
    rows = x if x.rank > 1 else as_value(op("reshape", x, (1, x.dims[0])))
    return op("take", rows, from_front(flat, rows.dims[-1]), axis=rows.rank - 1)


@converter("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: Node, *xs: Value) -> Expr:
    """Concatenate columns, of each input so many: others are left out, those that lack are zeros."""
    sizes = node.attr("inputdimensions") or []
    if len(sizes) != len(xs):
        raise node.error("each input has a number in inputdimensions", expected=len(xs), found=len(sizes))
    return op("concat", [_columns(node, x, n) for x, n in zip(xs, sizes, strict=True)], axis=1)


def _columns(node: Node, x: Value, count: int) -> Output:
    data = converted(x if x.rank == 2 else as_value(op("reshape", x, (x.dims[0], 1))), "float32")
    extent = as_value(data).dims[1].constant
    if extent is None:
        raise node.unsupported("a symbolic number of features")
    if count < extent:
        return op("strided_slice", data, axes=[1], begin=[0], end=[count])
    return data if count == extent else op("nn.pad", data, pad_width=[0, 0, 0, count - extent])


def _coefficients(node: Node, x: Value, rows: int = -1) -> Value:
    """Return the coefficients as columns, one for each output, in the dtype of x."""
    values = np.array(node.attr("coefficients"), np.float64)
    features = x.dims[1].constant if rows == -1 else None
    shape = (rows, features or -1)
    if values.size % max(-math.prod(shape), 1) or (features and rows > 0):
        raise node.error("the coefficients are no matrix", expected=shape, found=values.size)
    return Value.constant(np.ascontiguousarray(values.reshape(shape).T), x.dtype)


@converter("LinearRegressor", domain=ML)
def linear_regressor(node: Node, x: Value) -> Output:
    data = _rows(node, x)
    y = op("matmul", data, _coefficients(node, data, node.attr("targets", 1)))
    if node.attr("intercepts"):
        y = op("add", y, Value.constant(node.attr("intercepts"), data.dtype))
    return transformed(node, _single(y))


@converter("LinearClassifier", domain=ML)
def linear_classifier(node: Node, x: Value) -> tuple[Output, Output]:
    """Return labels and scores; a single score of two classes is that of the second, the first has its opposite."""
    labels = class_labels(node, "classlabels_ints")
    data = _rows(node, x)
    coefficients = _coefficients(node, data)
    y = op("matmul", data, coefficients)
    if node.attr("intercepts"):
        y = op("add", y, Value.constant(node.attr("intercepts"), data.dtype))
    raw: Output = node.emit(as_value(_single(y)).expr)
    if coefficients.sizes[1] == 1 and len(labels) == 2:
        raw = node.emit(op("concat", [op("negative", raw), raw], axis=1))
    scores = node.emit(as_value(transformed(node, raw)).expr)
    if len(labels) > 1:
        return labels_of_best(node, raw, labels), scores
    threshold = 0.0 if node.attr("post_transform") == "NONE" else 0.5
    is_first = op("squeeze", op("greater_equal", scores, threshold), axis=[1])
    return taken(node, _with_other(labels), op("astype", is_first, dtype="int64")), scores


@converter("LabelEncoder", domain=ML)
def label_encoder_of_strings(node: Node, x: Value) -> Expr:
    raise node.on_host("labels are strings")


@converter("LabelEncoder", since=2, domain=ML)
def label_encoder(node: Node, x: Value) -> Expr:
    """Look numbers up among the sorted keys."""
    if any(node.attr(f"{kind}_strings") for kind in ("keys", "values")):
        raise node.on_host("labels are strings")
    keys, values = (_table(node, kind) for kind in ("keys", "values"))
    if len(keys) != len(values):
        raise node.error("there is a value for each key", expected=len(keys), found=len(values))
    default = Value.constant(_default(node), values.dtype)
    known = {k: v for k, v in zip(keys.tolist(), values.tolist(), strict=True) if k == k}
    of_nan = [v for k, v in zip(keys.tolist(), values.tolist(), strict=True) if k != k]
    y: Output = op("full", x.dims, default, dtype=values.dtype.name)
    if known:
        order = np.array(sorted(known), keys.dtype)
        data = converted(x, keys.dtype.name)
        place = op("minimum", op("bucketize", data, Value.constant(order)), len(order) - 1)
        place = node.emit(place)
        found = op("equal", op("take", Value.constant(order), place, axis=0), data)
        results = Value.constant([known[k] for k in order.tolist()], values.dtype)
        y = op("where", found, op("take", results, place, axis=0), default)
    return op("where", op("isnan", x), Value.constant(of_nan[-1], values.dtype), y) if of_nan else as_value(y).expr


_KINDS = {"int64": "int64s", "float32": "floats"}


def _table(node: Node, kind: str) -> Any:
    """Return the keys or values of a label encoder."""
    tensor = node.attr(f"{kind}_tensor")
    if tensor is not None:
        if tensor.dtype.kind not in "iufb":
            raise node.on_host("labels are strings")
        return tensor.reshape(-1)
    for dtype, suffix in _KINDS.items():
        if node.attr(f"{kind}_{suffix}"):
            return np.array(node.attr(f"{kind}_{suffix}"), dtype)
    raise node.error(f"the attributes {kind}_tensor, {kind}_int64s and {kind}_floats are missing")


def _default(node: Node) -> Any:
    if node.attr("values_tensor") is not None:
        tensor = node.attr("default_tensor")
        return 0 if tensor is None else tensor.reshape(-1)[0]
    return node.attr("default_int64") if node.attr("values_int64s") else node.attr("default_float")


@converter("OneHotEncoder", domain=ML)
def one_hot_encoder(node: Node, x: Value) -> Output:
    """Return a dimension of zeros and ones for the categories; without `zeros`, unknown categories are an error."""
    if node.attr("cats_strings"):
        raise node.on_host("categories are strings")
    if not node.attr("cats_int64s"):
        raise node.error("the attribute cats_int64s is missing")
    categories = Value.constant(node.attr("cats_int64s"), x.dtype)
    each = node.emit(op("equal", op("expand_dims", x, axis=[x.rank]), categories))
    if not node.attr("zeros"):
        known = op("max", op("astype", each, dtype="int32"), axis=[-1])
        least = op("min", op("concat", [op("flatten", known), Value.constant([1], "int32")], axis=0))
        text = f"OneHotEncoder at {node.name}: an element is of no category"
        node.graph.builder.mark_impure()
        node.emit(op("assert_op", op("equal", least, 1), format=text.replace("{", "{{").replace("}", "}}")))
    return _single(each)


@converter("ZipMap", domain=ML)
def zip_map(node: Node, x: Value) -> Value:
    """Return the tensor of scores, whose columns are in the order of the labels: there are no maps."""
    return x
