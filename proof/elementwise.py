"""Elementwise functions of terms: laws, compositions, and functions of which nothing is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import fingerprints as fp
from .algebra import Algebra, Level
from .terms import Terms, folded, is_unknown, marked

Array = Any

_PREDICATES = {
    *("less", "less_equal", "equal", "logical_and", "logical_or", "logical_not", "logical_xor"),
    *("isnan", "isinf", "isfinite", "signbit"),
}
_SWAPPED = {"greater": "less", "greater_equal": "less_equal"}
_COMMUTATIVE = frozenset(("equal", "bitwise_and", "bitwise_or", "bitwise_xor"))
_OF_BOOLEANS = {
    **{f"bitwise_{name}": f"logical_{name}" for name in ("and", "or", "xor")},
    "invert": "logical_not",
}
_NAMES = {"true_divide": "divide", "mod": "remainder", "bitwise_invert": "invert", "fabs": "absolute"}


def compute(name: str, *inputs: Any) -> Any:
    """Return the terms of an elementwise function of numpy; a number without an array if all are known."""
    name = _NAMES.get(name, name)
    algebra = next(x.algebra for x in inputs if isinstance(x, Terms))
    if name in _SWAPPED:
        return compute(_SWAPPED[name], *reversed(inputs))
    if name in _OF_BOOLEANS and all(_is_boolean(x) for x in inputs):
        name = _OF_BOOLEANS[name]
    condition = _condition(name, inputs)
    if condition is not None:
        return condition
    if name == "not_equal":
        return compute("logical_not", compute("equal", *inputs))
    composed = _COMPOSED.get(name)
    result = composed and composed(algebra, *inputs)
    if result is not None:
        return result
    operands = operands_of(algebra, inputs)
    dtype = np.dtype(bool) if name in _PREDICATES else operands[0].dtype
    shape = np.broadcast_shapes(*(t.shape for t in operands))
    operands = [t.with_data(np.broadcast_to(t.data, shape)) for t in operands]
    result = Terms.of(algebra, dtype, _term(algebra, name, dtype, operands))
    if algebra.level is not Level.BITS or dtype.kind in "iub":
        result = _absorbed(name, result, operands)
    result = _neutral(name, algebra, result, operands)
    if name in ("maximum", "minimum") and (algebra.level is not Level.BITS or dtype.kind in "iu"):
        result = _clamped(name, result, operands)
    if algebra.decided and name in ("less", "less_equal"):
        result = _decided(result)
    if algebra.level is Level.REAL and operands[0].dtype.kind not in "iub":
        result = _with_sign(name, result, operands)
    return _noted(
        name, marked(folded(result, getattr(np, name, None) or CONCRETE[name], *operands), *operands), *operands
    )


_SIGNS: dict[str, Callable[..., Array]] = {
    **dict.fromkeys(("exp", "exp2", "sigmoid"), np.ones_like),
    **dict.fromkeys(("add", "multiply", "divide", "minimum"), np.logical_and),
    "maximum": np.logical_or,
    **dict.fromkeys(("sqrt", "rsqrt", "positive"), lambda x: x),
}
"""Functions whose results are positive -> where, by the places at which their operands are."""


def is_positive(x: Terms) -> Array:
    """Return where numbers are known to be positive, as real numbers: those of exp, and their sums and products."""
    return x.data["positive"] | (x.data["known"] & (x.data["value"] > 0))


def _with_sign(name: str, result: Terms, operands: Sequence[Terms]) -> Terms:
    """Mark positive numbers, and decide their comparisons with 0.

    In an exponent a quotient of positive ones is an atom: those of softmax do not say there what was subtracted.
    """
    if name in _SIGNS:
        positive = _SIGNS[name](*(is_positive(t).astype(bool) for t in operands))
        result.data["positive"] |= positive
        if name == "divide" and positive.any():
            atoms = result.algebra.floats.of(result.data["term"][..., 0, :])
            result.data["term"] = np.where(positive[..., None, None], atoms, result.data["term"])
        return result
    if name not in ("equal", "less", "less_equal"):
        return result
    for x, zero, value in ((*operands, False), (*operands[::-1], name != "equal")):
        where = is_positive(x) & zero.data["known"] & (zero.data["value"] == 0)
        if where.any():
            result = result.with_data(np.where(where, Terms.lift(result.algebra, np.bool_(value)).data, result.data))
    return result


def _is_boolean(x: Any) -> bool:
    return isinstance(x, Terms | np.ndarray | np.generic) and x.dtype.kind == "b"


def _decided(result: Terms) -> Terms:
    """Replace comparisons that follow from what the first program does by their values."""
    decided = result.algebra.decided
    values = [decided.get(word) for word in fp.packed(result.data["term"][..., 0, :]).reshape(-1).tolist()]
    for value in (True, False):
        where = np.array([v is value for v in values], bool).reshape(result.shape)
        if where.any():
            result = result.with_data(np.where(where, Terms.lift(result.algebra, np.bool_(value)).data, result.data))
    return result


def _noted(name: str, result: Terms, *operands: Terms) -> Terms:
    if result.algebra.history is not None:
        result.algebra.history.note(name, result, *operands)
    return result


def _clamped(name: str, result: Terms, operands: Sequence[Terms]) -> Terms:
    """Note the bounds of what is clamped by constants; a clamp beyond known bounds changes nothing."""
    bounds = result.algebra.bounds
    for x, limit in (operands, operands[::-1]):
        if not limit.data["known"].all() or x.data["known"].all():
            continue
        nothing, pick = list[bool](), max if name == "maximum" else min
        rows = (fp.packed(t.data["term"][..., 0, :]).reshape(-1).tolist() for t in (x, result))
        for word, new, value in zip(*rows, limit.data["value"].reshape(-1).tolist(), strict=True):
            low, high = bounds.get(word, (-math.inf, math.inf))
            nothing.append(low >= value if name == "maximum" else high <= value)
            if new != word:
                bounds[new] = pick(low, value), pick(high, value)
        where = np.array(nothing, bool).reshape(result.shape)
        return result.with_data(np.where(where, x.data, result.data)) if where.any() else result
    return result


def _condition(name: str, inputs: Sequence[Any]) -> Terms | None:
    """Return the booleans b of a comparison 0 < b or b != 0, where b was cast to numbers."""
    if name == "not_equal" and isinstance(inputs[0], Terms):
        inputs = inputs[::-1]
    if name not in ("less", "not_equal") or not isinstance(inputs[1], Terms) or isinstance(inputs[0], Terms):
        return None
    return inputs[1].source if np.all(inputs[0] == 0) else None


def operands_of(algebra: Algebra, inputs: Sequence[Any]) -> list[Terms]:
    """Return the inputs as terms of one dtype; Python's numbers take that of the arrays."""
    arrays = [x.dtype for x in inputs if isinstance(x, Terms | np.ndarray | np.generic)]
    dtype = np.result_type(*arrays)
    if dtype.kind in "iub" and any(isinstance(x, float) for x in inputs):
        dtype = np.dtype(np.float64)
    terms = [Terms.lift(algebra, x, None if isinstance(x, Terms) else dtype) for x in inputs]
    return [t.as_dtype(dtype) for t in terms]


def _term(algebra: Algebra, name: str, dtype: np.dtype[Any], operands: Sequence[Terms]) -> Array:
    kind, given = algebra.kind(operands[0].dtype), [t.data["term"] for t in operands]
    law = _LAWS.get(name)
    if law is not None:
        return law(kind, *given)
    if name in ("maximum", "minimum"):
        return kind.extremum(name, *given)
    label = f"{name} {operands[0].dtype}" if dtype.kind in "iub" else name
    if name in _COMMUTATIVE:
        return algebra.kind(dtype).symmetric(label, *given)
    return algebra.kind(dtype).opaque(label, *(fp.packed(t[..., 0, :]) for t in given))


def _one(kind: Any, like: Array) -> Array:
    return np.broadcast_to(kind.of(np.ones(2, np.uint64)), like.shape)


def _and(kind: Any, a: Array, b: Array) -> Array:
    return kind.of(fp.multiply(a[..., 0, :], b[..., 0, :]))


def _not(kind: Any, a: Array) -> Array:
    return kind.add(_one(kind, a), kind.negative(a))


def _xor(kind: Any, a: Array, b: Array) -> Array:
    """Return a + b - 2 a b."""
    both = kind.negative(_and(kind, a, b))
    return kind.add(kind.add(a, b), kind.add(both, both))


def _absolute(kind: Any, a: Array) -> Array:
    """Return absolute values: a function of the square, which a number shares with its negation only."""
    return kind.opaque("absolute", fp.packed(fp.multiply(a[..., 0, :], a[..., 0, :])))


def _divide(kind: Any, a: Array, b: Array) -> Array:
    return kind.divide(a, b)


_LAWS: dict[str, Callable[..., Array]] = {
    "add": lambda kind, a, b: kind.add(a, b),
    "subtract": lambda kind, a, b: kind.add(a, kind.negative(b)),
    "multiply": lambda kind, a, b: kind.multiply(a, b),
    "negative": lambda kind, a: kind.negative(a),
    "divide": _divide,
    "exp": lambda kind, a: kind.exp(a),
    "logical_and": _and,
    "logical_not": _not,
    "logical_or": lambda kind, a, b: _not(kind, _and(kind, _not(kind, a), _not(kind, b))),
    "logical_xor": _xor,
    "positive": lambda _kind, a: a,
    "absolute": _absolute,
}


def _neutral(name: str, algebra: Algebra, result: Terms, operands: Sequence[Terms]) -> Terms:
    """Apply x - 0 = x, x + -0 = x, x * 1 = x, x * -1 = -x, which hold bit by bit; above bits, x + 0 = x too."""
    if name not in ("add", "subtract", "multiply", "divide"):
        return result
    exact = algebra.level is Level.BITS and result.dtype.kind not in "iub"
    for x, other in ((operands[0], operands[1]), (operands[1], operands[0])):
        if x is operands[1] and name in ("subtract", "divide"):
            continue
        value = other.data["value"]
        if name in ("multiply", "divide"):
            result = _replaced(result, other.data["known"] & (value == -1), Terms.__neg__, x)
            applies = value == 1
        else:
            applies = (value == 0) & (not exact or np.signbit(value) == (name == "add"))
        result = _replaced(result, other.data["known"] & applies, Terms.__pos__, x)
    return result


def _replaced(result: Terms, where: Array, function: Callable[[Terms], Any], x: Terms) -> Terms:
    """Return the results, with those of a function of one operand at some places."""
    return result.with_data(np.where(where, function(x).data, result.data)) if where.any() else result


def _absorbed(name: str, result: Terms, operands: Sequence[Terms]) -> Terms:
    """Apply 0 * x = 0 and, of finite x, x ± inf = ± inf."""
    absorbing = {"multiply": lambda v: v == 0, "add": np.isinf, "subtract": np.isinf}.get(name)
    if absorbing is None:
        return result
    for x in operands:
        where = x.data["known"] & absorbing(x.data["value"])
        if where.any():
            sign = -1 if name == "subtract" and x is operands[1] else 1
            values = Terms.lift(result.algebra, (sign * x.data["value"]).astype(result.dtype))
            result = result.with_data(np.where(where, values.data, result.data))
    return result


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _power(algebra: Algebra, x: Any, y: Any) -> Any:
    """Return powers; those with small whole exponents are products, with halves roots."""
    known = None if is_unknown(y) else np.unique(Terms.lift(algebra, y).numbers())
    if known is not None and known.size == 1 and algebra.level is not Level.BITS and abs(known[0]) <= 8:
        exponent = float(known[0])
        base = np.sqrt(x) if exponent % 1 == 0.5 else x
        if exponent % 1 in (0, 0.5):
            count, result = int(abs(exponent) if exponent % 1 == 0 else abs(exponent) * 2), 1.0
            for _ in range(count):
                result = result * base
            return result if exponent >= 0 else 1.0 / result
    return _plain("power", algebra, x, y)


def _plain(name: str, algebra: Algebra, *inputs: Any) -> Terms:
    operands = operands_of(algebra, inputs)
    shape = np.broadcast_shapes(*(t.shape for t in operands))
    operands = [t.with_data(np.broadcast_to(t.data, shape)) for t in operands]
    words = (fp.packed(t.data["term"][..., 0, :]) for t in operands)
    result = Terms.of(algebra, operands[0].dtype, algebra.kind(operands[0].dtype).opaque(name, *words))
    result = marked(folded(result, getattr(np, name, None) or CONCRETE[name], *operands), *operands)
    return _noted(name, result, *operands)


def _only_real(name: str, definition: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is its definition for real numbers, and opaque otherwise."""
    return lambda algebra, *x: definition(*x) if algebra.level is Level.REAL else _plain(name, algebra, *x)


def _divide_by_constant(algebra: Algebra, x: Any, y: Any) -> Any:
    """Return quotients; for real numbers, a division by a constant is a product with its inverse in float32."""
    if algebra.level is not Level.REAL or is_unknown(y) or not is_unknown(x) or x.dtype.kind in "iub":
        return None
    values = Terms.lift(algebra, y).numbers().astype(np.float64)
    return None if (values == 0).any() else x * (1.0 / values).astype(np.float32)


_COMPOSED: dict[str, Callable[..., Any]] = {
    "divide": _divide_by_constant,
    "square": lambda _algebra, x: x * x,
    "reciprocal": lambda _algebra, x: 1.0 / x,
    "power": _power,
    "rsqrt": _only_real("rsqrt", lambda x: 1.0 / np.sqrt(x)),
    "sigmoid": _only_real("sigmoid", _sigmoid),
    "tanh": _only_real("tanh", lambda x: 1.0 - 2.0 / (np.exp(2.0 * x) + 1.0)),
    "expm1": _only_real("expm1", lambda x: np.exp(x) - 1.0),
    "log1p": _only_real("log1p", lambda x: np.log(1.0 + x)),
    "erfc": _only_real("erfc", lambda x: 1.0 - compute("erf", x)),
    "fma": lambda algebra, a, b, c: _plain("fma", algebra, a, b, c) if algebra.level is Level.BITS else a * b + c,
}

CONCRETE: dict[str, Callable[..., Any]] = {}
"""Functions that numpy does not have, on numbers; `semantics.py` fills the table from the interpreter's."""

Terms.elementwise = staticmethod(compute)
