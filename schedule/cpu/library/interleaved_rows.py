"""Interleaved rows of quantized blocks as operand of a product: how it is recognized, its tiles, and its elements.

A vector holds one row of P in each 32-bit lane, so that P is read in order, once for a tile of rows of x:

    for n in N / lanes:                                        on several threads
        for i in M / rows:
            for b in K / block: acc[r, :] += the products of a block
            C[i, n :+ lanes] = epilogue(acc[r, :])
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr, f32
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.block_formats import BlockFormat, block_format
from ....dialects.names import name_of
from ....dialects.sym.expr import SymExpr, Var
from ....dialects.sym.operators import minimum
from ....dialects.tir import BufferType
from ....topi.block_quantization import PRODUCT
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.stages import Iter, Stage, Update, constant_slope, loads_below, update_of
from ..policy.limits import LINE_BITS
from . import microkernel as mk
from .block_tiles import Piece, each_piece
from .epilogue import Epilogue
from .prefetch import prefetch
from .unpack_blocks import STEPS, Words


@dataclass(frozen=True)
class InterleavedRows:
    """Rows of blocks in `packed`, `lanes` of them interleaved: element `k` of row `lane`, multiplied by `factor`.

    `update` sums up the products.
    """

    update: Update
    factor: SSAValue
    packed: SSAValue
    format: BlockFormat
    lane: Iter
    k: Iter
    lanes: int

    @property
    def panels(self) -> SymExpr:
        """The number of vectors of rows."""
        return self.lane.extent // self.lanes

    def block(self, loops: LoopBuilder, row: SymExpr, number: SymExpr) -> Words:
        """Return a block of the rows from `row`, as many as a vector has lanes."""
        begin = number * (self.format.block_bytes * self.lanes)
        return Words(loops, self.packed, loops.value(row // self.lanes), begin, self.format, self.lanes)

    def unpack(self, strip: mk.Strip, panel: SSAValue, begin: SymExpr, count: SymExpr) -> None:
        """Store the elements of `count` full blocks from k = `begin` of a strip's rows as float32: panel[k, row]."""
        loops, size = strip.loops, self.format.size

        def block(row: SymExpr, b: SymExpr) -> None:
            columns = loops.ramp(loops.value(row, self.lane.dtype), self.lanes)

            def store(piece: Piece) -> None:
                for n in range(piece.step):
                    place = loops.value(b * size + piece.first + n, self.k.dtype)
                    loops.store(piece.number(n), panel, [place, columns])

            each_piece(self.block(loops, Var(strip.first, self.lane.dtype) + row, begin // size + b), store)

        def blocks(v: SSAValue) -> None:
            row = Var(v, self.lane.dtype) * self.lanes
            loops.loop(count // size, lambda b: block(row, Var(b, self.k.dtype)), dtype=self.k.dtype)

        loops.loop(strip.size // self.lanes, blocks, dtype=self.lane.dtype)


def interleaved_rows(stage: Stage, lane: Iter, lanes: int) -> InterleavedRows | None:
    """Return the interleaved rows of blocks that a sum of products multiplies by; None if there are none."""
    named = None if stage.block.annotations is None else stage.block.annotations.data.get(PRODUCT)
    update = update_of(stage)
    start = None if stage.init is None else stage.init.value.owner
    if not isinstance(named, StringAttr) or update is None:
        return None
    term = update.term.owner
    ks = [it for it in stage.reduce if it.extent.constant != 1]
    if not isinstance(term, tir.MulOp) or not isinstance(start, tir.ConstOp) or start.py_value != 0:
        return None
    packed = {load.buffer for load in loads_below(term.rhs)}
    if len(packed) != 1 or len(ks) != 1 or ks[0].parts or lane.parts:
        return None
    rows = InterleavedRows(update, term.lhs, packed.pop(), block_format(named.data), lane, ks[0], lanes)
    return rows if _has_shape(rows) else None


def _has_shape(rows: InterleavedRows) -> bool:
    """Return whether the buffer has the shape for this number of interleaved rows."""
    n, depth, row = rows.lane.extent.constant, rows.k.extent.constant, rows.format
    if n is None or depth is None or n % rows.lanes or depth % row.size:
        return False
    extents = [d.constant for d in cast(BufferType, rows.packed.type).dims]
    return extents == [n // rows.lanes, depth // row.size * row.block_bytes * rows.lanes]


def rows_of_result(epilogue: Epilogue, machine: Machine) -> InterleavedRows | None:
    """Return the rows of blocks of a product if they run along the result."""
    lane = epilogue.stage.spatial[-1] if epilogue.stage.spatial else None
    if lane is None or constant_slope(epilogue.last.store, epilogue.iter_of(lane)) != 1:
        return None
    return interleaved_rows(epilogue.stage, lane, machine.vector_bits // 32)


@dataclass
class BlockPlan(mk.SumPlan):
    """A plan for `weights`, interleaved rows of blocks; tiles have `tile` rows of x."""

    weights: InterleavedRows
    above: list[Iter]
    row: Iter | None
    tile: int

    @property
    def format(self) -> BlockFormat:
        return self.weights.format

    @property
    def step(self) -> int:
        """The number of consecutive elements with the same scale."""
        return STEPS.get(self.format.name, self.format.rounded_together)

    @property
    def k(self) -> Iter:
        return self.weights.k

    @property
    def lane(self) -> Iter:
        return self.weights.lane

    @property
    def lanes(self) -> int:
        return self.weights.lanes

    @property
    def rows(self) -> list[Iter]:
        """The iterators of rows of x."""
        return [*self.above, *([] if self.row is None else [self.row])]


def split_rows(stage: Stage, lane: Iter, most: int) -> tuple[list[Iter], Iter | None, int]:
    """Return the iterators above tiles, the iterator of a tile's rows, and the number of these rows (at most
    `most`).
    """
    above = [it for it in stage.spatial if it is not lane]
    row = next((it for it in reversed(above) if it.extent.constant != 1), None)
    tile = 1 if row is None else min(most, row.extent.constant or most)
    return [it for it in above if it is not row], row, tile


@dataclass
class BlockTile(mk.RowTile):
    """A tile of rows of x by the rows of blocks of a vector."""

    plan: BlockPlan

    @property
    def dtype(self) -> Attribute:
        """The type of the sums."""
        return f32

    def start(self, acc: SSAValue) -> None:
        """Initialize the sums of products with 0."""
        self.clear(acc)

    def reduce(self, acc: SSAValue) -> None:
        """Sum up all blocks."""
        plan = self.plan

        def block(b: SSAValue) -> None:
            if plan.tile == 1:
                self._prefetch_next(b)
            self.add(acc, b)

        count = cast(int, plan.k.extent.constant) // plan.format.size
        self.loops.loop(count, block, dtype=plan.k.dtype, name=name_of(plan.k.var))

    def _prefetch_next(self, b: SSAValue) -> None:
        """Prefetch the lines of block b for the rows of the next vector, which follow these in memory."""
        words, weights = self.words(b), self.plan.weights
        following = minimum(Var(self.strip.first, weights.lane.dtype) // words.lanes + 1, weights.panels - 1)
        panel = self.loops.value(following, weights.lane.dtype)
        for line in range(0, words.format.block_bytes * words.lanes, LINE_BITS // 8):
            prefetch(self.loops.insert, words.buffer, [panel, self.loops.value(words.begin + line)])

    @abstractmethod
    def add(self, acc: SSAValue, b: SSAValue) -> None:
        """Add the products of block b."""

    def place(self, r: SSAValue) -> list[SSAValue]:
        """Return the indices of row r of `acc`."""
        return [r, self.loops.ramp(self.loops.const(0, self.plan.lane.dtype), self.plan.lanes)]

    def words(self, b: SSAValue) -> Words:
        """Return block b of the weights."""
        first = Var(self.strip.first, self.plan.lane.dtype)
        return self.plan.weights.block(self.loops, first, Var(b, self.plan.k.dtype))


def emit_tiles(loops: LoopBuilder, plan: BlockPlan, tile: Callable[[mk.Strip, Bindings, mk.Rows], BlockTile]) -> None:
    """Emit all tiles of a plan."""

    def panel(strip: mk.Strip) -> None:
        def tiles(where: Bindings) -> None:
            mk.row_tiles(loops, plan.row, plan.lane, (plan.tile, 1), lambda rows: tile(strip, where, rows).emit())

        loops.nest(plan.above, {}, tiles)

    mk.strips(loops, plan.lane, [(plan.lanes, None)], panel, name=mk.tile_name(plan.lane, "n", "panel"))


def lane_sum(loops: LoopBuilder, value: SSAValue, count: int) -> SSAValue:
    """Return the sum of the lanes of a vector with `count` lanes, a power of two."""
    while count > 1:
        count //= 2
        halves = [loops.op(tir.ShuffleOp([value], range(first, first + count))) for first in (0, count)]
        value = loops.op(tir.AddOp(*halves))
    return value
