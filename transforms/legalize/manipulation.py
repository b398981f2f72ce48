"""Rules of operators that move elements."""

from __future__ import annotations

from ... import topi
from ...dialects.relax.operator import Operator
from ...te.tensor import Tensor
from .groups import known_sums
from .legalize_rules import Emit, operand, result_dims, rule


@rule("relax.permute_dims")
def permute_dims(op: Operator) -> Emit:
    """relax.permute_dims(x) -> transpose(x)"""
    return Emit(topi.transpose, (operand(op, "x"), op.attr("axes")), "transpose")


@rule("relax.reshape")
@rule("relax.flatten")
def reshape(op: Operator) -> Emit:
    """relax.reshape(x, shape), relax.flatten(x) -> reshape(x)"""
    return Emit(topi.reshape, (operand(op, "x"), result_dims(op)), "reshape")


@rule("relax.broadcast_to")
def broadcast_to(op: Operator) -> Emit:
    """relax.broadcast_to(x, shape) -> broadcast_to(x)"""
    return Emit(topi.broadcast_to, (operand(op, "x"), result_dims(op)), "broadcast_to")


@rule("relax.expand_dims")
def expand_dims(op: Operator) -> Emit:
    """relax.expand_dims(x) -> expand_dims(x)"""
    axis = op.attr("axis")
    return Emit(topi.expand_dims, (operand(op, "x"), [] if axis is None else axis), "expand_dims")


@rule("relax.squeeze")
def squeeze(op: Operator) -> Emit:
    """relax.squeeze(x) -> squeeze(x)"""
    return Emit(topi.squeeze, (operand(op, "x"), op.attr("axis")), "squeeze")


@rule("relax.concat")
def concat(op: Operator) -> Emit:
    """relax.concat(xs) -> concatenate(xs...); a tuple value is taken apart first"""
    (xs,) = op.args
    given = xs if isinstance(xs, tuple) else (xs,)
    axis = op.attr("axis") or 0
    return Emit(_concatenate, given, "concatenate", {"axis": axis}, opaque=known_sums(op, axis))


def _concatenate(*tensors: Tensor | list[Tensor], axis: int) -> Tensor:
    flat: list[Tensor] = []
    for given in tensors:
        flat += given if isinstance(given, list) else [given]
    return topi.concatenate(flat, axis)


@rule("relax.split")
def split(op: Operator) -> Emit:
    """relax.split(x) -> split(x), with a result for each section"""
    return Emit(topi.split, (operand(op, "x"), op.attr("indices_or_sections"), op.attr("axis")), "split")


@rule("relax.take")
def take(op: Operator) -> Emit:
    """relax.take(x, indices) -> take(x, indices)"""
    args = (operand(op, "x"), operand(op, "indices"), op.attr("axis"), op.attr("mode"))
    return Emit(topi.take, args, "take")
