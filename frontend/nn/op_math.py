"""Operators of `nn.op`: arithmetic, comparisons, functions of one element, activations, reductions."""

from __future__ import annotations

from typing import Any

from ...handles.relax.calls import binary, call_operator
from .tensor import Tensor, unwrap, wrap_nested


def emit(operator: str, *args: Any, name: str, **attrs: Any) -> Any:
    """Bind a call of the Relax operator `relax.<operator>` to a variable called like `name`."""
    call = call_operator(f"relax.{operator}", *map(unwrap, args), **{k: unwrap(v) for k, v in attrs.items()})
    return wrap_nested(call, name)


def _binary(operator: str, a: Any, b: Any, name: str) -> Tensor:
    return wrap_nested(binary(operator, unwrap(a), unwrap(b)), name)


def add(a: Tensor, b: Tensor, name: str = "add") -> Tensor:
    """a + b; either may be a number, as with all operators of two tensors."""
    return _binary("add", a, b, name)


def subtract(a: Tensor, b: Tensor, name: str = "subtract") -> Tensor:
    """a - b"""
    return _binary("subtract", a, b, name)


def multiply(a: Tensor, b: Tensor, name: str = "mul") -> Tensor:
    """a * b"""
    return _binary("multiply", a, b, name)


def divide(a: Tensor, b: Tensor, name: str = "divide") -> Tensor:
    """a / b"""
    return _binary("divide", a, b, name)


def maximum(x1: Tensor, x2: Tensor, name: str = "maximum") -> Tensor:
    """The greater of two."""
    return _binary("maximum", x1, x2, name)


def minimum(x1: Tensor, x2: Tensor, name: str = "minimum") -> Tensor:
    """The lesser of two."""
    return _binary("minimum", x1, x2, name)


def equal(a: Tensor, b: Tensor, name: str = "equal") -> Tensor:
    """a == b"""
    return _binary("equal", a, b, name)


def not_equal(a: Tensor, b: Tensor, name: str = "not_equal") -> Tensor:
    """a != b"""
    return _binary("not_equal", a, b, name)


def less(a: Tensor, b: Tensor, name: str = "less") -> Tensor:
    """a < b"""
    return _binary("less", a, b, name)


def less_equal(a: Tensor, b: Tensor, name: str = "less_equal") -> Tensor:
    """a <= b"""
    return _binary("less_equal", a, b, name)


def greater(a: Tensor, b: Tensor, name: str = "greater") -> Tensor:
    """a > b"""
    return _binary("greater", a, b, name)


def greater_equal(a: Tensor, b: Tensor, name: str = "greater_equal") -> Tensor:
    """a >= b"""
    return _binary("greater_equal", a, b, name)


def where(condition: Tensor, x1: Tensor, x2: Tensor, name: str = "where") -> Tensor:
    """x1 where the condition holds, else x2; a condition that is not boolean is converted."""
    wanted = condition if condition.dtype == "bool" else astype(condition, "bool")
    return emit("where", wanted, x1, x2, name=name)


def negative(x: Tensor, name: str = "neg") -> Tensor:
    """-x"""
    return emit("negative", x, name=name)


def square(x: Tensor, name: str = "square") -> Tensor:
    """x * x"""
    return emit("square", x, name=name)


def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """The square root."""
    return emit("sqrt", x, name=name)


def exp(x: Tensor, name: str = "exp") -> Tensor:
    """e to the power of x."""
    return emit("exp", x, name=name)


def log(x: Tensor, name: str = "log") -> Tensor:
    """The natural logarithm."""
    return emit("log", x, name=name)


def floor(x: Tensor, name: str = "floor") -> Tensor:
    """The greatest integer that is not greater."""
    return emit("floor", x, name=name)


def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """The hyperbolic tangent."""
    return emit("tanh", x, name=name)


def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """1 / (1 + exp(-x))"""
    return emit("sigmoid", x, name=name)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """x converted to `dtype`; x itself where that is its dtype."""
    return x if x.dtype == dtype else emit("astype", x, dtype, name=name)


def relu(x: Tensor, name: str = "relu") -> Tensor:
    """max(x, 0)"""
    return emit("nn.relu", x, name=name)


def relu6(x: Tensor, name: str = "relu6") -> Tensor:
    """min(max(x, 0), 6)"""
    return emit("clip", x, 0, 6, name=name)


def silu(x: Tensor, name: str = "silu") -> Tensor:
    """x * sigmoid(x)"""
    return emit("nn.silu", x, name=name)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """Gaussian error linear unit; `approximate="tanh"` computes it by tanh."""
    return emit("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, name=name)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """exp(x) over its sum along `axis`."""
    return emit("nn.softmax", x, axis=axis, name=name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""
    return emit("nn.softplus", x, beta=beta, threshold=threshold, name=name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """x where it is positive, else alpha * x; alpha is by channel (axis 1)."""
    return emit("nn.prelu", x, alpha, name=name)


def sum(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """The sum over axes, all where `axis` is None."""
    return emit("sum", x, axis=axis, keepdims=keepdims, name=name)


def max(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """The greatest element over axes, all where `axis` is None."""
    return emit("max", x, axis=axis, keepdims=keepdims, name=name)


def min(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """The least element over axes, all where `axis` is None."""
    return emit("min", x, axis=axis, keepdims=keepdims, name=name)


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """Sums of the elements up to each along `axis`, without it if `exclusive`; of the flat tensor if `axis` is None."""
    return emit("cumsum", data, axis=axis, dtype=dtype, exclusive=bool(exclusive), name=name)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """The matrix product."""
    return emit("matmul", a, b, out_dtype=out_dtype, name=name)
