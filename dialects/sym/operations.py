"""The table of scalar operations: evaluation, bounds of the results, and spelling in languages.

`OPERATIONS` has the rows by name. Constant folding, bounds analysis, printing and parsing of operators use it; the
constructors of symbolic expressions are in `operators.OPS` under the same names.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# (the functions of `operator` have no types)

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, fmod, isinf, nan
from typing import Any

from .bounds import (
    EVERYTHING,
    Interval,
    bitwise_and_bounds,
    floordiv_bounds,
    floormod_bounds,
    max_bounds,
    min_bounds,
    select_bounds,
    shift_right_bounds,
    truncdiv_bounds,
    truncmod_bounds,
    truth_bounds,
)


def _anything(*_args: Interval) -> Interval:
    return EVERYTHING


@dataclass(frozen=True)
class ScalarOperation:
    """An operation on numbers, or on conditions."""

    name: str
    evaluate: Callable[..., Any]
    """Computes the value on Python numbers; conditions return bool."""
    symbol: str = ""
    """Python's operator, if it has one."""
    arith: str = ""
    """The equivalent operation of arith on signed integers, or the predicate of `arith.cmpi`."""
    bounds: Callable[..., Interval] = _anything
    """Returns an interval that contains its values, given intervals of its operands."""
    arity: int = 2
    commutative: bool = False
    is_condition: bool = False
    """True if the result is a condition."""
    negated: str = ""
    """For comparisons: the negation."""
    mirrored: str = ""
    """For comparisons: the comparison with its operands swapped."""
    decide: Callable[[Interval], tuple[bool, bool]] | None = None
    """For comparisons: given an interval around the difference of the operands, whether it (always, never) holds."""


def _trunc_div(a: float, b: float) -> float:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _trunc_mod(a: float, b: float) -> float:
    if isinstance(a, float) or isinstance(b, float):
        return nan if isinf(a) else fmod(a, b)
    return a - b * _trunc_div(a, b)


def _floor_mod(a: float, b: float) -> float:
    """Return the remainder with the sign of the divisor; for floats, a zero has the sign of the dividend."""
    rest = a % b
    return copysign(rest, a) if rest == 0 and isinstance(rest, float) else rest


def _first(is_better: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """Return a function for the better of two numbers, the first of equal ones; NaN if one is NaN."""
    return lambda a, b: b if is_better(b, a) or b != b else a


def _select(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _both(a: Any, b: Any) -> bool:
    return bool(a) and bool(b)


def _either(a: Any, b: Any) -> bool:
    return bool(a) or bool(b)


def _comparison(
    symbol: str, arith: str, negated: str, mirrored: str, decide: Callable[[Interval], tuple[bool, bool]]
) -> ScalarOperation:
    name = arith.removeprefix("s")
    return ScalarOperation(
        name,
        getattr(operator, name),
        symbol,
        arith,
        truth_bounds,
        commutative=name == mirrored,
        is_condition=True,
        negated=negated,
        mirrored=mirrored,
        decide=decide,
    )


def _connective(name: str, evaluate: Callable[..., Any], arith: str = "", arity: int = 2) -> ScalarOperation:
    return ScalarOperation(name, evaluate, name, arith, truth_bounds, arity, arity == 2, is_condition=True)


_ROWS = (
    ScalarOperation("add", operator.add, "+", "addi", operator.add, commutative=True),
    ScalarOperation("sub", operator.sub, "-", "subi", operator.sub),
    ScalarOperation("mul", operator.mul, "*", "muli", operator.mul, commutative=True),
    ScalarOperation("floordiv", operator.floordiv, "//", "floordivsi", floordiv_bounds),
    ScalarOperation("floormod", _floor_mod, "%", "", floormod_bounds),
    ScalarOperation("truncdiv", _trunc_div, "", "divsi", truncdiv_bounds),
    ScalarOperation("truncmod", _trunc_mod, "", "remsi", truncmod_bounds),
    ScalarOperation("min", _first(operator.lt), "", "minsi", min_bounds, commutative=True),
    ScalarOperation("max", _first(operator.gt), "", "maxsi", max_bounds, commutative=True),
    ScalarOperation("select", _select, "", "select", select_bounds, arity=3),
    _comparison("==", "eq", "ne", "eq", lambda d: (d.low == d.high == 0, d.low > 0 or d.high < 0)),
    _comparison("!=", "ne", "eq", "ne", lambda d: (d.low > 0 or d.high < 0, d.low == d.high == 0)),
    _comparison("<", "slt", "ge", "gt", lambda d: (d.high < 0, d.low >= 0)),
    _comparison("<=", "sle", "gt", "ge", lambda d: (d.high <= 0, d.low > 0)),
    _comparison(">", "sgt", "le", "lt", lambda d: (d.low > 0, d.high <= 0)),
    _comparison(">=", "sge", "lt", "le", lambda d: (d.low >= 0, d.high < 0)),
    _connective("and", _both, "andi"),
    _connective("or", _either, "ori"),
    _connective("not", operator.not_, arity=1),
    # Not of symbolic expressions, but of constants in programs
    ScalarOperation("div", operator.truediv, "/"),
    ScalarOperation("pow", operator.pow, "**"),
    ScalarOperation("matmul", operator.matmul, "@"),
    ScalarOperation("shift_left", operator.lshift, "<<", "shli"),
    ScalarOperation("shift_right", operator.rshift, ">>", "shrsi", shift_right_bounds),
    ScalarOperation("bitwise_and", operator.and_, "&", "andi", bitwise_and_bounds, commutative=True),
    ScalarOperation("bitwise_or", operator.or_, "|", "ori", commutative=True),
    ScalarOperation("bitwise_xor", operator.xor, "^", "xori", commutative=True),
    ScalarOperation("bitwise_not", operator.invert, "~", arity=1),
    ScalarOperation("neg", operator.neg, "-", "", lambda a: a.scaled(-1), arity=1),
    ScalarOperation("pos", operator.pos, "+", "", lambda a: a, arity=1),
)
OPERATIONS: dict[str, ScalarOperation] = {row.name: row for row in _ROWS}
"""The operations by name."""
COMPARISONS: dict[str, Callable[[Interval], tuple[bool, bool]]] = {
    row.name: row.decide for row in _ROWS if row.decide is not None
}
"""For each comparison: given an interval around the difference of its operands, whether it (always, never) holds."""
NEGATED = {name: OPERATIONS[name].negated for name in COMPARISONS}
CONDITIONS = frozenset(row.name for row in _ROWS if row.is_condition)
DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod"})
"""Operations that are undefined if the second operand is zero."""
