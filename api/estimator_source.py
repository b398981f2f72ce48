"""Estimators of scikit-learn, xgboost and lightgbm: calls take what their methods take, and return their results."""

from __future__ import annotations

from typing import Any

from ..frontend.onnx import from_onnx
from ..frontend.onnx.estimators import convert_estimator
from ..handles.module import IRModule
from ..runtime.errors import ArgumentError
from .options import Options
from .signature import Signature
from .structure import LEAF, Features, Node


def read_estimator(model: Any, options: Options) -> tuple[IRModule, Signature]:
    """Convert and import a fitted estimator. Raises `ArgumentError` for several example inputs."""
    if options.args is not None and len(options.args) != 1:
        raise ArgumentError("an estimator takes one input", expected="rows of features", found=len(options.args))
    converted = convert_estimator(model, None if options.args is None else options.args[0])
    module = from_onnx(converted.model, options.input_shapes, fallback=options.fallback_in("onnx"))
    names = converted.outputs
    result = Node("named", names, (LEAF,) * len(names)) if len(names) > 1 else LEAF
    return module, Signature({"X": Features(converted.dtypes, converted.columns)}, result)
