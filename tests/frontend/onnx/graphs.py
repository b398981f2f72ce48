"""Small graphs for tests, run beside ONNX's reference implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tirax.driver.build import build
from tirax.frontend.onnx import from_onnx

FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL


def model_of(
    nodes: Sequence[Any],
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    weights: Mapping[str, Any] | None = None,
    opset: int = 20,
    dtype: int = FLOAT,
    functions: Sequence[Any] = (),
) -> onnx.ModelProto:
    """A model of nodes; `inputs` are shapes by name, or pairs of a data type and a shape."""
    typed = {n: s if isinstance(s, tuple) else (dtype, s) for n, s in inputs.items()}
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(n, t, s) for n, (t, s) in typed.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()],
    )
    domains = {f.domain for f in functions}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in sorted(domains))]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def compile_model(model: onnx.ModelProto, **options: Any) -> Any:
    """The function `main` of a model, as native code."""
    return build(from_onnx(model, **options))["main"]


def assert_like_reference(
    model: onnx.ModelProto, *feeds: Sequence[Any], rtol: float = 1e-5, atol: float = 1e-6
) -> None:
    """One build of the model gives for all `feeds` what ONNX's reference gives, to a tolerance."""
    main, reference = compile_model(model), ReferenceEvaluator(model)
    for feed in feeds:
        expected = reference.run(None, dict(zip((v.name for v in model.graph.input), feed, strict=True)))
        outputs = main(*feed)
        for actual, value in zip(outputs if isinstance(outputs, tuple) else [outputs], expected, strict=True):
            assert actual.numpy().dtype == value.dtype
            np.testing.assert_allclose(actual.numpy(), value, rtol=rtol, atol=atol)
