"""A Relax function as an ONNX model, for the runtimes that read ONNX: a row for each operator that the benchmarks use.

Only what inference of the benchmarked programs needs: float32 data, static shapes, constants as initializers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tirax.dialects import relax
from tirax.dialects.dtypes import dtype_name
from tirax.dialects.names import name_of

OPSET = 20
_TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}


def export(mod: Any, function: str) -> Any:
    """The `onnx.ModelProto` of a function of a module. Raises `KeyError` for an operator without a row."""
    func = next(op for op in mod.op.walk() if isinstance(op, relax.FuncOp) and op.sym_name.data == function)
    graph = _Graph()
    for param in func.body.block.args:
        graph.input(param)
    for op in func.body.block.ops:
        graph.add(op)
    return graph.model()


class _Graph:
    """Nodes and initializers in the order of the function's bindings; values are known by their names in ONNX."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.names: dict[Any, str] = {}
        self.parts: dict[Any, list[str]] = {}

    def input(self, param: Any) -> None:
        name = self.names[param] = name_of(param) or f"input{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, _TYPES[_dtype(param)], _shape(param)))

    def add(self, op: Any) -> None:
        if isinstance(op, relax.ReturnOp):
            value = op.operands[0]
            self.outputs = [helper.make_tensor_value_info(self.names[value], _TYPES[_dtype(value)], _shape(value))]
        elif op.name == "relax.dataflow":
            for inner in op.regions[0].block.ops:
                self.add(inner)
            last = op.regions[0].block.last_op
            self.names.update(zip(op.results, [self.names[v] for v in last.operands], strict=True))
        elif op.name not in _INLINE:
            ROWS[op.name](self, op)

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attrs: Any) -> list[str]:
        """Add a node; the names of its outputs."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attrs))
        return names

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def model(self) -> Any:
        graph = helper.make_graph(self.nodes, "program", self.inputs, self.outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


_INLINE = ("relax.shape", "relax.prim_value", "relax.output", "relax.tuple")
Row = Callable[[_Graph, Any], None]


def _shape(value: Any) -> list[int]:
    return [int(extent.constant) for extent in value.type.dims]


def _dtype(value: Any) -> str:
    return dtype_name(value.type.element)


def _set(graph: _Graph, op: Any, name: str) -> None:
    graph.names[op.results[0]] = name


def _args(graph: _Graph, op: Any) -> list[str]:
    return [graph.names[a] for a in op.operands if a in graph.names]


def _plain(kind: str, **fixed: Any) -> Row:
    """An operator of ONNX with the same operands."""

    def row(graph: _Graph, op: Any) -> None:
        _set(graph, op, graph.node(kind, _args(graph, op), **fixed)[0])

    return row


def _shaped(kind: str) -> Row:
    """An operator whose second operand is the shape of the result."""

    def row(graph: _Graph, op: Any) -> None:
        shape = graph.integers(*_shape(op.results[0]))
        _set(graph, op, graph.node(kind, [_args(graph, op)[0], shape])[0])

    return row


def _constant(graph: _Graph, op: Any) -> None:
    _set(graph, op, graph.constant(op.value.numpy()))


def _permute_dims(graph: _Graph, op: Any) -> None:
    axes = op.attr("axes") or list(reversed(range(len(_shape(op.results[0])))))
    _set(graph, op, graph.node("Transpose", _args(graph, op), perm=list(axes))[0])


def _concat(graph: _Graph, op: Any) -> None:
    _set(graph, op, graph.node("Concat", _args(graph, op), axis=op.attr("axis"))[0])


def _split(graph: _Graph, op: Any) -> None:
    axis, types = op.attr("axis"), op.results[0].type.types.data
    sizes = graph.integers(*(int(t.dims[axis].constant) for t in types))
    graph.parts[op.results[0]] = graph.node("Split", [*_args(graph, op), sizes], len(types), axis=axis)


def _tuple_get_item(graph: _Graph, op: Any) -> None:
    parts = graph.parts[op.operands[0]]
    if op.index.data < len(parts):
        _set(graph, op, parts[op.index.data])


def _take(graph: _Graph, op: Any) -> None:
    _set(graph, op, graph.node("Gather", _args(graph, op), axis=op.attr("axis"))[0])


def _strided_slice(graph: _Graph, op: Any) -> None:
    axes, begin, end = ([int(v.owner.value.data.constant) for v in part] for part in op.args[1:4])
    inputs = [_args(graph, op)[0], *(graph.integers(*part) for part in (begin, end, axes))]
    _set(graph, op, graph.node("Slice", inputs)[0])


def _expand_dims(graph: _Graph, op: Any) -> None:
    _set(graph, op, graph.node("Unsqueeze", [_args(graph, op)[0], graph.integers(*op.attr("axis"))])[0])


def _mean(graph: _Graph, op: Any) -> None:
    inputs = [_args(graph, op)[0], graph.integers(*op.attr("axis"))]
    _set(graph, op, graph.node("ReduceMean", inputs, keepdims=int(op.attr("keepdims")))[0])


def _repeat(graph: _Graph, op: Any) -> None:
    """[…, n, …] -> […, n, 1, …] -> […, n, repeats, …] -> […, n * repeats, …]."""
    axis, (source,) = op.attr("axis"), _args(graph, op)
    shape = _shape(op.operands[0])
    wide = graph.node("Unsqueeze", [source, graph.integers(axis + 1)])[0]
    spread = graph.integers(*shape[: axis + 1], op.attr("repeats"), *shape[axis + 1 :])
    many = graph.node("Expand", [wide, spread])[0]
    _set(graph, op, graph.node("Reshape", [many, graph.integers(*_shape(op.results[0]))])[0])


def _layer_norm(graph: _Graph, op: Any) -> None:
    result = graph.node("LayerNormalization", _args(graph, op), axis=-1, epsilon=op.attr("epsilon"))
    _set(graph, op, result[0])


def _rms_norm(graph: _Graph, op: Any) -> None:
    x, weight = _args(graph, op)
    square = graph.node("Mul", [x, x])[0]
    mean = graph.node("ReduceMean", [square, graph.integers(-1)], keepdims=1)[0]
    shifted = graph.node("Add", [mean, graph.constant(np.float32(op.attr("epsilon")))])[0]
    normal = graph.node("Div", [x, graph.node("Sqrt", [shifted])[0]])[0]
    _set(graph, op, graph.node("Mul", [normal, weight])[0])


def _silu(graph: _Graph, op: Any) -> None:
    (x,) = _args(graph, op)
    _set(graph, op, graph.node("Mul", [x, graph.node("Sigmoid", [x])[0]])[0])


def _attention(graph: _Graph, op: Any) -> None:
    """[batch, length, heads, size] each: softmax(q k^T / sqrt(size)) v, masked where it is causal."""
    query, key, value = _args(graph, op)
    length, size = _shape(op.operands[0])[1], _shape(op.operands[0])[3]
    q = graph.node("Transpose", [query], perm=[0, 2, 1, 3])[0]
    k = graph.node("Transpose", [key], perm=[0, 2, 3, 1])[0]
    v = graph.node("Transpose", [value], perm=[0, 2, 1, 3])[0]
    scores = graph.node("MatMul", [q, k])[0]
    scores = graph.node("Mul", [scores, graph.constant(np.float32(op.attr("scale") or size**-0.5))])[0]
    if op.attr("causal_mask") is not None:
        mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)
        scores = graph.node("Add", [scores, graph.constant(mask)])[0]
    result = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1)[0], v])[0]
    _set(graph, op, graph.node("Transpose", [result], perm=[0, 2, 1, 3])[0])


def _softmax(graph: _Graph, op: Any) -> None:
    _set(graph, op, graph.node("Softmax", _args(graph, op), axis=op.attr("axis"))[0])


def _conv2d(graph: _Graph, op: Any) -> None:
    if op.attr("data_layout") != "NCHW":
        raise ValueError("ONNX has NCHW only: compare with the row of that layout")
    attrs = {name: op.attr(name) for name in ("strides", "groups")}
    result = graph.node(
        "Conv", _args(graph, op), strides=attrs["strides"], pads=op.attr("padding"), dilations=op.attr("dilation"),
        group=attrs["groups"],
    )  # fmt: skip
    _set(graph, op, result[0])


def _batch_norm(graph: _Graph, op: Any) -> None:
    graph.parts[op.results[0]] = graph.node("BatchNormalization", _args(graph, op), epsilon=op.attr("epsilon"))


def _max_pool2d(graph: _Graph, op: Any) -> None:
    result = graph.node(
        "MaxPool",
        _args(graph, op),
        kernel_shape=op.attr("pool_size"),
        strides=op.attr("strides"),
        pads=op.attr("padding"),
    )
    _set(graph, op, result[0])


ROWS: dict[str, Row] = {
    "relax.add": _plain("Add"),
    "relax.subtract": _plain("Sub"),
    "relax.multiply": _plain("Mul"),
    "relax.tanh": _plain("Tanh"),
    "relax.matmul": _plain("MatMul"),
    "relax.nn.relu": _plain("Relu"),
    "relax.nn.gelu": _plain("Gelu"),
    "relax.nn.gelu_tanh": _plain("Gelu", approximate="tanh"),
    "relax.nn.silu": _silu,
    "relax.nn.softmax": _softmax,
    "relax.nn.layer_norm": _layer_norm,
    "relax.nn.rms_norm": _rms_norm,
    "relax.nn.attention": _attention,
    "relax.nn.conv2d": _conv2d,
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.max_pool2d": _max_pool2d,
    "relax.mean": _mean,
    "relax.reshape": _shaped("Reshape"),
    "relax.broadcast_to": _shaped("Expand"),
    "relax.permute_dims": _permute_dims,
    "relax.concat": _concat,
    "relax.split": _split,
    "relax.tuple_get_item": _tuple_get_item,
    "relax.take": _take,
    "relax.strided_slice": _strided_slice,
    "relax.expand_dims": _expand_dims,
    "relax.repeat": _repeat,
    "relax.constant": _constant,
}
"""Operator -> what it is in ONNX. Tuples are inline in Relax: their parts are known by position."""
