"""Random ONNX graphs, compared with ONNX Runtime, and mutated model files.

A graph grows node by node from a table of operators; the types of results come from ONNX's shape inference.
The first extent of inputs is symbolic.
"""

from __future__ import annotations

import random
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...diagnostics import TiraxError
from ...driver.build import build
from ...interpreter.compare import same_values
from ...ir.verification.verify import verify_module
from .checks import demand
from .mutations import mutated_bytes

OPSET = 18
_ROWS = 3
"""The value of the symbolic size while a graph is generated."""

Shape = tuple[int, ...]


class GraphMaker:
    """A graph under construction: values by name with their ONNX element type and shape."""

    def __init__(self, rng: random.Random):
        import onnx

        self.onnx, self.rng = onnx, rng
        self.values: dict[str, tuple[int, Shape]] = {}
        self.inputs: list[Any] = []
        self.weights: list[Any] = []
        self.nodes: list[Any] = []
        self.FLOAT, self.INT64, self.BOOL = (getattr(onnx.TensorProto, t) for t in ("FLOAT", "INT64", "BOOL"))

    def fresh(self, prefix: str = "v") -> str:
        return f"{prefix}{len(self.values) + len(self.weights)}"

    def input(self, shape: Shape, dtype: int) -> str:
        name = self.fresh("x")
        self.values[name] = (dtype, shape)
        dims = ["n", *shape[1:]]
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, dtype, dims))
        return name

    def weight(self, array: Any) -> str:
        name = self.fresh("w")
        array = np.asarray(array)
        self.weights.append(self.onnx.numpy_helper.from_array(array, name))
        self.values[name] = (self.onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        return name

    def floats(self, shape: Shape) -> str:
        return self.weight(
            np.array([self.rng.randint(-8, 8) / 4 for _ in range(int(np.prod(shape)))], "f4").reshape(shape)
        )

    def pick(self, dtype: int, rank: int | None = None) -> str | None:
        """Return a value of a node or an input, with a type and optionally a rank; None if there is none."""
        fits = [
            n for n, (t, s) in self.values.items() if t == dtype and (rank is None or len(s) == rank) and n[0] != "w"
        ]
        return self.rng.choice(fits) if fits else None

    def shape(self, name: str) -> Shape:
        return self.values[name][1]

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> bool:
        """Add a node if shape inference accepts it and infers no negative extent; return whether it was added."""
        helper = self.onnx.helper
        names = [f"v{len(self.values) + len(self.weights)}_{i}" for i in range(outputs)]
        node = helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes)
        infos = [helper.make_tensor_value_info(n, *self.values[n]) for n in dict.fromkeys(filter(None, inputs))]
        constants = [w for w in self.weights if w.name in inputs]
        graph = helper.make_graph(
            [node], "one", infos, [helper.make_empty_tensor_value_info(n) for n in names], constants
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        try:
            inferred = self.onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        except self.onnx.shape_inference.InferenceError:
            return False
        types = [o.type.tensor_type for o in inferred.graph.output]
        shapes = [tuple(d.dim_value for d in t.shape.dim) for t in types]
        if not all(t.HasField("shape") and all(d.HasField("dim_value") for d in t.shape.dim) for t in types):
            return False
        if any(np.prod(s) > 4096 or len(s) > 5 or min(s, default=0) < 0 for s in shapes):
            return False
        self.nodes.append(node)
        self.values |= {n: (t.elem_type, s) for n, t, s in zip(names, types, shapes, strict=True)}
        return True

    def model(self) -> Any:
        """Return the finished model; its outputs are the values that no node reads."""
        helper = self.onnx.helper
        read = {n for node in self.nodes for n in node.input}
        results = [n for node in self.nodes for n in node.output if n not in read]
        outputs = [helper.make_tensor_value_info(n, self.values[n][0], None) for n in results]
        used = [w for w in self.weights if w.name in read]
        graph = helper.make_graph(self.nodes, "graph", self.inputs, outputs, used)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


_UNARY = (
    "Abs", "Neg", "Exp", "Sqrt", "Sigmoid", "Tanh", "Relu", "Floor", "Ceil", "Round", "Sign", "Erf", "Softplus",
    "Softsign", "Sin", "Cos", "Atan", "Reciprocal", "LeakyRelu", "Elu", "Selu", "HardSigmoid", "HardSwish", "Identity",
    "Mish", "ThresholdedRelu",
)  # fmt: skip
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Mod")
_COMPARE = ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")
_REDUCE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")


def _axis(g: GraphMaker, x: str) -> int:
    rank = len(g.shape(x))
    return g.rng.randrange(-rank, rank)


def _unary(g: GraphMaker, x: str) -> bool:
    return g.node(g.rng.choice(_UNARY), [x])


def _binary(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    other = g.pick(g.FLOAT) if g.rng.random() < 0.5 else None
    if other is None:
        dims = tuple(d if i and g.rng.random() < 0.5 else 1 for i, d in enumerate(shape))
        other = g.floats(dims[g.rng.randrange(len(dims) + 1) :])
    op = g.rng.choice(_BINARY)
    pair = [x, other] if g.rng.random() < 0.5 else [other, x]
    return g.node(op, pair, **({"fmod": 1} if op == "Mod" else {}))


def _where(g: GraphMaker, x: str) -> bool:
    other = g.pick(g.FLOAT)
    if other is None or not g.node(g.rng.choice(_COMPARE), [x, other]):
        return False
    (truth,) = g.nodes[-1].output
    return g.node("Where", [truth, x, other])


def _reduce(g: GraphMaker, x: str) -> bool:
    axes = sorted({_axis(g, x) % len(g.shape(x)) for _ in range(2)}) if g.shape(x) else []
    inputs = [x, g.weight(np.array(axes, "i8"))] if axes else [x]
    return g.node(g.rng.choice(_REDUCE), inputs, keepdims=g.rng.randrange(2))


def _arg(g: GraphMaker, x: str) -> bool:
    return bool(g.shape(x)) and g.node(
        g.rng.choice(("ArgMax", "ArgMin")), [x], axis=_axis(g, x), keepdims=g.rng.randrange(2)
    )


def _softmax(g: GraphMaker, x: str) -> bool:
    return bool(g.shape(x)) and g.node(g.rng.choice(("Softmax", "LogSoftmax", "Hardmax")), [x], axis=_axis(g, x))


def _transpose(g: GraphMaker, x: str) -> bool:
    return bool(g.shape(x)) and g.node("Transpose", [x], perm=g.rng.sample(range(len(g.shape(x))), len(g.shape(x))))


def _reshape(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    if len(shape) < 2:
        return g.node("Unsqueeze", [x, g.weight(np.array([g.rng.randrange(len(shape) + 1)], "i8"))])
    at = g.rng.randrange(1, len(shape))  # the first extent may be any
    dims = [0, *shape[1:at], -1] if g.rng.random() < 0.7 else [-1, *shape[at:]]
    return g.node("Reshape", [x, g.weight(np.array(dims, "i8"))])


def _flatten(g: GraphMaker, x: str) -> bool:
    return g.node("Flatten", [x], axis=g.rng.randrange(len(g.shape(x)) + 1))


def _slice(g: GraphMaker, x: str) -> bool:
    if not g.shape(x):
        return False
    axis, step = _axis(g, x), g.rng.choice((1, 1, 2, -1, -2))
    ends = (g.rng.randint(-3, 2), g.rng.randint(1, 5)) if step > 0 else (g.rng.randint(1, 5), g.rng.choice((0, -9)))
    return g.node("Slice", [x, *(g.weight(np.array([v], "i8")) for v in (*ends, axis, step))])


def _concat(g: GraphMaker, x: str) -> bool:
    return bool(g.shape(x)) and g.node("Concat", [x, g.pick(g.FLOAT, len(g.shape(x))) or x, x], axis=_axis(g, x))


def _split(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    axes = [i for i, d in enumerate(shape) if i and d >= 2]
    if not axes:
        return False
    axis = g.rng.choice(axes)
    first = g.rng.randrange(1, shape[axis])
    return g.node("Split", [x, g.weight(np.array([first, shape[axis] - first], "i8"))], outputs=2, axis=axis)


def _gather(g: GraphMaker, x: str) -> bool:
    axes = [i for i, d in enumerate(g.shape(x)) if i and d]
    if not axes:
        return False
    axis = g.rng.choice(axes)
    extent = g.shape(x)[axis]
    indices = np.array([g.rng.randrange(-extent, extent) for _ in range(g.rng.randint(1, 4))], "i8")
    return g.node("Gather", [x, g.weight(indices)], axis=axis)


def _tile(g: GraphMaker, x: str) -> bool:
    return g.node("Tile", [x, g.weight(np.array([g.rng.randint(1, 2) for _ in g.shape(x)], "i8"))])


def _pad(g: GraphMaker, x: str) -> bool:
    mode = g.rng.choice(("constant", "constant", "reflect", "edge"))
    rank = len(g.shape(x))
    pads = np.array([g.rng.randint(0, 1) if i % rank else 0 for i in range(2 * rank)], "i8")
    return bool(rank) and g.node("Pad", [x, g.weight(pads), *([g.floats(())] if mode == "constant" else [])], mode=mode)


def _matmul(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    return len(shape) >= 2 and g.node("MatMul", [x, g.floats((shape[-1], g.rng.randint(1, 5)))])


def _gemm(g: GraphMaker, x: str) -> bool:
    shape, units = g.shape(x), g.rng.randint(1, 4)
    if len(shape) != 2:
        return False
    turned = g.rng.randrange(2)
    weight = g.floats((units, shape[1]) if turned else (shape[1], units))
    return g.node("Gemm", [x, weight, g.floats((units,))], transB=turned, alpha=0.5, beta=2.0)


def _conv(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    if len(shape) not in (3, 4) or 0 in shape:
        return False
    groups = g.rng.choice([d for d in (1, shape[1]) if d])
    kernel = [g.rng.randint(1, 3) for _ in shape[2:]]
    out = groups * g.rng.randint(1, 2)
    inputs = [x, g.floats((out, shape[1] // groups, *kernel)), *([g.floats((out,))] if g.rng.randrange(2) else [])]
    return g.node(
        "Conv", inputs, group=groups, pads=[1] * 2 * len(kernel), strides=[g.rng.randint(1, 2) for _ in kernel]
    )


def _pool(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    if len(shape) not in (3, 4):
        return False
    kernel = [g.rng.randint(1, 3) for _ in shape[2:]]
    op, ceil = g.rng.choice(("MaxPool", "AveragePool", "GlobalAveragePool")), g.rng.randrange(2)
    if op == "GlobalAveragePool":
        return g.node(op, [x])
    return g.node(op, [x], kernel_shape=kernel, strides=[g.rng.randint(1, 2) for _ in kernel], ceil_mode=ceil)


def _norm(g: GraphMaker, x: str) -> bool:
    shape = g.shape(x)
    if len(shape) < 2:
        return False
    if g.rng.randrange(2):
        return g.node("LayerNormalization", [x, g.floats(shape[-1:]), g.floats(shape[-1:])])
    parts = [g.floats((shape[1],)) for _ in range(3)]
    return g.node("BatchNormalization", [x, *parts, g.weight(np.full(shape[1], 0.75, "f4"))])


def _cast(g: GraphMaker, x: str) -> bool:
    if not g.node("Cast", [x], to=g.rng.choice((g.INT64, g.BOOL))):
        return False
    return g.node("Cast", [g.nodes[-1].output[0]], to=g.FLOAT)


def _topk(g: GraphMaker, x: str) -> bool:
    axes = [i for i, d in enumerate(g.shape(x)) if i and d]
    return bool(axes) and g.node("TopK", [x, g.weight(np.array([1], "i8"))], outputs=2, axis=g.rng.choice(axes))


def _cumsum(g: GraphMaker, x: str) -> bool:
    return bool(g.shape(x)) and g.node("CumSum", [x, g.weight(np.array(_axis(g, x), "i8"))], reverse=g.rng.randrange(2))


def _clip(g: GraphMaker, x: str) -> bool:
    return g.node("Clip", [x, g.weight(np.float32(-0.5)), g.weight(np.float32(0.75))])


_STEPS: tuple[Callable[[GraphMaker, str], bool], ...] = (
    _unary, _unary, _binary, _binary, _where, _reduce, _arg, _softmax, _transpose, _reshape, _flatten, _slice, _concat,
    _split, _gather, _tile, _pad, _matmul, _gemm, _conv, _pool, _norm, _cast, _topk, _cumsum, _clip,
)  # fmt: skip


def onnx_graph(rng: random.Random, most: int = 8) -> Any:
    """Return a model of one to `most` nodes, and a few extra ones that some steps need."""
    maker = GraphMaker(rng)
    for _ in range(rng.randint(1, 2)):
        maker.input((_ROWS, *(rng.randint(1, 5) for _ in range(rng.randint(0, 3)))), maker.FLOAT)
    size = rng.randint(1, most)
    for _ in range(8 * size):
        step, x = rng.choice(_STEPS), maker.pick(maker.FLOAT)
        if x is not None:
            step(maker, x)
        if len(maker.nodes) >= size:
            break
    if not maker.nodes:
        maker.node("Relu", [maker.inputs[0].name])
    return maker.model()


def draw_graph(rng: random.Random) -> str:
    return b64encode(onnx_graph(rng).SerializeToString(deterministic=True)).decode()


def check_graph(text: str) -> int:
    """Check native code against ONNX Runtime at several extents, if that implements the model as specified."""
    from ...frontend.importing.errors import UnsupportedOperators
    from ...frontend.onnx import from_onnx

    model = _model(b64decode(text))
    expected = _of_onnx_runtime(model)
    if not expected:
        return 0
    try:
        module = from_onnx(model)
    except UnsupportedOperators:
        return 0
    run = build(module, opt_level=1)["main"]
    for feed, values in expected:
        result = run(*feed)
        for value, array in zip(values, result if isinstance(result, tuple) else (result,), strict=True):
            same = same_values(value, np.asarray(array), 1e-3)
            demand(same, f"{_text(model)}\ninputs {feed}\nexpected {value}\nfound {array}")
    return len(expected)


def _of_onnx_runtime(model: Any) -> list[tuple[list[Any], list[Any]]]:
    """Return random inputs with ONNX Runtime's results, if it accepts them."""
    import onnxruntime

    ort: Any = onnxruntime  # its stubs leave names out
    options, runs = ort.SessionOptions(), []
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for n in (_ROWS, 1):
            if _beyond_specification(model, n):
                continue
            draw = np.random.default_rng(n)
            shapes = [(n, *(d.dim_value for d in v.type.tensor_type.shape.dim[1:])) for v in model.graph.input]
            feed = [np.asarray(draw.random(shape) * 2 - 1).astype("f4") for shape in shapes]
            values = session.run(None, {v.name: a for v, a in zip(model.graph.input, feed, strict=True)})
            runs.append((feed, [np.asarray(v) for v in values]))
    except Exception:  # noqa: BLE001 (it has types of its own for what it does not take)
        return runs
    return runs


def _beyond_specification(model: Any, n: int) -> bool:
    """Return whether the specification defines no result at this symbolic size, although ONNX Runtime computes one."""
    shapes = _shapes(model, n)
    return any(
        _window_beyond(node, shapes) if node.op_type in _POOLS else _empty_gather(node, shapes)
        for node in model.graph.node
        if node.op_type in (*_POOLS, "Gather") and node.input[0] in shapes
    )


_POOLS = ("MaxPool", "AveragePool")


def _window_beyond(node: Any, shapes: dict[str, Shape]) -> bool:
    """Return whether no window of a pool fits: division that truncates counts one window where floor does not."""
    attributes = {a.name: a for a in node.attribute}
    if attributes["ceil_mode"].i:
        return False
    windows = zip(shapes[node.input[0]][2:], attributes["kernel_shape"].ints, attributes["strides"].ints, strict=True)
    return any(int((extent - size) / stride) != (extent - size) // stride for extent, size, stride in windows)


def _empty_gather(node: Any, shapes: dict[str, Shape]) -> bool:
    """Return whether indices address an axis of extent 0; ONNX Runtime ignores them if the result is empty anyway."""
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    return shapes[node.input[0]][axis] == 0


def _shapes(model: Any, n: int) -> dict[str, Shape]:
    """Return the known shapes of values with the symbolic size `n`."""
    from onnx import shape_inference

    concrete = _model(model.SerializeToString())
    for value in concrete.graph.input:
        value.type.tensor_type.shape.dim[0].dim_value = n
    graph = shape_inference.infer_shapes(concrete, data_prop=True).graph
    types = {v.name: v.type.tensor_type for v in (*graph.input, *graph.value_info, *graph.output)}
    dims = {name: t.shape.dim for name, t in types.items() if t.HasField("shape")}
    return {
        name: tuple(d.dim_value for d in ds) for name, ds in dims.items() if all(d.HasField("dim_value") for d in ds)
    }


def _model(data: bytes) -> Any:
    from onnx import ModelProto

    model = ModelProto()
    model.ParseFromString(data)
    return model


def _text(model: Any) -> str:
    from onnx import printer

    return printer.to_text(model)


# Malformed models: bytes, or fields of the message, changed.


@cache
def _original(number: int) -> bytes:
    return onnx_graph(random.Random(number)).SerializeToString(deterministic=True)


def draw_malformed(rng: random.Random) -> str:
    data = _original(rng.randrange(60))
    if rng.random() < 0.5:
        return b64encode(mutated_bytes(rng, data)).decode()
    model = _model(data)
    for _ in range(rng.randint(1, 3)):
        _change_field(rng, model)
    return b64encode(model.SerializeToString(deterministic=True)).decode()


_NUMBERS = (0, 1, -1, 2, 7, 11, 13, 16, 255, 1 << 20, 2**31 - 1, -(2**31))
_WORDS = (
    "",
    "Add",
    "Conv",
    "Reshape",
    "Loop",
    "If",
    "axis",
    "to",
    "n",
    "ai.onnx.ml",
    "com.microsoft",
    "x0",
    "../../etc",
    "é",
)


def _change_field(rng: random.Random, message: Any) -> None:
    """Descend to a random field of a message, and change, clear or duplicate it."""
    fields = message.ListFields()
    if not fields:
        return
    descriptor, value = rng.choice(fields)
    name = descriptor.name
    repeated = hasattr(value, "append") or hasattr(value, "add")
    if repeated and rng.random() < 0.3:
        at = rng.randrange(len(value))
        kept = list(value)
        kept = kept[:at] + (kept[at + 1 :] if rng.random() < 0.5 else [kept[at], *kept[at:]])
        message.ClearField(name)
        getattr(message, name).extend(kept)
    elif descriptor.message_type is not None and rng.random() < 0.9:
        _change_field(rng, rng.choice(list(value)) if repeated else value)
    elif descriptor.message_type is not None or rng.random() < 0.2:
        message.ClearField(name)
    elif repeated:
        value[rng.randrange(len(value))] = _other(rng, value[0])
    elif descriptor.enum_type is not None:
        setattr(message, name, rng.choice(descriptor.enum_type.values).number)
    else:
        setattr(message, name, _other(rng, value))


def _other(rng: random.Random, value: Any) -> Any:
    if isinstance(value, str):
        return rng.choice(_WORDS)
    if isinstance(value, bytes):
        return value[: rng.randrange(len(value) + 1)] if rng.random() < 0.5 else mutated_bytes(rng, value)
    return float(rng.choice(_NUMBERS)) if isinstance(value, float) else rng.choice(_NUMBERS)


def check_malformed(text: str) -> int:
    """Check that a malformed model is rejected by a diagnostic, or gives a verified module."""
    from ...frontend.onnx import from_onnx

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(b64decode(text))
        try:
            module = from_onnx(path)
        except TiraxError:
            return 1
    verify_module(module.op)
    return 1
