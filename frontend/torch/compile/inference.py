"""Inference graphs that do not need AOTAutograd's wrappers, and are called directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_plain(graph_module: Any, inputs: Sequence[Any]) -> bool:
    """Return whether calling this inference graph with the program's `inputs` is equivalent to calling the program.

    This is so if the graph takes these inputs unchanged and returns only the program's results: it mutates no
    input, no result is an input or a view of one, and there are no tokens or random states. Call it while
    AOTAutograd compiles the graph, as it uses AOTAutograd's analysis.
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
    """Return the number of visible outputs of the forward graph being compiled, or None if AOTAutograd does not
    know.
    """
    from torch._guards import TracingContext

    metadata: Any = getattr(TracingContext.try_get(), "fw_metadata", None)
    return getattr(metadata, "num_forward_returns", None)


def _counts(graph_module: Any) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a graph."""
    nodes = list(graph_module.graph.nodes)
    return sum(node.op == "placeholder" for node in nodes), len(nodes[-1].args[0])
