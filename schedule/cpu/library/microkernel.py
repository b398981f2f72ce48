"""The skeleton of microkernels, shared by the rules that keep a tile of the result in registers.

    strips:        for j in J / 64: body(64 columns from 64 j); remainder: fewer, or masked vectors
    row_tiles:     for i in I / 6: body(6 rows from 6 i); remainder: fewer
    RowTile:
        begin:     acc[r, c] = init, or the value in the result
        reduce:    for k: step
        step:      acc[r, c] = acc[r, c] + A[i + r, k] * B[k, j + c]       operands: where A, B are loaded from
        finish:    C[i + r, j + c] = epilogue(acc[r, c])

A rule provides its plan, and the operations in which its tile differs; rows are `unrolled`, columns are `vectors`.
See docs/extending/default_schedule for how to write one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar, cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, SymExpr, Var, product
from ....dialects.sym.operators import maximum, minimum
from ....dialects.tir import BufferType
from ....target import tile_vectors
from ...loop_builder import Bindings, Cloner, Iter, LoopBuilder
from ..analysis.plan import Machine, Plan
from ..analysis.stages import Stage, Update, element_type, memory_bits
from ..policy.limits import (
    BLOCK_STEPS,
    MANY_ROWS,
    MAX_SINGLE_TAIL,
    MAX_TAIL_ROWS,
    MAX_TILE_ROWS,
    MIN_SUMS,
    SUMS_IN_FLIGHT,
)
from .epilogue import Epilogue, Guard, hoist_uniform, under

A = TypeVar("A")


@dataclass
class StagePlan(Plan):
    """A plan for a stage whose elements are finished by an epilogue."""

    epilogue: Epilogue

    @property
    def stage(self) -> Stage:
        return self.epilogue.stage


@dataclass
class SumPlan(StagePlan):
    """A plan for a reduction: a sum, product, maximum or minimum."""

    update: Update


# loops


def pieces(
    loops: LoopBuilder,
    it: Iter,
    sizes: Iterable[tuple[int, int | None]],
    body: Callable[[SymExpr, int], object],
    name: str | None = None,
) -> SymExpr:
    """Split the values of an iterator, from 0, into pieces of the first size, then of the next ones; return the end.

    Each size has the specified number of pieces, or as many as fit. `body` takes the beginning of a piece and its
    size.
    """
    done: SymExpr = Const(0, it.dtype)
    for size, number in sizes:
        count = (it.extent - done) // size if number is None else Const(number, it.dtype)
        done = run_pieces(loops, it, (done, count, size), body, name)
    return done


def run_pieces(
    loops: LoopBuilder,
    it: Iter,
    run: tuple[SymExpr, SymExpr, int],
    body: Callable[[SymExpr, int], object],
    name: str | None,
) -> SymExpr:
    """Emit a run (begin, count, size) of pieces of one size, and return its end."""
    begin, count, size = run
    loops.loop(count, lambda v: body(begin + Var(v, it.dtype) * size, size), dtype=it.dtype, name=name)
    return begin + count * size


def in_blocks(
    loops: LoopBuilder,
    k: Iter,
    count: SymExpr,
    step: Callable[[SymExpr], object],
    before: Callable[[SymExpr, int], object] = lambda *_: None,
    written_out: bool = True,
) -> None:
    """Emit steps of a reduction in blocks, within which they are unrolled in machine code.

    Without `written_out` they stay loops, for rarely executed code. `before` takes the number of a block and its
    number of steps. If the number of steps is unknown or less than a block, each step is a block.
    """
    dtype, name = k.dtype, name_of(k.var)

    def block(number: SSAValue) -> None:
        at = Var(number, dtype)
        before(at, BLOCK_STEPS)
        loops.loop(BLOCK_STEPS, lambda v: step(at * BLOCK_STEPS + Var(v, dtype)), dtype=dtype, written_out=written_out)

    def single(v: SSAValue) -> None:
        before(Var(v, dtype), 1)
        step(Var(v, dtype))

    if count.constant is None or count.constant < BLOCK_STEPS:
        loops.loop(count, single, dtype=dtype, name=name)
        return
    full = count // BLOCK_STEPS
    loops.loop(full, block, dtype=dtype, name=name)
    loops.loop(count - full * BLOCK_STEPS, lambda v: step(full * BLOCK_STEPS + Var(v, dtype)), dtype=dtype, name=name)


def full_and_tail(
    loops: LoopBuilder, it: Iter, size: int, body: Callable[[SymExpr, SymExpr], object], name: str
) -> None:
    """Emit pieces of a size, then the remainder as one piece; `body` takes the beginning of a piece and its length."""
    done = pieces(loops, it, [(size, None)], lambda begin, _: body(begin, Const(size, it.dtype)), name)
    loops.branch_if_any(it.extent - done, lambda: body(done, it.extent - done))


# strips


@dataclass(frozen=True)
class Strip:
    """`size` consecutive values of an iterator from `first`; in a `masked` strip only those within bounds are
    active.
    """

    loops: LoopBuilder
    it: Iter
    first: SSAValue
    size: int
    masked: bool = False

    def at(self, c: SSAValue) -> SSAValue:
        """Return the iterator's value in a lane."""
        return self.loops.sum(self.first, c)

    def vectors(self, body: Callable[[SSAValue], object], count: int | None = None) -> None:
        """Emit `body` for each lane, or for `count` lanes."""
        self.loops.vectors(self.it, self.size if count is None else count, body)

    def guard(self, where: Bindings) -> Guard | None:
        """Return the condition for a lane to be within bounds, or None if all lanes are."""
        if not self.masked:
            return None
        end = self.loops.value(self.it.extent, self.it.dtype)
        return Guard(self.it, self.loops.op(tir.LtOp(where[self.it], end)))


def strips(
    loops: LoopBuilder,
    it: Iter,
    sizes: Iterable[tuple[int, int | None]],
    body: Callable[[Strip], object],
    *,
    tail: int = 0,
    name: str | None = None,
    tail_name: str | None = None,
) -> None:
    """Emit strips of the first size, then of the next ones (`pieces`), then the remainder.

    The remainder is one strip if its size is known; otherwise strips of `tail`, masked unless that is 1.
    """

    def strip(begin: SymExpr, size: int, masked: bool = False) -> None:
        body(Strip(loops, it, loops.value(begin, it.dtype), size, masked))

    done = pieces(loops, it, sizes, strip, name)
    left = it.extent - done
    size = tail if left.constant is None else left.constant
    if tail and size:
        masked, count = left.constant is None and tail > 1, (left + (size - 1)) // size
        run_pieces(loops, it, (done, count, size), lambda begin, n: strip(begin, n, masked), tail_name or name)


def tile_name(it: Iter, otherwise: str, kind: str = "tile") -> str:
    """Return the name of a loop over the tiles, strips, … of an iterator."""
    return f"{name_of(it.var) or otherwise}_{kind}"


# tiles


def tile_size(machine: Machine, extent: int | None, lanes: int, row: Iter | None) -> tuple[int, int]:
    """Return (vectors, rows) so that rows * vectors accumulators, a row of vectors and one operand fit the
    registers.
    """
    needed = 4 if extent is None else max(1, -(-extent // lanes))
    if row is None:
        return min(needed, SUMS_IN_FLIGHT), 1
    widths = tile_vectors(machine.registers)
    vectors = next((v for v in widths if needed % v == 0), min(needed, widths[0]))
    return vectors, tile_rows(machine, vectors, row)


def tile_rows(machine: Machine, vectors: int, row: Iter) -> int:
    """Return how many rows of `vectors` vectors fit the registers."""
    rows = min(MAX_TILE_ROWS, (machine.registers - 1 - vectors) // vectors)
    return max(1, min(rows, row.extent.constant or rows))


@dataclass(frozen=True)
class Rows:
    """`size` rows of a tile, from `first` of `row`; both are None if there are no rows, and `size` is 1.

    If there may be fewer rows, `repeats` makes the last row stand in for missing ones.
    """

    loops: LoopBuilder
    row: Iter | None
    first: SSAValue | None
    size: int
    dtype: IntegerType
    repeats: bool = False

    def at(self, r: SSAValue) -> Bindings:
        """Return the iterator's value in a row."""
        if self.row is None or self.first is None:
            return {}
        if not self.repeats:
            return {self.row: self.loops.sum(self.first, r)}
        place = minimum(Var(self.first, self.dtype) + Var(r, self.dtype), self.row.extent - 1)
        return {self.row: self.loops.value(place, self.dtype)}

    def each(self, body: Callable[[SSAValue], object], count: int | None = None) -> None:
        """Emit `body` for each row, or for `count` rows, unrolled."""
        self.loops.unrolled(self.dtype, self.size if count is None else count, body)

    def elements(
        self,
        strip: Strip,
        body: Callable[[SSAValue, SSAValue], object],
        width: int | None = None,
        rows: int | None = None,
    ) -> None:
        """Emit `body` for the elements (r, c) of a strip, or of `width` columns: rows unrolled, columns as vectors."""
        self.each(lambda r: strip.vectors(lambda c: body(r, c), width), rows)


def row_tiles(
    loops: LoopBuilder,
    row: Iter | None,
    lane: Iter,
    size: tuple[int, int],
    tile: Callable[[Rows], object],
    far: bool = False,
    repeats: bool = False,
) -> None:
    """Emit loops over tiles of rows; `size` is (maximal number of rows, number of vectors per row).

    Operands that are `far` are re-read for each tile, so tiles of many rows are nearly as large as fit. If rows may
    be computed several times (`repeats`), two or more remaining rows are one tile whose last row is repeated, so
    that operands along the lanes are read only once for them.
    """
    if row is None:
        tile(Rows(loops, None, None, 1, lane.dtype))
        return
    full, count = size
    sizes, name = _row_sizes(row, full, count, far), tile_name(row, "i")

    def tiles(first: SymExpr, rows: int, repeats: bool = False) -> None:
        tile(Rows(loops, row, loops.value(first, row.dtype), rows, row.dtype, repeats))

    some = sizes[1][0] if len(sizes) > 1 and row.extent.constant is None else 0
    if not repeats or some <= MAX_SINGLE_TAIL:
        pieces(loops, row, sizes, tiles, name)
        return
    done = pieces(loops, row, sizes[:1], tiles, name)
    left = row.extent - done
    number = (left + (some - 2)) // some
    run_pieces(loops, row, (done, number, some), partial(tiles, repeats=True), name)
    single = maximum(left - number * some, 0)  # at most one
    run_pieces(loops, row, (row.extent - 1, single, 1), tiles, name)


def rest_of_rows(
    loops: LoopBuilder, row: Iter, done: SymExpr, size: tuple[int, int], tile: Callable[[SymExpr, int], object]
) -> None:
    """Emit tiles of an unknown number of rows from `done`; `size` as in `row_tiles`, `tile` takes the first row and
    their number.
    """
    for rows, _ in _row_sizes(row, *size, far=False):
        count = (row.extent - done) // rows
        done = run_pieces(loops, row, (done, count, rows), tile, tile_name(row, "i"))


def _row_sizes(row: Iter, full: int, count: int, far: bool) -> Sequence[tuple[int, int | None]]:
    """Return (rows of a tile, number of tiles) pairs, for rows of `count` vectors.

    Tiles have one size if a size larger than half of what fits, and with enough sums, divides the rows: this is
    less code, and as fast if operands are near. Otherwise sizes are even, such as 12 and 11 for 197 rows. An
    unknown number of rows is split into full tiles, then the smallest tiles with full throughput, then single rows.
    """
    extent, fewest = row.extent.constant, -(-MIN_SUMS // count)
    if extent is None:
        some = min(MAX_TAIL_ROWS, -(-SUMS_IN_FLIGHT // count))
        return [(full, None)] + [(size, None) for size in (some, 1) if size < full]
    least = (3 * full + 3) // 4 if far and extent >= MANY_ROWS else full // 2 + 1
    even = next((size for size in range(full, max(least, fewest) - 1, -1) if extent % size == 0), None)
    if even is not None:
        return [(even, extent // even)]
    tiles = -(-extent // full)
    larger = -(-extent // tiles)
    many = extent - tiles * (larger - 1)
    return [(larger, many), (larger - 1, tiles - many)] if many < tiles else [(larger, tiles)]


# buffers and vectors


def element_bits(stage: Stage) -> int:
    """Return the size in bits of the widest element in the vectors of a stage."""
    return max(memory_bits(buffer) for buffer in {stage.buffer, *(load.buffer for load in stage.loads)})


def byte_count(buffer: SSAValue) -> int | None:
    """Return the size of a buffer in bytes, or None if it is unknown."""
    elements = product(cast(BufferType, buffer.type).dims).constant
    return None if elements is None else elements * memory_bits(buffer) // 8


def round_to_vectors(width: int, lanes: int) -> int:
    """Return a number of elements, rounded up to full vectors."""
    return -(-width // lanes) * lanes


# sums


Place = tuple[SSAValue, Sequence[SSAValue]]
"""An element: its buffer and its indices."""


def begin(strip: Strip, stage: Stage, update: Update, where: Bindings, to: Place) -> None:
    """Store the initial value of a sum: the init value, or without one the result's value at `where`."""
    cloner = strip.loops.cloner(where)
    value = update.old.result if stage.init is None else stage.init.value
    guard = strip.guard(where) if stage.init is None else None
    under(strip.loops, guard, lambda: strip.loops.store(cloner(value), *to))


def finish(strip: Strip, epilogue: Epilogue, where: Bindings, of: Place) -> None:
    """Finish and store the element at `where`, whose sum is stored at `of`."""
    epilogue.store(strip.loops, where, strip.loops.load(*of), strip.guard(where))


def accumulate(
    loops: LoopBuilder,
    cloner: Cloner,
    update: Update,
    to: Place,
    guard: Guard | None = None,
    operands: Mapping[SSAValue, tir.LoadOp] | None = None,
) -> None:
    """Combine an accumulator with the term that `cloner` copies; `operands` maps values to replacements that are
    loaded.
    """
    loads = {update.old.result: tir.LoadOp(*to), **(operands or {})}
    for value, load in loads.items():
        cloner.replace(value, load.result)
    if guard is not None:
        hoist_uniform(cloner, update.term, guard.lane)

    def build() -> None:
        for load in loads.values():
            loops.insert(load)
        loops.store(cloner(update.combiner.result), *to)

    under(loops, guard, build)


@dataclass(frozen=True)
class PartialSums:
    """Sums kept in memory between parts of the reduction: buffer[before…, rows…, column]."""

    buffer: SSAValue
    rows: Sequence[Iter]
    before: Sequence[SSAValue] = ()

    def place(self, where: Bindings, c: SSAValue) -> Place:
        """Return the position of a column's sum."""
        return self.buffer, [*self.before, *(where[it] for it in self.rows), c]


class Tile(Generic[A]):
    """A part of the result that is kept in registers: started, reduced, ended. `A` is the type of its accumulators."""

    def emit(self) -> None:
        """Emit the code of the tile."""
        acc = self.registers()
        self.start(acc)
        self.reduce(acc)
        self.end(acc)

    @abstractmethod
    def registers(self) -> A:
        """Allocate the accumulators."""

    @abstractmethod
    def start(self, acc: A) -> None:
        """Store the initial values."""

    @abstractmethod
    def reduce(self, acc: A) -> None:
        """Emit all steps of the reduction."""

    @abstractmethod
    def end(self, acc: A) -> None:
        """Finish the elements."""


Operands = Callable[[Cloner, Sequence[SSAValue]], Mapping[SSAValue, tir.LoadOp]]
"""Returns the values of a step's term that are loaded from elsewhere, with the loaded values.

It takes the cloner of a term and the position in the accumulator (row, column), and may add replacements to the
cloner.
"""


@dataclass
class RowTile(Tile[SSAValue]):
    """`rows` by the columns of a `strip`; `outer` has the values of the other iterators.

    Sums may continue from `partial`.
    """

    plan: SumPlan
    strip: Strip
    outer: Bindings
    rows: Rows
    partial: PartialSums | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.loops = self.strip.loops

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of the accumulators."""
        return self.rows.size, self.strip.size

    @property
    def dtype(self) -> Attribute:
        """The type of the sums."""
        return element_type(self.plan.stage.buffer)

    def registers(self) -> SSAValue:
        """Allocate the accumulators."""
        return self.loops.registers(self.shape, self.dtype)

    def start(self, acc: SSAValue) -> None:
        """Initialize all elements."""
        self.elements(lambda where, at: self.begin(where, (acc, at)))

    def reduce(self, acc: SSAValue) -> None:
        """Emit all steps in order."""
        self.loops.nest(self.plan.stage.reduce, {}, lambda ks: self.step(ks, acc))

    def end(self, acc: SSAValue) -> None:
        """Finish all elements."""
        self.elements(lambda where, at: self.finish(where, (acc, at)))

    def elements(self, body: Callable[[Bindings, list[SSAValue]], object], width: int | None = None) -> None:
        """Emit `body` for each element, with its position and its accumulator: rows unrolled, columns as vectors."""

        def element(r: SSAValue, c: SSAValue) -> None:
            where = {**self.outer, self.strip.it: self.strip.at(c)}
            body({**where, **self.rows.at(r)}, [r, c])

        self.rows.elements(self.strip, element, width)

    def clear(self, acc: SSAValue) -> None:
        """Store 0 in all accumulators."""
        rows, columns = self.shape
        zero = partial(self.loops.const, 0, self.dtype)
        self.rows.elements(self.strip, lambda r, c: self.loops.store(zero(), acc, [r, c]), columns, rows)

    def begin(self, where: Bindings, to: Place) -> None:
        """Store the initial value of a sum: a partial sum, the init value, or the result's current value."""
        plan = self.plan
        if self.partial is not None:
            self.loops.store(self.loops.load(*self.partial.place(where, to[1][-1])), *to)
        else:
            begin(self.strip, plan.stage, plan.update, where, to)

    def step(self, ks: Bindings, acc: SSAValue, operands: Operands | None = None, width: int | None = None) -> None:
        """Add a term to each element. With a `width`, operands have all columns, also beyond the end."""

        def element(where: Bindings, at: list[SSAValue]) -> None:
            where = {**where, **ks}
            cloner = self.loops.cloner(where)
            loads = {} if operands is None else operands(cloner, at)
            guard = self.strip.guard(where) if width is None else None
            accumulate(self.loops, cloner, self.plan.update, (acc, at), guard, loads)

        self.elements(element, width)

    def finish(self, where: Bindings, of: Place) -> None:
        """Keep a sum for the next part of the reduction, or finish and store it."""
        if self.partial is not None:
            self.loops.store(self.loops.load(*of), *self.partial.place(where, of[1][-1]))
        else:
            finish(self.strip, self.plan.epilogue, where, of)


# squares


def transposed(loops: LoopBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the columns of a square: as many vectors as each has lanes, a power of two.

    In each round, pairs of vectors exchange the parts above and below the diagonal of squares of half the size.
    """
    size, columns = len(rows), list(rows)
    half = size // 2
    while half:
        upper = [lane + size - half if lane & half else lane for lane in range(size)]
        lower = [lane + size if lane & half else lane + half for lane in range(size)]
        for at in range(size):
            if not at & half:
                a, b = columns[at], columns[at + half]
                columns[at], columns[at + half] = (loops.op(tir.ShuffleOp([a, b], lanes)) for lanes in (upper, lower))
        half //= 2
    return columns


@dataclass(frozen=True)
class Squares:
    """Copies a matrix that `load` reads along `k` into a panel along the lanes of a strip, `size` columns at a time.

    Elements of the panel have type `packed`, and hold `group` consecutive k.
    """

    strip: Strip
    k: Iter
    load: tir.LoadOp
    size: int
    group: int = 1
    packed: Attribute | None = None

    def fill(self, panel: SSAValue, place: Sequence[SSAValue], begin: SymExpr, where: Bindings, count: SymExpr) -> None:
        """Transpose `count` squares from k = `begin` for all full vectors of columns; `place` is the position in
        the panel.
        """
        loops, lane, k, size = self.strip.loops, self.strip.it, self.k, self.size

        def square(g: SSAValue, v: SSAValue) -> None:
            column, step = Var(g, lane.dtype) * size, Var(v, k.dtype) * size
            rows = [self._read({**where}, begin + step * self.group, column + at) for at in range(size)]
            for at, value in enumerate(transposed(loops, rows)):
                here = [*place, loops.value(step + at, k.dtype), loops.ramp(loops.value(column), size)]
                loops.store(value, panel, here)

        def columns(g: SSAValue) -> None:
            loops.loop(count, lambda v: square(g, v), dtype=k.dtype, name=tile_name(k, "k"))

        loops.loop(self.strip.size // size, columns, dtype=lane.dtype)

    def _read(self, where: Bindings, step: SymExpr, column: SymExpr) -> SSAValue:
        """Return as many steps of a column as a vector has lanes."""
        loops, lane, k = self.strip.loops, self.strip.it, self.k
        where[k] = loops.value(step, k.dtype)
        where[lane] = loops.value(Var(self.strip.first, lane.dtype) + column)
        cloner = loops.cloner(where)
        *outer, last = (cloner(index) for index in self.load.indices)
        value = loops.load(self.load.buffer, [*outer, loops.ramp(last, self.size * self.group)])
        if self.packed is None:
            return value
        return loops.op(tir.ReinterpretOp(value, VectorType(self.packed, [self.size])))
