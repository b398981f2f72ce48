"""ONNX operators without a converter run in the reference implementation: results, sizes, files, refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import tirax
from tirax.diagnostics import TiraxError
from tirax.frontend.importing.errors import UnsupportedOperators
from tirax.frontend.importing.report import FallbackWarning
from tirax.frontend.onnx import from_onnx
from tirax.frontend.onnx.table import CONVERTERS


def model(op, inputs, outputs, *, domain="", version=20, **attributes):
    node = helper.make_node(op, list(inputs), list(outputs), domain=domain, **attributes)
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in inputs.items()]
    results = [helper.make_tensor_value_info(n, kind, dims) for n, (kind, dims) in outputs.items()]
    graph = helper.make_graph([node], "g", values, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


@pytest.fixture
def no_converters():
    """The operators of these tests without their converters, which may come."""
    with CONVERTERS.added("Erf", []), CONVERTERS.added("Det", []):
        yield


MODELS = {
    "one output": model("Erf", {"x": ["n", 4]}, {"y": (TensorProto.FLOAT, ["n", 4])}),
    "a smaller rank": model("Det", {"x": ["n", 3, 3]}, {"y": (TensorProto.FLOAT, ["n"])}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [0, 1, 7])
def test_onnx_computes_what_tirax_has_no_code_for(name, count, no_converters):
    proto = MODELS[name]
    with pytest.warns(FallbackWarning, match="reference implementation of ONNX"):
        f = tirax.compile(proto)
    assert len(f.fallbacks) == 1 and f.fallbacks[0].startswith("onnx.ops.")
    shape = [d.dim_value or count for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    (expected,) = ReferenceEvaluator(proto).run(None, {"x": x})
    np.testing.assert_array_equal(f(x), expected)


def test_sizes_stay_symbolic_and_others_compute_on(no_converters):
    with pytest.warns(FallbackWarning):
        f = tirax.compile(MODELS["a smaller rank"])
    assert f.inputs == {"x": "float32[n, 3, 3]"} and f.outputs == {"": "float32[n]"}


def test_a_saved_model_finds_the_operator_again(tmp_path, no_converters):
    with pytest.warns(FallbackWarning):
        f = tirax.compile(MODELS["one output"])
    f.save(tmp_path / "f.tirax")
    x = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(tirax.load(tmp_path / "f.tirax")(x), f(x))


def test_purists_get_an_error(no_converters):
    for call in (
        lambda: tirax.compile(MODELS["a smaller rank"], fallback="error"),
        lambda: from_onnx(MODELS["a smaller rank"]),
    ):
        with pytest.raises(UnsupportedOperators, match="Det"):
            call()
    with pytest.raises(TiraxError, match="unknown fallback 'numpy'"):
        from_onnx(MODELS["one output"], fallback="numpy")
    with pytest.raises(TiraxError, match="unknown fallback 'numpy'"):
        tirax.compile(MODELS["one output"], fallback="numpy")


def test_operators_of_unknown_domains_stay_errors():
    proto = model("Scale", {"x": ["n", 4]}, {"y": (TensorProto.FLOAT, ["n", 4])}, domain="my")
    proto.opset_import.append(helper.make_opsetid("my", 1))
    with warnings.catch_warnings(), pytest.raises(UnsupportedOperators, match=r"my\.Scale"):
        warnings.simplefilter("error")
        tirax.compile(proto)
