"""Arithmetic of sizes: what is computed of constants and dimensions stays known while a program is converted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from ...dialects.sym.analyzer import Analyzer, is_nonnegative
from ...dialects.sym.expr import Const, SymExpr
from .graph import Graph
from .values import Numbers, Splat, element_of, is_complex, is_number, tensor_type, word, wrapped

LIMIT = 64
"""Elements of the largest tensor that is known."""

Number = int | SymExpr


def plain(number: Number) -> Number:
    """Return a number that is constant as an integer."""
    return number.constant if isinstance(number, SymExpr) and number.constant is not None else number


def _sym(number: Number) -> SymExpr:
    return Const(number) if isinstance(number, int) else number


def _truncated(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divide(a: Number, b: Number) -> Number | None:
    if isinstance(a, int) and isinstance(b, int):
        return _truncated(a, b)
    known = _positive(b) and _natural(a)
    return _sym(a) // _sym(b) if known else None


def _remainder(a: Number, b: Number) -> Number | None:
    if isinstance(a, int) and isinstance(b, int):
        quotient = _truncated(a, b)
        return None if quotient is None else a - quotient * b
    return _sym(a) % _sym(b) if _positive(b) and _natural(a) else None


def _natural(a: Number) -> bool:
    return a >= 0 if isinstance(a, int) else is_nonnegative(a)


def _positive(a: Number) -> bool:
    return a > 0 if isinstance(a, int) else bool(Analyzer().bounds(a).low >= 1) or _is_variable(a)


def _is_variable(a: SymExpr) -> bool:
    return a.constant is None and is_nonnegative(a - 1)


def _sign(a: Number) -> Number | None:
    if isinstance(a, int):
        return (a > 0) - (a < 0)
    return 1 if _positive(a) else None


def _difference(a: Number, b: Number) -> int | None:
    """Return whether a - b is negative, 0, or positive: -1, 0, 1."""
    difference = plain(_sym(a) - _sym(b))
    if isinstance(difference, int):
        return (difference > 0) - (difference < 0)
    if _positive(difference):
        return 1
    return -1 if _positive(_sym(0) - difference) else None


_HOLDS: dict[str, Callable[[int], bool]] = {
    "EQ": lambda d: d == 0, "NE": lambda d: d != 0, "LT": lambda d: d < 0, "LE": lambda d: d <= 0,
    "GT": lambda d: d > 0, "GE": lambda d: d >= 0,
}  # fmt: skip


def _either(larger: bool) -> Callable[[Number, Number], Number | None]:
    def rule(a: Number, b: Number) -> Number | None:
        difference = _difference(a, b)
        if difference is None:
            return None
        return a if (difference >= 0) == larger else b

    return rule


def _logical(compute: Callable[[int, int], int], neutral: int) -> Callable[[Number, Number], Number | None]:
    def rule(a: Number, b: Number) -> Number | None:
        if isinstance(a, int) and isinstance(b, int):
            return compute(a, b)
        return b if a == neutral else a if b == neutral else None

    return rule


_BINARY: dict[str, Callable[[Any, Any], Number | None]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
    "remainder": _remainder,
    "maximum": _either(True),
    "minimum": _either(False),
    "and": _logical(lambda a, b: a & b, -1),
    "or": _logical(lambda a, b: a | b, 0),
    "xor": _logical(lambda a, b: a ^ b, 0),
}
_UNARY: dict[str, Callable[[Any], Number | None]] = {
    "negate": lambda a: 0 - a,
    "sign": _sign,
    "abs": lambda a: abs(a) if isinstance(a, int) else a if _natural(a) else None,
    "convert": lambda a: a,
}


def _element(op: Operation, name: str, args: Sequence[Number]) -> Number | None:
    if name == "compare":
        difference = _difference(args[0], args[1])
        return None if difference is None else int(_HOLDS[word(op, "comparison_direction")](difference))
    if name == "select":
        return (args[1] if args[0] else args[2]) if isinstance(args[0], int) else None
    if name == "clamp":
        raised = _either(True)(args[0], args[1])
        return None if raised is None else _either(False)(raised, args[2])
    if name == "not":
        if not isinstance(args[0], int):
            return None
        return 1 - args[0] if element_of(op.results[0]) == i1 else -1 - args[0]
    if name in _BINARY:
        return _BINARY[name](args[0], args[1])
    return _UNARY[name](args[0]) if name in _UNARY else None


def of_value(graph: Graph, value: SSAValue) -> Numbers | None:
    """Return a value as known numbers, None if it is not."""
    known = graph.values[value]
    if isinstance(known, Numbers):
        return known
    if not isinstance(known, Splat) or isinstance(known.number, float):
        return None
    shape = [d.constant for d in known.dims]
    if None in shape or math.prod(s or 0 for s in shape) > LIMIT:
        return None
    return Numbers(np.full([s or 0 for s in shape], int(known.number), object), known.dtype)


def folded(graph: Graph, op: Operation) -> Numbers | Splat | None:
    """Return the result of an elementwise operation on known numbers, None if it is not known."""
    result = op.results[0]
    if is_complex(result) or not is_number(element_of(result)):
        return _converted_splat(graph, op)
    args = [of_value(graph, v) for v in op.operands]
    if any(a is None or (a.dtype == i1 and op.name.endswith(("add", "multiply"))) for a in args):
        return _converted_splat(graph, op)
    shape = tensor_type(result).get_shape()
    columns = [np.broadcast_to(a.content, shape).flat for a in args if a is not None]
    dtype = element_of(result)
    made: list[Number] = []
    for row in zip(*columns, strict=True):
        value = _element(op, op.name.partition(".")[2], row)
        if value is None:
            return None
        value = plain(value)
        if isinstance(value, int):
            value = int(value != 0) if op.name.endswith("convert") and dtype == i1 else wrapped(value, dtype)
        made.append(value)
    content = np.empty(len(made), object)
    content[:] = made
    return Numbers(content.reshape(shape), dtype)


def _converted_splat(graph: Graph, op: Operation) -> Splat | None:
    """Return the conversion of one number, if it is exact."""
    known = graph.values[op.operands[0]]
    if op.name != "stablehlo.convert" or not isinstance(known, Splat) or is_complex(op.results[0]):
        return None
    dtype = element_of(op.results[0])
    number = known.number
    if is_number(dtype) or not float(number).is_integer() or abs(number) > 128:
        return None
    return Splat(float(number), dtype, known.dims)


def array(content: Sequence[Number], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return numbers as an array of a shape."""
    made = np.empty(len(content), object)
    made[:] = list(content)
    return made.reshape(tuple(shape))
