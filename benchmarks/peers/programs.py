"""The programs that are compared: the rows of the table, each in Relax, and where it is short also in the array API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import models
import numpy as np
from models import workload as workloads

import tirax.tvm_api as tvm
from tirax.tvm_api import relax

from . import convolutions

Array = np.ndarray
op = relax.op


@dataclass(frozen=True, eq=False)
class Program:
    """One row: a module whose function `forward` is called with `inputs`.

    `array(xp, *inputs)` is the same in the names that numpy, jax.numpy and torch share; None for whole models, whose
    `reference` is in numpy. `flop` is 0 and `traffic` (bytes) counts where memory is the limit.
    """

    name: str
    mod: Any
    inputs: tuple[Array, ...]
    reference: Callable[[], Array]
    array: Callable[..., Any] | None = None
    flop: int = 0
    traffic: int = 0
    tolerance: float = 1e-4


def small_programs() -> Iterator[Program]:
    """Everything but whole models."""
    yield _function("add of one element", lambda xp, x, y: x + y, op.add, (1,), (1,))
    for m, n, k in MATMULS:
        yield _function(f"matmul {m}x{k}x{n}", _matmul, op.matmul, (m, k), (k, n), flop=2 * m * n * k)
    for batch in (1, 32, 256):
        yield _mlp(batch)
    for size in (1024, 4096):
        yield _function(f"softmax {size}x{size}", _softmax, lambda x: op.nn.softmax(x, -1), (size, size), moved=2)
    yield _function("layernorm 4096x768", _layer_norm, _relax_layer_norm, (4096, 768), (768,), (768,), moved=2)
    for conv in convolutions.CONVOLUTIONS:
        for layout in convolutions.LAYOUTS:
            yield _convolution(conv, layout)
    yield _function("gelu chain, 16M", _gelu, _relax_gelu, (16 * 2**20,), moved=2)


MATMULS = (
    (128, 128, 128), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (32, 128, 784),
    (197, 3072, 768), (127, 131, 129), (1, 128, 784), (1, 4096, 4096),
)  # fmt: skip


def _function(
    name: str,
    array: Callable[..., Any],
    relaxed: Callable[..., Any],
    *shapes: tuple[int, ...],
    flop: int = 0,
    moved: int = 0,
) -> Program:
    """A function of float32 arrays; `moved` counts how often the first array's bytes go through memory."""
    rng = np.random.default_rng(len(name))
    inputs = tuple(rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32")) for i, shape in enumerate(shapes)]
    with builder.function("forward", params):
        with builder.dataflow():
            out = builder.emit_output(relaxed(*params))
        builder.emit_func_output(out)
    mod = builder.get()
    expected = lambda: array(np, *(x.astype(np.float64) for x in inputs))  # noqa: E731
    return Program(name, mod, inputs, expected, array, flop, moved * inputs[0].nbytes)


def _matmul(xp: Any, x: Any, y: Any) -> Any:
    return x @ y


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def _layer_norm(xp: Any, x: Any, weight: Any, bias: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * weight + bias


def _relax_layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    return op.nn.layer_norm(x, weight, bias, axes=[-1])


def _gelu(xp: Any, x: Any) -> Any:
    return (xp.tanh(x * 0.7978845) + 1) * x * 0.5


def _relax_gelu(x: Any) -> Any:
    number = lambda value: relax.const(value, "float32")  # noqa: E731
    tanh = op.tanh(op.multiply(x, number(0.7978845)))
    return op.multiply(op.multiply(op.add(tanh, number(1.0)), x), number(0.5))


def _mlp(batch: int) -> Program:
    rng = np.random.default_rng(0)
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    params = {k: (rng.standard_normal(s) * 0.1).astype(np.float32) for k, s in shapes.items()}
    source = models.MLP.replace('("n", 784)', f"({batch}, 784)").replace('("n", 10)', f"({batch}, 10)")
    source = source.replace("(n, ", f"({batch}, ").replace("        n = T.int64()\n", "")
    mod = relax.transform.BindParams("forward", params)(tvm.script.from_source(source))
    w1, w2 = (np.ascontiguousarray(params[k].T) for k in ("fc1_weight", "fc2_weight"))

    def array(xp: Any, x: Any) -> Any:
        a, b, c, d = (xp.asarray(v) for v in (w1, params["fc1_bias"], w2, params["fc2_bias"]))
        hidden = x @ a + b
        return xp.where(hidden > 0, hidden, xp.zeros_like(hidden)) @ c + d

    x = rng.standard_normal((batch, 784), dtype=np.float32)
    flop = 2 * batch * (784 * 128 + 1280)
    return Program(f"MLP, batch {batch}", mod, (x,), lambda: array(np, x.astype(np.float64)), array, flop)


def _convolution(conv: convolutions.Convolution, layout: str) -> Program:
    mod, inputs = convolutions.module(conv, layout), (convolutions.image(conv, layout),)
    expected = lambda: convolutions.in_numpy(conv, layout, np.float64)  # noqa: E731
    array = convolutions.in_array_module(conv, layout)
    return Program(f"{conv.name} {layout}", mod, inputs, expected, array, conv.flop)


def model(name: str, *, small: bool = False) -> Program:
    """A whole model with random weights, batch 1."""
    workload = models.make(name, **(models.SMALL[name] if small else {}))
    length = min(workload.default_length, workload.positions) if workload.default_length else None
    weights = workloads.random_weights(workload)
    mod = workloads.bind(workloads.export(workload, 1, length), weights)
    inputs = tuple(workload.inputs(1, length))
    expected = lambda: workload.reference(workloads.in_double(weights), *inputs)  # noqa: E731
    return Program(name, mod, inputs, expected, flop=workload.flop(1, length))
