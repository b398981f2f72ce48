"""Normalizations of batches, and communication among the only process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import Operation

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import dtype_name
from ...handles.relax.expr import Expr, const
from ..importing.relax_operators import R
from .graph import Graph, rule
from .values import attribute, element_of, integer


class _Features:
    """The operand of a normalization, and its values by feature in its shape."""

    def __init__(self, graph: Graph, op: Operation):
        self.graph, self.op = graph, op
        self.operand = graph.tensor(op.operands[0])
        self.rank = len(graph.dims(op.operands[0]))
        self.feature = integer(op, "feature_index")
        self.others = [axis for axis in range(self.rank) if axis != self.feature]
        epsilon = cast("FloatAttr[Any]", attribute(op, "epsilon")).value.data
        self.epsilon = const(epsilon, dtype_name(element_of(op.operands[0])))

    def emit(self, value: Any) -> Expr:
        return self.graph.emit(value)

    def spread(self, value: Expr) -> Expr:
        """Return a vector by feature with the rank of the operand."""
        return self.emit(R.expand_dims(value, axis=self.others)) if self.others else value

    def mean(self, value: Expr) -> Expr:
        return self.emit(R.mean(value, axis=self.others)) if self.others else value

    def sum(self, value: Expr) -> Expr:
        return self.emit(R.sum(value, axis=self.others)) if self.others else value

    def deviation(self, variance: Expr) -> Expr:
        return self.emit(R.sqrt(self.emit(R.add(variance, self.epsilon))))

    def normalized(self, mean: Expr, variance: Expr) -> Expr:
        scale, offset = (self.spread(self.graph.tensor(v)) for v in self.op.operands[1:3])
        centered = self.emit(R.subtract(self.operand, self.spread(mean)))
        unit = self.emit(R.divide(centered, self.spread(self.deviation(variance))))
        return self.emit(R.add(self.emit(R.multiply(unit, scale)), offset))


@rule("stablehlo.batch_norm_inference")
def batch_norm_inference(graph: Graph, op: Operation) -> None:
    """Normalize by a mean and a variance that are known."""
    mean, variance = (graph.tensor(v) for v in op.operands[3:])
    graph.set(op, _Features(graph, op).normalized(mean, variance))


@rule("stablehlo.batch_norm_training")
def batch_norm_training(graph: Graph, op: Operation) -> None:
    """Normalize by the mean and the variance of the batch, which are results, too."""
    f = _Features(graph, op)
    mean = f.mean(f.operand)
    centered = f.emit(R.subtract(f.operand, f.spread(mean)))
    variance = f.mean(f.emit(R.multiply(centered, centered)))
    graph.set(op, f.normalized(mean, variance), mean, variance)


@rule("stablehlo.batch_norm_grad")
def batch_norm_grad(graph: Graph, op: Operation) -> None:
    """Return the gradients of the operand, the scale and the offset."""
    f = _Features(graph, op)
    scale, mean, variance, out = (graph.tensor(v) for v in op.operands[1:])
    deviation = f.deviation(variance)
    unit = f.emit(R.divide(f.emit(R.subtract(f.operand, f.spread(mean))), f.spread(deviation)))
    along = f.emit(R.multiply(out, unit))
    shared = f.emit(R.multiply(unit, f.spread(f.mean(along))))
    inner = f.emit(R.subtract(f.emit(R.subtract(out, f.spread(f.mean(out)))), shared))
    slope = f.spread(f.emit(R.divide(scale, deviation)))
    graph.set(op, f.emit(R.multiply(slope, inner)), f.sum(along), f.sum(out))


# -- communication -----------------------------------------------------------------------------------------------------


def _numbers(op: Operation, name: str) -> Sequence[int]:
    found = attribute(op, name)
    if not isinstance(found, DenseIntOrFPElementsAttr):
        return ()
    return [int(cast(Any, n)) for n in found.get_values()]


@rule(
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.collective_broadcast",
    "stablehlo.reduce_scatter",
)
def collective(graph: Graph, op: Operation) -> None:
    """Keep the operands: the only process has nothing to add. Raises `UnsupportedError` for several."""
    groups = _numbers(op, "replica_groups")
    if any(groups) or len(groups) > 1:
        raise UnsupportedError(f"'{op.name}' among several processes", expected="one, whose number is 0")
    if [v.type for v in op.operands] != [r.type for r in op.results]:
        raise UnsupportedError(f"'{op.name}' whose results have other types than its operands")
    graph.set(op, *(graph.values[v] for v in op.operands))


@rule("stablehlo.collective_permute")
def collective_permute(graph: Graph, op: Operation) -> None:
    """Keep the operand, if process 0 sends it to itself."""
    if list(_numbers(op, "source_target_pairs")) != [0, 0]:
        raise UnsupportedError(f"'{op.name}' among several processes", expected="one, which sends to itself")
    graph.set(op, graph.values[op.operands[0]])
