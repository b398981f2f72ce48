"""The rule for products with rows of blocks: small integers with scales, multiplied as bytes.

    C[i, n] += B[i, k] * S[i, k / 32] * number(P, n, k)       B bytes with scales S, P blocks of interleaved rows

A vector has as many rows of P as it has lanes of 32 bits, so that P is read in order, once for a tile of rows of B:

    for n in N / lanes:                                        on several threads
        for i in M / rows:
            for b in K / block:
                for 32 neighbours of the block:
                    w[8] = their bytes, four in each lane
                    for r: sum = dot(… dot(-zero * Σ B, w[0], B[i + r, k :+ 4]) …)
                           acc[r, :] += sum * scale * S[i + r]  + minimum * (S * Σ B)[i + r]
            C[i + r, n :+ lanes] = epilogue(acc[r, :])

Integers are summed exactly, so that a product differs from the reference by the rounding of float32 sums alone. Σ B is
computed before for each 32 neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr, VectorType, f32, i8, i32
from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.block_formats import BlockFormat, block_format
from ...dialects.dtypes import bit_width, ui8
from ...dialects.names import name_of
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import BufferType
from ...topi.block_quantization import PRODUCT
from ...transforms.operators.dot_products import Dot, best_dot
from ..loop_builder import Bindings, LoopBuilder
from . import microkernel as mk
from .block_words import SIGN, STEPS, Unpacked, Words
from .epilogue import Epilogue
from .misfit import misfit
from .plan import Machine
from .stages import Iter, constant_slope, is_in_order, loads_below, update_of

_MOST_ROWS, _FEW_ROWS = 12, 4
"""Rows of a tile where there are 32 registers; where there are fewer, or a block is long."""


@dataclass
class BlockProductPlan(mk.StagePlan):
    """Bytes are `x`, with scales `steps`; `packed` are blocks of rows. `tile` rows of x make a tile."""

    format: BlockFormat
    dot: Dot
    x: tir.LoadOp
    scales: tir.LoadOp
    packed: SSAValue
    k: Iter
    lane: Iter
    above: list[Iter]
    row: Iter | None
    lanes: int
    tile: int

    @property
    def step(self) -> int:
        """So many neighbours are summed as integers."""
        return STEPS.get(self.format.name, self.format.rounded_together)

    @property
    def rows(self) -> list[Iter]:
        """The iterators of rows of x."""
        return [*self.above, *([] if self.row is None else [self.row])]


def plan_block_products(epilogue: Epilogue, machine: Machine) -> BlockProductPlan | None:
    """The plan for a product with blocks, None where this rule does not fit."""
    stage, lanes = epilogue.stage, machine.vector_bits // 32
    named = None if stage.block.annotations is None else stage.block.annotations.data.get(PRODUCT)
    if not isinstance(named, StringAttr):
        return misfit("it is no product with rows of blocks")
    row = block_format(named.data)
    factors = _factors(epilogue)
    if factors is None:
        return misfit("what is multiplied are no bytes with scales and one tensor of blocks")
    x, scales, packed = factors
    ks, lane = [it for it in stage.reduce if it.extent.constant != 1], _lane(epilogue, lanes)
    if len(ks) != 1 or ks[0].parts or ks[0].extent.constant is None or not is_in_order(x, ks[0]):
        return misfit("what is summed has no known size, or stands in another order")
    if lane is None or not _is_interleaved(packed, lane, ks[0], row, lanes):
        return misfit("rows of blocks are not interleaved by as many as a vector has lanes")
    dot = _dot(row, machine)
    if dot is None:
        return misfit("the target has no instruction for products of bytes")
    above = [it for it in stage.spatial if it is not lane]
    several = [it for it in above if it.extent.constant != 1]
    tiled = several[-1] if several else None
    few = machine.registers < 32 or row.size > 64
    tile = 1 if tiled is None else min(_FEW_ROWS if few else _MOST_ROWS, tiled.extent.constant or _MOST_ROWS)
    above = [it for it in above if it is not tiled]
    return BlockProductPlan(epilogue, row, dot, x, scales, packed, ks[0], lane, above, tiled, lanes, tile)


def _factors(epilogue: Epilogue) -> tuple[tir.LoadOp, tir.LoadOp, SSAValue] | None:
    """The loads of bytes and of their scales, and the buffer of blocks: (float(B) * S) * number(P)."""
    stage, update = epilogue.stage, update_of(epilogue.stage)
    start = None if stage.init is None else stage.init.value.owner
    if update is None or not isinstance(start, tir.ConstOp) or start.py_value != 0:
        return None
    term = update.term.owner
    if not isinstance(term, tir.MulOp) or not isinstance(term.lhs.owner, tir.MulOp):
        return None
    number, scale = term.lhs.owner.lhs.owner, term.lhs.owner.rhs.owner
    x = number.value.owner if isinstance(number, tir.CastOp) else number
    packed = {load.buffer for load in loads_below(term.rhs)}
    if not isinstance(x, tir.LoadOp) or not isinstance(scale, tir.LoadOp) or len(packed) != 1:
        return None
    return (x, scale, packed.pop()) if x.result.type == i8 else None


def _lane(epilogue: Epilogue, lanes: int) -> Iter | None:
    """The iterator of rows of blocks, along which the result is contiguous; None where it is no whole vectors."""
    lane = epilogue.stage.spatial[-1] if epilogue.stage.spatial else None
    if lane is None or lane.parts or lane.extent.constant is None or lane.extent.constant % lanes:
        return None
    return lane if constant_slope(epilogue.last.store, epilogue.iter_of(lane)) == 1 else None


def _is_interleaved(packed: SSAValue, lane: Iter, k: Iter, row: BlockFormat, lanes: int) -> bool:
    """Whether a buffer has the shape of so many interleaved rows."""
    extents = [d.constant for d in cast(BufferType, packed.type).dims]
    n, depth = cast(int, lane.extent.constant), cast(int, k.extent.constant)
    return depth % row.size == 0 and extents == [n // lanes, depth // row.size * row.block_bytes * lanes]


def _dot(row: BlockFormat, machine: Machine) -> Dot | None:
    """Unsigned bytes of weights by signed ones of activations, or both signed."""
    features, bits = machine.features, machine.vector_bits
    dots = (best_dot(kind, i8, i32, features, bits) for kind in (ui8, i8))
    return next((dot for dot in dots if dot is not None and not dot.shifted), None)


def emit_block_products(loops: LoopBuilder, plan: BlockProductPlan) -> None:
    """The loops of a plan."""
    sums = _sums(loops, plan)

    def panel(strip: mk.Strip) -> None:
        size = plan.tile, 1
        loops.nest(
            plan.above,
            {},
            lambda where: mk.row_tiles(
                loops, plan.row, plan.lane, size, lambda rows: _Tile(plan, strip, where, rows, sums).emit()
            ),
        )

    mk.strips(loops, plan.lane, [(plan.lanes, None)], panel, name=mk.tile_name(plan.lane, "n", "panel"))


@dataclass(frozen=True)
class _Sums:
    """Of each `step` neighbours of x the sum of the bytes, and that sum times their scale."""

    integers: SSAValue
    scaled: SSAValue


def _sums(loops: LoopBuilder, plan: BlockProductPlan) -> _Sums:
    """The sums of all rows."""
    step, count = plan.step, cast(int, plan.k.extent.constant) // plan.step
    extents: list[SymExpr | int] = [*(it.extent for it in plan.rows), count]
    sums = _Sums(loops.scratch(extents, i32), loops.scratch(extents, f32))

    def some(where: Bindings, s: SSAValue) -> None:
        k = loops.value(Var(s, plan.k.dtype) * step)
        place = [*where.values(), s]
        total = _total(loops, _neighbours(loops, plan, {**where, plan.k: k}, step), step)
        scale = loops.cloner({**where, plan.k: k})(plan.scales.result)
        loops.store(total, sums.integers, place)
        loops.store(loops.op(tir.MulOp(loops.op(tir.CastOp(total, f32)), scale)), sums.scaled, place)

    def row(where: Bindings) -> None:
        loops.loop(count, lambda s: some(where, s), dtype=plan.k.dtype, name=name_of(plan.k.var))

    loops.nest(plan.rows, {}, row)
    return sums


def _neighbours(loops: LoopBuilder, plan: BlockProductPlan, where: Bindings, count: int) -> SSAValue:
    """So many bytes of x from k on."""
    cloner = loops.cloner(where)
    *outer, last = (cloner(i) for i in plan.x.indices)
    return loops.load(plan.x.buffer, [*outer, loops.ramp(last, count)])


def _total(loops: LoopBuilder, bytes_: SSAValue, count: int) -> SSAValue:
    """The sum of the lanes of a vector, as int32."""
    value = loops.op(tir.CastOp(bytes_, VectorType(i32, [count])))
    while count > 1:
        count //= 2
        halves = [loops.op(tir.ShuffleOp([value], range(first, first + count))) for first in (0, count)]
        value = loops.op(tir.AddOp(*halves))
    return value


@dataclass
class _Tile:
    """So many rows of x by the rows of blocks of a vector."""

    plan: BlockProductPlan
    strip: mk.Strip
    where: Bindings
    rows: mk.Rows
    sums: _Sums

    def __post_init__(self) -> None:
        self.loops = self.strip.loops

    def emit(self) -> None:
        """Sum up all blocks, finish the rows."""
        plan, loops = self.plan, self.loops
        acc = loops.registers([self.rows.size, plan.lanes], f32)
        self.rows.elements(self.strip, lambda r, c: loops.store(loops.const(0, f32), acc, [r, c]))
        count = cast(int, plan.k.extent.constant) // plan.format.size
        loops.loop(count, lambda b: self._block(acc, b), dtype=plan.k.dtype, name=name_of(plan.k.var))

        def finish(r: SSAValue, c: SSAValue) -> None:
            where: Bindings = {**self.where, **self.rows.at(r), plan.lane: self.strip.at(c)}
            plan.epilogue.store(loops, where, loops.load(acc, [r, c]))

        self.rows.elements(self.strip, finish)

    def _block(self, acc: SSAValue, b: SSAValue) -> None:
        """Add what a block gives."""
        plan, loops = self.plan, self.loops
        number = Var(b, plan.k.dtype)
        panel = loops.value(Var(self.strip.first, plan.lane.dtype) // plan.lanes)
        begin = number * (plan.format.block_bytes * plan.lanes)
        words = Words(loops, plan.packed, panel, begin, plan.format, plan.lanes)
        parts = words.unpacked()
        for p in range(plan.format.size // plan.step):
            each = range(p * plan.step // 4, (p + 1) * plan.step // 4)
            vectors = [self._as_multiplied(words, parts, parts.word(j)) for j in each]
            scale = parts.scale(p * plan.step // parts.step)
            minimum = None if parts.minimum is None else parts.minimum(p * plan.step // parts.step)
            first = number * plan.format.size + p * plan.step
            part = _Part(self, words, vectors, scale, minimum, first, self._zero(parts))
            self.rows.each(lambda r, part=part: part.add(acc, r))

    def _flips(self, parts: Unpacked) -> bool:
        """Whether bytes have to be of the other kind for the instruction."""
        if self.plan.dot.elements == i8 and "sdot" in (self.plan.dot.intrinsic or ""):
            return parts.most > 127 and not parts.signed
        return parts.signed

    def _as_multiplied(self, words: Words, parts: Unpacked, value: SSAValue) -> SSAValue:
        return words.intrin("bitwise_xor", value, SIGN) if self._flips(parts) else value

    def _zero(self, parts: Unpacked) -> int:
        """What is too much in a byte: one that was signed is 128 more, one that is signed now 128 less."""
        shift = 0 if not self._flips(parts) else 128 if parts.signed else -128
        return parts.zero + shift


@dataclass
class _Part:
    """`step` neighbours from `first` of k on: their bytes in `vectors`, their scale and minimum in each lane."""

    tile: _Tile
    words: Words
    vectors: Sequence[SSAValue]
    scale: SSAValue
    minimum: SSAValue | None
    first: SymExpr
    zero: int

    def add(self, acc: SSAValue, r: SSAValue) -> None:
        """Add the products of a row."""
        tile, plan, loops, words = self.tile, self.tile.plan, self.tile.loops, self.words
        where: Bindings = {**tile.where, **tile.rows.at(r)}
        at = [where[it] for it in plan.rows]
        at.append(loops.value(self.first // plan.step, plan.k.dtype))
        total = self._start(at)
        for n, vector in enumerate(self.vectors):
            k = loops.value(self.first + 4 * n)
            four = _neighbours(loops, plan, {**where, plan.k: k}, 4)
            x = loops.op(tir.BroadcastOp(loops.op(tir.ReinterpretOp(four, i32)), plan.lanes))
            total = self._dot(total, vector, x)
        step = loops.cloner({**where, plan.k: loops.value(self.first)})(plan.scales.result)
        factor = words.times(self.scale, loops.op(tir.BroadcastOp(step, plan.lanes)))
        place = [r, loops.ramp(loops.const(0, plan.lane.dtype), plan.lanes)]
        value = loops.op(tir.AddOp(loops.load(acc, place), words.times(words.cast(total, f32), factor)))
        if self.minimum is not None:
            scaled = loops.op(tir.BroadcastOp(loops.load(tile.sums.scaled, at), plan.lanes))
            value = loops.op(tir.AddOp(value, words.times(self.minimum, scaled)))
        loops.store(value, acc, place)

    def _start(self, at: list[SSAValue]) -> SSAValue:
        """What the sum begins with: minus what is too much in each byte."""
        loops, lanes = self.tile.loops, self.tile.plan.lanes
        if self.zero == 0:
            return self.words.spread(0)
        total = loops.load(self.tile.sums.integers, at)
        start = loops.op(tir.MulOp(total, loops.const(-self.zero, i32)))
        return loops.op(tir.BroadcastOp(start, lanes))

    def _dot(self, old: SSAValue, weights: SSAValue, x: SSAValue) -> SSAValue:
        dot, loops = self.tile.plan.dot, self.tile.loops
        factors = [x, weights] if dot.swapped else [weights, x]
        if dot.elements != i32:
            elements = VectorType(dot.elements, [dot.bits // bit_width(dot.elements)])
            factors = [loops.op(tir.ReinterpretOp(value, elements)) for value in factors]
        return loops.op(tir.CallLLVMIntrinOp(cast(str, dot.intrinsic), [old, *factors], old.type))
