"""The programs that the benchmarks compile: an MLP as text, and five whole models written with the nn front end."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MLP = """
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

@I.ir_module
class Module:
    @R.function
    def forward(
        x: R.Tensor(("n", 784), dtype="float32"),
        fc1_weight: R.Tensor((128, 784), dtype="float32"),
        fc1_bias: R.Tensor((128,), dtype="float32"),
        fc2_weight: R.Tensor((10, 128), dtype="float32"),
        fc2_bias: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((784, 128), dtype="float32") = R.permute_dims(fc1_weight, axes=None)
            matmul: R.Tensor((n, 128), dtype="float32") = R.matmul(x, permute_dims, out_dtype="void")
            add: R.Tensor((n, 128), dtype="float32") = R.add(matmul, fc1_bias)
            relu: R.Tensor((n, 128), dtype="float32") = R.nn.relu(add)
            permute_dims1: R.Tensor((128, 10), dtype="float32") = R.permute_dims(fc2_weight, axes=None)
            matmul1: R.Tensor((n, 10), dtype="float32") = R.matmul(relu, permute_dims1, out_dtype="void")
            add1: R.Tensor((n, 10), dtype="float32") = R.add(matmul1, fc2_bias)
            gv: R.Tensor((n, 10), dtype="float32") = add1
            R.output(gv)
        return gv
"""
"""Two dense layers on 28x28 images, the weights as torch keeps them (outputs first)."""

WORKLOADS = {
    "bert": "bert:Bert",
    "resnet": "resnet:ResNet",
    "vit": "vit:Vit",
    "gpt2": "gpt2:Gpt2",
    "llama": "llama:Llama",
}
"""name -> module and class, imported when they are asked for: the MLP needs none of them."""


def make(name: str, **sizes: Any) -> Any:
    """A model of `WORKLOADS`, at the published sizes where none are given. Raises `KeyError` for another name."""
    module, cls = WORKLOADS[name].split(":")
    return getattr(import_module(f"{__name__}.{module}"), cls)(**sizes)


SMALL: dict[str, dict[str, Any]] = {
    "bert": {"vocabulary": 11, "positions": 8, "hidden": 12, "heads": 3, "inner": 20, "layers": 2},
    "resnet": {"size": 32, "width": 4, "depths": (1, 1), "classes": 5},
    "vit": {"size": 8, "patch": 4, "hidden": 12, "heads": 3, "layers": 2, "classes": 5},
    "gpt2": {"vocabulary": 11, "positions": 8, "hidden": 12, "heads": 3, "layers": 2},
    "llama": {"vocabulary": 11, "positions": 8, "hidden": 16, "heads": 4, "groups": 2, "inner": 20, "layers": 2},
}
"""Sizes of models that are soon built and computed, with every part of the great ones."""
