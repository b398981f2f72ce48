"""Rules of operators that repeat, turn, stack and fold back tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ... import topi
from ...dialects.relax.operator import Operator
from ...dialects.relax.rearrangement import Tile
from ...te.tensor import Tensor
from .legalize_rules import Emit, operand, result_dims, rule


def flattened(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of a list of tensors as one of tensors; a tuple value that was taken apart counts as its fields."""

    def apply(*tensors: Tensor | list[Tensor], **options: Any) -> Any:
        flat: list[Tensor] = []
        for t in tensors:
            flat += t if isinstance(t, list) else [t]
        return function(flat, **options)

    return apply


@rule("relax.repeat")
def repeat(op: Operator) -> Emit:
    """relax.repeat(data) -> repeat(data)"""
    return Emit(topi.repeat, (operand(op, "data"), op.attr("repeats"), op.attr("axis")), "repeat")


@rule("relax.tile")
def tile(op: Operator) -> Emit:
    """relax.tile(data) -> tile(data)"""
    return Emit(topi.tile, (operand(op, "data"), cast(Tile, op).repeats_of()), "tile")


@rule("relax.flip")
def flip(op: Operator) -> Emit:
    """relax.flip(data) -> flip(data)"""
    return Emit(topi.flip, (operand(op, "data"), op.attr("axis")), "flip")


@rule("relax.stack")
def stack(op: Operator) -> Emit:
    """relax.stack(xs) -> stack(xs...)"""
    return Emit(flattened(topi.stack), tuple(op.operands), "stack", {"axis": op.attr("axis") or 0})


@rule("relax.meshgrid")
def meshgrid(op: Operator) -> Emit:
    """relax.meshgrid(xs) -> meshgrid(xs...), with a result for each tensor"""
    return Emit(flattened(topi.meshgrid), tuple(op.operands), "meshgrid", {"indexing": op.attr("indexing")})


@rule("relax.collapse_sum_like")
@rule("relax.collapse_sum_to")
def collapse_sum(op: Operator) -> Emit:
    """relax.collapse_sum_to(data, shape) -> collapse_sum(data)"""
    return Emit(topi.collapse_sum, (operand(op, "data"), result_dims(op)), "collapse_sum")
