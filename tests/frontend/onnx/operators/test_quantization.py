"""Layers as ONNX Runtime's quantizer writes them, beside ONNX Runtime: both formats, kinds of bytes, batches."""

import numpy as np
import pytest
from strength import thinned

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

RNG = np.random.default_rng(5)
KINDS = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


class Graph:
    """Nodes and constants of a model, in the order in which they are added."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, *inputs, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attrs))
        return name

    def parameters(self, scale, zero, dtype):
        return self.constant(np.float32(scale)), self.constant(np.array(zero, dtype))

    def model(self, y, shape, out):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "g", [x], [helper.make_tensor_value_info(y, out, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def weights(shape, dtype, bits):
    low, high = (1 - (1 << bits - 1), 1 << bits - 1) if dtype == "int8" else (0, 256)
    return RNG.integers(low, high, shape).astype(dtype)


def convolutions(act, dtype, groups, form, bits):
    """Quantize, two convolutions with a pool and a sum between them, dequantize."""
    g = Graph()
    zero, channels = (7, 8) if act == "uint8" else (-5, 8)
    first = g.parameters(0.05, zero, act)
    q = g.node("QuantizeLinear", "x", *first)
    w = weights((channels, channels // groups, 3, 3), dtype, bits)
    scales = g.constant((RNG.random(channels) / 100 + 0.001).astype("float32"))
    zeros = g.constant(np.zeros(channels, dtype))
    bias = g.constant(RNG.integers(-500, 500, channels).astype("int32"))
    out = g.parameters(0.11, zero, act)
    attrs = {"group": groups, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    if form == "QLinear":
        y = g.node("QLinearConv", q, *first, g.constant(w), scales, zeros, *out, bias, **attrs)
    else:
        x = g.node("DequantizeLinear", q, *first)
        k = g.node("DequantizeLinear", g.constant(w), scales, zeros, axis=0)
        of_bias = g.constant(np.float32(0.05) * numpy_helper.to_array(g.constants[3]))
        b = g.node("DequantizeLinear", bias, of_bias, g.constant(np.zeros(channels, "int32")), axis=0)
        y = g.node("QuantizeLinear", g.node("Conv", x, k, b, **attrs), *out)
    d = g.node("DequantizeLinear", y, *out)
    pooled = g.node("MaxPool", d, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    again = g.node("DequantizeLinear", g.node("QuantizeLinear", pooled, *out), *out)
    total = g.node("Add", again, d)
    return g.model(g.node("QuantizeLinear", total, *g.parameters(0.23, zero, act)), ["n", channels, 7, 6], KINDS[act])


def product(act, dtype, bits):
    g = Graph()
    first, out = g.parameters(0.05, 3, act), g.parameters(0.3, 9, act)
    q = g.node("DequantizeLinear", g.node("QuantizeLinear", "x", *first), *first)
    scale = g.constant((RNG.random(6) / 100 + 0.001).astype("float32"))
    w = g.node(
        "DequantizeLinear", g.constant(weights((24, 6), dtype, bits)), scale, g.constant(np.zeros(6, dtype)), axis=1
    )
    y = g.node("Sigmoid", g.node("MatMul", q, w))
    return g.model(g.node("QuantizeLinear", y, *out), ["n", 24], KINDS[act])


MODELS = {
    "QDQ uint8": lambda bits: convolutions("uint8", "int8", 1, "QDQ", bits),
    "QLinear uint8": lambda bits: convolutions("uint8", "int8", 1, "QLinear", bits),
    "QDQ int8": lambda bits: convolutions("int8", "int8", 1, "QDQ", bits),
    "QDQ depthwise": lambda bits: convolutions("uint8", "int8", 8, "QDQ", bits),
    "QDQ depthwise uint8": lambda bits: convolutions("uint8", "uint8", 8, "QDQ", bits),
    "QLinear depthwise int8": lambda bits: convolutions("int8", "int8", 8, "QLinear", bits),
    "QLinear grouped": lambda bits: convolutions("uint8", "int8", 2, "QLinear", bits),
    "product": lambda bits: product("uint8", "int8", bits),
    "product of int8": lambda bits: product("int8", "int8", bits),
}


@pytest.mark.parametrize("case", MODELS)
def test_as_onnx_runtime(case, onnxruntime):
    """No more than one step of the last quantization apart, at any size of the batch.

    Weights are of 7 bits (its quantizer's `reduce_range`): without VNNI its sums of two products by 8 bits saturate.
    """
    model = MODELS[case](7)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # as the file says
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    compare(model, lambda x: session.run(None, {"x": x})[0])


@thinned("case", MODELS, 1)
def test_as_the_reference(case):
    """The same with weights of 8 bits, beside ONNX's own evaluator, which does not saturate."""
    model = MODELS[case](8)
    newer = onnx.ModelProto()
    newer.CopyFrom(model)
    newer.opset_import[0].version, newer.ir_version = 21, 10  # of those that it has QDQ for
    compare(model, lambda x: ReferenceEvaluator(newer).run(None, {"x": x})[0])


def compare(model, expectation):
    main = relax.build(from_onnx(model), target="llvm")["main"]
    for n in (0, 1, 5):
        x = RNG.standard_normal((n, *(d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim[1:])))
        x = x.astype("float32") * 3
        result = np.asarray(main(x))
        expected = expectation(x) if n else np.empty_like(result)
        assert result.dtype == expected.dtype and result.shape == expected.shape
        difference = np.abs(result.astype(int) - expected.astype(int))
        assert difference.max(initial=0) <= 1
        assert difference.mean() < 0.02 if n else not result.size


def test_halves_of_a_step_go_to_the_even_one():
    g = Graph()
    model = g.model(g.node("QuantizeLinear", "x", *g.parameters(0.5, 10, "uint8")), ["n"], TensorProto.UINT8)
    main = relax.build(from_onnx(model), target="llvm")["main"]
    x = np.array([0.25, 0.75, 1.25, -0.25, -0.75, 1000, -1000], "float32")
    assert np.asarray(main(x)).tolist() == [10, 12, 12, 10, 8, 255, 0]
