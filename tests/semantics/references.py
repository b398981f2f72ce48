"""Operators beside numpy and torch: a row is an expression of x and y, and what the libraries call it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

FLOATS, INTEGERS = ("float64", "float32", "float16"), ("int8", "int32", "int64", "uint8")
NUMBERS = (*FLOATS, *INTEGERS)


class Row(NamedTuple):
    """`torch` is an expression of torch, x and y, None where torch has no such operator; `exact` to the last bit."""

    expr: str
    numpy: Callable[..., Any]
    torch: str | None
    dtypes: tuple[str, ...] = FLOATS
    exact: bool = False


def _erf(x: Any) -> Any:
    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _unary(name: str, function: Callable[..., Any], torch: str | None = "", exact: bool = False, **more: Any) -> Row:
    return Row(f"R.{name}(x)", function, f"torch.{name}(x)" if torch == "" else torch, exact=exact, **more)


def _binary(name: str, function: Callable[..., Any], torch: str | None, dtypes: tuple[str, ...] = NUMBERS) -> Row:
    return Row(f"R.{name}(x, y)", function, torch, dtypes, True)


def _along(name: str, function: Callable[..., Any], torch: str | None, dtypes: tuple[str, ...] = FLOATS) -> Row:
    """A reduction of the last axis."""
    return Row(f"R.{name}(x, axis=[-1])", lambda x: function(x, axis=-1), torch, dtypes)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ELEMENTWISE = [
    *(_unary(n, getattr(np, n)) for n in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")),
    *(_unary(n, getattr(np, "arc" + n[1:])) for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh")),
    *(_unary(n, getattr(np, n), exact=True) for n in ("ceil", "floor", "trunc", "isnan", "isinf", "isfinite")),
    _unary("square", np.square, exact=True, dtypes=NUMBERS),
    _unary("sign", lambda x: np.where(np.isnan(x), 0, np.sign(x)), exact=True, dtypes=NUMBERS),
    _unary("negative", np.negative, exact=True, dtypes=(*FLOATS, *INTEGERS[:3])),
    _unary("abs", np.abs, exact=True, dtypes=(*FLOATS, *INTEGERS[:3])),
    _unary("round", np.rint, exact=True),
    _unary("rsqrt", lambda x: 1 / np.sqrt(x)),
    _unary("erf", _erf),
    *(_unary(n, getattr(np, n)) for n in ("expm1", "log1p", "log2", "log10")),
    _unary("sigmoid", _sigmoid),
    Row("R.nn.relu(x)", lambda x: np.maximum(x, 0), "torch.relu(x)", NUMBERS, True),
    Row("R.nn.leakyrelu(x, 0.25)", lambda x: np.where(x > 0, x, x * 0.25), "torch.nn.functional.leaky_relu(x, 0.25)"),
    Row("R.nn.silu(x)", lambda x: x * _sigmoid(x), "torch.nn.functional.silu(x)"),
    Row("R.nn.gelu(x)", lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))), "torch.nn.functional.gelu(x)"),
    Row("R.nn.softplus(x)", lambda x: np.logaddexp(x, 0), "torch.nn.functional.softplus(x)"),
    Row("R.clip(x, -1, 1)", lambda x: np.clip(x, -1, 1), "torch.clamp(x, -1, 1)", FLOATS, True),
    _binary("add", np.add, "x + y"),
    _binary("subtract", np.subtract, "x - y"),
    _binary("multiply", np.multiply, "x * y"),
    _binary("maximum", np.maximum, "torch.maximum(x, y)"),
    _binary("minimum", np.minimum, "torch.minimum(x, y)"),
    Row("R.divide(x, y)", np.divide, "x / y", FLOATS, True),
    Row("R.power(x, y)", np.power, "x ** y"),
    *(_binary(n, getattr(np, n), f"torch.{t}(x, y)") for n, t in (
        ("less", "lt"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"),
        ("equal", "eq"), ("not_equal", "ne"))),
    *(_binary(f"bitwise_{n}", getattr(np, f"bitwise_{n}"), f"torch.bitwise_{n}(x, y)", INTEGERS)
      for n in ("and", "or", "xor")),
    Row("R.where(R.less(x, y), x, y)", lambda x, y: np.where(x < y, x, y), "torch.where(x < y, x, y)", NUMBERS, True),
    *(Row(f"R.astype(x, '{d}')", lambda x, d=d: x.astype(d), f"x.to(torch.{d})", NUMBERS, True)
      for d in ("float64", "float32", "float16")),
    Row("R.astype(x, 'bool')", lambda x: x.astype(bool), "x.to(torch.bool)", NUMBERS, True),
    *(Row(f"R.astype(x, '{d}')", lambda x, d=d: x.astype(d), f"x.to(torch.{d})", INTEGERS, True) for d in INTEGERS),
]  # fmt: skip
"""Of x and y of one shape."""

REDUCTIONS = [
    _along("max", np.max, "x.amax(-1)", NUMBERS),
    _along("min", np.min, "x.amin(-1)", NUMBERS),
    _along("sum", np.sum, "x.sum(-1)"),
    _along("prod", np.prod, "x.prod(-1)"),
    _along("mean", np.mean, "x.mean(-1)"),
    _along("variance", np.var, "x.var(-1, correction=0)"),
    Row("R.argmax(x, axis=-1)", lambda x: x.argmax(-1), "x.argmax(-1)", NUMBERS, True),
    Row("R.argmin(x, axis=-1)", lambda x: x.argmin(-1), "x.argmin(-1)", NUMBERS, True),
    Row("R.nn.softmax(x)", _softmax, "torch.softmax(x, -1)"),
    Row("R.nn.log_softmax(x)", lambda x: x - x.max(-1, keepdims=True)
        - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)), "torch.log_softmax(x, -1)"),
    Row("R.cumsum(x, axis=-1)", lambda x: x.cumsum(-1), "x.cumsum(-1)"),
    Row("R.sort(x, axis=-1)", lambda x: np.sort(x, -1), "x.sort(-1).values", NUMBERS, True),
    Row("R.argsort(x, axis=-1)", lambda x: np.argsort(x, -1, kind="stable"), "x.sort(stable=True, dim=-1).indices",
        NUMBERS, True),
    Row("R.matmul(x, R.permute_dims(x))", lambda x: x @ x.T, "x @ x.T"),
    Row("R.flip(x, axis=-1)", lambda x: np.flip(x, -1), "x.flip(-1)", NUMBERS, True),
]  # fmt: skip
"""Of x of two dimensions."""


def special(dtype: str) -> Any:
    """Numbers that are unlike others."""
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, limits.max - 1, 3, limits.max // 2], dtype)
    limits = np.finfo(dtype)
    values = [np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 0.5, -2.5, 3, limits.max, limits.min, limits.tiny, -limits.tiny]
    return np.array([*values, limits.smallest_subnormal, -limits.smallest_subnormal * 3], dtype)


def pairs(dtype: str) -> tuple[Any, Any]:
    """Each special number with each."""
    values = special(dtype)
    return np.repeat(values, values.size), np.tile(values, values.size)


def rows(dtype: str) -> Any:
    """Rows that have one special number each among ordinary ones, or nothing else; no sum of them overflows."""
    values = special(dtype)
    values = values if dtype in INTEGERS else values[~(np.isfinite(values) & (np.abs(values) > 100))]
    ordinary = np.tile(np.array([1, 2, 3, 2, 1, 0, 3, 1, 2], dtype), (values.size, 1))
    ordinary[:, 4] = values
    return np.concatenate([ordinary, np.repeat(values[:, None], 9, axis=1)])
