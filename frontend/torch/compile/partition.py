"""Partitioning: supported parts of a graph become functions, and PyTorch runs the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from ..arguments import leaves
from ..symbols import is_symbolic, symbolic_sizes

_FREE = frozenset(
    (
        "alias", "detach", "expand", "getitem", "permute", "select", "slice", "squeeze", "sym_size", "t", "transpose",
        "unsqueeze", "view",
    )
)  # fmt: skip
"""Operators that cost PyTorch nothing: a part with only these is not worth a call."""


def partitioned(graph_module: Any, refused: Collection[Any], compiled: Callable[[Any], Any]) -> tuple[Any, int]:
    """Replace the parts without `refused` nodes by the results of `compiled`; return the graph and the number of parts.

    `compiled` takes the graph of a part and returns a function, or None to leave the part unchanged.
    """
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import create_op_support

    support = create_op_support(lambda modules, node: node.op == "call_function" and node not in refused)
    partitioner = CapabilityBasedPartitioner(graph_module, support, allows_single_node_partition=True)
    worthwhile = [part for part in partitioner.propose_partitions() if _is_worthwhile(part.nodes)]
    fused = partitioner.fuse_partitions(worthwhile)
    for node in fused.graph.nodes:
        if node.op == "call_module" and str(node.target).startswith("fused_"):
            _bind_sizes(fused.get_submodule(node.target), node)
    fused.recompile()
    count = 0
    for name, part in list(fused.named_children()):
        call = compiled(part) if name.startswith("fused_") else None
        if call is not None:
            setattr(fused, name, _module_of(call))
            count += 1
    return fused, count


def _bind_sizes(part: Any, call: Any) -> None:
    """Make size symbols that no argument of a part determines additional arguments, if the graph has them."""
    inputs = [node for node in part.graph.nodes if node.op == "placeholder"]
    alone = {expr for node in inputs for expr in _size_exprs(node) if expr.is_Symbol}
    symbols = {s for node in part.graph.nodes for expr in _size_exprs(node) for s in expr.free_symbols} - alone
    last = inputs[-1] if inputs else part.graph._root  # if nothing precedes it
    for node in call.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and is_symbolic(value) and value.node.expr in symbols:
            with part.graph.inserting_after(last):
                last = part.graph.placeholder(node.name)
            last.meta["val"] = value
            call.args = (*call.args, node)
    part.recompile()


def _size_exprs(node: Any) -> Iterator[Any]:
    for value in leaves(node.meta.get("val")):
        yield from (size.node.expr for size in symbolic_sizes(value))


def _is_worthwhile(nodes: Collection[Any]) -> bool:
    return any(getattr(node.target, "__name__", "").split(".")[0] not in _FREE for node in nodes)


def _module_of(call: Callable[..., Any]) -> Any:
    import torch

    class CompiledPart(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return call(*args)

    return CompiledPart()
