"""Elementwise operators: arithmetic, functions, comparisons, logic, conversions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ml_dtypes import finfo

from ....dialects.dtypes import dtype_of, is_float, numpy_dtype
from ....handles.relax.expr import Expr
from ..node import Node
from ..single import in_single
from ..table import MICROSOFT, converter, rows, simple
from ..tensors import STRING_KIND, dtype_name
from ..values import Output, Value, as_value, like, op

_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Relu": "nn.relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
for _name, _relax in _UNARY.items():
    rows(simple(_relax), _name)

_BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
}
for _name, _relax in _BINARY.items():
    rows(simple(_relax), _name)


def _float(x: Output) -> bool:
    element = as_value(x).type.element
    return element is not None and is_float(element)


@converter("Pow")
def power(node: Node, x: Value, y: Value) -> Output:
    """Return x to the power of y in the dtype of x, computed in a dtype that represents both."""
    if x.dtype == y.dtype:
        return op("power", x, y)
    dtype = _dtype_of_powers(x, y)
    return converted(as_value(op("power", converted(x, dtype), converted(y, dtype))), x.dtype)


def _dtype_of_powers(x: Value, y: Value) -> str:
    if not _float(x) and not _float(y):
        wider = max(x.dtype, y.dtype, key=lambda name: numpy_dtype(dtype_of(name)).itemsize)
        return "uint64" if y.dtype.startswith("uint") else wider  # also for a negative base: modulo 2**64
    if not _float(x):
        return "float64"
    own = numpy_dtype(dtype_of(x.dtype))
    if y.array is not None and np.array_equal(y.array.astype(own).astype(np.float64), y.array):
        return x.dtype
    return "float32" if max(_digits(x), _digits(y)) <= 24 else "float64"


def _digits(x: Value) -> int:
    """Return the number of significant bits of a dtype."""
    dtype = numpy_dtype(dtype_of(x.dtype))
    return finfo(dtype).nmant + 1 if _float(x) else 8 * dtype.itemsize


@converter("Mod")
def mod(node: Node, x: Value, y: Value) -> Expr:
    return op("mod" if node.attr("fmod") else "floor_mod", x, y)


@converter("BitShift")
def bit_shift(node: Node, x: Value, y: Value) -> Expr:
    return op("left_shift" if node.attr("direction") == "LEFT" else "right_shift", x, y)


def _folded(name: str) -> Any:
    def convert(node: Node, first: Value, *others: Value) -> Output:
        result: Output = first
        for x in others:
            result = op(name, result, x)
        return result

    return convert


for _name, _relax in {"Max": "maximum", "Min": "minimum"}.items():
    rows(_folded(_relax), _name)


@converter("Sum")
def total(node: Node, *xs: Value) -> Output:
    """Return the sum; three or more tensors are rounded only once."""
    add = _folded("add")
    return (in_single(add) if len(xs) > 2 else add)(node, *xs)


@converter("Mean")
@in_single
def mean(node: Node, *xs: Value) -> Expr:
    return op("divide", _folded("add")(node, *xs), float(len(xs)))


@converter("Where")
def where(node: Node, condition: Value, x: Value, y: Value) -> Expr:
    return op("where", condition, x, y)


@converter("Cast")
def cast(node: Node, x: Value) -> Output:
    if node.attr("to") == STRING_KIND:
        raise node.on_host("it gives strings")
    return _cast(node, x, dtype_name(node.attr("to"), "the result"))


@converter("CastLike")
def cast_like(node: Node, x: Value, target: Value) -> Output:
    return _cast(node, x, target.dtype)


def _cast(node: Node, x: Value, dtype: str) -> Output:
    """Convert x to `dtype`; overflow of an 8-bit float saturates unless the node disables it."""
    if not dtype.startswith("float8") or not node.attr("saturate", 1) or x.dtype == dtype:
        return converted(x, dtype)
    wide = x if x.dtype in ("float64", "float32", "float16", "bfloat16") else as_value(converted(x, "float32"))
    return converted(as_value(_limited(wide, dtype)), dtype)


def _limited(x: Value, dtype: str) -> Output:
    """Clamp x to the range of an 8-bit float; NaN is preserved."""
    greatest = float(finfo(numpy_dtype(dtype_of(dtype))).max)
    above = op("where", op("greater", x, greatest), greatest, x)
    return op("where", op("less", above, -greatest), -greatest, above)


def converted(x: Value, dtype: str) -> Output:
    """Convert x to `dtype`, or return x itself if it has that dtype. Numbers other than 0 are true."""
    if x.dtype == dtype:
        return x
    if dtype != "bool":
        return op("astype", x, dtype=dtype)
    return op("not_equal", converted(x, "float32") if x.dtype.startswith("float8") else x, 0)


@converter("Identity")
def identity(node: Node, x: Any, *_: Any) -> Any:
    return (x, None)


@converter("Reciprocal")
def reciprocal(node: Node, x: Value) -> Expr:
    return op("divide", like(1, x), x)


@converter("Sign")
def sign(node: Node, x: Value) -> Expr:
    """Return the sign; NaN maps to NaN, unlike in Relax."""
    return op("where", op("isnan", x), x, op("sign", x)) if _float(x) else op("sign", x)


@converter("IsInf")
def isinf(node: Node, x: Value) -> Expr:
    positive, negative = node.attr("detect_positive"), node.attr("detect_negative")
    if positive and negative:
        return op("isinf", x)
    if not positive and not negative:
        return op("full", x.dims, Value.constant(False), dtype="bool")
    return op("equal", x, math.inf if positive else -math.inf)


@converter("Clip")
def clip(node: Node, x: Value, low: Value | None = None, high: Value | None = None) -> Output:
    """Clamp to bounds, which are attributes before version 11 and inputs since; the upper bound takes precedence."""
    lower = low if low is not None else node.attr("min")
    upper = high if high is not None else node.attr("max")
    result: Output = x
    if lower is not None:
        result = op("maximum", result, lower)
    return result if upper is None else op("minimum", result, upper)


# Activations.

rows(simple("nn.leakyrelu", "alpha"), "LeakyRelu")


@converter("PRelu")
def prelu(node: Node, x: Value, slope: Value) -> Expr:
    return op("where", op("less", x, 0.0), op("multiply", x, slope), x)


@converter("Elu")
@in_single
def elu(node: Node, x: Value) -> Expr:
    return op("where", op("less", x, 0.0), op("multiply", op("subtract", op("exp", x), 1.0), node.attr("alpha")), x)


@converter("Celu")
@in_single
def celu(node: Node, x: Value) -> Expr:
    alpha = node.attr("alpha")
    negative = op("subtract", op("exp", op("divide", x, alpha)), 1.0)
    return op("where", op("less", x, 0.0), op("multiply", negative, alpha), x)


@converter("Selu")
@in_single
def selu(node: Node, x: Value) -> Expr:
    alpha, gamma = node.attr("alpha"), node.attr("gamma")
    negative = op("multiply", op("subtract", op("exp", x), 1.0), alpha)
    return op("multiply", op("where", op("greater", x, 0.0), x, negative), gamma)


@converter("HardSigmoid")
@in_single
def hard_sigmoid(node: Node, x: Value) -> Expr:
    line = op("add", op("multiply", x, node.attr("alpha")), node.attr("beta"))
    return op("minimum", op("maximum", line, 0.0), 1.0)


@converter("HardSwish")
@in_single
def hard_swish(node: Node, x: Value) -> Expr:
    line = op("add", op("multiply", x, 1 / 6), 0.5)
    return op("multiply", x, op("minimum", op("maximum", line, 0.0), 1.0))


@converter("Mish")
@in_single
def mish(node: Node, x: Value) -> Expr:
    return op("multiply", x, op("tanh", _softplus(x)))


@converter("Softplus")
@in_single
def softplus(node: Node, x: Value) -> Expr:
    return _softplus(x)


def _softplus(x: Value) -> Expr:
    """Return log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|))."""
    small = op("log1p", op("exp", op("negative", op("abs", x))))
    return op("add", op("maximum", x, 0.0), small)


@converter("Softsign")
@in_single
def softsign(node: Node, x: Value) -> Expr:
    return op("divide", x, op("add", op("abs", x), 1.0))


@converter("ThresholdedRelu")
def thresholded_relu(node: Node, x: Value) -> Expr:
    return op("where", op("greater", x, node.attr("alpha")), x, 0.0)


@converter("Shrink")
def shrink(node: Node, x: Value) -> Expr:
    bias, limit = node.attr("bias"), node.attr("lambd")
    above = op("where", op("greater", x, limit), op("subtract", x, like(bias, x)), 0)
    return op("where", op("less", x, -limit), op("add", x, like(bias, x)), above)


@converter("Gelu")
@converter("Gelu", domain=MICROSOFT)
def gelu(node: Node, x: Value) -> Expr:
    return op("nn.gelu_tanh" if node.attr("approximate") == "tanh" else "nn.gelu", x)


@converter("FastGelu", domain=MICROSOFT)
def fast_gelu(node: Node, x: Value, bias: Value | None = None) -> Expr:
    return op("nn.gelu_tanh", x if bias is None else op("add", x, bias))


@converter("BiasGelu", domain=MICROSOFT)
def bias_gelu(node: Node, x: Value, bias: Value) -> Expr:
    return op("nn.gelu", op("add", x, bias))


@converter("Swish")
@in_single
def swish(node: Node, x: Value) -> Expr:
    return _swish(x, node.attr("alpha", 1.0))


@converter("QuickGelu", domain=MICROSOFT)
@in_single
def quick_gelu(node: Node, x: Value) -> Expr:
    return _swish(x, node.attr("alpha", 1.702))


def _swish(x: Value, alpha: float) -> Expr:
    if alpha == 1.0:
        return op("nn.silu", x)
    return op("multiply", x, op("sigmoid", op("multiply", x, alpha)))
