"""Operands of dot-product instructions: panels of packed weights, and elements of several k.

An element of 32 bits holds `group` consecutive k of a column; `pack-weights` packs constant weights in this order:

    P[j // width, …, k // group, j % width * group + k % group]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width, ui8, ui16
from ....dialects.sym.expr import SymExpr, add, floordiv, floormod, mul
from ....dialects.tir import BufferType
from ....ir.affine.values import sym_expr_of
from ....transforms.operators.byte_pairs import ROWS
from ....transforms.operators.dot_products import PAIRED, Dot
from ...loop_builder import Bindings, Iter, LoopBuilder
from ..analysis.stages import element_type, loads_below
from ..policy.limits import LINE_BITS
from .byte_pairs import add_words, in_order, sums_of_pairs
from .microkernel import Place
from .prefetch import prefetch
from .prefetch_distribution import next_panel


@dataclass(frozen=True)
class DotPanels:
    """B in panels of `width` columns of `lane`, read by one load, with `group` consecutive `k` in an element.

    With `order`, which is loaded at [j // width, …, k], k is k // 16 * 16 + order.
    """

    load: tir.LoadOp
    lane: Iter
    k: Iter
    group: int
    width: int
    order: tir.LoadOp | None = None

    def place(self, loops: LoopBuilder, where: Bindings, first: SSAValue, step: SSAValue, column: int) -> Place:
        """Return the position of a column at a step, in the panel that begins with `first`."""
        cloner = loops.cloner(where)
        middle = [cloner(i) for i in list(self.load.indices)[1:-2]]
        place = loops.const(column * self.group, self.load.indices[-1].type)
        number = loops.value(sym_expr_of(first) // self.width)
        return self.load.buffer, [number, *middle, step, place]

    def byte_order(self, loops: LoopBuilder, where: Bindings, count: int, lanes: int) -> SSAValue:
        """Return the positions, among 16 bytes, of the bytes that a step multiplies, in every lane."""
        assert self.order is not None
        cloner = loops.cloner(where)
        *outer, last = (cloner(i) for i in self.order.indices)
        places = loops.load(self.order.buffer, [*outer, loops.ramp(last, count)])
        return loops.op(tir.BroadcastOp(loops.op(tir.ReinterpretOp(places, i32)), lanes))

    @property
    def lines_of_step(self) -> int:
        """The number of cache lines that a step reads."""
        return max(1, self.width * self.group // self._line)

    @property
    def _line(self) -> int:
        """The number of elements in a cache line."""
        return LINE_BITS // bit_width(element_type(self.load.buffer))

    def prefetch_next(
        self, loops: LoopBuilder, where: Bindings, first: SSAValue, lines: Sequence[tuple[SymExpr, SymExpr]]
    ) -> None:
        """Prefetch lines of the panel after the one that begins with `first`: (which line, of which step)."""
        following = next_panel(self.lane, self.width, first)
        if following is None:
            return
        cloner = loops.cloner(where)
        _, *middle, _, _ = self.load.indices
        for which, at in lines:
            place = [loops.value(following, self.lane.dtype), *map(cloner, middle), loops.value(at, self.k.dtype)]
            column = loops.value(mul(which, self._line), self.lane.dtype)
            prefetch(loops.insert, self.load.buffer, [*place, column])


def dot_panels(columns: SSAValue, lane: Iter, k: Iter, group: int) -> DotPanels | None:
    """Return the panels that contain B, as packed by `pack-weights`; None if there are none."""
    load = columns.owner
    if not isinstance(load, tir.LoadOp) or len(load.indices) < 3 or lane.parts or k.extent.constant is None:
        return None
    last = cast(BufferType, load.buffer.type).dims[-1].constant
    if group == 1 or last is None or last % group:
        return None
    width, (number, *middle, step, place) = last // group, [sym_expr_of(i) for i in load.indices]
    first, at, order = floordiv(lane.expr, width), k.expr, _order(columns, number, middle, k)
    if order is not None:
        at = add(mul(floordiv(k.expr, ROWS), ROWS), sym_expr_of(next(iter(order.result.uses)).operation.results[0]))
    if (number, step) != (first, floordiv(at, group)):
        return None
    if place != add(mul(floormod(lane.expr, width), group), floormod(at, group)):
        return None
    moves = any({lane.expr, k.expr} & set(index.free_vars()) for index in middle)
    return None if moves else DotPanels(load, lane, k, group, width, order)


def _order(columns: SSAValue, number: SymExpr, middle: list[SymExpr], k: Iter) -> tir.LoadOp | None:
    """Return the load of the order of 16 rows in a panel; None if there is none, of bytes at the same position."""
    others = [load for load in loads_below(columns) if load is not columns.owner]
    if len(others) != 1 or element_type(others[0].buffer) != ui8 or (k.extent % ROWS).constant != 0:
        return None
    order = others[0]
    once = [use.operation for use in order.result.uses]
    same = [sym_expr_of(i) for i in order.indices] == [number, *middle, k.expr]
    return order if same and len(once) == 1 and isinstance(once[0], tir.CastOp) else None


def packed_element(loops: LoopBuilder, dot: Dot, values: Sequence[SSAValue]) -> SSAValue:
    """Return the values of consecutive k as one element, or a number in the dtype of the sums if it holds one."""
    if dot.group == 1:
        return loops.op(tir.CastOp(values[0], dot.sums))
    parts = [_bits_at(loops, value, n) for n, value in enumerate(values)]
    return reduce(lambda a, b: loops.op(tir.CallIntrinOp("bitwise_or", [a, b], i32)), parts)


def _bits_at(loops: LoopBuilder, value: SSAValue, place: int) -> SSAValue:
    """Return the bits of one or two bytes as a non-negative int32, shifted to a position."""
    bits = bit_width(value.type)
    unsigned = ui8 if bits == 8 else ui16
    wide: SSAValue = value if value.type == unsigned else loops.op(tir.ReinterpretOp(value, unsigned))
    wide = loops.op(tir.CastOp(wide, i32))
    if place == 0:
        return wide
    return loops.op(tir.CallIntrinOp("shift_left", [wide, loops.const(place * bits, i32)], i32))


def add_products(loops: LoopBuilder, dot: Dot, old: SSAValue, row: SSAValue, column: SSAValue) -> SSAValue:
    """Return the sums `old` plus the products of two vectors of elements."""
    if dot.intrinsic is None:
        return loops.op(tir.AddOp(old, loops.op(tir.MulOp(row, column))))
    factors = [column, row] if dot.swapped else [row, column]
    if dot.elements != i32:
        elements: Attribute = VectorType(dot.elements, [dot.bits // bit_width(dot.elements)])
        factors = [loops.op(tir.ReinterpretOp(value, elements)) for value in factors]
    if dot is PAIRED:
        return in_order(loops, add_words(loops, old, sums_of_pairs(loops, *factors)))
    if not dot.adds:
        products = loops.op(tir.CallLLVMIntrinOp(dot.intrinsic, factors, old.type))
        return in_order(loops, loops.op(tir.AddOp(old, products)))
    return loops.op(tir.CallLLVMIntrinOp(dot.intrinsic, [old, *factors], old.type))
