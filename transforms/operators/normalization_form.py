"""Recognition of norms written as separate operators: rules that build `nn.layer_norm` and `nn.rms_norm` step by step.

`normalized` turns a quotient by a deviation into a norm without parameters, `scaled` and `centered` absorb the product
with gamma and the sum with beta. Missing parameters are ones and zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute, SSAValue

from ...dialects.relax.operator import Operator
from ...dialects.relax.reduction import normalize_axes
from ...dialects.relax.types import TensorType
from ...ir.rewriting.driver import Emit
from .rules import both_ways, dims_of, number, producer, used_once

Mean = tuple[SSAValue, list[int]]
"""The operand of a mean, and its axes from the front, in order."""


def normalized(op: Operator, emit: Emit) -> SSAValue | None:
    """x / sqrt(mean(x * x) + epsilon) -> rms_norm(x, ones); for x - mean(x) -> layer_norm(x, ones, zeros)"""
    for dividend, radicand in _quotients(op):
        variance, epsilon = _without_epsilon(radicand)
        if dims_of(dividend) is None or dims_of(dividend) != dims_of(op.results[0]):
            continue
        layer = _layer_of(dividend, variance)
        if layer is not None:
            x, axes = layer
            parameters = _constants(x, axes, emit, "ones", "zeros")
            off = {"center": False, "scale": False}
            return emit("nn.layer_norm", x, *parameters, axes=_from_the_end(axes, x), epsilon=epsilon, **off)
        squares = _mean_of_squares(variance)
        if squares is not None and squares[0] is dividend:
            ones = _constants(dividend, squares[1], emit, "ones")
            axes = _from_the_end(squares[1], dividend)
            return emit("nn.rms_norm", dividend, *ones, axes=axes, epsilon=epsilon)
    return None


def scaled(op: Operator, emit: Emit) -> SSAValue | None:
    """layer_norm(x) * gamma -> layer_norm(x, gamma), rms_norm(x, ones) * weight -> rms_norm(x, weight)"""
    for value, factor in both_ways(op):
        norm = used_once(value, "nn.layer_norm") or used_once(value, "nn.rms_norm")
        if norm is None or not _lacks_factor(norm):
            continue
        gamma = _parameter(norm, factor, emit)
        if gamma is None:
            continue
        x, attrs = norm.operands[0], {"axes": norm.attr("axes"), "epsilon": norm.attr("epsilon")}
        if norm.name == "relax.nn.rms_norm":
            return emit("nn.rms_norm", x, gamma, **attrs)
        return emit("nn.layer_norm", x, gamma, norm.operands[2], center=False, **attrs)
    return None


def centered(op: Operator, emit: Emit) -> SSAValue | None:
    """layer_norm(x, gamma) + beta -> layer_norm(x, gamma, beta)"""
    for value, summand in both_ways(op):
        norm = used_once(value, "nn.layer_norm")
        beta = None if norm is None or norm.attr("center") else _parameter(norm, summand, emit)
        if norm is not None and beta is not None:
            x, gamma, _ = norm.operands
            attrs = {name: norm.attr(name) for name in ("axes", "epsilon", "scale")}
            return emit("nn.layer_norm", x, gamma, beta, **attrs)
    return None


def _lacks_factor(norm: Operator) -> bool:
    if norm.name == "relax.nn.rms_norm":
        return producer(norm.operands[1], "ones") is not None
    return not norm.attr("scale") and not norm.attr("center")


def _quotients(op: Operator) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield (x, y) of x / sqrt(y), which may be a product with 1 / sqrt(y)."""
    if op.name == "relax.divide":
        root = _under_root(op.operands[1])
        if root is not None:
            yield op.operands[0], root
        return
    for x, factor in both_ways(op):
        root = _under_inverse_root(factor)
        if root is not None:
            yield x, root


def _under_root(value: SSAValue) -> SSAValue | None:
    """Return y of sqrt(y)."""
    root = used_once(value, "sqrt")
    return _under_power(value, 0.5) if root is None else root.operands[0]


def _under_inverse_root(value: SSAValue) -> SSAValue | None:
    """Return y of 1 / sqrt(y)."""
    root, quotient = used_once(value, "rsqrt"), used_once(value, "divide")
    if root is not None:
        return root.operands[0]
    if quotient is not None:
        return _under_root(quotient.operands[1]) if number(quotient.operands[0]) == 1 else None
    return _under_power(value, -0.5)


def _under_power(value: SSAValue, exponent: float) -> SSAValue | None:
    power = used_once(value, "power")
    return power.operands[0] if power is not None and number(power.operands[1]) == exponent else None


def _without_epsilon(value: SSAValue) -> tuple[SSAValue, float]:
    """Return (x, epsilon) of x + epsilon, or (value, 0) for other values."""
    added = used_once(value, "add")
    for x, summand in [] if added is None else both_ways(added):
        epsilon = number(summand)
        if epsilon is not None and dims_of(x) == dims_of(value):
            return x, epsilon
    return value, 0.0


def _layer_of(dividend: SSAValue, variance: SSAValue) -> Mean | None:
    """Return (x, axes) if the dividend is x minus its mean, and the variance is that of x."""
    layer, of_x = _less_mean(dividend), _mean(variance, "variance")
    if of_x is None:
        squares = _mean_of_squares(variance)
        of_x = None if squares is None else _less_mean(squares[0])
        if of_x is None or squares is None or squares[1] != of_x[1]:
            return None
    return layer if layer is not None and layer[0] is of_x[0] and layer[1] == of_x[1] else None


def _less_mean(value: SSAValue) -> Mean | None:
    """Return (x, axes) of x - mean(x)."""
    difference = producer(value, "subtract")
    mean = None if difference is None else _mean(difference.operands[1], "mean", once=False)
    return mean if mean is not None and difference is not None and difference.operands[0] is mean[0] else None


def _mean_of_squares(value: SSAValue) -> Mean | None:
    """Return (x, axes) of mean(x * x)."""
    mean = _mean(value, "mean")
    x = None if mean is None else _squared(mean[0])
    return None if mean is None or x is None else (x, mean[1])


def _squared(value: SSAValue) -> SSAValue | None:
    square, product, power = (producer(value, name) for name in ("square", "multiply", "power"))
    if square is not None:
        return square.operands[0]
    if product is not None:
        x, y = product.operands
        return x if x is y or (_less_mean(x) is not None and _less_mean(x) == _less_mean(y)) else None
    return power.operands[0] if power is not None and number(power.operands[1]) == 2 else None


def _mean(value: SSAValue, name: str, once: bool = True) -> Mean | None:
    """Return (x, axes) of a mean or variance of a floating-point tensor that keeps its dimensions."""
    op = used_once(value, name) if once else producer(value, name)
    dims = None if op is None else dims_of(op.operands[0])
    if op is None or dims is None or not dims or not op.attr("keepdims"):
        return None
    axes = sorted(normalize_axes(op, op.attr("axis"), len(dims)))
    return (op.operands[0], axes) if axes else None


def _from_the_end(axes: Sequence[int], x: SSAValue) -> list[int]:
    return [a - len(dims_of(x) or ()) for a in axes]


def _constants(x: SSAValue, axes: Sequence[int], emit: Emit, *names: str) -> list[SSAValue]:
    """Return neutral parameters: ones, zeros."""
    dims, element = dims_of(x) or (), _element(x)
    return [emit(name, emit.shape([dims[a] for a in axes]), dtype=element) for name in names]


def _element(value: SSAValue) -> Attribute | None:
    return value.type.element if isinstance(value.type, TensorType) else None


def _parameter(norm: Operator, value: SSAValue, emit: Emit) -> SSAValue | None:
    """Return a value as a parameter of a norm; None unless it has the sizes of the axes, and 1 along the others."""
    data, dims = dims_of(norm.operands[0]), dims_of(value)
    if data is None or dims is None or len(dims) > len(data) or _element(value) != _element(norm.operands[0]):
        return None
    axes = sorted(normalize_axes(norm, norm.attr("axes"), len(data)))
    for i, dim in enumerate((*[None] * (len(data) - len(dims)), *dims)):
        fits = dim == data[i] if i in axes else dim is None or dim.constant == 1
        if not fits:
            return None
    own = [data[a] for a in axes]
    return value if list(dims) == own else emit("reshape", value, emit.shape(own))
