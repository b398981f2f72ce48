"""Summaries of exported programs: `summary_of`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..importing.summary import Summary, tensor_text
from .arguments import dtype_name
from .exported_program import coverage_of


def summary_of(program: Any, name: str) -> Summary:
    """Return the inputs, outputs, weights and operators of a `torch.export.ExportedProgram` called `name`."""
    import torch

    signature = program.graph_signature
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    weights = [*program.state_dict.values(), *(c for c in program.constants.values() if isinstance(c, torch.Tensor))]
    return Summary(
        f"PyTorch, exported program {name}",
        tuple(_texts(signature.user_inputs, values)),
        tuple(_texts(signature.user_outputs, values)),
        len(weights),
        sum(w.nbytes for w in weights),
        coverage_of(program),
    )


def _texts(names: Iterable[Any], values: dict[str, Any]) -> Iterable[str]:
    for name in names:
        value: Any = values.get(name) if isinstance(name, str) else name
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            yield tensor_text(name, dtype_name(value.dtype), tuple(value.shape))
        else:
            yield f"{name}: {type(value).__name__}"
