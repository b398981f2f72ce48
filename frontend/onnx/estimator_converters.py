"""Converters of estimators in place of those of skl2onnx that refuse valid estimators, or compute something else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

Convert = Callable[[Any, Any, Any], None]
"""Adds the nodes of an operator (an estimator with its inputs and outputs) of a scope to a container of nodes."""


def custom_converters() -> dict[type, Convert]:
    """Return the converters by class of estimator."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.preprocessing import OneHotEncoder

    return {
        LinearDiscriminantAnalysis: _linear_discriminant,
        HistGradientBoostingClassifier: _plain_attributes,
        HistGradientBoostingRegressor: _plain_attributes,
        KNeighborsClassifier: _neighbors,
        KNeighborsRegressor: _neighbors,
        OneHotEncoder: _one_hot,
    }


def _own(scope: Any, operator: Any, container: Any) -> None:
    """Convert as skl2onnx does."""
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import get_converter

    get_converter(sklearn_operator_name_map[type(operator.raw_operator)])(scope, operator, container)


def _with_model(operator: Any, model: Any) -> Any:
    changed = copy.copy(operator)
    changed.raw_operator = model
    return changed


def _linear_discriminant(scope: Any, operator: Any, container: Any) -> None:
    """Its probabilities are those of a logistic regression, by the sigmoid of one score for two classes."""
    from sklearn.linear_model import LogisticRegression

    shell = LogisticRegression()
    vars(shell).update({k: v for k, v in vars(operator.raw_operator).items() if k.endswith("_")})
    _own(scope, _with_model(operator, shell), container)


class _Changed:
    """A container of nodes whose attributes are changed first."""

    def __init__(self, container: Any, change: Callable[[dict[str, Any]], dict[str, Any]]):
        self._container = container
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, op_type: str, inputs: Any, outputs: Any, *args: Any, **attributes: Any) -> Any:
        """Add a node."""
        return self._container.add_node(op_type, inputs, outputs, *args, **self._change(attributes))


def _plain(value: Any) -> Any:
    if isinstance(value, list | np.ndarray) and len(value) and not isinstance(value[0], str | bytes):
        numbers = np.asarray(value)
        return numbers.astype(np.int64).tolist() if numbers.dtype.kind in "iub" else numbers.tolist()
    return value


def _plain_attributes(scope: Any, operator: Any, container: Any) -> None:
    """Give nodes lists of plain numbers: protobuf refuses lists that mix those of numpy and bool."""
    _own(scope, operator, _Changed(container, lambda attributes: {k: _plain(v) for k, v in attributes.items()}))


def xgboost_converter(scope: Any, operator: Any, container: Any) -> None:
    """Convert an estimator of xgboost; of several trees a class and round, onnxmltools takes the wrong class."""
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost

    parallel = operator.raw_operator.get_xgb_params().get("num_parallel_tree") or 1
    classes = getattr(operator.raw_operator, "n_classes_", 2)

    def with_classes(attributes: dict[str, Any]) -> dict[str, Any]:
        if "class_treeids" not in attributes:
            return attributes
        return {**attributes, "class_ids": [tree // parallel % classes for tree in attributes["class_treeids"]]}

    is_mixed = parallel > 1 and classes > 2
    convert_xgboost(scope, operator, _Changed(container, with_classes) if is_mixed else container)


class _Nodes:
    """Adds nodes to a container and returns the names of their values."""

    def __init__(self, scope: Any, operator: Any, container: Any):
        self._scope = scope
        self._container = container
        self.x = operator.inputs[0].onnx_name
        self.dtype = np.dtype("float64" if "Double" in type(operator.inputs[0].type).__name__ else "float32")

    @property
    def kind(self) -> int:
        """The number of the input's dtype."""
        return _DOUBLE if self.dtype == np.float64 else _FLOAT

    def __call__(self, op_type: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add a node; inputs are names, or arrays that become constants. Return the name of its output."""
        result = output or self.new(op_type)
        self.node(op_type, [x if isinstance(x, str) else self.constant(x) for x in inputs], [result], **attributes)
        return result

    def node(self, op_type: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        """Add a node."""
        version = _VERSIONS.get(op_type, 13)
        self._container.add_node(op_type, inputs, outputs, name=self.new(op_type), op_version=version, **attributes)

    def new(self, name: str) -> str:
        """Return a new name."""
        return self._scope.get_unique_variable_name(name)

    def constant(self, array: Any) -> str:
        """Return the name of a constant; floating numbers get the dtype of the input."""
        from onnx import helper

        array = np.asarray(array)
        array = array.astype(self.dtype) if array.dtype.kind == "f" else array
        name = self._scope.get_unique_variable_name("constant")
        texts = array.dtype.kind in "OUS"
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(object) if texts else array.dtype)
        flat = [str(v).encode() for v in array.ravel()] if texts else array.ravel().tolist()
        self._container.add_initializer(name, kind, list(array.shape), flat)
        return name

    def labels(self, classes: np.ndarray[Any, Any], scores: str, output: str) -> None:
        """Add the classes of the greatest scores."""
        best = self("ArgMax", scores, axis=1, keepdims=0)
        self("Gather", classes.astype(np.int64) if classes.dtype.kind in "iufb" else classes, best, output=output)


_FLOAT, _DOUBLE = 1, 11
"""The numbers of float32 and float64."""
_VERSIONS = {"Pow": 15, "TopK": 11, "ReduceMax": 18}
"""Of operators whose version is not 13."""


def _neighbors(scope: Any, operator: Any, container: Any) -> None:
    """Those of skl2onnx use distances with the wrong sign as weights."""
    model = operator.raw_operator
    is_plain = model.weights != "distance" or isinstance(getattr(model, "classes_", None), list)
    power = {"minkowski": model.p, "euclidean": 2, "manhattan": 1}.get(model.effective_metric_, 0)
    if is_plain:
        _own(scope, operator, container)
        return
    if not power or np.isinf(power):
        raise NotImplementedError(f"weights by the distance {model.effective_metric_}")
    add = _Nodes(scope, operator, container)
    targets = np.asarray(model._y, np.float64).reshape(len(model._fit_X), -1)
    if hasattr(model, "classes_"):
        targets = np.eye(len(model.classes_))[np.asarray(model._y).reshape(-1)]
    means = _weighted_means(add, model, power, targets)
    add("Identity", means, output=operator.outputs[-1].onnx_name)
    if hasattr(model, "classes_"):
        add.labels(model.classes_, means, operator.outputs[0].onnx_name)


def _weighted_means(add: _Nodes, model: Any, power: float, targets: np.ndarray[Any, Any]) -> str:
    """Return the means of the targets of the nearest points, weighted by 1 / distance; at a distance of 0 of those."""
    points = model._fit_X.toarray() if hasattr(model._fit_X, "toarray") else model._fit_X
    difference = add("Abs", add("Sub", add("Unsqueeze", add.x, np.array([1])), np.asarray(points, float)[None]))
    powers = difference if power == 1 else add("Pow", difference, np.array(float(power)))
    totals = add("ReduceSum", powers, np.array([2]), keepdims=0)
    distances = totals if power == 1 else add("Pow", totals, np.array(1.0 / power))
    nearest, places = (add.new(n) for n in ("nearest", "places"))
    add.node("TopK", [distances, add.constant(np.array([model.n_neighbors]))], [nearest, places], axis=1, largest=0)
    zero = add("Cast", add("Equal", nearest, np.array(0.0)), to=add.kind)
    some = add("ReduceMax", zero, np.array([1]), keepdims=1)
    inverse = add("Reciprocal", add("Add", nearest, zero))
    weights = add("Mul", inverse, add("Sub", np.array(1.0), add("Mul", some, add("Sub", np.array(1.0), zero))))
    values = add("Gather", targets, places, axis=0)
    total = add("ReduceSum", add("Mul", values, add("Unsqueeze", weights, np.array([2]))), np.array([1]), keepdims=0)
    return add("Div", total, add("ReduceSum", weights, np.array([1]), keepdims=1))


def _one_hot(scope: Any, operator: Any, container: Any) -> None:
    """Categories of floating numbers are compared as such."""
    model = operator.raw_operator
    plain = getattr(model, "drop_idx_", None) is None and not getattr(model, "_infrequent_enabled", False)
    numbers = all(c.dtype.kind == "f" for c in model.categories_)
    if not (plain and numbers and len(operator.inputs) == 1):
        _own(scope, operator, container)
        return
    add, parts = _Nodes(scope, operator, container), []
    for i, categories in enumerate(model.categories_):
        column = add("Gather", add.x, np.array([i]), axis=1)
        parts.append(add("Cast", add("Equal", column, categories[None]), to=_FLOAT))
    add("Concat", *parts, axis=1, output=operator.outputs[0].onnx_name)
