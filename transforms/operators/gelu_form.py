"""Recognition of GELU written as separate operators: sums and products are read as polynomials, in any order.

With t = erf(x / sqrt(2)), or tanh of a polynomial of x, GELU is x / 2 + x * t / 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from .rules import number

Polynomial = dict[tuple[int, int], float]
"""Coefficients by the powers of x and of t."""

_TANH_SCALE = math.sqrt(2 / math.pi)
_ARGUMENTS: dict[str, tuple[str, Polynomial]] = {
    "relax.erf": ("nn.gelu", {(1, 0): math.sqrt(0.5)}),
    "relax.tanh": ("nn.gelu_tanh", {(1, 0): _TANH_SCALE, (3, 0): 0.044715 * _TANH_SCALE}),
}
"""The argument of the function t, and the operator it belongs to."""
_GELU: Polynomial = {(1, 0): 0.5, (1, 1): 0.5}
_DEPTH = 5
"""The maximum depth of operations in GELU."""
_DEGREE = 3
"""The degree of GELU's polynomials."""
_TOLERANCES: dict[Attribute | None, float] = {f16: 2**-10, bf16: 2**-7, f32: 2**-22, f64: 1e-9}
"""Relative tolerance of constants by dtype: that of rounding them to it."""


@dataclass(frozen=True)
class Gelu:
    """The operator `name` of a value."""

    name: str
    value: SSAValue


def read_gelu(op: Operator) -> Gelu | None:
    """Return the GELU whose last operation is `op`, or None."""
    result, t = op.results[0], op.results[0].type
    tolerance = _TOLERANCES.get(t.element) if isinstance(t, TensorType) and t.dims is not None else None
    if tolerance is None:
        return None
    for function in _functions(result):
        name, polynomial = _ARGUMENTS[function.name]
        argument = function.operands[0]
        for x in dict.fromkeys(_parts(argument)):
            of_x = x.type == result.type and _same(_read(argument, x), polynomial, tolerance)
            if of_x and _same(_read(result, x, function.results[0]), _GELU, tolerance):
                return Gelu(name, x)
    return None


def _functions(value: SSAValue) -> list[Operator]:
    """Return the erf and tanh operators among the terms of a sum or product that have no other use."""
    owners = (part.owner for part in _parts(value) if part.has_one_use())
    return [op for op in owners if isinstance(op, Operator) and op.name in _ARGUMENTS]


def _parts(value: SSAValue, depth: int = _DEPTH) -> Iterator[SSAValue]:
    """Yield sums and products and their non-constant terms."""
    if number(value) is not None:
        return
    yield value
    op = value.owner
    if isinstance(op, Operator) and op.name in _ARITHMETIC and depth:
        for operand in op.operands:
            yield from _parts(operand, depth - 1)


def _read(value: SSAValue, x: SSAValue, t: SSAValue | None = None, depth: int = _DEPTH) -> Polynomial | None:
    """Return a value as a polynomial of x and t; None if it is not one, or too deep."""
    if value is x or value is t:
        return {(1, 0) if value is x else (0, 1): 1.0}
    constant, op = number(value), value.owner
    if constant is not None:
        return {(0, 0): constant}
    if not isinstance(op, Operator) or op.name not in _ARITHMETIC or not depth:
        return None
    operands = [_read(operand, x, t, depth - 1) for operand in op.operands]
    read = [p for p in operands if p is not None]
    return _ARITHMETIC[op.name](*read) if len(read) == len(operands) else None


def _same(a: Polynomial | None, b: Polynomial, tolerance: float) -> bool:
    if a is None:
        return False
    return a.keys() == b.keys() and all(math.isclose(a[power], b[power], rel_tol=tolerance) for power in b)


def _sum(a: Polynomial, b: Polynomial) -> Polynomial | None:
    return {power: a.get(power, 0.0) + b.get(power, 0.0) for power in {**a, **b}}


def _product(a: Polynomial, b: Polynomial) -> Polynomial | None:
    out: Polynomial = {}
    for (i, j), p in a.items():
        for (k, m), q in b.items():
            if i + k > _DEGREE or j + m > 1:
                return None
            out[i + k, j + m] = out.get((i + k, j + m), 0.0) + p * q
    return out


def _square(a: Polynomial) -> Polynomial | None:
    return _product(a, a)


def _quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    divisor = _constant(b)
    return {power: p / divisor for power, p in a.items()} if divisor else None


def _power(a: Polynomial, b: Polynomial) -> Polynomial | None:
    exponent = _constant(b)
    square = _product(a, a) if exponent in (2, 3) else None
    return square if exponent == 2 or square is None else _product(square, a)


def _constant(a: Polynomial) -> float | None:
    return a[0, 0] if a.keys() == {(0, 0)} else None


_ARITHMETIC: dict[str, Callable[..., Polynomial | None]] = {
    "relax.add": _sum,
    "relax.multiply": _product,
    "relax.divide": _quotient,
    "relax.power": _power,
    "relax.square": _square,
}
