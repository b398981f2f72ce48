"""The rule for products of a few rows of floats with interleaved rows of quantized blocks, which are unpacked in
registers.

    C[i, n] += x[i, k] * number(P, n, k)

For each block, and for each of its parts with one scale:

    for 4 words, 4 numbers in each: q = float(number)          once for a tile of rows
        for r: sum[r] += x[i + r, k] * q
    acc[r, :] += sum[r] * scale + (minimum - zero * scale) * Σ x

Σ x is computed in advance. If x is not finite, the result is not finite either, but it may be a different
non-finite value. Many rows are multiplied by the rule `panels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sym.expr import SymExpr, Var
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..library.block_tiles import Piece, each_piece
from ..library.epilogue import Epilogue
from ..library.interleaved_rows import BlockPlan, BlockTile, emit_tiles, lane_sum, rows_of_result, split_rows
from ..policy.limits import BLOCK_FLOAT_CHAINS, BLOCK_FLOAT_ROWS, FEW_BLOCK_ROWS, MANY_REGISTERS


def plan_block_floats(epilogue: Epilogue, machine: Machine) -> BlockPlan | None:
    """Return the plan for a product of floats with blocks, or None if this rule does not fit."""
    weights = rows_of_result(epilogue, machine)
    if weights is None:
        return reject("it is no product with rows of blocks, interleaved by as many as a vector has lanes")
    if weights.factor.type != f32:
        return reject("what is multiplied are no floats of 32 bits")
    most = BLOCK_FLOAT_ROWS if machine.registers >= MANY_REGISTERS else FEW_BLOCK_ROWS
    return BlockPlan(epilogue, weights.update, weights, *split_rows(epilogue.stage, weights.lane, most))


def emit_block_floats(loops: LoopBuilder, plan: BlockPlan) -> None:
    """Emit the loops of a plan."""
    floats = _floats(loops, plan)
    emit_tiles(loops, plan, lambda strip, where, rows: _Tile(plan, strip, where, rows, floats))


@dataclass(frozen=True)
class _Floats:
    """x as float32 (rows…, k), and the sums of each `step` consecutive elements (rows…, k / step)."""

    x: SSAValue
    sums: SSAValue


def _floats(loops: LoopBuilder, plan: BlockPlan) -> _Floats:
    """Copy all rows and compute the sums."""
    k, count = plan.k, cast(int, plan.k.extent.constant) // plan.step
    extents: list[SymExpr | int] = [it.extent for it in plan.rows]
    floats = _Floats(loops.scratch([*extents, k.extent], f32), loops.scratch([*extents, count], f32))

    def row(where: Bindings) -> None:
        place = list(where.values())

        def one(i: SSAValue) -> None:
            loops.store(loops.cloner({**where, k: i})(plan.weights.factor), floats.x, [*place, i])

        def some(s: SSAValue) -> None:
            first = loops.value(Var(s, k.dtype) * plan.step)
            neighbours = loops.load(floats.x, [*place, loops.ramp(first, plan.step)])
            loops.store(lane_sum(loops, neighbours, plan.step), floats.sums, [*place, s])

        loops.vectors(k, k.extent, one)
        loops.loop(count, some, dtype=k.dtype, name=name_of(k.var))

    loops.nest(plan.rows, {}, row)
    return floats


@dataclass
class _Tile(BlockTile):
    floats: _Floats

    def add(self, acc: SSAValue, b: SSAValue) -> None:
        """Add the products of a block, piece by piece."""
        begin = Var(b, self.plan.k.dtype) * self.plan.format.size
        each_piece(self.words(b), lambda piece: self._add_piece(acc, piece, begin + piece.first))

    def _add_piece(self, acc: SSAValue, piece: Piece, first: SymExpr) -> None:
        """Add the products of a piece, which starts at element `first` of a row."""
        loops, words = self.loops, piece.words
        chains = -(-BLOCK_FLOAT_CHAINS // self.rows.size)
        sums = loops.registers([self.rows.size, chains, self.plan.lanes], f32)
        self.rows.each(lambda r: [loops.store(words.spread(0, f32), sums, self._chain(r, c)) for c in range(chains)])

        def multiply(r: SSAValue, n: int, number: SSAValue) -> None:
            product, chain = words.times(number, self._spread(self.floats.x, r, first + n)), self._chain(r, n % chains)
            loops.store(loops.op(tir.AddOp(loops.load(sums, chain), product)), sums, chain)

        for n in range(piece.step):
            number = piece.byte(n)
            self.rows.each(lambda r, n=n, number=number: multiply(r, n, number))
        least = piece.least()

        def finish(r: SSAValue) -> None:
            total = loops.load(sums, self._chain(r, 0))
            for c in range(1, chains):
                total = loops.op(tir.AddOp(total, loops.load(sums, self._chain(r, c))))
            value = loops.op(tir.AddOp(loops.load(acc, self.place(r)), words.times(total, piece.scale)))
            if least is not None:
                x = self._spread(self.floats.sums, r, first // self.plan.step)
                value = loops.op(tir.AddOp(value, words.times(least, x)))
            loops.store(value, acc, self.place(r))

        self.rows.each(finish)

    def _chain(self, r: SSAValue, chain: int) -> list[SSAValue]:
        """Return the accumulators of a row in one of several chains."""
        row, lanes = self.place(r)
        return [row, self.loops.const(chain, row.type), lanes]

    def _spread(self, floats: SSAValue, r: SSAValue, column: SymExpr) -> SSAValue:
        """Return an element of row r, broadcast to all lanes."""
        where: Bindings = {**self.outer, **self.rows.at(r)}
        place = [*(where[it] for it in self.plan.rows), self.loops.value(column, self.plan.k.dtype)]
        return self.loops.op(tir.BroadcastOp(self.loops.load(floats, place), self.plan.lanes))
