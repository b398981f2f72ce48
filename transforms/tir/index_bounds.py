"""Which accesses reach outside of their buffers whenever a function runs: constant indices, and those of loops that
always run.

    %x = tir.load %A[4] of !tir.buffer<[4], f32>       refused (`check_indices`)
    %x = tir.load %A[4] of !tir.buffer<[n], f32>       5 <= n, which the caller is to check (`least_extents`)

What stands under a condition may never run, and is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import ShapeError
from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.bounds import Interval
from ...dialects.sym.expr import SymExpr, Var, offset_of, terms_of
from ...ir.affine.values import sym_expr_of
from ...ir.locations import location_of


@dataclass(frozen=True)
class Reach:
    """Where an access reaches in a dimension, from the least to the greatest index."""

    op: tir.LoadOp | tir.StoreOp
    dimension: int
    extent: SymExpr
    indices: Interval

    @property
    def text(self) -> str:
        """What it does, in words."""
        verb = "reads" if isinstance(self.op, tir.LoadOp) else "writes"
        least, most = self.indices.low, self.indices.high
        places = f"index {least}" if least == most else f"indices {least} to {most}"
        name = name_of(self.op.buffer) or "a buffer"
        return f"the function {verb} {places} of dimension {self.dimension} of '{name}'"


def check_indices(func: tir.FuncOp) -> None:
    """Raise `ShapeError`, with its place, for an access outside of a buffer of constant extents."""
    for reach in _reaches(func):
        extent = reach.extent.constant
        if reach.indices.low < 0 or (extent is not None and reach.indices.high >= extent):
            found = f"{reach.indices.low if reach.indices.low < 0 else reach.indices.high}"
            raise ShapeError(
                reach.text, location=location_of(reach.op), expected=f"0 to {reach.extent - 1}", found=found
            )


def least_extents(func: tir.FuncOp) -> dict[SymExpr, Reach]:
    """What extents that only the run knows have to be more than: the access that reaches farthest in each."""
    found: dict[SymExpr, Reach] = {}
    for reach in _reaches(func):
        if reach.extent.constant is None and (
            reach.extent not in found or found[reach.extent].indices.high < reach.indices.high
        ):
            found[reach.extent] = reach
    return found


def _reaches(func: tir.FuncOp) -> Iterator[Reach]:
    yield from _in_block(func.body.block, {}, {})


def _in_block(block: Block, ranges: dict[SSAValue, Interval], bindings: dict[SSAValue, SymExpr]) -> Iterator[Reach]:
    for op in block.ops:
        if isinstance(op, tir.LoadOp | tir.StoreOp):
            yield from _of_access(op, ranges, bindings)
        inner = _always_runs(op, ranges, bindings)
        if inner is not None:
            yield from _in_block(inner, ranges, bindings)


def _always_runs(op: Operation, ranges: dict[SSAValue, Interval], bindings: dict[SSAValue, SymExpr]) -> Block | None:
    """The body of what runs as often as what is around it, or more; its variables are noted."""
    if isinstance(op, tir.ForOp):
        first, count = (e.constant if isinstance(e, SymExpr) else None for e in (op.min, op.extent))
        if first is None or count is None or count <= 0:
            return None
        ranges[op.loop_var] = Interval(first, first + count - 1)
        return op.body.block
    if isinstance(op, tir.BlockOp) and op.predicate is None:
        for var, binding in zip(op.iter_vars, op.bindings, strict=True):
            bindings[var] = _expression(binding, bindings)
        return op.body.block
    return op.body.block if isinstance(op, tir.AttrOp) else None


def _expression(value: SSAValue, bindings: dict[SSAValue, SymExpr]) -> SymExpr:
    expr = sym_expr_of(value, through_casts=True)
    return expr.substitute({v: bound for v in expr.free_vars() if v.value and (bound := bindings.get(v.value))})


def _of_access(
    op: tir.LoadOp | tir.StoreOp, ranges: dict[SSAValue, Interval], bindings: dict[SSAValue, SymExpr]
) -> Iterator[Reach]:
    dims = cast(tir.BufferType, op.buffer.type).dims
    for dimension, (index, extent) in enumerate(zip(op.indices, dims, strict=True)):
        if isinstance(index.type, IntegerType):
            indices = _values(_expression(index, bindings), ranges)
            if indices is not None:
                yield Reach(op, dimension, extent, indices)


def _values(index: SymExpr, ranges: dict[SSAValue, Interval]) -> Interval | None:
    """The least and the greatest value, both of which are taken: of sums of loops' variables."""
    total = Interval(offset_of(index), offset_of(index))
    for term, factor in terms_of(index):
        around = ranges.get(term.value) if isinstance(term, Var) and term.value is not None else None
        if around is None:
            return None
        total = total + around.scaled(factor)
    return total
