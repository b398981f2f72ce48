"""Branches and loops."""

from __future__ import annotations

from typing import Any

from ..node import Node
from ..table import converter
from ..values import Value


@converter("If")
def branch(node: Node, condition: Value) -> Any:
    """A condition that is known at import takes its branch; of another one both are built."""
    if condition.array is None:
        raise node.unsupported("its condition is computed when the program runs")
    taken = "then_branch" if condition.array.reshape(()).item() else "else_branch"
    return tuple(node.graph.subgraph(node.attr(taken), []))
