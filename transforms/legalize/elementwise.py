"""Rules of element-wise operators of two operands, and of tensors made of a value or of their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ... import topi
from ...dialects.relax.creation import Arange
from ...dialects.relax.operator import Operator
from .legalize_rules import (
    RULES,
    Emit,
    LegalizeRule,
    constant_scalar,
    operand,
    result_dims,
    result_tensor,
    rule,
    scalar_or_value,
)

_BINARY = (
    "add subtract multiply divide floor_divide power mod floor_mod maximum minimum logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal greater greater_equal less less_equal"
)


def binary(function: Callable[..., Any], name: str) -> LegalizeRule:
    """Return the rule of an operator of two tensors, or of a tensor and a scalar."""

    def apply(op: Operator) -> Emit:
        x1, x2 = operand(op, "x1"), operand(op, "x2")
        right = scalar_or_value(x2)
        return Emit(function, (x1 if right is not x2 else scalar_or_value(x1), right), name)

    return apply


RULES.update({f"relax.{n}": binary(getattr(topi, n), n) for n in _BINARY.split()})


def _square(x: Any) -> Any:
    return topi.multiply(x, x)


@rule("relax.square")
def square(op: Operator) -> Emit:
    """relax.square(x) -> tir_square(x): x * x"""
    return Emit(_square, (operand(op, "x"),), "tir_square")


@rule("relax.full", "relax.full_like")
def full(op: Operator) -> Emit:
    """relax.full(shape, value) -> full(), with a constant value inlined"""
    fill = operand(op, "fill_value")
    number = constant_scalar(fill)
    return Emit(topi.full, (result_dims(op), result_tensor(op).element, fill if number is None else number), "full")


@rule("relax.arange")
def arange(op: Operator) -> Emit | None:
    """relax.arange(start, end, step) -> arange()"""
    literals = cast(Arange, op).literals()
    start, _, step = literals if literals is not None else (operand(op, "start"), None, operand(op, "step"))
    return Emit(topi.arange, (result_dims(op), start, step, result_tensor(op).element), "arange")
