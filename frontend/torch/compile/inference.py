"""Graphs around whose calls AOTAutograd has nothing to do: they are called without its wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_plain(graph_module: Any, inputs: Sequence[Any]) -> bool:
    """Whether a call of this inference graph with the program's `inputs` is a call of the program.

    So it is where the graph takes these inputs as they are and gives the program's results alone: it changes no input,
    no result is an input or a view of one, and there are neither tokens nor states of random numbers. To be asked while
    AOTAutograd compiles the graph, whose findings answer it.
    """
    from torch._guards import TracingContext
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    context: Any = TracingContext.try_get()
    metadata: Any = getattr(context, "fw_metadata", None)
    if metadata is None or context.fakify_first_call or any(map(is_traceable_wrapper_subclass, inputs)):
        return False
    special = (
        any(info.mutates_data or info.mutates_metadata for info in metadata.input_info)
        or metadata.num_outputs_aliased
        or metadata.num_intermediate_bases
        or metadata.tokens
        or metadata.grad_enabled_mutation is not None
        or metadata.dynamic_outputs
        or metadata.is_rng_op_functionalized
    )
    return not special and _counts(graph_module) == (len(inputs), metadata.num_outputs)


def visible_outputs() -> int | None:
    """How many outputs of the forward graph that AOTAutograd compiles a program can see; None where it does not say."""
    from torch._guards import TracingContext

    metadata: Any = getattr(TracingContext.try_get(), "fw_metadata", None)
    return getattr(metadata, "num_forward_returns", None)


def _counts(graph_module: Any) -> tuple[int, int]:
    """How many inputs and outputs a graph has."""
    nodes = list(graph_module.graph.nodes)
    return sum(node.op == "placeholder" for node in nodes), len(nodes[-1].args[0])
