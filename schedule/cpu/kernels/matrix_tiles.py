"""Products in registers that hold matrices (AMX): one instruction multiplies 16 rows by 16 columns, 64 bytes of k each.

    configure the sizes of eight registers
    for tile in M / 32:
        for columns in N / 32:
            C[2, 2] = 0
            for step in K / 64: A[2] = rows, B[2] = columns of the panel; C[i, j] += A[i] B[j]
            sums[32, columns] = C
        result[32, N] = epilogue(sums)
    release the registers

This is an alternative for the rows of a strip of `dot_products` with the same panels: a row of a B register is a
step of 16 columns there. Image rows that are too short for two registers are processed in pairs, or all rows as one
including the gaps between them in memory, whose sums are discarded. The remainder of an unknown number of rows is
left to vectors.

The registers belong to the thread that configures them, so all loops between configuration and release run in one
thread. Configuration takes as long as some products; it is done once for `AMX_TILES` tiles, which are the unit of
parallel work.

Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18: the registers and their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, SymExpr, Var, add
from ....dialects.sym.operators import minimum
from ....ir.matrix_registers import CONFIGURE, LOAD, RELEASE, STORE, ZERO
from ....transforms.operators.dot_products import Dot, tile_dot
from ...loop_builder import Bindings, Iter, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.stages import constant_slope, element_type, memory_bits
from ..library import microkernel as mk
from ..library.panel_strip import PanelStrip
from ..library.prefetch_distribution import PrefetchShare
from ..library.row_blocks import Block
from ..policy.limits import (
    AMX_CONFIG_BYTES,
    AMX_LANES,
    AMX_PAIR,
    AMX_ROWS,
    AMX_STEP_BYTES,
    AMX_TILES,
    ASSUMED_TILES,
    MIN_AMX_ROWS,
    MIN_AMX_STEPS,
)

_SUMS, _A, _B = 0, 4, 6
"""The first registers of sums, of rows and of columns."""


@dataclass(frozen=True)
class Operands:
    """The operands of a product: `load` reads the rows, iterated by `shared`, along `k`; columns are of `dtype`.

    If the columns are in panels, `panels` reads these, with `width` elements of 32 bits in a row.
    """

    load: tir.LoadOp
    dtype: Attribute
    panels: tir.LoadOp | None
    width: int
    taps: Sequence[Iter]
    k: Iter
    shared: Sequence[Iter]


@dataclass(frozen=True)
class MatrixTiles:
    """The instruction, how many of `all_steps` of 32 bits it takes at once, and the distance of rows in memory.

    Steps run over k, and over `merged`, if set: a tap whose values are contiguous. The next value of the iterator
    around rows is `pitch` rows further; None if that is not an integer.
    """

    operands: Operands
    intrinsic: str
    steps: int
    all_steps: int
    row_bytes: int
    merged: Iter | None
    pitch: int | None


def matrix_tiles(dot: Dot, operands: Operands, machine: Machine) -> MatrixTiles | None:
    """Return how a product uses matrix registers, or None if the target has none or they would be nearly empty."""
    load, k, shared = operands.load, operands.k, operands.shared
    intrinsic = tile_dot(load.result.type, operands.dtype, machine.features)
    if intrinsic is None or machine.vector_bits != 32 * AMX_LANES or not shared or (k.extent % dot.group).constant != 0:
        return None
    merged, every = _merged(operands, dot.group), (k.extent // dot.group).constant
    if every is None:
        return None
    every *= 1 if merged is None else merged.extent.constant or 1
    steps = next((steps for steps in range(min(AMX_ROWS, every), 0, -1) if every % steps == 0), 0)
    row, step = shared[-1], constant_slope(load, shared[-1])
    rows = row.extent.constant or MIN_AMX_ROWS
    if steps < MIN_AMX_STEPS or step is None or step <= 0 or rows < MIN_AMX_ROWS:
        return None
    further = constant_slope(load, shared[-2]) if len(shared) > 1 else None
    pitch = None if further is None or further % step else further // step
    return MatrixTiles(operands, intrinsic, steps, every, step * memory_bits(load.buffer) // 8, merged, pitch)


def _merged(operands: Operands, group: int) -> Iter | None:
    """Return the innermost tap if it continues k contiguously in memory, both in the rows and in the panels."""
    tap = operands.taps[-1] if operands.taps else None
    if tap is None or tap.extent.constant is None or operands.panels is None:
        return None
    count = operands.k.extent.constant
    slopes = constant_slope(operands.load, tap), constant_slope(operands.panels, tap)
    return tap if count is not None and slopes == (count, count // group * operands.width * group) else None


@dataclass(frozen=True)
class _Part:
    """The rows of a register: `count` values of `row` from `first`, for the values `where` of the other iterators.

    With a `pitch`, each value of `around` takes `pitch` rows, the distance in memory, which may be more than `row`
    has.
    """

    where: Bindings
    row: Iter
    first: SymExpr
    count: int
    around: Iter | None = None
    pitch: int = 0

    def at(self, loops: LoopBuilder, more: SymExpr) -> Bindings:
        """Return the values of the iterators in a row."""
        place = add(self.first, more)
        if self.around is None:
            return {**self.where, self.row: loops.value(place, self.row.dtype)}
        outer, inner = place // self.pitch, place % self.pitch
        return {**self.where, self.around: loops.value(outer), self.row: loops.value(inner)}


@dataclass(frozen=True)
class _Run:
    """`count` tiles of `size` values of an iterator each, from `begin`; `before` of the `tiles` tiles come first."""

    it: Iter
    begin: SymExpr
    count: SymExpr
    size: int
    before: SymExpr
    tiles: SymExpr

    def share(self, number: SymExpr) -> PrefetchShare:
        """Return the prefetch share of one of the run's tiles among all tiles."""
        return PrefetchShare(self.before + number, self.tiles)


def _runs(it: Iter, sizes: Sequence[int]) -> tuple[list[_Run], SymExpr]:
    """Return runs with as many tiles of the first size as fit, then of the next sizes, and where the remainder
    begins.
    """
    begin: SymExpr = Const(0, it.dtype)
    before: SymExpr = begin
    runs: list[tuple[SymExpr, SymExpr, int, SymExpr]] = []
    for size in sizes:
        count = (it.extent - begin) // size
        runs.append((begin, count, size, before))
        begin, before = begin + count * size, before + count
    return [_Run(it, *run, before) for run in runs], begin


@dataclass
class TiledStrip(PanelStrip):
    """A product: the rows of `block` by all vectors of columns.

    `column` returns the position of a vector of columns at a step; steps of a panel are `stride` bytes apart.
    `finish` takes the values of the iterators in a row, a column and its sum. `prefetch_next` prefetches what the
    next strip reads at some taps and steps. `rest` emits the rows from a position on that do not fill a register.
    """

    tiles: MatrixTiles
    block: Block
    sums: Attribute
    stride: int
    column: Callable[[Bindings, SSAValue, int], tuple[SSAValue, Sequence[SSAValue]]]
    finish: Callable[[Bindings, SSAValue, SSAValue], None]
    prefetch_next: Callable[[Bindings, Sequence[SymExpr]], None] | None
    rest: Callable[[Bindings, SymExpr], None]

    def emit(self) -> None:
        """Emit all rows of the block."""
        *outer, row = self.block.iters
        if not outer or row.extent.constant is None or row.extent.constant > AMX_PAIR * AMX_ROWS:
            self.loops.nest(outer, {}, lambda where: self._long_rows(where, row))
            return
        *outer, around = outer
        rows = self._with_gaps(around, row)
        if rows is None:
            self.loops.nest(outer, {}, lambda where: self._short_rows(where, around, row))
        else:
            self.loops.nest(outer, {}, lambda where: self._rows_with_gaps(where, around, row, rows))

    def _with_gaps(self, around: Iter, row: Iter) -> Iter | None:
        """Return an iterator over all rows of an image including the gaps between them, or None if that takes more
        tiles.
        """
        height, width, pitch = around.extent.constant, row.extent.constant, self.tiles.pitch
        if height is None or width is None or pitch is None or pitch < width:
            return None
        every, full = (height - 1) * pitch + width, AMX_PAIR * AMX_ROWS
        short = -(-height // (AMX_PAIR // len(_even(width))))
        return replace(around, extent=Const(every, around.dtype)) if -(-every // full) < short else None

    def _rows_with_gaps(self, where: Bindings, around: Iter, row: Iter, rows: Iter) -> None:
        def parts(begin: SymExpr, size: int) -> list[_Part]:
            dense = _parts(where, row, begin, _even(size))
            return [replace(part, around=around, pitch=cast(int, self.tiles.pitch)) for part in dense]

        for run in _runs(rows, _row_sizes(rows))[0]:
            self._run(run, _even(run.size), parts)

    def _short_rows(self, where: Bindings, around: Iter, row: Iter) -> None:
        """Emit image rows that fill a tile, or half of one."""
        counts = _even(row.extent.constant or 0)
        size = AMX_PAIR // len(counts)

        def parts(begin: SymExpr, number: int) -> list[_Part]:
            places = [self.loops.value(begin + n, around.dtype) for n in range(number)]
            return [part for at in places for part in _parts({**where, around: at}, row, Const(0, row.dtype), counts)]

        runs, _ = _runs(around, (size, *range(1, size)))
        for run in runs:
            self._run(run, counts * run.size, parts)

    def _long_rows(self, where: Bindings, row: Iter) -> None:
        runs, done = _runs(row, _row_sizes(row))
        for run in runs:
            self._run(run, _even(run.size), lambda begin, size: _parts(where, row, begin, _even(size)))
        if row.extent.constant is None:
            self.rest(where, done)

    def _run(self, run: _Run, counts: Sequence[int], parts: Callable[[SymExpr, int], list[_Part]]) -> None:
        """Emit all tiles of a run, with `counts` rows in the registers."""
        loops, it = self.loops, run.it

        def tiles(first: SymExpr, count: SymExpr) -> None:
            """Emit `count` tiles from number `first`."""
            self._configure(counts)
            acc = loops.scratch([sum(counts), self.padded], self.sums)

            def tile(v: SSAValue) -> None:
                number = first + Var(v, it.dtype)
                self._tile(parts(run.begin + number * run.size, run.size), acc, run.share(number))

            loops.loop(count, tile, dtype=it.dtype, name=mk.tile_name(it, "i"))
            self._call(RELEASE)

        full, many = run.count // AMX_TILES, Const(AMX_TILES, it.dtype)
        name = mk.tile_name(it, "i", "tiles")
        loops.loop(full, lambda v: tiles(Var(v, it.dtype) * AMX_TILES, many), dtype=it.dtype, name=name)
        left = run.count - full * AMX_TILES
        loops.branch_if_any(left, lambda: tiles(full * AMX_TILES, left))

    def _tile(self, parts: Sequence[_Part], acc: SSAValue, share: PrefetchShare) -> None:
        """Sum up and finish the rows of some registers."""
        vectors = self.padded // self.lanes
        groups = range(0, vectors, AMX_PAIR)
        for number, first in enumerate(groups):
            own = PrefetchShare(share.number * len(groups) + number, share.count * len(groups))
            self._sums(parts, range(first, min(first + AMX_PAIR, vectors)), acc, own)
        before = 0
        for part in parts:
            self.loops.loop(part.count, partial(self._finish_row, part, acc, before), dtype=part.row.dtype)
            before += part.count

    def _finish_row(self, part: _Part, acc: SSAValue, before: int, r: SSAValue) -> None:
        loops, number = self.loops, Var(r, part.row.dtype)
        own = part.at(loops, number)
        where, row = self.block.placed(loops, own), loops.value(number + before, part.row.dtype)

        def finish() -> None:
            self.strip.vectors(lambda c: self.finish(where, c, loops.load(acc, [row, c])))

        if part.around is None:
            finish()
        else:
            width = loops.value(part.row.extent, part.row.dtype)
            loops.branch(loops.op(tir.LtOp(own[part.row], width)), finish)

    def _sums(self, parts: Sequence[_Part], columns: range, acc: SSAValue, share: PrefetchShare) -> None:
        """Compute the sums of some vectors of columns over all steps, and store them in memory."""
        loops, k, steps = self.loops, self.tiles.operands.k, self.tiles.steps
        blocks = self.tiles.all_steps // steps
        sums = [_SUMS + AMX_PAIR * i + j for i in range(len(parts)) for j in range(len(columns))]
        for register in sums:
            self._call(ZERO, register)

        def step(taps: Bindings, v: SSAValue) -> None:
            block = Var(v, k.dtype)
            if self.prefetch_next is not None:
                first, count = _prefetch_range(share, block, blocks, steps)
                self.prefetch_next(taps, [first + n for n in range(count)])
            self._step(parts, columns, taps, block * steps)

        def block(taps: Bindings) -> None:
            loops.loop(blocks, partial(step, taps), dtype=k.dtype, name=name_of(k.var))

        loops.nest([tap for tap in self.tiles.operands.taps if tap is not self.tiles.merged], {}, block)
        self._store(parts, columns, acc)

    def _step(self, parts: Sequence[_Part], columns: range, taps: Bindings, at: SymExpr) -> None:
        """Multiply some steps, each register as soon as it is loaded."""
        merged = self.tiles.merged
        if merged is not None:
            taps = {**taps, merged: self.loops.const(0, merged.dtype)}
        for j, vector in enumerate(columns):
            self._load(_B + j, self._column(taps, at, vector), self.stride)
            for i, part in enumerate(parts):
                if j == 0:
                    self._load(_A + i, self._row(part, taps, at), self.tiles.row_bytes)
                self._call(self.tiles.intrinsic, _SUMS + AMX_PAIR * i + j, _A + i, _B + j)

    def _column(self, taps: Bindings, at: SymExpr, vector: int) -> SSAValue:
        """Return the address of a vector of columns at a step, by its known distance from the first step."""
        first = self.column(taps, self.loops.const(0, self.tiles.operands.k.dtype), vector)
        return self._byte_offset(self._address(*first), at * self.stride)

    def _row(self, part: _Part, taps: Bindings, at: SymExpr) -> SSAValue:
        """Return the address of the first row's elements for a step, which may lie in a gap between image rows."""
        loops, zero, operands = self.loops, Const(0, part.row.dtype), self.tiles.operands
        origin = part.where if part.around is None else {**part.where, part.around: loops.value(zero)}
        rows = self.block.placed(loops, {**origin, part.row: loops.value(zero)})
        first = loops.const(0, operands.k.dtype)
        cloner = loops.cloner({self.strip.it: self.strip.first, **self.where, **rows, **taps, operands.k: first})
        first_row = self._address(operands.load.buffer, [cloner(index) for index in operands.load.indices])
        return self._byte_offset(self._byte_offset(first_row, part.first * self.tiles.row_bytes), at * AMX_STEP_BYTES)

    # instructions

    def _configure(self, counts: Sequence[int]) -> None:
        """Set the sizes of the registers of rows, of columns and of sums, as bytes in 64-bit words."""
        loops, sizes = self.loops, bytearray(AMX_CONFIG_BYTES)
        sizes[0] = 1
        shapes = {_B + j: (self.tiles.steps, AMX_LANES) for j in range(AMX_PAIR)}
        for i, count in enumerate(counts):
            shapes |= {_A + i: (count, self.tiles.steps)}
            shapes |= {_SUMS + AMX_PAIR * i + j: (count, AMX_LANES) for j in range(AMX_PAIR)}
        for register, (rows, columns) in shapes.items():
            sizes[16 + 2 * register], sizes[48 + register] = columns * AMX_STEP_BYTES, rows
        words = loops.scratch([AMX_CONFIG_BYTES // 8], i64)
        for at in range(AMX_CONFIG_BYTES // 8):
            word = int.from_bytes(sizes[8 * at : 8 * at + 8], "little")
            loops.store(loops.const(word, i64), words, [loops.const(at, i32)])
        self._call(CONFIGURE, self._pointer(words, loops.const(0, i32), reads=True))

    def _address(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Return the address of an element."""
        element = self.loops.load(buffer, indices)
        return self.loops.op(tir.CallIntrinOp("address_of", [element], tir.address_type(buffer)))

    def _byte_offset(self, address: SSAValue, bytes_: SymExpr) -> SSAValue:
        """Return an address that is `bytes_` bytes further."""
        values = [address, self.loops.value(bytes_)]
        return self.loops.op(tir.CallIntrinOp("handle_add_byte_offset", values, address.type))

    def _load(self, register: int, address: SSAValue, stride: int) -> None:
        self._call(LOAD, register, address, self.loops.const(stride, i64))

    def _store(self, parts: Sequence[_Part], columns: range, acc: SSAValue) -> None:
        loops, width, row = self.loops, self.padded, 0
        for i, part in enumerate(parts):
            for j, vector in enumerate(columns):
                pointer = self._pointer(acc, loops.const(row * width + vector * AMX_LANES, i32), reads=False)
                self._call(STORE, _SUMS + AMX_PAIR * i + j, pointer, loops.const(AMX_STEP_BYTES * width, i64))
            row += part.count

    def _pointer(self, buffer: SSAValue, offset: SSAValue, *, reads: bool) -> SSAValue:
        """Return the pointer for an instruction that reads or writes a buffer from an element on."""
        loops = self.loops
        data = loops.op(tir.BufferDataOp(buffer))
        kind = loops.op(tir.CallIntrinOp("type_annotation", [], element_type(buffer)))
        extent, how = loops.const(1, i32), loops.const(1 if reads else 2, i32)
        return loops.op(tir.CallIntrinOp("tvm_access_ptr", [kind, data, offset, extent, how], data.type))

    def _call(self, name: str, *args: SSAValue | int) -> None:
        """Emit an instruction; integer arguments are register numbers."""
        loops = self.loops
        values = [loops.const(arg, i8) if isinstance(arg, int) else arg for arg in args]
        loops.insert(tir.EvaluateOp(loops.op(tir.CallLLVMEffectOp(name, values, tir.VOID))))


def _prefetch_range(share: PrefetchShare, block: SymExpr, blocks: int, steps: int) -> tuple[SymExpr, int]:
    """Return the first step and the number of steps that a tile prefetches at a block; all tiles together cover all
    steps.
    """
    count = -(-steps // max(1, min(share.count.constant or ASSUMED_TILES, steps)))
    return minimum((share.number * blocks + block) * count, blocks * steps - count), count


def _row_sizes(row: Iter) -> list[int]:
    """Return the numbers of rows of tiles: equal sizes if they divide the rows, otherwise the larger size and the
    remainder.
    """
    extent, full = row.extent.constant, AMX_PAIR * AMX_ROWS
    if extent is None:
        return [full, AMX_ROWS]
    tiles = -(-extent // full)
    larger = -(-extent // tiles)
    return [larger] if extent % larger == 0 else [larger, extent % larger]


def _even(rows: int) -> list[int]:
    """Distribute rows evenly over as few registers as possible."""
    count = -(-rows // AMX_ROWS)
    return [rows // count + (n < rows % count) for n in range(count)]


def _parts(where: Bindings, row: Iter, begin: SymExpr, counts: Sequence[int]) -> list[_Part]:
    return [_Part(where, row, begin + sum(counts[:n]), count) for n, count in enumerate(counts)]
