"""Rules of operators that read at positions."""

from __future__ import annotations

from typing import cast

from ... import topi
from ...dialects.relax.indexing import SliceScatter, StridedSlice
from ...dialects.relax.operator import Operator
from ...te.tensor import Tensor
from .legalize_rules import Emit, operand, rule


@rule("relax.strided_slice")
def strided_slice(op: Operator) -> Emit | None:
    """relax.strided_slice(x, axes, begin, end) -> strided_slice(x); it stays where a bound is not known"""
    slices = cast(StridedSlice, op).slices()
    return None if slices is None else Emit(topi.strided_slice, (operand(op, "x"), slices), "strided_slice")


@rule("relax.gather_elements")
def gather_elements(op: Operator) -> Emit:
    """relax.gather_elements(data, indices) -> gather(data, indices)"""
    return Emit(topi.gather, (operand(op, "data"), op.attr("axis"), operand(op, "indices")), "gather")


@rule("relax.gather_nd")
def gather_nd(op: Operator) -> Emit:
    """relax.gather_nd(data, indices) -> gather_nd(data, indices)"""
    args = (operand(op, "data"), operand(op, "indices"), op.attr("batch_dims"))
    return Emit(topi.gather_nd, args, "gather_nd")


@rule("relax.index_tensor")
def index_tensor(op: Operator) -> Emit:
    """relax.index_tensor(data, indices) -> index_tensor(data, indices...)"""
    return Emit(_index_tensor, tuple(op.operands), "index_tensor")


def _index_tensor(data: Tensor, *indices: Tensor | list[Tensor]) -> Tensor:
    flat: list[Tensor] = []
    for t in indices:
        flat += t if isinstance(t, list) else [t]
    return topi.index_tensor(data, flat)


@rule("relax.one_hot")
def one_hot(op: Operator) -> Emit:
    """relax.one_hot(indices, on_value, off_value) -> one_hot(indices)"""
    values = (operand(op, "on_value"), operand(op, "off_value"))
    return Emit(topi.one_hot, (operand(op, "indices"), *values, op.attr("depth"), op.attr("axis")), "one_hot")


@rule("relax.slice_scatter")
def slice_scatter(op: Operator) -> Emit | None:
    """relax.slice_scatter(x, src) -> slice_scatter(x, src); it stays where a bound is not known"""
    part = cast(SliceScatter, op).slice()
    if part is None:
        return None
    args = (operand(op, "input_tensor"), operand(op, "src"), part, op.attr("axis"))
    return Emit(topi.slice_scatter, args, "slice_scatter")
