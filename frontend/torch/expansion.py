"""Operators without a row, said by others: the decompositions that PyTorch has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .arguments import operator_name
from .graph import DROPPED
from .table import lookup


def expanded(program: Any, custom: frozenset[str] = frozenset()) -> Any:
    """An exported program in which operators that have a row (or a converter by name in `custom`) stay as they are.

    Others are decomposed, and what changes tensors in place is made to give new ones, where there is any such node.
    """
    if not any(_needs_expansion(node, custom) for node in _nodes(program.graph_module)):
        return program
    return program.run_decompositions(decompositions(custom))


def _nodes(module: Any) -> Iterator[Any]:
    """The nodes of a graph that call an operator, and those of the graphs in it."""
    for inner in module.modules():
        if hasattr(inner, "graph"):
            yield from (n for n in inner.graph.nodes if n.op == "call_function" and hasattr(n.target, "_schema"))


def _needs_expansion(node: Any, custom: frozenset[str]) -> bool:
    if operator_name(node.target)[0] in DROPPED:
        return False
    return node.target._schema.is_mutable or not _has_row(node.target, custom) or _trains(node)


def _has_row(overload: Any, custom: frozenset[str]) -> bool:
    return overload.__name__ in custom or lookup(*operator_name(overload)) is not None


def _trains(node: Any) -> bool:
    """Whether a normalization changes its running statistics: PyTorch's schema does not say that it does."""
    return operator_name(node.target)[0] == "batch_norm" and node.args[5] is True


def decompositions(custom: frozenset[str] = frozenset()) -> dict[Any, Any]:
    """PyTorch's decompositions of the operators that have no row: those into core ATen, then any that it knows."""
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    table = {**decomposition_table, **default_decompositions()}
    return {op: how for op, how in table.items() if hasattr(op, "_schema") and not _has_row(op, custom)}
