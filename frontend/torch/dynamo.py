"""Graphs captured by TorchDynamo: as functions of a module, and as a backend under TVM's name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...handles.module import IRModule
from .arguments import dtype_name
from .compile.backend import compiled
from .compile.options import Options
from .fx import from_fx


def dynamo_capture_subgraphs(model: Any, *params: Any, **kwargs: Any) -> IRModule:
    """Capture the graphs of a call of `model` as functions `subgraph_0`, `subgraph_1`, … of a module.

    `params` and `kwargs` are the call's arguments, except for `keep_params_as_input`, which is passed to
    `from_fx`. The model is run once, without gradients. Weights that TorchDynamo passes to a graph become its
    parameters. Raises the errors of `from_fx`.
    """
    import torch

    keep = bool(kwargs.pop("keep_params_as_input", False))
    functions: dict[str, Any] = {}

    def capture(graph_module: Any, example_inputs: Any) -> Callable[..., Any]:
        info = [(tuple(t.shape), dtype_name(t.dtype)) for t in example_inputs]
        module = from_fx(graph_module, info, keep_params_as_input=keep, unwrap_unit_return_tuple=True)
        name = f"subgraph_{len(functions)}"
        functions[name] = module["main"].with_attr("global_symbol", name)
        return graph_module.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=capture)(*params, **kwargs)
    return IRModule(functions)


def relax_dynamo(pipeline: Any = None) -> Callable[..., Any]:
    """Return a backend for `torch.compile`, like `backend="tirax"`; `pipeline` is a pass applied to each module
    first.
    """
    return partial(compiled, options=Options(transform=pipeline))
