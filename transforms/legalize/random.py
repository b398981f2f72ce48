"""Rules of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.relax.operator import Operator
from ...topi import random
from .legalize_rules import RULES, Emit, operand, result_dims, result_tensor, rule


def _of_shape(function: Callable[..., Any], *attrs: str) -> Callable[[Operator], Emit]:
    def build(op: Operator) -> Emit:
        values = (op.attr(name) for name in attrs)
        args = (operand(op, "seed"), operand(op, "offset"), result_dims(op), *values, result_tensor(op).element)
        return Emit(function, args, function.__name__)

    build.__doc__ = f"relax.random.{function.__name__}(seed, offset, …) -> {function.__name__}(seed, offset, …)"
    return build


RULES.update(
    {
        "relax.random.uniform": _of_shape(random.uniform, "low", "high"),
        "relax.random.normal": _of_shape(random.normal, "mean", "std"),
        "relax.random.exponential": _of_shape(random.exponential, "rate"),
        "relax.random.bits": _of_shape(random.bits),
        "relax.random.permutation": _of_shape(random.permutation),
    }
)


@rule("relax.random.bernoulli")
def bernoulli(op: Operator) -> Emit:
    """relax.random.bernoulli(seed, offset, shape, p) -> bernoulli(seed, offset, p)"""
    args = (operand(op, "seed"), operand(op, "offset"), result_dims(op), operand(op, "p"), result_tensor(op).element)
    return Emit(random.bernoulli, args, "bernoulli")


@rule("relax.random.randint")
def randint(op: Operator) -> Emit:
    """relax.random.randint(seed, offset, shape, low, high) -> randint(seed, offset, low, high)"""
    bounds = (operand(op, "low"), operand(op, "high"))
    args = (operand(op, "seed"), operand(op, "offset"), result_dims(op), *bounds, result_tensor(op).element)
    return Emit(random.randint, args, "randint")


@rule("relax.random.multinomial")
def multinomial(op: Operator) -> Emit:
    """relax.random.multinomial(seed, offset, weights) -> multinomial(seed, offset, weights)"""
    args = (operand(op, "seed"), operand(op, "offset"), operand(op, "weights"))
    attrs = (op.attr("num_samples"), op.attr("replacement"), result_tensor(op).element)
    return Emit(random.multinomial, (*args, *attrs), "multinomial")
