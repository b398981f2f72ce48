"""Twelve narrow models: those of the benchmarks, and six programs of a few layers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import module_op
from ...script import parse_source

_HEAD = """
@I.ir_module
class Module:
    @R.function
    def main({parameters}):
        with R.dataflow():
{body}
            R.output({result})
        return {result}
"""

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "dense": (
        'x: R.Tensor(("n", 12), "float32"), w: R.Tensor((12, 20), "float32"), b: R.Tensor((20,), "float32"),'
        ' v: R.Tensor((20, 5), "float32")',
        "h = R.nn.relu(R.add(R.matmul(x, w), b)); y = R.nn.softmax(R.matmul(h, v), axis=-1)",
    ),
    "attention": (
        'x: R.Tensor((1, 4, 12), "float32"), w: R.Tensor((12, 12), "float32")',
        "q = R.reshape(R.matmul(x, w), R.shape([1, 4, 3, 4])); y = R.nn.attention(q, q, q, causal_mask='TopLeft')",
    ),
    "convolutions": (
        'x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"),'
        ' d: R.Tensor((4, 1, 3, 3), "float32")',
        "a = R.nn.relu(R.nn.conv2d(x, w, padding=1)); b = R.nn.conv2d(a, d, groups=4);"
        " y = R.nn.max_pool2d(b, pool_size=[2, 2], strides=[2, 2])",
    ),
    "norms": (
        'x: R.Tensor((2, 3, 8), "float32"), g: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")',
        "a = R.nn.layer_norm(x, g, b, axes=[-1]); c = R.nn.rms_norm(R.nn.silu(a), g, axes=[-1]); y = R.add(x, c)",
    ),
    "embedding": (
        'i: R.Tensor((2, 3), "int64"), t: R.Tensor((11, 8), "float32"), w: R.Tensor((8, 4), "float32")',
        "e = R.take(t, R.reshape(i, R.shape([6])), axis=0); m = R.mean(R.reshape(e, R.shape([2, 3, 8])), axis=1);"
        " y = R.tanh(R.matmul(m, w))",
    ),
    "integers": (
        'x: R.Tensor((3, 8), "int8"), w: R.Tensor((8, 5), "int8"), b: R.Tensor((5,), "int32")',
        'a = R.add(R.matmul(x, w, out_dtype="int32"), b); y = R.astype(R.clip(R.right_shift(a, R.const(4, "int32")),'
        ' -128, 127), "int8")',
    ),
}  # fmt: skip
"""name -> parameters of `main`, and its bindings."""


def _program(name: str) -> ModuleOp:
    parameters, bindings = PROGRAMS[name]
    lines = [f"            {b.strip()}" for b in bindings.split("; ")]
    result = lines[-1].split(" = ")[0].strip()
    return module_op(parse_source(_HEAD.format(parameters=parameters, body="\n".join(lines), result=result)))


def _benchmarks() -> Any:
    """Return the package of the benchmarks' models, under a name that is nobody else's."""
    name, folder = "benchmark_models", Path(__file__).parents[2] / "benchmarks" / "models"
    if name not in sys.modules:
        spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _benchmark(name: str) -> ModuleOp:
    models = _benchmarks()
    workloads = import_module(f"{models.__name__}.workload")
    workload = models.make(name, **models.SMALL[name])
    length = 4 if workload.default_length else None
    exported: Any = workloads.export(workload, 1, length)
    return module_op(workloads.bind(exported, workloads.random_weights(workload)))


MODELS: dict[str, Callable[[str], ModuleOp]] = {
    **dict.fromkeys(PROGRAMS, _program),
    **dict.fromkeys(("bert", "resnet", "vit", "gpt2", "llama"), _benchmark),
    "mlp": lambda _name: module_op(
        parse_source(
            _benchmark_text().replace("784", "20").replace("128", "12").replace("10)", "5)").replace("(10,", "(5,")
        )
    ),
}
"""Models by name -> the function that builds them."""


def _benchmark_text() -> str:
    return _benchmarks().MLP
