"""Optimizers of the preview domain: each updates any number of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter
from ..values import Value, op
from .elementwise import converted

TRAINING = "ai.onnx.preview.training"

Update = Callable[..., tuple[Expr, ...]]


def _optimizer(name: str, states: int) -> Callable[[Update], Update]:
    """Register an optimizer; its update function takes the rate, the step, a tensor, its gradient and its states."""

    def register(update: Update) -> Update:
        def convert(node: Node, rate: Value, step: Value, *values: Value) -> Any:
            count = len(values) // (2 + states)
            results = [
                update(node, converted(rate, values[i].dtype), converted(step, values[i].dtype), *values[i::count])
                for i in range(count)
            ]
            return tuple(r[k] for k in range(1 + states) for r in results)

        converter(name, domain=TRAINING)(convert)
        return update

    return register


def _regularized(node: Node, x: Value, gradient: Value) -> Expr:
    return node.emit(op("add", op("multiply", x, node.attr("norm_coefficient", 0.0)), gradient))


@_optimizer("Adagrad", 1)
def adagrad(node: Node, rate: Value, step: Value, x: Value, gradient: Value, squares: Value) -> tuple[Expr, ...]:
    slower = op("divide", rate, op("add", op("multiply", step, node.attr("decay_factor")), 1.0))
    own = _regularized(node, x, gradient)
    total = node.emit(op("add", squares, op("multiply", own, own)))
    width = op("add", op("sqrt", total), node.attr("epsilon"))
    return op("subtract", x, op("divide", op("multiply", slower, own), width)), total


@_optimizer("Momentum", 1)
def momentum(node: Node, rate: Value, step: Value, x: Value, gradient: Value, velocity: Value) -> tuple[Expr, ...]:
    own, alpha = _regularized(node, x, gradient), node.attr("alpha")
    beta = op("where", op("greater", step, 0.0), node.attr("beta"), op("ones_like", step))
    new = node.emit(op("add", op("multiply", velocity, alpha), op("multiply", own, beta)))
    way = new
    if node.attr("mode") == "nesterov":
        way = op("add", own, op("multiply", new, alpha))
    return op("subtract", x, op("multiply", way, rate)), new


@_optimizer("Adam", 2)
def adam(
    node: Node, rate: Value, step: Value, x: Value, gradient: Value, mean: Value, squares: Value
) -> tuple[Expr, ...]:
    alpha, beta = node.attr("alpha"), node.attr("beta")
    own = _regularized(node, x, gradient)
    new = node.emit(op("add", op("multiply", mean, alpha), op("multiply", own, 1 - alpha)))
    total = node.emit(op("add", op("multiply", squares, beta), op("multiply", op("multiply", own, own), 1 - beta)))
    corrections = [op("subtract", 1.0, op("power", op("full_like", step, b), step)) for b in (alpha, beta)]
    corrected = op("divide", op("multiply", rate, op("sqrt", corrections[1])), corrections[0])
    speed = op("where", op("greater", step, 0.0), corrected, rate)
    way = op("divide", op("multiply", new, speed), op("add", op("sqrt", total), node.attr("epsilon")))
    y = op("subtract", x, way)
    return op("multiply", y, 1 - node.attr("norm_coefficient_post", 0.0)), new, total
