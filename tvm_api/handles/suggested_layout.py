"""`tir.schedule.analysis.suggest_index_map`: the layout in which loops read a buffer in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...handles.tir import prim_expr as tx
from ...handles.tir.buffers import Buffer
from ...handles.tir.control_flow import For
from ...handles.tir.domains import Range
from ...handles.tir.expr_kinds import expr_node
from ...handles.tir.index_map import IndexMap
from ...handles.tir.prim_expr import ExprLike, PrimExpr
from ...ir.origins import origin
from .arith.analyzer import Analyzer
from .iter_map import IterMapLevel, detect_iter_map
from .iter_maps.nodes import IterSplitExpr, IterSumExpr


@dataclass(frozen=True)
class _Digit:
    """A digit of a flat index: values of the loop number `loop`, divided by `lower`, modulo `extent`."""

    loop: int
    lower: int
    extent: int


def suggest_index_map(
    buffer: Buffer, indices: Sequence[ExprLike], loops: Sequence[For], predicate: ExprLike
) -> IndexMap | None:
    """Return the map from indices of a buffer to digits in the order of `loops`, with its inverse.

    None if the flat index of the access `indices` is no mixture of digits of the loop variables.
    """
    rules = Analyzer()
    shape = [tx.convert(dim) for dim in buffer.shape]
    variables = [expr_node(origin(loop.loop_var.ssa)) for loop in loops]
    domains = {v: Range.from_min_extent(loop.min, loop.extent) for v, loop in zip(variables, loops, strict=True)}
    flat = rules.simplify(_flat(buffer, indices))
    result = detect_iter_map([flat], domains, predicate, IterMapLevel.SURJECTIVE)
    if len(result.indices) != 1:
        return None
    digits = list(_digits(result.indices[0], variables))
    if not digits or None in digits:
        return None
    known = [digit for digit in digits if digit is not None]
    order = sorted(range(len(known)), key=lambda k: (known[k].loop, -known[k].lower))
    return _index_map(buffer, shape, known, order)


def _flat(buffer: Buffer, indices: Sequence[ExprLike]) -> PrimExpr:
    strides: list[ExprLike] = list(buffer.strides)
    if not strides:
        step: PrimExpr = tx.const(1, "int32")
        for dim in reversed(list(buffer.shape)):
            strides.insert(0, step)
            step = step * dim
    total: PrimExpr = tx.const(0, "int32")
    for stride, index in zip(strides, indices, strict=True):
        total = total + tx.convert(stride) * index
    return total


def _digits(total: IterSumExpr, variables: Sequence[PrimExpr]) -> Iterator[_Digit | None]:
    """Yield the digits of an index, the most significant first; None for one that has no constant extent."""
    for split in total.args:
        source = split.source.source
        if isinstance(source, IterSumExpr):
            yield from _digits(source, variables)
        else:
            yield None if isinstance(source, IterSplitExpr) else _digit(split, source, variables)


def _digit(split: IterSplitExpr, source: PrimExpr, variables: Sequence[PrimExpr]) -> _Digit | None:
    loop = next((k for k, variable in enumerate(variables) if variable.same_as(source)), None)
    lower, extent = tx.convert(split.lower_factor).constant, tx.convert(split.extent).constant
    if loop is None or lower is None or extent is None:
        return None
    return _Digit(loop, int(lower), int(extent))


def _index_map(buffer: Buffer, shape: Sequence[PrimExpr], digits: Sequence[_Digit], order: Sequence[int]) -> IndexMap:
    def forward(*indices: PrimExpr) -> list[PrimExpr]:
        rules = Analyzer()
        for index, dim in zip(indices, shape, strict=True):
            rules.bind(index, Range(0, dim))
        rest = _flat(buffer, indices)
        split: list[PrimExpr] = []
        for digit in reversed(digits):
            rest = rules.simplify(rest)
            split.insert(0, rules.simplify(tx.floormod(rest, digit.extent)))
            rest = tx.floordiv(rest, digit.extent)
        return [split[k] for k in order]

    def backward(*indices: PrimExpr) -> list[PrimExpr]:
        rules = Analyzer()
        place = sorted(range(len(order)), key=lambda k: order[k])
        total: PrimExpr = tx.const(0, "int32")
        stride = 1
        for k in reversed(range(len(digits))):
            index = indices[place[k]]
            rules.bind(index, Range(0, digits[k].extent))
            total = index * stride + total
            stride *= digits[k].extent
        out: list[PrimExpr] = []
        for dim in reversed(shape):
            out.insert(0, rules.simplify(tx.floormod(total, dim)))
            total = tx.floordiv(total, dim)
        return out

    inverse = IndexMap.from_func(backward, ndim=len(digits), index_dtype="int32")
    return IndexMap.from_func(forward, ndim=len(shape), inverse_index_map=inverse, index_dtype="int32")


__all__ = ["suggest_index_map"]
