"""Models run beside ONNX Runtime: the oracle of operators that ONNX's reference lacks or has wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from graphs import compile_model


def ort_session(model: onnx.ModelProto) -> Any:
    """ONNX Runtime's session of a model, on one thread, without its warnings."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def assert_like_ort(model: onnx.ModelProto, *feeds: Sequence[Any], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """One build of the model gives for all `feeds` what ONNX Runtime gives, to a tolerance."""
    main, session = compile_model(model), ort_session(model)
    for feed in feeds:
        expected = session.run(None, dict(zip((v.name for v in model.graph.input), feed, strict=True)))
        outputs = main(*feed)
        for actual, value in zip(outputs if isinstance(outputs, tuple) else [outputs], expected, strict=True):
            array = actual.numpy() if hasattr(actual, "numpy") else actual
            assert array.dtype == value.dtype
            assert array.shape == value.shape
            np.testing.assert_allclose(array, value, rtol=rtol, atol=atol)
