"""Rules of operators that make tensors of nothing but their indices."""

from __future__ import annotations

from typing import cast

from ... import topi
from ...dialects.relax.creation import Arange
from ...dialects.relax.operator import Operator
from .elementwise import full
from .legalize_rules import RULES, Emit, operand, result_dims, result_tensor, rule

RULES.add("relax.full_like", full)


@rule("relax.arange")
def arange(op: Operator) -> Emit | None:
    """relax.arange(start, end, step) -> arange()"""
    floats = cast(Arange, op).literals()
    dtype = result_tensor(op).element
    if floats is not None:
        start, _, step = floats
        return Emit(topi.arange, (result_dims(op), start, step, dtype), "arange")
    return Emit(topi.arange, (result_dims(op), operand(op, "start"), operand(op, "step"), dtype), "arange")


@rule("relax.eye")
@rule("relax.eye_like")
def eye(op: Operator) -> Emit:
    """relax.eye(n, m, k) -> eye(); relax.eye_like(x, k) -> eye_like()"""
    args = (result_dims(op), operand(op, "k"), result_tensor(op).element)
    return Emit(topi.eye, args, op.name.removeprefix("relax."))


@rule("relax.tril")
@rule("relax.triu")
def triangle(op: Operator) -> Emit:
    """relax.tril(x, k) -> tril(x)"""
    name = op.name.removeprefix("relax.")
    return Emit(topi.trilu, (operand(op, "x"), operand(op, "k"), name == "triu"), name)


@rule("relax.hamming_window")
def hamming_window(op: Operator) -> Emit:
    """relax.hamming_window(…) -> hamming_window()"""
    scalars = (operand(op, "periodic"), operand(op, "alpha"), operand(op, "beta"))
    return Emit(topi.hamming_window, (result_dims(op), *scalars, result_tensor(op).element), "hamming_window")
