"""Converters from outside: given to `from_onnx`, and those of plug-ins; stubs to begin with."""

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend.importing.errors import UnsupportedOperators
from tirax.frontend.onnx import converter, converter_stub, from_onnx, op
from tirax.frontend.onnx.table import CONVERTERS

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
helper = onnx.helper


def model(*nodes, opsets=(("", 18), ("my", 1))):
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["n", 4]) for n in "xy")
    graph = helper.make_graph(list(nodes), "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets])


def scaled(node, x):
    return op("multiply", x, op("full", (), np.float32(node.attr("by", 3.0)), dtype="float32"))


X = np.arange(8, dtype="float32").reshape(2, 4)


def test_an_operator_that_has_no_converter_gets_one():
    mine = model(helper.make_node("Scale", ["x"], ["y"], domain="my", by=2.0))
    with pytest.raises(UnsupportedOperators, match="my.Scale") as caught:
        from_onnx(mine)
    assert "custom_convert_map" in str(caught.value)
    mod = from_onnx(mine, custom_convert_map={"my.Scale": scaled})
    np.testing.assert_array_equal(build(mod)["main"](X), X * 2)


def test_it_comes_before_that_of_the_table():
    relu = model(helper.make_node("Relu", ["x"], ["y"]))
    np.testing.assert_array_equal(build(from_onnx(relu, custom_convert_map={"Relu": scaled}))["main"](X), X * 3)
    np.testing.assert_array_equal(build(from_onnx(relu))["main"](-X), X * 0)


def test_rows_of_plugins_are_in_the_table():
    mine = model(helper.make_node("Scale", ["x"], ["y"], domain="my"))
    with CONVERTERS.added("my.Scale", []):
        converter("Scale", domain="my")(scaled)
        np.testing.assert_array_equal(build(from_onnx(mine))["main"](X), X * 3)


def test_a_stub_names_what_onnx_knows():
    text = converter_stub("Clip")
    assert "def convert_clip(node: Node, input: Value, min: Value | None = None, max: Value | None = None):" in text
    assert 'custom_convert_map={"Clip": convert_clip}' in text
    compile(text, "stub", "exec")
    assert 'node.attr("axis")' in converter_stub("Concat")
    assert "*inputs: Value" in converter_stub("Concat")
    own = converter_stub("my.domain.Foo")
    assert "def convert_my_domain_foo(node: Node, x: Value):" in own and '"my.domain.Foo"' in own
    compile(own, "stub", "exec")
