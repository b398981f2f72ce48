"""What a model declares of the shapes of its values is used where nothing else says them, and checked when it runs."""

import numpy as np
import onnx
import pytest
from graphs import FLOAT, compile_model, model_of
from onnx import helper

from tirax.diagnostics import TiraxError
from tirax.frontend.onnx import from_onnx


def positions(declared):
    """x + table[:, :length of x], whose length may be more than the table has."""
    nodes = [
        helper.make_node("Shape", ["x"], ["n"], start=1, end=2),
        helper.make_node("Slice", ["table", "zero", "n", "one"], ["part"]),
        helper.make_node("Add", ["x", "part"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["y"]),
    ]
    weights = {
        "table": np.arange(32, dtype="float32").reshape(1, 8, 4),
        "zero": np.array([0]),
        "one": np.array([1]),
    }
    model = model_of(nodes, {"x": (FLOAT, ("b", "s", 4))}, ["y"], weights)
    for name, shape in declared.items():
        model.graph.value_info.append(helper.make_tensor_value_info(name, FLOAT, shape))
    return model


def text(model, **options):
    return from_onnx(model, **options).script()


def test_extents_that_nothing_says_are_those_that_are_declared():
    assert "R.match_cast(lv1, R.Tensor((b, s, 4)" in text(positions({"sum": ["b", "s", 4]}))
    assert "s_1" in text(positions({}))
    assert "s_1" not in text(positions({"sum": ["b", "s", 4]}))
    assert "s_1" not in text(positions({"part": [1, "s", 4]}))


@pytest.mark.parametrize("declared", [{}, {"sum": ["b", "s", 4]}, {"part": [1, "s", 4]}])
def test_the_meaning_is_the_same(declared):
    function = compile_model(positions(declared))
    table = np.arange(32, dtype="float32").reshape(1, 8, 4)
    for b, s in ((2, 3), (1, 8), (0, 1), (2, 0)):
        x = np.random.default_rng(s).standard_normal((b, s, 4)).astype("float32")
        np.testing.assert_allclose(function(x), np.maximum(x + table[:, :s], 0), rtol=1e-6)


@pytest.mark.parametrize("declared", [{"sum": ["b", "s", 5]}, {"part": [1, 3, 4]}, {"part": [1, "b", 4]}])
def test_what_is_declared_wrongly_is_an_error(declared):
    with pytest.raises(TiraxError):
        compile_model(positions(declared))(np.ones((1, 2, 4), "float32"))


def test_names_that_no_input_has_say_nothing():
    assert "s_1" in text(positions({"sum": ["b", "unknown", 4]}))


def test_other_shapes_of_inputs_make_what_is_declared_void():
    assert "match_cast" not in text(positions({"sum": [1, 5, 4]}), shape_dict={"x": [2, 3, 4]})


def test_inferred_extents_stay():
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
    model = model_of(nodes, {"x": (FLOAT, ("n", 4))}, ["y"])
    model.graph.value_info.append(helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [7, 9]))
    assert "match_cast" not in text(model)
    assert compile_model(model)(np.ones((2, 4), "float32")).shape == (2, 4)
