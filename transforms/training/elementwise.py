"""Gradients of element-wise operators: tables for unary and binary ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from ...dialects import relax
from ...dialects.dtypes import is_float
from ...dialects.sym import SymAttr
from ...handles.relax.expr import Expr
from .expressions import call, dims, extent, number, rank, reshape, tensor, total, where
from .gradient_rules import GRADIENTS, Gradients, Site, gradient

Unary = Callable[[Expr, Expr, Expr], Expr]


def _zero(x: Expr) -> Expr:
    return number(0.0, x)


def _normal_density(x: Expr) -> Expr:
    """Return exp(-x * x / 2) / sqrt(2 * pi)."""
    return call("exp", -0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))


def _silu(g: Expr, x: Expr, y: Expr) -> Expr:
    s = call("sigmoid", x)
    return g * (s + y * (1.0 - s))


def _gelu(g: Expr, x: Expr, _: Expr) -> Expr:
    below = 0.5 * (1.0 + call("erf", x * math.sqrt(0.5)))
    return g * (below + x * _normal_density(x))


def _gelu_tanh(g: Expr, x: Expr, _: Expr) -> Expr:
    k = math.sqrt(2 / math.pi)
    t = call("tanh", k * (x + 0.044715 * (x * x * x)))
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * (k * (1.0 + 3 * 0.044715 * (x * x))))


def _selu(g: Expr, x: Expr, y: Expr) -> Expr:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return g * where(x > _zero(x), number(scale, x), y + alpha * scale)


# y is the result of the operator on x, g its gradient
UNARY: dict[str, Unary] = {
    "abs": lambda g, x, y: g * where(x < _zero(x), -number(1.0, x), number(1.0, x)),
    "negative": lambda g, x, y: -g,
    "square": lambda g, x, y: g * (2.0 * x),
    "exp": lambda g, x, y: g * y,
    "expm1": lambda g, x, y: g * (y + 1.0),
    "log": lambda g, x, y: g / x,
    "log1p": lambda g, x, y: g / (1.0 + x),
    "log2": lambda g, x, y: g / (x * math.log(2)),
    "log10": lambda g, x, y: g / (x * math.log(10)),
    "lgamma": lambda g, x, y: g * call("digamma", x),
    "erfinv": lambda g, x, y: g * (call("exp", y * y) * (math.sqrt(math.pi) / 2)),
    "sqrt": lambda g, x, y: 0.5 * g / y,
    "rsqrt": lambda g, x, y: -0.5 * g * (y * y * y),
    "erf": lambda g, x, y: g * (call("exp", -(x * x)) * (2 / math.sqrt(math.pi))),
    "sigmoid": lambda g, x, y: g * y * (1.0 - y),
    "sin": lambda g, x, y: g * call("cos", x),
    "cos": lambda g, x, y: -g * call("sin", x),
    "tan": lambda g, x, y: g * (1.0 + y * y),
    "sinh": lambda g, x, y: g * call("cosh", x),
    "cosh": lambda g, x, y: g * call("sinh", x),
    "tanh": lambda g, x, y: g * (1.0 - y * y),
    "asin": lambda g, x, y: g * call("rsqrt", 1.0 - x * x),
    "acos": lambda g, x, y: -g * call("rsqrt", 1.0 - x * x),
    "atan": lambda g, x, y: g / (1.0 + x * x),
    "asinh": lambda g, x, y: g * call("rsqrt", x * x + 1.0),
    "acosh": lambda g, x, y: g * call("rsqrt", x * x - 1.0),
    "atanh": lambda g, x, y: g / (1.0 - x * x),
    "nn.relu": lambda g, x, y: where(x < _zero(x), _zero(x), g),
    "nn.silu": _silu,
    "nn.gelu": _gelu,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.selu": _selu,
}


def _unary(rule: Unary) -> Callable[[Site], Gradients]:
    return lambda s: [rule(s.grad, s.args[0], s.out)]


GRADIENTS.update({name: _unary(rule) for name, rule in UNARY.items()})


def _power(g: Expr, x: Expr, y: Expr, z: Expr) -> tuple[Expr, Expr]:
    return g * y * call("power", x, y - 1.0), g * z * call("log", x)


def _steps(round_: str) -> Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]:
    """Return the gradients of a remainder: x minus the multiple of y by the rounded quotient."""
    return lambda g, x, y, z: (g, -g * call(round_, x / y))


# z is the result of the operator on x and y, g its gradient
BINARY: dict[str, Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]] = {
    "add": lambda g, x, y, z: (g, g),
    "subtract": lambda g, x, y, z: (g, -g),
    "multiply": lambda g, x, y, z: (g * y, g * x),
    "divide": lambda g, x, y, z: (g / y, -g * z / y),
    "power": _power,
    "mod": _steps("trunc"),
    "floor_mod": _steps("floor"),
    "maximum": lambda g, x, y, z: (where(x < y, _zero(x), g), where(x >= y, _zero(y), g)),
    "minimum": lambda g, x, y, z: (where(x >= y, _zero(x), g), where(x < y, _zero(y), g)),
}


def _binary(rule: Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]) -> Callable[[Site], Gradients]:
    def apply(s: Site) -> Gradients:
        x, y = s.args
        by_x, by_y = rule(s.grad, x, y, s.out)
        return [s.fit(by_x, x), s.fit(by_y, y)]

    return apply


GRADIENTS.update({name: _binary(rule) for name, rule in BINARY.items()})


@gradient("where")
def where_(s: Site) -> Gradients:
    """where(c, x, y) -> None, where(c, g, 0), where(c, 0, g)"""
    c, x, y = s.args
    return [None, s.fit(where(c, s.grad, _zero(x)), x), s.fit(where(c, _zero(y), s.grad), y)]


@gradient("ewise_fma")
def ewise_fma(s: Site) -> Gradients:
    """x * y + z -> g * y, g * x, g"""
    x, y, _ = s.args
    return [s.grad * y, s.grad * x, s.grad]


@gradient("astype")
def astype(s: Site) -> Gradients:
    """astype(x) -> g in the dtype of x; none through integers, which are piecewise constant"""
    through = is_float(tensor(s.args[0]).element) and is_float(tensor(s.out).element)  # pyright: ignore[reportArgumentType]
    return [call("astype", s.grad, dtype=tensor(s.args[0]).element) if through else None]


@gradient("clip")
def clip(s: Site) -> Gradients:
    """clip(x, low, high) -> g where x is within the bounds, else 0"""
    x, low, high = s.args
    inside = call("logical_and", x >= _bound(low, x), x <= _bound(high, x))
    return [where(inside, s.grad, _zero(x)), None, None]


def _bound(value: Expr, like: Expr) -> Expr:
    """Return a prim value as a tensor of rank 0."""
    attr = cast(relax.PrimValueOp, value.op_handle).value
    return extent(attr.data, tensor(like).element) if isinstance(attr, SymAttr) else number(attr.value.data, like)


@gradient("nn.leakyrelu")
def leakyrelu(s: Site) -> Gradients:
    """leakyrelu(x) -> g where x is positive, alpha * g elsewhere"""
    x = s.args[0]
    return [where(x > _zero(x), s.grad, s.attr("alpha") * s.grad)]


@gradient("nn.softplus")
def softplus(s: Site) -> Gradients:
    """softplus(x) -> g * sigmoid(beta * x), and g where beta * x is above the threshold"""
    x, scaled = s.args[0], s.attr("beta") * s.args[0]
    return [where(scaled > number(s.attr("threshold"), x), s.grad, s.grad * call("sigmoid", scaled))]


@gradient("nn.prelu")
def prelu(s: Site) -> Gradients:
    """prelu(x, a) -> g where x is positive, a * g elsewhere; the sum of g * x where x is not"""
    x, alpha = s.args
    axis = s.attr("axis") % rank(x)
    spread = reshape(alpha, [dims(x)[i] if i == axis else 1 for i in range(rank(x))])
    positive = x > _zero(x)
    others = [i for i in range(rank(x)) if i != axis]
    return [where(positive, s.grad, s.grad * spread), total(where(positive, _zero(x), s.grad * x), others)]
