"""Control flow: operators of PyTorch whose arguments are graphs (branches, loops, scans)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ...diagnostics import UnsupportedError
from ...handles.relax.expr import Expr, PrimValue
from ..block_builder import BlockBuilder
from ..control_flow import symbolic_value
from ..importing.relax_operators import R
from .emitter import shape_of
from .flexible_attention import flex_attention


class Reader(Protocol):
    """The interface of `GraphReader` that control flow uses."""

    block_builder: BlockBuilder

    def nested(self, module: Any, arguments: Sequence[Any]) -> list[Any]:
        """Convert a graph for the values of its placeholders, and return its outputs."""
        ...

    def elementwise(self, module: Any, arguments: Sequence[Any]) -> Expr:
        """Convert a graph of scalars for tensors, whose elements it is computed for."""
        ...

    def outside(self) -> AbstractContextManager[None]:
        """Suspend the current dataflow block."""
        ...


def _cond(reader: Reader, pred: Any, true_graph: Any, false_graph: Any, operands: Sequence[Any] = ()) -> Any:
    """Select one of two graphs by a boolean."""
    if isinstance(pred, bool):
        return reader.nested(true_graph if pred else false_graph, operands)
    with reader.outside():
        return reader.block_builder.if_then_else(
            pred, lambda: reader.nested(true_graph, operands), lambda: reader.nested(false_graph, operands)
        )


def _while_loop(
    reader: Reader, cond_graph: Any, body_graph: Any, carried: Sequence[Any], more: Sequence[Any] = ()
) -> Any:
    """Run a graph while another one returns true."""
    if not all(isinstance(v, Expr) for v in carried):
        raise UnsupportedError("a loop that carries a number")

    def going(*values: Expr) -> Any:
        return _one(reader.nested(cond_graph, [*values, *more]))

    def step(*values: Expr) -> Any:
        return reader.nested(body_graph, [*values, *more])

    with reader.outside():
        return reader.block_builder.while_loop(going, step, list(carried))


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) else value


def _scan(reader: Reader, graph: Any, init: Sequence[Any], xs: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    """Run a graph for each slice of `xs`; return the final carried values and the stacked outputs."""
    length = shape_of(xs[0])[0]

    def step(i: Expr, *carried: Expr) -> Any:
        place = PrimValue(symbolic_value(i))
        slices = [reader.block_builder.emit(R.take(x, place, axis=0)) for x in xs]
        return reader.nested(graph, [*carried, *slices, *more])

    collected = len(_outputs(graph)) - len(init)
    with reader.outside():
        return reader.block_builder.scan(step, list(init), length, collected)


def _outputs(graph: Any) -> Sequence[Any]:
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    return output.args[0]


def _map(reader: Reader, graph: Any, xs: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    """Run a graph for each slice of `xs`, and stack the results."""
    return _scan(reader, graph, [], xs, more)


def _inlined(reader: Reader, _: Any, graph: Any, *operands: Any) -> Any:
    """Inline a graph."""
    return reader.nested(graph, operands)


def _wrapped(reader: Reader, graph: Any, *operands: Any) -> Any:
    """Inline a graph that is a separate function only for saving or recomputing values in training."""
    return reader.nested(graph, operands)


def _with_hints(reader: Reader, graph: Any, operands: Sequence[Any], named: Any = None, hints: Any = None) -> Any:
    """Inline a graph, ignoring hints for other compilers."""
    return reader.nested(graph, operands)


def _invoke_subgraph(reader: Reader, graph: Any, _: Any, *operands: Any) -> Any:
    return reader.nested(graph, operands)


CONTROL_FLOW: dict[str, Callable[..., Any]] = {
    "cond": _cond,
    "flex_attention": flex_attention,
    "hints_wrapper": _with_hints,
    "invoke_subgraph": _invoke_subgraph,
    "map_impl": _map,
    "scan": _scan,
    "tag_activation_checkpoint": _wrapped,
    "while_loop": _while_loop,
    "wrap": _wrapped,
    "wrap_activation_checkpoint": _wrapped,
    "wrap_with_set_grad_enabled": _inlined,
}
"""Converters by operator name, called with the reader and the values of the arguments."""
