"""Arithmetic of sizes: what is computed of dimensions and constants stays symbolic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Operation

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.operators import maximum, minimum
from ...dialects.xdsl_extras.arith_extras import INTEGER_PREDICATES
from ...ir.locations import location_of
from .structured import attribute, integers

Rule = Callable[[SymExpr, SymExpr], SymExpr | None]


def _ceildiv(a: SymExpr, b: SymExpr) -> SymExpr:
    return -(-a // b)


def _truncated(compute: Callable[[SymExpr, SymExpr], SymExpr]) -> Rule:
    """Division of numbers that are not negative: by a positive constant it is that of sizes."""

    def rule(a: SymExpr, b: SymExpr) -> SymExpr | None:
        positive = b.constant is not None and b.constant > 0
        return compute(a, b) if positive and _is_natural(a) else None

    return rule


def _is_natural(e: SymExpr) -> bool:
    """Return whether an expression of sizes cannot be negative: it has sums, products and quotients only."""
    if e.constant is not None:
        return e.constant >= 0
    negative = [part for part in _parts(e) if part.constant is not None and part.constant < 0]
    return not negative and "-" not in str(e)


def _parts(e: SymExpr) -> list[SymExpr]:
    return [e, *(part for child in e.children() for part in _parts(child))]


_RULES: dict[str, Rule] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": lambda a, b: a // b if b.constant else None,
    "arith.ceildivsi": lambda a, b: _ceildiv(a, b) if b.constant else None,
    "arith.ceildivui": _truncated(_ceildiv),
    "arith.divsi": _truncated(lambda a, b: a // b),
    "arith.divui": _truncated(lambda a, b: a // b),
    "arith.remsi": _truncated(lambda a, b: a % b),
    "arith.remui": _truncated(lambda a, b: a % b),
    "arith.maxsi": maximum,
    "arith.minsi": minimum,
}

_COMPARISONS: dict[str, Callable[[int], bool]] = {
    "eq": lambda d: d == 0, "ne": lambda d: d != 0, "slt": lambda d: d < 0, "sle": lambda d: d <= 0,
    "sgt": lambda d: d > 0, "sge": lambda d: d >= 0,
}  # fmt: skip


def size_of(op: Operation, operands: Sequence[SymExpr]) -> SymExpr | IntegerAttr | None:
    """Return the result of an operation on sizes; None if it is not known to be one."""
    if op.name in ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.trunci", "arith.extui"):
        return operands[0]
    if op.name == "arith.cmpi":
        predicate = op.properties["predicate"]
        difference = (operands[0] - operands[1]).constant
        name = INTEGER_PREDICATES[predicate.value.data] if isinstance(predicate, IntegerAttr) else ""
        if difference is None or name not in _COMPARISONS:
            return None
        return IntegerAttr(int(_COMPARISONS[name](difference)), i1)
    rule = _RULES.get(op.name)
    return None if rule is None else rule(operands[0], operands[1])


def kept_dimensions(op: Operation, type: Attribute) -> list[int]:
    """Return the dimensions of a part that its type has, which may leave out some of extent 1.

    Raises `UnsupportedError` for a type that does not fit the sizes.
    """
    static = integers(attribute(op, "static_sizes"))
    left = list(cast(Any, type).get_shape())
    kept: list[int] = []
    for axis, size in enumerate(static):
        if left and left[0] == size:
            kept.append(axis)
            left = left[1:]
        elif size != 1:
            left = [size]
            break
    if left:
        raise UnsupportedError(
            f"'{op.name}' with a type that does not fit its sizes", location=location_of(op), found=str(type)
        )
    return kept
