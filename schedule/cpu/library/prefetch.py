"""Prefetching of lines that the hardware prefetchers do not anticipate, and streaming stores.

    for i: for k in J / 64:               for i: for k in J / 64:
        for c in 64: e = exp(X[i, …])         prefetch X[i + 1, 64 k :+ 64], Y[i, 64 k :+ 64]
        …                             ->      for c in 64: e = exp(X[i, …])
        for j: Y[i, j] = …                    …
                                              for j: Y[i, j] = …

Memory is idle while elementary functions are computed: it can fetch the next row, and the row to be stored.

Elements of results that are larger than the last-level cache, or than 32 MiB, are stored past the caches:

    Y[i, j] = f(…)     ->     Y[i, j] = tirax_streamed(f(…))

A fully stored line need not be read first, which saves a third of the memory traffic, and the caches keep their
contents. Inputs from memory are prefetched meanwhile (`pointwise`). At run time, vectors that cross a line are
stored normally.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.sym.expr import SymExpr
from ....dialects.tir import BufferType, ForKind
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Cloner, Insert, LoopBuilder, result_of
from ...rewrite import before
from ...state import loop_expr
from ..analysis.plan import Machine
from ..analysis.stages import Iter, Stage, constant_slope, element_type, loads_below, tree
from ..policy.limits import LINE_BITS, MAX_KEPT_BYTES, RESIDENT_BITS

_SECOND_LEVEL, _DATA = 2, 1
"""Locality and cache-type arguments of llvm.prefetch."""


def prefetch(insert: Insert, buffer: SSAValue, indices: Sequence[SSAValue], *, write: bool = False) -> None:
    """Prefetch the line of an element into the second-level cache."""

    value = partial(result_of, insert)
    element = value(tir.LoadOp(buffer, indices))
    address = value(tir.CallIntrinOp("address_of", [element], tir.address_type(buffer)))
    how = [value(tir.ConstOp(number, i32)) for number in (int(write), _SECOND_LEVEL, _DATA)]
    insert(tir.EvaluateOp(value(tir.CallLLVMEffectOp("llvm.prefetch", [address, *how], tir.VOID))))


def prefetch_load(loops: LoopBuilder, load: tir.LoadOp, cloner: Cloner) -> None:
    """Prefetch the line of the element that a load reads, with the replacements of `cloner`, which must be fresh.

    A load in one branch of a choice is prefetched under its condition, because its indices may be invalid
    otherwise. It is not prefetched if the condition depends on memory, which would have to be loaded first.

        if_then_else(i < 4, X[i], Y[i - 4])   ->   if i < 4: prefetch X[i]        if not i < 4: prefetch Y[i - 4]
    """

    def below(choices: Sequence[tuple[tir.IfThenElseOp, bool]]) -> None:
        if not choices:
            prefetch(loops.insert, load.buffer, [cloner(index) for index in load.indices])
            return
        (choice, holds), *inner = choices
        cond = cloner(choice.cond)
        loops.branch(cond if holds else loops.op(tir.NotOp(cond)), lambda: below(inner))

    choices = _choices_around(load)
    operations = [inner for choice, _ in choices for op in tree(choice.cond) for inner in op.walk()]
    if not any(isinstance(op, tir.LoadOp) for op in operations):
        below(choices)


def _choices_around(op: Operation) -> list[tuple[tir.IfThenElseOp, bool]]:
    """Return the choices with an expression in a branch, outermost first, each with whether it is the `then` branch."""
    choices: list[tuple[tir.IfThenElseOp, bool]] = []
    inner, around = op, op.parent_op()
    while around is not None:
        if isinstance(around, tir.IfThenElseOp):
            choices.append((around, inner.parent_region() is around.then_region))
        inner, around = around, around.parent_op()
    return choices[::-1]


@dataclass(frozen=True)
class Line:
    """An access along a row: the lanes of `loop`."""

    access: tir.LoadOp | tir.StoreOp
    loop: tir.ForOp

    @property
    def elements(self) -> int:
        """The number of elements in a cache line."""
        return LINE_BITS // bit_width(element_type(self.access.buffer))


def far_lines(loop: tir.ForOp) -> list[Line]:
    """Return the accesses of a vectorized loop along rows of large buffers that are function arguments."""
    return [Line(op, loop) for op in loop.walk() if isinstance(op, tir.LoadOp | tir.StoreOp) and _is_far(op, loop)]


def _is_far(op: tir.LoadOp | tir.StoreOp, loop: tir.ForOp) -> bool:
    kind = cast(BufferType, op.buffer.type)
    if not _is_large_argument(op.buffer) or not op.indices or bit_width(kind.dtype) > LINE_BITS:
        return False
    return is_row_of(op, loop) and not any(loads_below(index) for index in op.indices)


def is_row_of(access: tir.LoadOp | tir.StoreOp, loop: tir.ForOp) -> bool:
    """Return whether the last index of an access is the variable of a loop, on which no other index depends."""
    *outer, last = (sym_expr_of(i) for i in access.indices)
    lane = loop_expr(loop)
    return last == lane and all(lane not in e.free_vars() for e in outer)


def prefetch_next(rows: tir.ForOp, reads: Sequence[Line], strips: tir.ForOp) -> None:
    """Prefetch in `strips`, the vectors of a row of `rows`, the loads `reads` for the next row, and the row to be
    stored.
    """
    count, inner = rows.extent, _vectors(strips)
    if inner is None or not isinstance(count, SymExpr) or count.constant is None:
        return
    width = cast(SymExpr, inner.extent).constant
    if width is None:
        return
    following = _next_row(rows, count.constant, strips)
    for line in reads:
        if rows.loop_var in [v.value for i in line.access.indices for v in sym_expr_of(i).free_vars()]:
            _prefetch_line(line, strips, width, {rows.loop_var: following}, write=False)
    for line in _stored_after(strips):
        _prefetch_line(line, strips, width, {}, write=True)


def _vectors(strips: tir.ForOp) -> tir.ForOp | None:
    loops = [op for op in strips.body.block.ops if isinstance(op, tir.ForOp)]
    return loops[0] if len(loops) == 1 and isinstance(loops[0].extent, SymExpr) else None


def _next_row(rows: tir.ForOp, count: int, before: tir.ForOp) -> SSAValue:
    """Return the next row, or the last one at the end."""
    block, dtype = cast(Block, before.parent), cast(IntegerType, rows.loop_var.type)
    one, last = tir.ConstOp(1, dtype), tir.ConstOp(count - 1, dtype)
    after = tir.AddOp(rows.loop_var, one.result)
    least = tir.MinOp(after.result, last.result)
    for op in (one, after, last, least):
        block.insert_op_before(op, before)
    return least.result


def _stored_after(strips: tir.ForOp) -> Iterator[Line]:
    """Yield the stores in loops after `strips`, one for each buffer."""
    seen: set[SSAValue] = set()
    op = strips.next_op
    while op is not None:
        for loop in op.walk():
            if isinstance(loop, tir.ForOp) and loop.kind is ForKind.VECTORIZED:
                for line in far_lines(loop):
                    store = line.access
                    if isinstance(store, tir.StoreOp) and store.buffer not in seen and not is_streamed(store):
                        seen.add(store.buffer)
                        yield line
        op = op.next_op


def _prefetch_line(line: Line, strips: tir.ForOp, width: int, where: dict[SSAValue, SSAValue], *, write: bool) -> None:
    """Prefetch the lines of `width` elements at the beginning of `strips`."""
    body, dtype = strips.body.block, cast(IntegerType, line.loop.loop_var.type)
    anchor = next(op for op in body.ops if isinstance(op, tir.ForOp))
    if strips.loop_var.type != dtype:
        return

    insert = before(anchor)

    value = partial(result_of, insert)
    for first in range(0, width, line.elements):
        begin = value(tir.MulOp(strips.loop_var, value(tir.ConstOp(width, dtype))))
        place = value(tir.AddOp(begin, value(tir.ConstOp(first, dtype))))
        cloner = Cloner(insert, {**where, line.loop.loop_var: place})
        prefetch(insert, line.access.buffer, [cloner(i) for i in line.access.indices], write=write)


# streaming stores

STREAMED = "tirax_streamed"
"""The intrinsic that returns its argument, and marks it to be stored past the caches."""


def should_stream(stage: Stage, machine: Machine) -> bool:
    """Return whether a stage writes rows of a result that exceeds the caches."""
    size = size_in_bits(cast(BufferType, stage.buffer.type))
    return can_be_streamed(stage) and size >= 8 * min(machine.caches.l3, MAX_KEPT_BYTES)


def rows_from_far(stage: Stage, lane: Iter) -> list[tir.LoadOp]:
    """Return the loads of a stage along `lane` in large function arguments, one for each row."""
    loads = [load for load in stage.loads if _is_large_argument(load.buffer) and constant_slope(load, lane) == 1]
    direct = [load for load in loads if not any(loads_below(index) for index in load.indices)]
    return list({(load.buffer, *map(sym_expr_of, load.indices)): load for load in direct}.values())


def _is_large_argument(buffer: SSAValue) -> bool:
    return (
        not isinstance(buffer.owner, tir.AllocBufferOp) and size_in_bits(cast(BufferType, buffer.type)) >= RESIDENT_BITS
    )


def size_in_bits(kind: BufferType) -> int:
    """Return the size of a buffer in bits, or 0 if it is unknown."""
    return bit_width(kind.dtype) * prod(extent.constant or 0 for extent in kind.dims)


def can_be_streamed(stage: Stage) -> bool:
    """Return whether a stage writes elements of 32 or 64 bits to a function argument."""
    return not isinstance(stage.buffer.owner, tir.AllocBufferOp) and bit_width(element_type(stage.buffer)) in (32, 64)


def streamed(loops: LoopBuilder, value: SSAValue) -> SSAValue:
    """Return `value`, marked for a streaming store."""
    return loops.op(tir.CallIntrinOp(STREAMED, [value], value.type))


def is_streamed(store: tir.StoreOp) -> bool:
    """Return whether a store has a marked value."""
    owner = store.value.owner
    return isinstance(owner, tir.CallIntrinOp) and owner.func.data == STREAMED
