"""Arithmetic of sizes: what is computed of constants and dimensions stays known while a program is converted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from ...dialects.sym import operators
from ...dialects.sym.analyzer import is_nonnegative
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.sym.operators import logical_and, logical_not, logical_or, maximum, minimum, select, truncdiv, truncmod
from .graph import Graph
from .values import Numbers, Splat, element_of, is_complex, is_number, tensor_type, word, wrapped

LIMIT = 64
"""Elements of the largest tensor that is known."""

Number = int | SymExpr
_Rule = Callable[[Any, Any], "Number | None"]


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
    return _sym(a) // _sym(b) if _are_natural(a, b) else truncdiv(_sym(a), _sym(b))


def _remainder(a: Number, b: Number) -> Number | None:
    if isinstance(a, int) and isinstance(b, int):
        quotient = _truncated(a, b)
        return None if quotient is None else a - quotient * b
    return _sym(a) % _sym(b) if _are_natural(a, b) else truncmod(_sym(a), _sym(b))


def _are_natural(a: Number, b: Number) -> bool:
    return is_nonnegative(_sym(a)) and is_nonnegative(_sym(b))


def _sign(a: Number) -> Number:
    if isinstance(a, int):
        return (a > 0) - (a < 0)
    return select(operators.gt(a, 0), 1, select(operators.lt(a, 0), -1, 0))


def _extremum(numbers: Callable[[int, int], int], symbols: Callable[[SymExpr, SymExpr], SymExpr]) -> _Rule:
    def rule(a: Number, b: Number) -> Number:
        return numbers(a, b) if isinstance(a, int) and isinstance(b, int) else symbols(_sym(a), _sym(b))

    return rule


def _logical(compute: Callable[[int, int], int], symbols: Callable[[Any, Any], SymExpr] | None) -> _Rule:
    """A rule for integers, and for conditions that are not known: 1 is true."""

    def rule(a: Number, b: Number) -> Number | None:
        if isinstance(a, int) and isinstance(b, int):
            return compute(a, b)
        conditions = all(isinstance(v, int) or is_condition(v) for v in (a, b))
        return symbols(*map(_condition, (a, b))) if symbols is not None and conditions else None

    return rule


def is_condition(e: SymExpr) -> bool:
    """Return whether an expression is true or false."""
    return e.dtype == i1


def _condition(number: Number) -> SymExpr:
    return Const(int(number != 0), i1) if isinstance(number, int) else number


_COMPARISONS: dict[str, Callable[[Any, Any], SymExpr]] = {
    "EQ": operators.eq, "NE": operators.ne, "LT": operators.lt, "LE": operators.le, "GT": operators.gt,
    "GE": operators.ge,
}  # fmt: skip
_BINARY: dict[str, _Rule] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
    "remainder": _remainder,
    "maximum": _extremum(max, maximum),
    "minimum": _extremum(min, minimum),
    "and": _logical(lambda a, b: a & b, logical_and),
    "or": _logical(lambda a, b: a | b, logical_or),
    "xor": _logical(lambda a, b: a ^ b, None),
}
_UNARY: dict[str, Callable[[Any], Number | None]] = {
    "negate": lambda a: 0 - a,
    "sign": _sign,
    "abs": lambda a: abs(a) if isinstance(a, int) else maximum(a, 0 - a),
    "convert": lambda a: a if isinstance(a, int) or not is_condition(a) else None,
}


def compared(op: Operation, a: Number, b: Number) -> SymExpr:
    """Return the condition of a comparison."""
    return _COMPARISONS[word(op, "comparison_direction")](_sym(a), _sym(b))


def _chosen(condition: Number, a: Number, b: Number) -> Number | None:
    if isinstance(condition, int):
        return a if condition else b
    if any(isinstance(v, SymExpr) and is_condition(v) for v in (a, b)):
        return None
    return a if a == b else select(condition, _sym(a), _sym(b))


def _clamped(low: Number, value: Number, high: Number) -> Number | None:
    raised = _BINARY["maximum"](low, value)
    return None if raised is None else _BINARY["minimum"](raised, high)


def _negated(op: Operation, a: Number) -> Number | None:
    if not isinstance(a, int):
        return logical_not(a) if is_condition(a) else None
    return 1 - a if element_of(op.results[0]) == i1 else -1 - a


def _element(op: Operation, name: str, args: Sequence[Number]) -> Number | None:
    if name == "compare":
        return compared(op, args[0], args[1])
    if name == "select":
        return _chosen(args[0], args[1], args[2])
    if name == "clamp":
        return _clamped(args[0], args[1], args[2])
    if name == "not":
        return _negated(op, args[0])
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
    results: list[Number] = []
    for row in zip(*columns, strict=True):
        value = _element(op, op.name.partition(".")[2], row)
        if value is None:
            return None
        value = plain(graph.analyzer.simplify(value) if isinstance(value, SymExpr) else value)
        if isinstance(value, int):
            value = int(value != 0) if op.name.endswith("convert") and dtype == i1 else wrapped(value, dtype)
        results.append(value)
    content = np.empty(len(results), object)
    content[:] = results
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
    result = np.empty(len(content), object)
    result[:] = list(content)
    return result.reshape(tuple(shape))
