"""Recurrent layers, stacked and in both directions; the cells are in `importing/recurrent.py`."""

from __future__ import annotations

from collections.abc import Sequence

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, PrimValue
from ...importing.recurrent import GRU, LSTM, RNN, Cell, Gates, run_layer, sigmoid, tanh
from ...importing.relax_operators import R
from ..emitter import Emitter
from ..table import row
from .random import dropout_mask_applied

_LSTM = LSTM("ifco", (sigmoid, tanh, tanh))
_GRU = GRU("rzh", (sigmoid, tanh), reset_after=True)


@row("lstm.input")
def lstm(
    e: Emitter,
    x: Expr,
    hx: Sequence[Expr],
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """Long short-term memory: return the output and the final states of both kinds."""
    return _layers(e, _LSTM, x, hx, params, has_biases, num_layers, train and dropout, bidirectional, batch_first)


@row("gru.input")
def gru(
    e: Emitter,
    x: Expr,
    hx: Expr,
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """Gated recurrent units: return the output and the final states."""
    return _layers(e, _GRU, x, [hx], params, has_biases, num_layers, train and dropout, bidirectional, batch_first)


@row("rnn_tanh.input")
def rnn_tanh(
    e: Emitter,
    x: Expr,
    hx: Expr,
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """Recurrent layers with tanh."""
    cell = RNN("h", (tanh,))
    return _layers(e, cell, x, [hx], params, has_biases, num_layers, train and dropout, bidirectional, batch_first)


@row("rnn_relu.input")
def rnn_relu(
    e: Emitter,
    x: Expr,
    hx: Expr,
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """Recurrent layers with relu."""
    cell = RNN("h", (R.nn.relu,))
    return _layers(e, cell, x, [hx], params, has_biases, num_layers, train and dropout, bidirectional, batch_first)


def _layers(
    e: Emitter,
    cell: Cell,
    x: Expr,
    states: Sequence[Expr],
    params: Sequence[Expr],
    has_biases: bool,
    count: int,
    dropout: float | bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """Return the output of the last layer, and the final states of all layers by kind, (layers, B, H)."""
    directions, each = 2 if bidirectional else 1, 4 if has_biases else 2
    if len(params) != count * directions * each:
        raise UnsupportedError("a recurrent layer that projects its output")
    sequence = e.emit(R.permute_dims(x, [1, 0, 2])) if batch_first else x
    lasts: list[list[Expr]] = [[] for _ in states]
    for layer in range(count):
        outputs: list[Expr] = []
        for k in range(layer * directions, (layer + 1) * directions):
            before = [e.emit(R.take(s, PrimValue(k), axis=0)) for s in states]
            gates = Gates(*params[k * each : (k + 1) * each])
            output, after = run_layer(e.builder, cell, gates, sequence, before, reverse=k % directions == 1)
            outputs.append(output)
            for column, state in zip(lasts, after, strict=True):
                column.append(state)
        sequence = outputs[0] if directions == 1 else e.emit(R.concat(outputs, axis=-1))
        if dropout and layer < count - 1:
            sequence = e.bound(dropout_mask_applied(e, sequence, float(dropout)))
    result = e.emit(R.permute_dims(sequence, [1, 0, 2])) if batch_first else sequence
    return [result, *(e.emit(R.stack(column, axis=0)) for column in lasts)]
