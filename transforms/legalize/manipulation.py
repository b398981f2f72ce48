"""Rules of operators that move elements: joined and repeated tensors, slices, reads by several indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ... import topi
from ...dialects.relax.indexing import SliceScatter, StridedSlice
from ...dialects.relax.operator import Operator
from ...dialects.relax.rearrangement import Tile
from ...te.tensor import Tensor
from .groups import known_sums
from .legalize_rules import Emit, operand, rule


def flat(tensors: tuple[Tensor | list[Tensor], ...]) -> list[Tensor]:
    """Return the tensors of a list in which a tuple value stands as the list of its fields."""
    return [t for x in tensors for t in (x if isinstance(x, list) else [x])]


def of_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, which takes a list of tensors, as a function of tensors."""
    return lambda *tensors, **options: function(flat(tensors), **options)


_concatenate, _stack, _meshgrid = of_list(topi.concatenate), of_list(topi.stack), of_list(topi.meshgrid)


def _index_tensor(data: Tensor, *indices: Tensor | list[Tensor]) -> Tensor:
    return topi.index_tensor(data, flat(indices))


@rule("relax.expand_dims")
def expand_dims(op: Operator) -> Emit:
    """relax.expand_dims(x) -> expand_dims(x)"""
    axis = op.attr("axis")
    return Emit(topi.expand_dims, (operand(op, "x"), [] if axis is None else axis), "expand_dims")


@rule("relax.concat")
def concat(op: Operator) -> Emit:
    """relax.concat(xs) -> concatenate(xs...)"""
    (xs,) = op.args
    axis = op.attr("axis") or 0
    args = xs if isinstance(xs, tuple) else (xs,)
    return Emit(_concatenate, args, "concatenate", {"axis": axis}, opaque=known_sums(op, axis))


@rule("relax.stack")
def stack(op: Operator) -> Emit:
    """relax.stack(xs) -> stack(xs...)"""
    return Emit(_stack, tuple(op.operands), "stack", {"axis": op.attr("axis") or 0})


@rule("relax.meshgrid")
def meshgrid(op: Operator) -> Emit:
    """relax.meshgrid(xs) -> meshgrid(xs...), with a result for each tensor"""
    return Emit(_meshgrid, tuple(op.operands), "meshgrid", {"indexing": op.attr("indexing")})


@rule("relax.tile")
def tile(op: Operator) -> Emit:
    """relax.tile(data) -> tile(data)"""
    return Emit(topi.tile, (operand(op, "data"), cast(Tile, op).repeats_of()), "tile")


@rule("relax.strided_slice")
def strided_slice(op: Operator) -> Emit | None:
    """relax.strided_slice(x, axes, begin, end) -> strided_slice(x); it stays if a bound is not known"""
    slices = cast(StridedSlice, op).slices()
    return None if slices is None else Emit(topi.strided_slice, (operand(op, "x"), slices), "strided_slice")


@rule("relax.slice_scatter")
def slice_scatter(op: Operator) -> Emit | None:
    """relax.slice_scatter(x, src) -> slice_scatter(x, src); it stays if a bound is not known"""
    part = cast(SliceScatter, op).slice()
    if part is None:
        return None
    args = (operand(op, "input_tensor"), operand(op, "src"), part, op.attr("axis"))
    return Emit(topi.slice_scatter, args, "slice_scatter")


@rule("relax.index_tensor")
def index_tensor(op: Operator) -> Emit:
    """relax.index_tensor(data, indices) -> index_tensor(data, indices...)"""
    return Emit(_index_tensor, tuple(op.operands), "index_tensor")
