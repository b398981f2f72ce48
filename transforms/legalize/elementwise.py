"""Rules of element-wise operators and of those that make tensors: rows of (operator, tensor function, name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import topi
from ...dialects.relax.operator import Operator
from ...topi import special
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

_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh exp floor isfinite isinf isnan log log2 log10 "
    "logical_not negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_BINARY = (
    "add subtract multiply divide floor_divide power mod floor_mod maximum minimum logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal greater greater_equal less less_equal"
)
_SPECIAL = "digamma erfinv expm1 lgamma log1p"
_ACTIVATIONS = "relu gelu gelu_tanh selu silu"


def _square(x: Any) -> Any:
    return topi.multiply(x, x)


def _unary(function: Callable[..., Any], name: str) -> LegalizeRule:
    return lambda op: Emit(function, (op.args[0],), name)


def binary(function: Callable[..., Any], name: str) -> LegalizeRule:
    """The rule of an operator of two tensors, or of a tensor and a scalar."""

    def apply(op: Operator) -> Emit:
        x1, x2 = operand(op, "x1"), operand(op, "x2")
        right = scalar_or_value(x2)
        return Emit(function, (x1 if right is not x2 else scalar_or_value(x1), right), name)

    return apply


# relax.exp -> tir_exp: the prefix keeps these apart from functions of C's library
RULES.update({f"relax.{n}": _unary(getattr(topi, n), f"tir_{n}") for n in _UNARY.split()})
RULES.update({f"relax.nn.{n}": _unary(getattr(topi.nn, n), n) for n in _ACTIVATIONS.split()})
RULES.update({f"relax.{n}": _unary(getattr(special, n), n) for n in _SPECIAL.split()})
RULES.add("relax.square", _unary(_square, "tir_square"))
RULES.add("relax.erf", _unary(topi.erf, "erf"))
RULES.update({f"relax.{n}": binary(getattr(topi, n), n) for n in _BINARY.split()})


@rule("relax.clip")
def clip(op: Operator) -> Emit:
    """relax.clip(x, min, max) -> tir_clip(x)"""
    return Emit(topi.clip, (operand(op, "x"), operand(op, "min"), operand(op, "max")), "tir_clip")


@rule("relax.nn.leakyrelu")
def leaky_relu(op: Operator) -> Emit:
    """relax.nn.leakyrelu(x) -> leaky_relu(x)"""
    return Emit(topi.nn.leaky_relu, (operand(op, "x"), op.attr("alpha")), "leaky_relu")


@rule("relax.nn.softplus")
def softplus(op: Operator) -> Emit:
    """relax.nn.softplus(x) -> softplus(x)"""
    return Emit(topi.nn.softplus, (operand(op, "x"), op.attr("beta"), op.attr("threshold")), "softplus")


@rule("relax.astype")
@rule("relax.wrap_param")
def astype(op: Operator) -> Emit:
    """relax.astype(x) -> cast(x)"""
    return Emit(topi.cast, (op.operands[0], result_tensor(op).element), "cast")


@rule("relax.where")
def where(op: Operator) -> Emit:
    """relax.where(c, x1, x2) -> where(c, x1, x2)"""
    return Emit(topi.where, (operand(op, "condition"), operand(op, "x1"), operand(op, "x2")), "where")


def _filled(value: int, name: str) -> LegalizeRule:
    return lambda op: Emit(topi.full, (result_dims(op), result_tensor(op).element, value), name)


RULES.row("relax.zeros", "relax.zeros_like")(_filled(0, "zeros"))
RULES.row("relax.ones", "relax.ones_like")(_filled(1, "ones"))


@rule("relax.full")
def full(op: Operator) -> Emit:
    """relax.full(shape, value) -> full(), the value written into it where it is a constant"""
    fill = operand(op, "fill_value")
    number = constant_scalar(fill)
    return Emit(topi.full, (result_dims(op), result_tensor(op).element, fill if number is None else number), "full")
