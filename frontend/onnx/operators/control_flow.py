"""Branches and loops: native ones, but where what they give is no tensor, or all is known at import."""

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
"""Iterations of a loop that are written one after the other, where their number is known."""
_MOST_UNROLLED = 256
"""The same where the loop carries sequences, which no program has."""
_MOST_COPIES = 16
"""So often a body is written at most, where loops that are unrolled are in others."""


@converter("If")
def branch(node: Node, condition: Value) -> Any:
    """A condition that is known at import takes its branch; of another one both are built (`branches.py`)."""
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
    """Results of a body as tensors. Raises `UnsupportedOperators` for others."""
    tensors = [v for v in values if isinstance(v, Value)]
    if len(tensors) < len(values):
        raise node.unsupported("its body gives a sequence or an optional")
    return tensors


@converter("Loop")
def loop(node: Node, trips: Value | None = None, condition: Value | None = None, *carried: Result) -> Any:
    """As long as the condition holds, and at most `trips` times: the carried values, and what each iteration gives."""
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
    """Whether a body is written once for each iteration; `copies`: how often what is around it is."""
    if count <= 1:
        return True
    return count <= UNROLLED and count * copies <= _MOST_COPIES if plain else count * copies <= _MOST_UNROLLED


def _unrolled(node: Node, body: Any, count: int, carried: list[Result]) -> list[Result]:
    """The iterations one after the other. Raises `UnsupportedOperators` where one of them may be the last."""
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
    """The body for each slice of the scanned inputs; what it gives besides the carried values is stacked."""
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
    """What was stacked, in the order and along the axis that the node says."""
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
    """Version 8 has batches: the scan of each of them, stacked."""
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
