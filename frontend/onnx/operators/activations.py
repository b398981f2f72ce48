"""Activation functions referred to by name in recurrent and fused operators."""

from __future__ import annotations

from collections.abc import Callable

from ....handles.relax.expr import Expr
from ..node import Node
from ..values import Value, op

Activation = Callable[[Value | Expr], Expr]


def _hard_sigmoid(x: Value | Expr, alpha: float, beta: float) -> Expr:
    return op("minimum", op("maximum", op("add", op("multiply", x, alpha), beta), 0.0), 1.0)


def _elu(x: Value | Expr, alpha: float) -> Expr:
    return op("where", op("less", x, 0.0), op("multiply", op("subtract", op("exp", x), 1.0), alpha), x)


def _softplus(x: Value | Expr) -> Expr:
    small = op("log", op("add", op("exp", op("negative", op("abs", x))), 1.0))
    return op("add", op("maximum", x, 0.0), small)


_ACTIVATIONS: dict[str, tuple[Callable[..., Expr], tuple[float, ...]]] = {
    "relu": (lambda x: op("nn.relu", x), ()),
    "tanh": (lambda x: op("tanh", x), ()),
    "sigmoid": (lambda x: op("sigmoid", x), ()),
    "affine": (lambda x, alpha, beta: op("add", op("multiply", x, alpha), beta), (1.0, 0.0)),
    "leakyrelu": (lambda x, alpha: op("where", op("less", x, 0.0), op("multiply", x, alpha), x), (0.01,)),
    "thresholdedrelu": (lambda x, alpha: op("where", op("greater", x, alpha), x, 0.0), (1.0,)),
    "scaledtanh": (lambda x, a, b: op("multiply", op("tanh", op("multiply", x, b)), a), (1.0, 1.0)),
    "hardsigmoid": (_hard_sigmoid, (0.2, 0.5)),
    "elu": (_elu, (1.0,)),
    "softsign": (lambda x: op("divide", x, op("add", op("abs", x), 1.0)), ()),
    "softplus": (_softplus, ()),
    "clip": (lambda x, low, high: op("minimum", op("maximum", x, low), high), (-3.4e38, 3.4e38)),
}
"""The activations by name, with the defaults of alpha and beta."""


def activation(node: Node, name: str, *parameters: float) -> Activation:
    """Return the activation `name` (case-insensitive); `parameters` replace its first defaults.

    Raises `UnsupportedOperators` for an unknown name.
    """
    row = _ACTIVATIONS.get(name.lower())
    if row is None:
        raise node.unsupported(f"the activation {name}")
    function, defaults = row
    values = (*parameters[: len(defaults)], *defaults[len(parameters) :])
    return lambda x: function(x, *values)


def parameter_count(node: Node, name: str) -> tuple[int, int]:
    """Return whether the activation `name` uses alpha and beta, each as 0 or 1."""
    row = _ACTIVATIONS.get(name.lower())
    if row is None:
        raise node.unsupported(f"the activation {name}")
    return min(len(row[1]), 1), max(len(row[1]) - 1, 0)
