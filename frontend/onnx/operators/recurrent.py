"""Recurrent layers `RNN`, `GRU` and `LSTM`: both directions, sequence lengths, peepholes, activations and layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....handles.relax.expr import Expr
from ...importing import recurrent as layers
from ..node import Node
from ..single import in_single
from ..table import converter
from ..values import Value, as_value, op
from .activations import Activation, activation, parameter_count

_DEFAULTS = {1: ("Tanh",), 2: ("Sigmoid", "Tanh"), 3: ("Sigmoid", "Tanh", "Tanh")}
"""The default activations of RNN, GRU and LSTM."""
_TURNED = [1, 0, 2]

CellOf = Callable[[list[Activation], int], layers.Cell]
"""Creates the cell of a direction from its activations."""


@converter("RNN")
@in_single
def rnn(
    node: Node,
    x: Value,
    weights: Value,
    recurrence: Value,
    bias: Value | None = None,
    lengths: Value | None = None,
    initial: Value | None = None,
) -> Any:
    def cell(row: list[Activation], _: int) -> layers.Cell:
        return layers.RNN("h", row, _clip(node))

    return _run(node, cell, 1, x, (weights, recurrence, bias), lengths, [initial])


@converter("GRU")
@in_single
def gru(
    node: Node,
    x: Value,
    weights: Value,
    recurrence: Value,
    bias: Value | None = None,
    lengths: Value | None = None,
    initial: Value | None = None,
) -> Any:
    after = bool(node.attr("linear_before_reset"))

    def cell(row: list[Activation], _: int) -> layers.Cell:
        return layers.GRU("zrh", row, _clip(node), reset_after=after)

    return _run(node, cell, 2, x, (weights, recurrence, bias), lengths, [initial])


@converter("LSTM")
@in_single
def lstm(
    node: Node,
    x: Value,
    weights: Value,
    recurrence: Value,
    bias: Value | None = None,
    lengths: Value | None = None,
    initial: Value | None = None,
    initial_cell: Value | None = None,
    peepholes: Value | None = None,
) -> Any:
    coupled = bool(node.attr("input_forget", 0))

    def cell(row: list[Activation], d: int) -> layers.Cell:
        weighed: dict[str, Expr] = {}
        if peepholes is not None:
            parts = _parts(node, _of_direction(node, peepholes, d), 3)
            weighed = dict(zip("iof", parts, strict=True))
        return layers.LSTM("iofc", row, _clip(node), weighed, coupled)

    return _run(node, cell, 3, x, (weights, recurrence, bias), lengths, [initial, initial_cell])


def _clip(node: Node) -> float | None:
    return node.attr("clip") or None


def _of_direction(node: Node, value: Value, d: int) -> Expr:
    """Return the slice of an operand for one direction, without the direction dimension."""
    return node.emit(op("take", value, Value.constant(d, "int64"), axis=0))


def _parts(node: Node, vector: Expr, count: int) -> list[Expr]:
    """Split a vector into `count` parts of equal size."""
    size = (as_value(vector).dims[0] // count).constant
    if size is None:
        raise node.unsupported("a hidden state of symbolic size")
    return [
        node.emit(op("strided_slice", vector, axes=[0], begin=[k * size], end=[(k + 1) * size])) for k in range(count)
    ]


def _run(
    node: Node,
    cell: CellOf,
    activations: int,
    x: Value,
    parameters: tuple[Value, Value, Value | None],
    lengths: Value | None,
    states: list[Value | None],
) -> Any:
    """Run all directions, and return the outputs of all steps and the final states. With `layout` 1 the batch
    comes first.
    """
    if x.rank != 3:
        raise node.error("the sequence has another rank", expected="3: length, batch, features", found=x.rank)
    if node.attr("layout", 0):
        x = as_value(node.emit(op("permute_dims", x, axes=_TURNED)))
        states = [None if s is None else as_value(node.emit(op("permute_dims", s, axes=_TURNED))) for s in states]
    outputs: list[Expr] = []
    last: list[list[Expr]] = [[] for _ in states]
    for d, (row, backward) in enumerate(_directions(node, activations)):
        gates = _gates(node, *parameters, d)
        zeros = [x.dims[1], parameters[1].dims[2]]
        initial = [
            node.emit(op("zeros", zeros, dtype=x.dtype)) if s is None else _of_direction(node, s, d) for s in states
        ]
        limit = None if lengths is None else lengths.expr
        y, ends = layers.run_layer(node.graph.builder, cell(row, d), gates, node.emit(x.expr), initial, limit, backward)
        outputs.append(op("expand_dims", y, axis=[1]))
        for into, state in zip(last, ends, strict=True):
            into.append(op("expand_dims", state, axis=[0]))
    results = [_joined(outputs, 1), *(_joined(s, 0) for s in last)]
    if not node.attr("layout", 0):
        return tuple(results)
    return op("permute_dims", results[0], axes=[2, 0, 1, 3]), *(
        op("permute_dims", r, axes=_TURNED) for r in results[1:]
    )


def _joined(parts: list[Expr], axis: int) -> Expr:
    return parts[0] if len(parts) == 1 else op("concat", parts, axis=axis)


def _gates(node: Node, weights: Value, recurrence: Value, bias: Value | None, d: int) -> layers.Gates:
    both = [None, None] if bias is None else _parts(node, _of_direction(node, bias, d), 2)
    return layers.Gates(_of_direction(node, weights, d), _of_direction(node, recurrence, d), *both)


def _directions(node: Node, each: int) -> list[tuple[list[Activation], bool]]:
    """Return the activations of each direction, and whether it runs backwards; the schema's defaults are for two."""
    kind = node.attr("direction")
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(kind)
    if backward is None:
        raise node.error("the direction is unknown", found=kind)
    names = list(node.attr("activations") or _DEFAULTS[each] * len(backward))[: each * len(backward)]
    if len(names) != each * len(backward):
        raise node.error("the activations are not so many", expected=each * len(backward), found=names)
    alphas, betas = list(node.attr("activation_alpha") or []), list(node.attr("activation_beta") or [])
    functions: list[Activation] = []
    for name in names:
        takes = parameter_count(node, name)
        own = [values.pop(0) for values, used in zip((alphas, betas), takes, strict=True) if used and values]
        functions.append(_bound(node, activation(node, name, *own)))
    return [(functions[d * each : (d + 1) * each], b) for d, b in enumerate(backward)]


def _bound(node: Node, function: Activation) -> Activation:
    """Return an activation that binds its argument, in order to use it several times."""
    return lambda x: function(x if isinstance(x, Value) else node.emit(x))
