"""Static bounds checks: accesses that are out of bounds whenever a function runs, by constant indices, or in loops that
always run.

    %x = tir.load %A[4] of !tir.buffer<[4], f32>       rejected (`check_indices`)
    %x = tir.load %A[4] of !tir.buffer<[n], f32>       5 <= n, which the caller must check (`least_extents`)
    for m: %x = tir.load %A[%i mod n] of !tir.buffer<[n], f32>, or at an index that is data:  1 <= n or m <= 0, likewise

Accesses under a condition may never run, and are ignored. Prefetches do not count as reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...diagnostics import ShapeError
from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.bounds import Interval
from ...dialects.sym.expr import Op, SymExpr, Var, offset_of, terms_of
from ...dialects.sym.operations import DIVISIONS
from ...ir.affine.values import sym_expr_of
from ...ir.locations import location_of


@dataclass(frozen=True)
class Reach:
    """The range of an access in a dimension, from the least to the greatest index."""

    op: tir.LoadOp | tir.StoreOp
    dimension: int
    extent: SymExpr
    indices: Interval
    counts: tuple[SymExpr, ...] = ()
    """Symbolic extents of the loops around the access, which happens if all are positive."""

    @property
    def text(self) -> str:
        """The error message for the access."""
        verb = "reads" if isinstance(self.op, tir.LoadOp) else "writes"
        least, most = self.indices.low, self.indices.high
        places = f"index {least}" if least == most else f"indices {least} to {most}"
        name = name_of(self.op.buffer) or "a buffer"
        return f"the function {verb} {places} of dimension {self.dimension} of '{name}'"


def check_indices(func: tir.FuncOp) -> None:
    """Raise `ShapeError`, with its location, for an access out of bounds of a buffer with constant extents."""
    for reach in _reaches(func):
        _check(reach)


def _check(reach: Reach) -> None:
    extent = reach.extent.constant
    if reach.counts:
        return
    if reach.indices.low < 0 or (extent is not None and reach.indices.high >= extent):
        found = f"{reach.indices.low if reach.indices.low < 0 else reach.indices.high}"
        raise ShapeError(reach.text, location=location_of(reach.op), expected=f"0 to {reach.extent - 1}", found=found)


def least_extents(func: tir.FuncOp) -> dict[tuple[SymExpr, ...], Reach]:
    """Return the accesses that need the largest symbolic extents, one for each extent.

    The keys are the extent followed by the reach's `counts`. Raises like `check_indices`.
    """
    extents: dict[tuple[SymExpr, ...], Reach] = {}
    for reach in _reaches(func):
        _check(reach)
        key = reach.extent, *reach.counts
        if reach.extent.constant is None and (key not in extents or extents[key].indices.high < reach.indices.high):
            extents[key] = reach
    return extents


def _reaches(func: tir.FuncOp) -> Iterator[Reach]:
    yield from _in_block(func.body.block, _Around({}, {}, ()))


@dataclass(frozen=True)
class _Around:
    """The context of an access: ranges of loop variables, bindings of block iterators."""

    ranges: dict[SSAValue, Interval]
    bindings: dict[SSAValue, SymExpr]
    counts: tuple[SymExpr, ...]
    expressions: dict[SSAValue, SymExpr] = field(default_factory=dict[SSAValue, SymExpr])
    """Cached expressions of values: accesses share most of their indices."""

    def expression(self, value: SSAValue) -> SymExpr:
        """Return the expression of a value with iterators replaced by their bindings."""
        expr = sym_expr_of(value, self.expressions, through_casts=True)
        known = self.bindings
        substitution = (
            {v: bound for v in expr.free_vars() if v.value and (bound := known.get(v.value))} if known else {}
        )
        return expr.substitute(substitution) if substitution else expr

    def values(self, index: SymExpr) -> Interval | None:
        """Return the least and the greatest value of a sum of loop variables, both of which occur; else None."""
        total = Interval(offset_of(index), offset_of(index))
        for term, factor in terms_of(index):
            around = self.ranges.get(term.value) if isinstance(term, Var) and term.value is not None else None
            if around is None:
                return None
            total = total + around.scaled(factor)
        return total


_ACCESSES = (tir.LoadOp, tir.StoreOp)


def _in_block(block: Block, around: _Around) -> Iterator[Reach]:
    for op in block.ops:
        if isinstance(op, _ACCESSES) and not is_prefetched(op):
            yield from _of_access(op, around)
        inner = _runs(op, around) if op.regions else None
        if inner is not None:
            yield from _in_block(*inner)


def is_prefetched(op: Operation) -> bool:
    """Return whether an access only names the address of an `llvm.prefetch`: nothing is read, any address is valid."""
    uses = [use.operation for use in op.results[0].uses] if isinstance(op, tir.LoadOp) else []
    calls = [call.operation for use in uses if _is_address(use) for call in use.results[0].uses]
    return bool(calls) and all(map(_is_address, uses)) and all(map(_is_prefetch, calls))


def _is_address(op: Operation) -> bool:
    return isinstance(op, tir.CallIntrinOp) and op.func.data == "address_of"


def _is_prefetch(op: Operation) -> bool:
    return isinstance(op, tir.CallLLVMEffectOp) and op.func.data == "llvm.prefetch"


def _runs(op: Operation, around: _Around) -> tuple[Block, _Around] | None:
    """Return the body of an operation that always runs, or if its extent is positive, with the extended context."""
    if isinstance(op, tir.ForOp):
        if not isinstance(op.extent, SymExpr) or any(v.value is not None for v in op.extent.free_vars()):
            return None
        first, count = op.min.constant if isinstance(op.min, SymExpr) else None, op.extent.constant
        if count is None:
            return op.body.block, replace(around, counts=tuple(dict.fromkeys((*around.counts, op.extent))))
        if count <= 0:
            return None
        if first is not None:
            around.ranges[op.loop_var] = Interval(first, first + count - 1)
        return op.body.block, around
    if isinstance(op, tir.BlockOp) and op.predicate is None:
        for var, binding in zip(op.iter_vars, op.bindings, strict=True):
            around.bindings[var] = around.expression(binding)
        return op.body.block, around
    return (op.body.block, around) if isinstance(op, tir.AttrOp) else None


def _of_access(op: tir.LoadOp | tir.StoreOp, around: _Around) -> Iterator[Reach]:
    dims = cast(tir.BufferType, op.buffer.type).dims
    for dimension, (value, extent) in enumerate(zip(op.indices, dims, strict=True)):
        if isinstance(value.type, IntegerType):
            index = around.expression(value)
            indices = around.values(index)
            if indices is not None and not around.counts:
                yield Reach(op, dimension, extent, indices)
            elif extent.constant is None and extent not in around.counts and _is_anywhere(index):
                yield Reach(op, dimension, extent, Interval(0, 0), around.counts)


def _is_anywhere(index: SymExpr) -> bool:
    """Return whether an index is data, or taken modulo an extent: such an index fits any nonempty dimension."""
    if isinstance(index, Var):
        return isinstance(index.value, OpResult)
    by_extent = isinstance(index, Op) and index.kind in DIVISIONS and index.args[1].constant is None
    return by_extent or any(map(_is_anywhere, index.children()))
