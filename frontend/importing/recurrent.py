"""Recurrent layers: LSTM, GRU and plain cells over a sequence, with weights in the layout of ONNX and PyTorch.

The product of the inputs with their weights is computed once for all steps; each step then computes a
product with the state and a fused elementwise function. A sequence of one step is not a loop.

Shapes: time T, batch B, inputs I, hidden H; a cell has G gates, whose weight rows are concatenated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import SymExpr, product
from ...handles.relax.calls import const
from ...handles.relax.expr import Expr, PrimValue, TupleGetItem
from ..block_builder import BlockBuilder
from ..control_flow import symbolic_value
from .relax_operators import R

Activation = Callable[[Expr], Expr]


def sigmoid(x: Expr) -> Expr:
    return R.sigmoid(x)


def tanh(x: Expr) -> Expr:
    return R.tanh(x)


@dataclass(frozen=True)
class Gates:
    """The weights of one direction: `inputs` is (G * H, I), `hidden` (G * H, H), each bias (G * H) or None."""

    inputs: Expr
    hidden: Expr
    input_bias: Expr | None = None
    hidden_bias: Expr | None = None


@dataclass(frozen=True)
class Cell:
    """A cell: `order` names its gates in row order, and `clip` bounds the inputs of activations."""

    order: str
    activations: Sequence[Activation]
    clip: float | None = None

    @property
    def states(self) -> int:
        """The number of carried states; the first one is the output."""
        return 1

    def clipped(self, x: Expr) -> Expr:
        """Return the input of an activation, clipped to `clip`."""
        return x if self.clip is None else R.clip(x, -self.clip, self.clip)

    def projected(self, gates: Gates) -> Expr | None:
        """Return the bias that is added for all steps at once, or None."""
        first, second = gates.input_bias, gates.hidden_bias
        return second if first is None else _with(first, second)

    def step(self, bb: BlockBuilder, x: Expr, states: Sequence[Expr], gates: Gates) -> list[Expr]:
        """Return the next states; `x` (B, G * H) is the input projection of all gates."""
        raise NotImplementedError

    def split(self, bb: BlockBuilder, x: Expr, order: str | None = None) -> dict[str, Expr]:
        """Split `x` into its gates, by name."""
        names = order or self.order
        if len(names) == 1:
            return {names: bb.emit(x)}
        parts = bb.emit(R.split(x, len(names), axis=-1))
        return {name: TupleGetItem(parts, i) for i, name in enumerate(names)}


class RNN(Cell):
    """h' = f(Wx + Rh): `h` is the only gate."""

    def step(self, bb: BlockBuilder, x: Expr, states: Sequence[Expr], gates: Gates) -> list[Expr]:
        (f,) = self.activations
        return [f(self.clipped(R.add(x, _through(states[0], gates.hidden))))]


@dataclass(frozen=True)
class LSTM(Cell):
    """Gates i (input), o (output), f (forget) and c (cell); `peepholes` are the weights (H) from the cell to i, o
    and f.

    c' = f * c + i * g(Wc), h' = o * h(c'); if `coupled`, f is 1 - i.
    """

    peepholes: dict[str, Expr] = field(default_factory=dict[str, Expr])
    coupled: bool = False

    @property
    def states(self) -> int:
        return 2

    def step(self, bb: BlockBuilder, x: Expr, states: Sequence[Expr], gates: Gates) -> list[Expr]:
        f, g, h = self.activations
        hidden, cell = states
        part = self.split(bb, R.add(x, _through(hidden, gates.hidden)))
        admit = f(self._add_peephole(part["i"], "i", cell))
        keep = R.subtract(const(1.0, _dtype(x)), admit) if self.coupled else f(self._add_peephole(part["f"], "f", cell))
        new = bb.emit(R.add(R.multiply(keep, cell), R.multiply(admit, g(self.clipped(part["c"])))))
        return [R.multiply(f(self._add_peephole(part["o"], "o", new)), h(new)), new]

    def _add_peephole(self, gate: Expr, name: str, cell: Expr) -> Expr:
        weight = self.peepholes.get(name)
        return self.clipped(gate if weight is None else R.add(gate, R.multiply(weight, cell)))


@dataclass(frozen=True)
class GRU(Cell):
    """Gates z (update), r (reset) and h (hidden): h' = (1 - z) * g(Wh + …) + z * h.

    With `reset_after` (as in PyTorch) the reset gate scales the hidden projection, otherwise the state.
    """

    reset_after: bool = False

    def projected(self, gates: Gates) -> Expr | None:
        return gates.input_bias

    def step(self, bb: BlockBuilder, x: Expr, states: Sequence[Expr], gates: Gates) -> list[Expr]:
        (state,) = states
        f, g = self.activations
        part = self.split(bb, x)
        if self.reset_after:
            own = self.split(bb, _with(_through(state, gates.hidden), gates.hidden_bias))
            update = f(self.clipped(R.add(part["z"], own["z"])))
            reset = f(self.clipped(R.add(part["r"], own["r"])))
            new = g(self.clipped(R.add(part["h"], R.multiply(reset, own["h"]))))
        else:
            update, new = self._reset_before(bb, part, state, gates)
        update = bb.emit(update)
        return [R.add(R.multiply(R.subtract(const(1.0, _dtype(x)), update), new), R.multiply(update, state))]

    def _reset_before(self, bb: BlockBuilder, part: dict[str, Expr], state: Expr, gates: Gates) -> tuple[Expr, Expr]:
        """Return the update gate and the new hidden values: two products, since the second one depends on the reset
        gate.
        """
        f, g = self.activations
        weights = self._rows(bb, gates.hidden)
        biases = {} if gates.hidden_bias is None else self._rows(bb, gates.hidden_bias)

        def gate_input(name: str, hidden: Expr) -> Expr:
            return self.clipped(R.add(part[name], _with(_through(hidden, weights[name]), biases.get(name))))

        reset = f(gate_input("r", state))
        return f(gate_input("z", state)), g(gate_input("h", bb.emit(R.multiply(reset, state))))

    def _rows(self, bb: BlockBuilder, weights: Expr) -> dict[str, Expr]:
        parts = bb.emit(R.split(weights, len(self.order), axis=0))
        return {name: TupleGetItem(parts, i) for i, name in enumerate(self.order)}


def run_layer(
    bb: BlockBuilder,
    cell: Cell,
    gates: Gates,
    x: Expr,
    states: Sequence[Expr],
    lengths: Expr | None = None,
    reverse: bool = False,
) -> tuple[Expr, list[Expr]]:
    """Run one direction of a layer over `x` (T, B, I) from `states` (B, H); return the outputs (T, B, H) and final
    states.

    After `lengths` (B) steps a sequence keeps its state, and its output is 0. `reverse` iterates backwards in
    time; the outputs remain in time order.
    """
    time, batch, width = _dims(x)
    flat = R.reshape(x, (product([time, batch]), width))
    from_inputs = bb.emit(_with(_through(flat, gates.inputs), cell.projected(gates)))
    projected = bb.emit(R.reshape(from_inputs, (time, batch, _dims(gates.inputs)[0])))
    alive = None if lengths is None else bb.emit(_alive(time, lengths))

    def step(t: Expr, *before: Expr) -> list[Expr]:
        after = [bb.emit(v) for v in cell.step(bb, bb.emit(R.take(projected, t, axis=0)), before, gates)]
        if alive is None:
            return [*after, after[0]]
        there = bb.emit(R.take(alive, t, axis=0))
        kept = [bb.emit(R.where(there, new, old)) for new, old in zip(after, before, strict=True)]
        return [*kept, bb.emit(R.where(there, after[0], R.zeros_like(after[0])))]

    if time.constant == 1:
        *last, only = step(PrimValue(0), *states)
        return bb.emit(R.expand_dims(only, 0)), last

    def at(i: Expr, *before: Expr) -> list[Expr]:
        number = symbolic_value(i)
        return step(PrimValue(time - 1 - number if reverse else number), *before)

    *last, outputs = bb.scan(at, list(states), time, collected=1, name_hint="recurrent")
    return (bb.emit(R.flip(outputs, 0)) if reverse else outputs), last


def _through(x: Expr, weights: Expr) -> Expr:
    """Return the product with weights whose rows are output features."""
    return R.matmul(x, R.permute_dims(weights, [1, 0]))


def _with(x: Expr, bias: Expr | None) -> Expr:
    return x if bias is None else R.add(x, bias)


def _alive(time: SymExpr, lengths: Expr) -> Expr:
    """Return a mask (T, B, 1) of the steps that belong to each sequence."""
    steps = R.reshape(R.arange(0, PrimValue(time), 1, dtype="int64"), (time, 1, 1))
    return R.less(steps, R.reshape(R.astype(lengths, "int64"), (1, _dims(lengths)[0], 1)))


def _dims(x: Expr) -> tuple[SymExpr, ...]:
    t = x.ssa.type
    assert isinstance(t, relax.TensorType) and t.dims is not None
    return tuple(t.dims)


def _dtype(x: Expr) -> str:
    t = x.ssa.type
    assert isinstance(t, relax.TensorType) and t.element is not None
    return dtype_name(t.element)
