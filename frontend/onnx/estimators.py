"""Estimators of scikit-learn, xgboost and lightgbm as ONNX models, by the converters of skl2onnx and onnxmltools."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..importing.errors import InputError, UnsupportedOperators
from ..importing.extras import require
from .estimator_converters import custom_converters, xgboost_converter

_MATRIX = "X"
_OPSETS = {"": 18, "ai.onnx.ml": 3}
"""The newest that all converters write."""
_PREFIX = "tirax/"
"""Of the names of values that are added."""


@dataclass(frozen=True)
class ConvertedEstimator:
    """An ONNX model of an estimator.

    It takes one matrix if `columns` is empty, else a column of each dtype, by name; "object" is the dtype of strings.
    """

    model: Any
    dtypes: tuple[str, ...]
    columns: tuple[Any, ...]
    outputs: tuple[str, ...]


def convert_estimator(model: Any, examples: Any = None) -> ConvertedEstimator:
    """Convert a fitted estimator; `examples` are rows of features, an array or a DataFrame.

    The outputs are those of the estimator's methods, with their shapes: `label` and `probabilities` (or `scores`, of
    `decision_function`) of a classifier, `label` and `scores` of an outlier detector, `label` of a clusterer,
    `prediction` of a regressor, `features` of a transformer. Without `examples` features are float32. Estimators whose
    converter has no float64 are computed in float32.

    Raises `MissingPackage` with the pip line, `InputError` if the model is not fitted or examples are needed, and
    `UnsupportedOperators` for an estimator without a converter.
    """
    require("skl2onnx", "sklearn")
    if type(model).__module__.partition(".")[0] in ("xgboost", "lightgbm"):
        require("onnxmltools", "sklearn")
    rows = _examples(model, examples)
    dtypes, columns = _features(model, rows)
    prepared = _prepared(model)
    expected = _expected(model, rows)
    proto, dtypes = _in_dtypes(prepared, dtypes, columns, rows)
    _require_outputs(model, proto, expected)
    for index, (name, (value, kind)) in enumerate(expected.items()):
        _shape_output(proto.graph, index, name, np.asarray(value), kind, reverse=_is_reverse(model))
    del proto.graph.output[len(expected) :]
    for value in proto.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    return ConvertedEstimator(proto, dtypes, columns, tuple(expected))


# What the estimator takes.


def _examples(model: Any, examples: Any) -> Any:
    """Return one row of features, of zeros if the user has none."""
    if examples is not None:
        rows = examples if hasattr(examples, "iloc") else np.asarray(examples)
        if len(rows.shape) != 2 or not len(rows):
            raise InputError("the examples are rows of features", expected="a matrix", found=f"shape {rows.shape}")
        return rows[:1] if isinstance(rows, np.ndarray) else rows.iloc[:1]
    if any(hasattr(part, "transformers_") or hasattr(part, "categories_") for part in parts_of(model)):
        raise InputError(
            f"{type(model).__name__} has features of several kinds",
            expected="examples of them",
            hint="tirax.compile(model, X), with some rows of the features",
        )
    count = getattr(model, "n_features_in_", None)
    if count is None:
        raise InputError(
            f"the {type(model).__name__} is not fitted, or does not know its features",
            expected="a fitted estimator",
            hint="model.fit(X, y) first, or tirax.compile(model, X)",
        )
    return np.zeros((1, count), np.float32)


def parts_of(model: Any) -> Iterator[Any]:
    """Yield an estimator and all estimators inside of it."""
    stack, seen = [model], set[int]()
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, list | tuple):
            stack += part
        elif isinstance(part, dict):
            stack += part.values()
        elif hasattr(part, "get_params"):
            yield part
            stack += vars(part).values()


def _features(model: Any, rows: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the dtypes and the names of columns, no names of a matrix."""
    if isinstance(rows, np.ndarray):
        is_wide = any(type(part).__module__.startswith(_WIDE) for part in parts_of(model))
        return ("float64" if is_wide else _dtype(rows.dtype),), ()
    dtypes = tuple(_dtype(d) for d in rows.dtypes)
    if "object" in dtypes or any(hasattr(part, "transformers_") for part in parts_of(model)):
        return dtypes, tuple(rows.columns)
    return ("float64" if "float64" in dtypes else "float32",), ()


def _dtype(dtype: Any) -> str:
    """Return the dtype that a feature is computed in."""
    if getattr(dtype, "kind", "O") not in "iufb":
        return "object"
    return "float64" if dtype == np.float64 else "float32"


_WIDE = "sklearn.gaussian_process"
"""Where sums cancel: float32 is not enough for features of float32."""


# The conversion.


def _in_dtypes(model: Any, dtypes: tuple[str, ...], columns: tuple[Any, ...], rows: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the model and its dtypes: float32 in place of float64 if the converter has none, or a wrong one."""
    if "float64" not in dtypes:
        return _to_onnx(model, dtypes, columns, rows), dtypes
    try:
        proto = _to_onnx(model, dtypes, columns, rows)
    except UnsupportedOperators:
        proto = None
    if proto is not None and _has_valid_types(proto):
        return proto, dtypes
    single = tuple("float32" if d == "float64" else d for d in dtypes)
    return _to_onnx(model, single, columns, rows), single


def _has_valid_types(proto: Any) -> bool:
    from onnx import checker, shape_inference

    try:
        checker.check_model(proto, full_check=True)
    except (checker.ValidationError, shape_inference.InferenceError):
        return False
    return True


def _prepared(model: Any) -> Any:
    """Return a copy whose parts lack options that converters refuse and that do not change predictions."""
    prepared = copy.deepcopy(model)
    for part in parts_of(prepared):
        if getattr(part, "flatten_transform", None) is True:  # of a voting classifier's transform only
            part.flatten_transform = False
    return prepared


def _to_onnx(model: Any, dtypes: tuple[str, ...], columns: tuple[Any, ...], rows: Any) -> Any:
    from skl2onnx import convert_sklearn
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import get_shape_calculator
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    _register_boosted()
    width = 1 if columns else rows.shape[1]
    names = [str(c) for c in columns] or [_MATRIX]
    inputs = [(n, _tensor_type(d)([None, width])) for n, d in zip(names, dtypes, strict=True)]
    converters = custom_converters()
    shapes = {cls: get_shape_calculator(sklearn_operator_name_map[cls]) for cls in converters}
    try:
        return convert_sklearn(
            model,
            initial_types=inputs,
            options=_options(model),
            target_opset=_OPSETS,
            custom_conversion_functions=converters,
            custom_shape_calculators=shapes,
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        name = type(model).__name__
        raise UnsupportedOperators([name], [f"{name}: {str(error).splitlines()[0]}"]) from error
    except (NotImplementedError, RuntimeError, ValueError, TypeError, AttributeError, KeyError) as error:
        # what converters raise for estimators that they do not know well is not specified
        name = type(model).__name__
        raise UnsupportedOperators([name], [f"{name}: {type(error).__name__}: {error}"]) from error


def _tensor_type(dtype: str) -> Any:
    from skl2onnx.common import data_types

    kinds = {"object": "StringTensorType", "float64": "DoubleTensorType", "float32": "FloatTensorType"}
    return getattr(data_types, kinds[dtype])


def _options(model: Any) -> dict[int, dict[str, bool]] | None:
    """Return the options of parts: no maps of probabilities by label."""
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import get_converter

    plain = (part for part in parts_of(model) if not hasattr(part, "steps"))  # skl2onnx passes those of pipelines on
    known = [part for part in plain if type(part) in sklearn_operator_name_map]
    allowed = {id(p): get_converter(sklearn_operator_name_map[type(p)]).get_allowed_options() for p in known}
    return {key: {"zipmap": False} for key, options in allowed.items() if options and "zipmap" in options} or None


def _register_boosted() -> None:
    """Let skl2onnx convert estimators of xgboost and lightgbm, in pipelines too, by onnxmltools."""
    for library, register in _BOOSTED.items():
        if library in sys.modules and library not in _REGISTERED:
            register()
            _REGISTERED.add(library)


def _register_xgboost() -> None:
    import xgboost

    for name in ("XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "XGBRanker"):
        _register(getattr(xgboost, name), xgboost_converter)


def _register_lightgbm() -> None:
    import lightgbm
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm

    for name in ("LGBMClassifier", "LGBMRegressor", "LGBMRanker"):
        _register(getattr(lightgbm, name), convert_lightgbm)


_BOOSTED = {"xgboost": _register_xgboost, "lightgbm": _register_lightgbm}
_REGISTERED: set[str] = set()


def _register(estimator: type, convert: Any) -> None:
    from skl2onnx import update_registered_converter
    from skl2onnx.common import shape_calculator as shapes

    if estimator.__name__.endswith("Classifier"):
        calculate = shapes.calculate_linear_classifier_output_shapes
        options: dict[str, Any] = {"zipmap": [True, False], "nocl": [True, False]}
    else:
        calculate = shapes.calculate_linear_regressor_output_shapes
        options = {"split": None}
    update_registered_converter(estimator, f"tirax{estimator.__name__}", calculate, convert, options=options)


# What it returns.


def _expected(model: Any, rows: Any) -> dict[str, tuple[Any, str]]:
    from sklearn.exceptions import NotFittedError

    try:
        return _results(model, rows)
    except NotFittedError as error:
        name = type(model).__name__
        raise InputError(f"the {name} is not fitted", expected="a fitted estimator", hint="model.fit(X, y)") from error


def _results(model: Any, rows: Any) -> dict[str, tuple[Any, str]]:
    """Return the results of the estimator's methods for example rows by the names of outputs.

    The kind is "label", whose dtype is kept, or "numbers".
    """
    if not hasattr(model, "predict") or (hasattr(model, "transform") and not _predicts(model)):
        return {"features": (_dense(model.transform(rows)), "numbers")}
    predicted = np.asarray(model.predict(rows))
    if not _labels(model):
        return {"prediction": (predicted, "numbers")}
    results = {"label": (predicted, "label")}
    for name, method in (("probabilities", "predict_proba"), ("scores", "decision_function")):
        if hasattr(model, method):
            return {**results, name: (getattr(model, method)(rows), "numbers")}
    return results


def _predicts(model: Any) -> bool:
    """Return whether what a user wants of an estimator that predicts and transforms is its predictions."""
    from sklearn.base import is_classifier, is_clusterer, is_regressor

    return is_classifier(model) or is_clusterer(model) or is_regressor(model)


def _labels(model: Any) -> bool:
    from sklearn.base import is_classifier, is_clusterer, is_outlier_detector

    return is_classifier(model) or is_clusterer(model) or is_outlier_detector(model) or hasattr(model, "predict_proba")


def _dense(x: Any) -> Any:
    return x.toarray() if hasattr(x, "toarray") else x


def _is_reverse(model: Any) -> bool:
    """Return whether the converter of a classifier has the score of the second of two classes first."""
    last = model[-1] if hasattr(model, "steps") else model
    return type(last).__name__ in ("SVC", "NuSVC")


def _require_outputs(model: Any, proto: Any, expected: dict[str, Any]) -> None:
    if len(proto.graph.output) < len(expected):
        name = type(model).__name__
        raise UnsupportedOperators([name], [f"{name}: its converter lacks {', '.join(expected)}"])


def _shape_output(graph: Any, index: int, name: str, expected: Any, kind: str, reverse: bool) -> None:
    """Give an output the shape and, of labels, the dtype that the estimator's method returns."""
    from onnx import helper, numpy_helper

    output = graph.output[index]
    value, nodes = output.name, []

    def step(op_type: str, *constants: Any, **attributes: Any) -> None:
        nonlocal value
        inputs = [value]
        for constant in constants:
            inputs.append(f"{_PREFIX}{name}_{op_type}_{len(nodes)}")
            graph.initializer.append(numpy_helper.from_array(np.array(constant), inputs[-1]))
        value = f"{_PREFIX}{name}_{len(nodes)}"
        nodes.append(helper.make_node(op_type, inputs, [value], **attributes))

    declared = len(output.type.tensor_type.shape.dim)
    if expected.ndim == 1 and kind == "label":
        step("Reshape", [-1])
    elif expected.ndim == 1:  # the score of the second class, where the converter has one of each
        step("Reshape", [0, -1])
        step("Gather", [0 if reverse else -1], axis=1)
        step("Reshape", [-1])
    elif declared != expected.ndim:
        step("Reshape", [-1, *expected.shape[1:]])
    if expected.dtype.kind in "iub" and kind == "label":
        output.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(expected.dtype)
        step("Cast", to=output.type.tensor_type.elem_type)
    graph.node.extend(nodes)
    output.name = value
    output.type.tensor_type.ClearField("shape")
