"""The rule for products with rows of quantized blocks: small integers with scales, multiplied as bytes.

    C[i, n] += B[i, k] * S[i, k / 32] * number(P, n, k)       B bytes with scales S, P blocks of interleaved rows

A vector holds one row of P in each 32-bit lane, so that P is read in order, once for a tile of rows of B:

    for n in N / lanes:                                        on several threads
        for i in M / rows:
            for b in K / block:
                for 32 neighbours of the block:
                    w[8] = their bytes, four in each lane
                    for r: sum = dot(… dot(-zero * Σ B, w[0], B[i + r, k :+ 4]) …)
                           acc[r, :] += sum * scale * S[i + r]  + minimum * (S * Σ B)[i + r]
            C[i + r, n :+ lanes] = epilogue(acc[r, :])

Integers are summed exactly, so that a product differs from the reference only by the rounding of float32 sums. Σ B
is computed in advance for each 32 consecutive elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import VectorType, f32, i8, i32
from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import ui8
from ....dialects.names import name_of
from ....dialects.sym.expr import SymExpr, Var
from ....transforms.operators.dot_products import PAIRED, Dot, best_dot
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.remarks import reject
from ..analysis.stages import is_in_order
from ..library.byte_pairs import BytePairs
from ..library.dot_panels import add_products
from ..library.epilogue import Epilogue
from ..library.interleaved_rows import BlockPlan, BlockTile, emit_tiles, lane_sum, rows_of_result, split_rows
from ..library.unpack_blocks import SIGN, Unpacked, Words
from ..policy.limits import BLOCK_PRODUCT_ROWS, FEW_BLOCK_ROWS, MANY_REGISTERS


@dataclass
class BlockProductPlan(BlockPlan):
    """A plan for bytes `x` with scales `steps`."""

    dot: Dot
    x: tir.LoadOp
    scales: tir.LoadOp


def plan_block_products(epilogue: Epilogue, machine: Machine) -> BlockProductPlan | None:
    """Return the plan for a product with blocks, or None if this rule does not fit."""
    weights = rows_of_result(epilogue, machine)
    if weights is None:
        return reject("it is no product with rows of blocks, interleaved by as many as a vector has lanes")
    factors = _factors(weights.factor)
    if factors is None or not is_in_order(factors[0], weights.k):
        return reject("what is multiplied are no bytes with scales, in order")
    dot = _dot(machine)
    if dot is None:
        return reject("the target has no instruction for products of bytes")
    few = machine.registers < MANY_REGISTERS or weights.format.size > 64
    rows = split_rows(epilogue.stage, weights.lane, FEW_BLOCK_ROWS if few else BLOCK_PRODUCT_ROWS)
    return BlockProductPlan(epilogue, weights.update, weights, *rows, dot, *factors)


def _factors(x: SSAValue) -> tuple[tir.LoadOp, tir.LoadOp] | None:
    """Return the loads of the bytes and of their scales in float(B) * S."""
    if not isinstance(x.owner, tir.MulOp):
        return None
    number, scale = x.owner.lhs.owner, x.owner.rhs.owner
    byte = number.value.owner if isinstance(number, tir.CastOp) else number
    if not isinstance(byte, tir.LoadOp) or not isinstance(scale, tir.LoadOp):
        return None
    return (byte, scale) if byte.result.type == i8 else None


def _dot(machine: Machine) -> Dot | None:
    """Return the instruction that multiplies unsigned weights by signed activations, or both signed; None if there
    is none.
    """
    features, bits = machine.features, machine.vector_bits
    dots = (best_dot(kind, i8, i32, features, bits) for kind in (ui8, i8))
    dot = next((dot for dot in dots if dot is not None and not dot.shifted), None)
    return PAIRED if dot is None and PAIRED.fits(features, bits) else dot


def emit_block_products(loops: LoopBuilder, plan: BlockProductPlan) -> None:
    """Emit the loops of a plan."""
    sums = _sums(loops, plan)
    emit_tiles(loops, plan, lambda strip, where, rows: _Tile(plan, strip, where, rows, sums))


@dataclass(frozen=True)
class _Sums:
    """The sum of the bytes of each `step` consecutive elements of x, and that sum times their scale."""

    integers: SSAValue
    scaled: SSAValue


def _sums(loops: LoopBuilder, plan: BlockProductPlan) -> _Sums:
    """Compute the sums of all rows."""
    step, count = plan.step, cast(int, plan.k.extent.constant) // plan.step
    extents: list[SymExpr | int] = [*(it.extent for it in plan.rows), count]
    sums = _Sums(loops.scratch(extents, i32), loops.scratch(extents, f32))

    def some(where: Bindings, s: SSAValue) -> None:
        k = loops.value(Var(s, plan.k.dtype) * step)
        place = [*where.values(), s]
        bytes_ = _neighbours(loops, plan, {**where, plan.k: k}, step)
        total = lane_sum(loops, loops.op(tir.CastOp(bytes_, VectorType(i32, [step]))), step)
        scale = loops.cloner({**where, plan.k: k})(plan.scales.result)
        loops.store(total, sums.integers, place)
        loops.store(loops.op(tir.MulOp(loops.op(tir.CastOp(total, f32)), scale)), sums.scaled, place)

    def row(where: Bindings) -> None:
        loops.loop(count, lambda s: some(where, s), dtype=plan.k.dtype, name=name_of(plan.k.var))

    loops.nest(plan.rows, {}, row)
    return sums


def _neighbours(loops: LoopBuilder, plan: BlockProductPlan, where: Bindings, count: int) -> SSAValue:
    """Return `count` consecutive bytes of x from k on."""
    cloner = loops.cloner(where)
    *outer, last = (cloner(i) for i in plan.x.indices)
    return loops.load(plan.x.buffer, [*outer, loops.ramp(last, count)])


@dataclass
class _Tile(BlockTile):
    plan: BlockProductPlan
    sums: _Sums

    def add(self, acc: SSAValue, b: SSAValue) -> None:
        """Add the products of a block."""
        plan, number, words = self.plan, Var(b, self.plan.k.dtype), self.words(b)
        parts = words.unpacked()
        for p in range(plan.format.size // plan.step):
            each = range(p * plan.step // 4, (p + 1) * plan.step // 4)
            vectors = [self._as_multiplied(words, parts, parts.word(j)) for j in each]
            minimum = None if parts.minimum is None else parts.minimum(p)
            first = number * plan.format.size + p * plan.step
            part = _Part(self, words, vectors, parts, parts.scale(p), minimum, first, self._zero(parts))
            self.rows.each(lambda r, part=part: part.add(acc, r))

    def _flips(self, parts: Unpacked) -> bool:
        """Return whether the signedness of the bytes must be changed for the instruction."""
        dot = self.plan.dot
        if dot is PAIRED or ".sdot." in (dot.intrinsic or ""):
            return parts.most > 127 and not parts.signed
        return parts.signed

    def _as_multiplied(self, words: Words, parts: Unpacked, value: SSAValue) -> SSAValue:
        return words.intrin("bitwise_xor", value, SIGN) if self._flips(parts) else value

    def _zero(self, parts: Unpacked) -> int:
        """Return the zero point of the multiplied bytes: the format's, plus 128 for flipped signed or minus 128 for
        unsigned bytes.
        """
        shift = 0 if not self._flips(parts) else 128 if parts.signed else -128
        return parts.zero + shift


@dataclass
class _Part:
    """`step` consecutive elements from `first` of k: their bytes in `vectors`, with a scale and minimum in each
    lane.
    """

    tile: _Tile
    words: Words
    vectors: Sequence[SSAValue]
    parts: Unpacked
    scale: SSAValue
    minimum: SSAValue | None
    first: SymExpr
    zero: int

    def add(self, acc: SSAValue, r: SSAValue) -> None:
        """Add the products of a row."""
        tile, plan, loops, words = self.tile, self.tile.plan, self.tile.loops, self.words
        where: Bindings = {**tile.outer, **tile.rows.at(r)}
        at = [where[it] for it in plan.rows]
        at.append(loops.value(self.first // plan.step, plan.k.dtype))
        total = self._products(self._start(at), [self._x(where, n) for n in range(len(self.vectors))])
        step = loops.cloner({**where, plan.k: loops.value(self.first)})(plan.scales.result)
        factor = words.times(self.scale, loops.op(tir.BroadcastOp(step, plan.lanes)))
        place = tile.place(r)
        value = loops.op(tir.AddOp(loops.load(acc, place), words.times(words.cast(total, f32), factor)))
        if self.minimum is not None:
            scaled = loops.op(tir.BroadcastOp(loops.load(tile.sums.scaled, at), plan.lanes))
            value = loops.op(tir.AddOp(value, words.times(self.minimum, scaled)))
        loops.store(value, acc, place)

    def _start(self, at: list[SSAValue]) -> SSAValue:
        """Return the initial value of the sum: minus the zero point times the sum of the bytes of x."""
        loops, lanes = self.tile.loops, self.tile.plan.lanes
        if self.zero == 0:
            return self.words.spread(0)
        total = loops.load(self.tile.sums.integers, at)
        start = loops.op(tir.MulOp(total, loops.const(-self.zero, i32)))
        return loops.op(tir.BroadcastOp(start, lanes))

    def _x(self, where: Bindings, n: int) -> SSAValue:
        """Return word n of a row of x, in every lane."""
        loops, plan = self.tile.loops, self.tile.plan
        four = _neighbours(loops, plan, {**where, plan.k: loops.value(self.first + 4 * n)}, 4)
        return loops.op(tir.BroadcastOp(loops.op(tir.ReinterpretOp(four, i32)), plan.lanes))

    def _products(self, total: SSAValue, xs: Sequence[SSAValue]) -> SSAValue:
        """Add the products of all words to `total`."""
        if self.tile.plan.dot is PAIRED:
            most = min(self.parts.most, 128)
            return BytePairs(self.tile.loops, self.vectors, most, signed=most == 128).add_products(total, xs)
        for vector, x in zip(self.vectors, xs, strict=True):
            total = add_products(self.tile.loops, self.tile.plan.dot, total, vector, x)
        return total
