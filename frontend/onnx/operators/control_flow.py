"""Branches and loops: native ones, unless results are not tensors or everything is known at import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....handles.relax.expr import Expr, PrimValue
from ...control_flow import symbolic_value
from ..branches import either
from ..node import Node
from ..table import converter
from ..values import Result, Value, op

UNROLLED = 4
"""Loops of at most this known number of iterations are unrolled."""
_MOST_UNROLLED = 256
"""The same for loops that carry sequences, which programs cannot represent."""
_MOST_COPIES = 16
"""The maximal number of copies of a loop body in nested unrolled loops."""


@converter("If")
def branch(node: Node, condition: Value) -> Any:
    """Convert only the taken branch if the condition is known at import, else both (see `branches.py`)."""
    sides = [node.attr("then_branch"), node.attr("else_branch")]
    if condition.array is not None:
        return tuple(node.graph.subgraph(sides[0 if condition.array.reshape(()).item() else 1], [], inlined=True))
    if not all(_tensor_typed(o) for side in sides for o in side.output):
        raise node.not_constant(condition, "the condition of branches that give sequences or optionals")
    scalar = condition if condition.rank == 0 else op("reshape", condition, ())
    bodies = [lambda side=side: _tensors(node, node.graph.subgraph(side, [])) for side in sides]
    return tuple(either(node.graph.builder, scalar, *bodies))


def _tensor_typed(info: Any) -> bool:
    return not info.HasField("type") or info.type.HasField("tensor_type")


def _tensors(node: Node, values: Sequence[Result]) -> list[Value]:
    """Return the results of a subgraph as tensors. Raises `UnsupportedOperators` for other values."""
    tensors = [v for v in values if isinstance(v, Value)]
    if len(tensors) < len(values):
        raise node.unsupported("its body gives a sequence or an optional")
    return tensors


@converter("Loop")
def loop(node: Node, trips: Value | None = None, condition: Value | None = None, *carried: Result) -> Any:
    """Iterate while the condition holds, at most `trips` times; return the carried and the stacked values."""
    body = node.attr("body")
    count = None if trips is None or trips.array is None else int(trips.array.reshape(()))
    always = condition is None or (condition.array is not None and bool(condition.array.reshape(())))
    plain = all(isinstance(v, Value) for v in carried)
    if condition is not None and condition.array is not None and not always:
        count = 0
    if count is not None and (count == 0 or always) and _may_be_unrolled(count, node.graph.copies, plain):
        return _unrolled(node, body, count, list(carried))
    if not plain and count is not None and always:
        raise node.unsupported(f"it carries sequences, and its body is more than {_MOST_UNROLLED} times in the program")
    if not plain:
        raise node.not_constant(trips if trips is not None and count is None else condition, "how often it runs")
    return _native(node, body, trips, condition, _tensors(node, carried))


def _may_be_unrolled(count: int, copies: int, plain: bool) -> bool:
    """Return whether a loop body may be unrolled; `copies` is the number of copies of the enclosing code."""
    if count <= 1:
        return True
    return count <= UNROLLED and count * copies <= _MOST_COPIES if plain else count * copies <= _MOST_UNROLLED


def _unrolled(node: Node, body: Any, count: int, carried: list[Result]) -> list[Result]:
    """Unroll all iterations. Raises `UnsupportedOperators` if the number of iterations depends on the run."""
    going: Result = Value.constant(True)
    scanned: list[list[Expr]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    for i in range(count):
        going, *values = node.graph.subgraph(body, [Value.constant(i, "int64"), going, *carried], copies=count)
        carried, outputs = values[: len(carried)], values[len(carried) :]
        for column, value in zip(scanned, _tensors(node, outputs), strict=True):
            column.append(op("expand_dims", value, axis=[0]))
        if not isinstance(going, Value) or going.array is None:
            raise node.unsupported("its condition is computed when the program runs, and it carries sequences")
        if not going.array.reshape(()):
            break
    return [*carried, *(_joined(node, column) for column in scanned)]


def _joined(node: Node, rows: list[Expr]) -> Expr:
    if not rows:
        raise node.unsupported("what it gives of each iteration is nothing: it never runs")
    return op("concat", rows, axis=0) if len(rows) > 1 else rows[0]


def _native(node: Node, body: Any, trips: Value | None, condition: Value | None, carried: list[Value]) -> list[Expr]:
    first = Value.constant(True) if condition is None else condition
    limit = None if trips is None else node.emit(op("reshape", trips, ()))

    def going(i: Expr, holds: Expr, *_: Expr) -> Expr:
        return holds if limit is None else op("logical_and", holds, op("less", i, limit))

    def step(i: Expr, holds: Expr, *values: Expr) -> list[Any]:
        results = node.graph.subgraph(body, [Value(i), Value(holds), *map(Value, values)])
        again, *others = _tensors(node, results)
        return [op("add", i, 1), op("reshape", again, ()), *others]

    init = [Value.constant(0, "int64"), op("reshape", first, ()), *carried]
    collected = len(body.output) - 1 - len(carried)
    return node.graph.builder.while_loop(going, step, init, collected)[2:]


@converter("Scan", since=9)
def scan(node: Node, *inputs: Value) -> list[Any]:
    """Apply the body to each slice of the scanned inputs; results other than the carried values are stacked."""
    body, count = node.attr("body"), node.attr("num_scan_inputs")
    carried, scanned = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    axes = node.attr("scan_input_axes") or [0] * count
    backwards = node.attr("scan_input_directions") or [0] * count
    length = scanned[0].dims[axes[0]]

    def step(i: Expr, *values: Expr) -> list[Any]:
        place = symbolic_value(i)
        slices = [
            Value(node.emit(op("take", x, PrimValue(length - 1 - place if back else place), axis=axis)))
            for x, axis, back in zip(scanned, axes, backwards, strict=True)
        ]
        return list(_tensors(node, node.graph.subgraph(body, [*map(Value, values), *slices])))

    collected = len(body.output) - len(carried)
    results = node.graph.builder.scan(step, carried, length, collected)
    return [*results[: len(carried)], *_arranged(node, results[len(carried) :])]


def _arranged(node: Node, stacks: list[Expr]) -> list[Expr]:
    """Return the stacked values in the direction and along the axis that the node specifies."""
    backwards = node.attr("scan_output_directions") or [0] * len(stacks)
    axes = node.attr("scan_output_axes") or [0] * len(stacks)
    results: list[Expr] = []
    for stack, back, axis in zip(stacks, backwards, axes, strict=True):
        value = op("flip", stack, axis=0) if back else stack
        rank = Value(stack).rank
        place = axis + rank if axis < 0 else axis
        order = [*range(1, place + 1), 0, *range(place + 1, rank)]
        results.append(op("permute_dims", value, axes=order) if place else value)
    return results


@converter("Scan", since=8)
def scan_of_batches(node: Node, lengths: Value | None, *inputs: Value) -> list[Any]:
    """Scan each batch, as in version 8, and stack the results."""
    if lengths is not None:
        raise node.unsupported("each of its sequences has a length of its own")
    if inputs[0].dims[0].constant is None:
        raise node.unsupported("the number of its batches is symbolic")
    batches = [
        scan(_of_version_9(node), *(Value(node.emit(op("take", x, PrimValue(b), axis=0))) for x in inputs))
        for b in range(inputs[0].sizes[0])
    ]
    return [op("stack", [_as_expr(row[i]) for row in batches], axis=0) for i in range(len(batches[0]))]


def _of_version_9(node: Node) -> Node:
    return node.with_attributes({"scan_input_directions": node.attr("directions")})


def _as_expr(value: Any) -> Expr:
    return value.expr if isinstance(value, Value) else value
