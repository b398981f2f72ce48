"""Sequences and optionals, which must be known at import: programs contain them only as tuples of results."""

from __future__ import annotations

from typing import Any

from ....handles.relax.expr import TupleGetItem
from ..node import Node
from ..table import converter
from ..values import Output, Result, TensorSequence, Value, op


@converter("SequenceConstruct")
def construct(node: Node, *xs: Value) -> TensorSequence:
    return TensorSequence(xs)


@converter("SequenceEmpty")
def empty(node: Node) -> TensorSequence:
    return TensorSequence()


@converter("SequenceLength")
def length(node: Node, sequence: TensorSequence) -> Value:
    return Value.known(len(sequence))


def _place(node: Node, sequence: TensorSequence, position: Value, most: int) -> int:
    """Return a position counted from the front. Raises `ModelError` if it is out of range."""
    index = int(node.number(position))
    if not -len(sequence) <= index <= most:
        raise node.error("the sequence has no such place", expected=f"at most {most}", found=index)
    return index + len(sequence) if index < 0 else index


@converter("SequenceAt")
def at(node: Node, sequence: TensorSequence, position: Value) -> Value:
    return sequence[_place(node, sequence, position, len(sequence) - 1)]


@converter("SequenceInsert")
def insert(node: Node, sequence: TensorSequence, tensor: Value, position: Value | None = None) -> TensorSequence:
    place = len(sequence) if position is None else _place(node, sequence, position, len(sequence))
    return TensorSequence([*sequence[:place], tensor, *sequence[place:]])


@converter("SequenceErase")
def erase(node: Node, sequence: TensorSequence, position: Value | None = None) -> TensorSequence:
    last = len(sequence) - 1
    place = last if position is None else _place(node, sequence, position, last)
    return TensorSequence([*sequence[:place], *sequence[place + 1 :]])


@converter("ConcatFromSequence")
def concat(node: Node, sequence: TensorSequence) -> Output:
    if not sequence:
        raise node.error("an empty sequence has no tensors to join")
    if node.attr("new_axis"):
        return op("stack", list(sequence), axis=node.attr("axis"))
    return op("concat", list(sequence), axis=node.attr("axis"))


@converter("SplitToSequence")
def split(node: Node, x: Value, sizes: Value | None = None) -> TensorSequence:
    """Split into parts of these sizes; without sizes into single elements, dropping the dimension unless it is kept."""
    axis = node.attr("axis")
    extent = x.dims[axis].constant
    if extent is None:
        raise node.unsupported("how many parts there are depends on a symbolic size")
    extents = _extents(node, extent, sizes)
    edges = [sum(extents[:i]) for i in range(1, len(extents))]
    parts: Any = node.emit(op("split", x, indices_or_sections=edges, axis=axis)) if edges else None
    values = [x if parts is None else Value(node.emit(TupleGetItem(parts, i))) for i in range(len(extents))]
    if sizes is None and not node.attr("keepdims"):
        values = [Value(node.emit(op("squeeze", v, axis=[axis]))) for v in values]
    return TensorSequence(values)


def _extents(node: Node, extent: int, sizes: Value | None) -> list[int]:
    if sizes is None:
        return [1] * extent
    sizes_list = node.ints("split", sizes)
    if sizes.rank:
        return sizes_list
    return [min(sizes_list[0], extent - start) for start in range(0, extent, sizes_list[0])]


@converter("SequenceMap")
def sequence_map(node: Node, first: TensorSequence, *others: Result) -> tuple[TensorSequence, ...]:
    """Apply the subgraph to each element; inputs that are not sequences are the same for all."""
    body = node.attr("body")
    results: list[list[Any]] = [[] for _ in body.output]
    for i, x in enumerate(first):
        elements = [v[i] if isinstance(v, TensorSequence) else v for v in others]
        for column, value in zip(results, node.graph.subgraph(body, [x, *elements]), strict=True):
            column.append(value)
    return tuple(TensorSequence(column) for column in results)


@converter("Optional")
def optional(node: Node, x: Result = None) -> Result:
    return x


@converter("OptionalHasElement")
def has_element(node: Node, x: Result = None) -> Value:
    return Value.constant(x is not None)


@converter("OptionalGetElement")
def get_element(node: Node, x: Result = None) -> Result:
    if x is None:
        raise node.error("the optional has no value")
    return x
