"""Values and operators that compiled functions cannot support, so that they stay with PyTorch."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..arguments import operator_name

_OF_MEMORY = frozenset(("as_strided", "as_strided_scatter", "set_", "resize_", "_reinterpret_tensor", "view.dtype"))
"""Operators that depend on the memory layout of their operand."""
_WITH_DROPOUT = frozenset(("_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"))
"""Operators tagged as random that are only random if they have a `dropout_p`."""


def why_refused(node: Any) -> str | None:
    """Return why a node cannot be compiled, or None if it may be."""
    import torch

    if node.op == "call_function" and hasattr(node.target, "_schema"):
        name = operator_name(node.target)[0]
        if torch.Tag.nondeterministic_seeded in node.target.tags and _draws(node, name):
            return "random numbers are PyTorch's"
        if node.target._schema.is_mutable:
            return "it changes its operand"
        if name in _OF_MEMORY:
            return "it depends on how its operand lies in memory"
    values = [node.meta.get("val"), *(n.meta.get("val") for n in node.all_input_nodes)]
    return next((reason for value in values if (reason := why_foreign(value)) is not None), None)


def _draws(node: Any, name: str) -> bool:
    """Return whether a call of an operator tagged as random is actually random."""
    if name not in _WITH_DROPOUT:
        return True
    names = [a.name for a in node.target._schema.arguments]
    return {**dict(zip(names, node.args, strict=False)), **node.kwargs}.get("dropout_p", 0.0) != 0.0


def shared_views(graph: Any, returned: int | None) -> frozenset[Any]:
    """Return the views of memory shared by several of the first `returned` outputs of a graph, and by no input.

    PyTorch creates these: compiled functions allocate separate memory for each result.
    """
    nodes = list(graph.nodes)
    outputs = nodes[-1].args[0]
    visible = dict.fromkeys(outputs[:returned] if isinstance(outputs, list | tuple) else ())
    owners = Counter(place for node in visible if (place := _memory(node)) is not None)
    of_inputs = {_memory(node) for node in nodes if node.op == "placeholder"}
    shared = {place for place, count in owners.items() if count > 1} - of_inputs
    return frozenset(
        node
        for node in nodes
        if _memory(node) in shared and any(_memory(source) == _memory(node) for source in node.all_input_nodes)
    )


def _memory(node: Any) -> int | None:
    """Return a key that is equal for traced tensors that share memory."""
    import torch

    value: Any = getattr(node, "meta", {}).get("val")
    has_memory = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return value.untyped_storage()._cdata if has_memory else None


def why_foreign(value: Any) -> str | None:
    """Return why a compiled function cannot have a traced value, or None."""
    import torch

    if isinstance(value, list | tuple):
        return next((reason for v in value if (reason := why_foreign(v)) is not None), None)
    if isinstance(value, torch.SymFloat | torch.SymBool | float):
        return "a number that is no integer is an argument"
    if isinstance(value, torch.SymInt):
        return _why_unknown([value])
    if not isinstance(value, torch.Tensor):
        return None
    if value.device.type != "cpu":
        return f"it is on the device {value.device}"
    if value.layout is not torch.strided or value.is_complex() or value.is_quantized or value.is_neg():
        return f"tensors of this kind are not compiled: {value.layout} {value.dtype}"
    return _why_unknown(value.shape)


def _why_unknown(sizes: Any) -> str | None:
    """Return why sizes are unsupported (they depend on the contents of tensors), or None."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    return "a size depends on the contents of a tensor" if any(free_unbacked_symbols(s) for s in sizes) else None
