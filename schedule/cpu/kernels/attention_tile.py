"""The parts of an attention tile: its queries, their scores, the state of the softmax, and the weighted values.

    Scores.compute:    s[i, j] = score(sum(Q[i, k] * K[j, k]))
    Softmax.step:      m[i] = max(s[i]);  s[i, j] = exp(s[i, j] - m[i]);  l[i] = sum(s[i])
    Softmax.merge:     n[i] = max(M[i], m[i]);  c[i] = exp(M[i] - n[i]);  d[i] = exp(m[i] - n[i])
                       L[i] = L[i] * c[i] + l[i] * d[i];  M[i] = n[i]
    Mix.add:           o[i, d] = sum(s[i, j] * V[j, d])
    Mix.merged:        P[i, d] = P[i, d] * c[i] + o[i, d] * d[i]
    Mix.store:         O[i, d] = P[i, d] / L[i]

`attention` determines the order. The bits of a row do not depend on the other rows of its tile, nor on how many
there are: products of a query and a key are summed from the first element to the last, powers by lanes from the
first key of the tile, and tiles are merged in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of, set_name
from ....dialects.sym.expr import Const, Op, SymExpr, Var, add, floordiv, mul
from ....dialects.sym.operators import minimum
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ...rewrite import erase_if_unread
from ..analysis.plan import Machine, Plan
from ..analysis.stages import Iter, depends_on, element_type, is_in_order, loads_below
from ..library.attention_form import Attention
from ..library.prefetch import prefetch
from ..policy.limits import KEYS_IN_LANES, KEYS_OF_PIECE, LINE_BITS, MIN_PANEL_ROWS, SUMS_OF_TILE
from .tile_stages import Extents, Place, StageWriter, Write, at, begin_of, in_row


@dataclass(frozen=True)
class AttentionPlan(Plan):
    """A plan with tiles of `queries` by `keys` scores; `in_parts` if tiles of keys are merged at the end.

    The rules emit its stages for `machine`.
    """

    attention: Attention
    machine: Machine
    queries: int
    keys: int
    in_parts: bool


@dataclass
class Queries:
    """The queries of a tile: `rows` rows from `first` of the head at `where`, and the loads for them.

    With few queries, keys come in pieces; `piece` is the first key of the current one.
    """

    loops: LoopBuilder
    plan: AttentionPlan
    where: Bindings
    first: SSAValue
    rows: SymExpr
    piece: SSAValue | None = None

    def __post_init__(self) -> None:
        self.attention = self.plan.attention
        self.index = self.attention.row.dtype
        self.stages = StageWriter(self.loops, self.plan.machine, self.index)
        self.head: list[tuple[SSAValue, SSAValue]] = []
        self.end = self.attention.column.extent
        """The end of the keys that the queries use."""

    def find_head(self) -> None:
        """Compute the head that the tile belongs to."""
        cloner = self.loops.cloner(self.where)
        self.head = [(it.var, cloner(index)) for it, index in self.attention.batch]

    @property
    def each(self) -> Extents:
        """The iterator over the rows of a stage."""
        return [(self.rows, False)]

    @property
    def each_lane(self) -> Extents:
        """The iterators over rows and over elements of values."""
        return [(self.rows, False), (self.attention.lane.extent, False)]

    def each_row(self, body: Callable[[SSAValue], object]) -> None:
        """Emit `body` for each query."""
        self.loops.loop(self.rows, body, dtype=self.index, name=name_of(self.attention.row.var))

    # expressions

    def head_cloner(self, inner: LoopBuilder) -> Cloner:
        """Return a cloner of expressions for the head."""
        cloner = inner.cloner()
        for var, value in self.head:
            cloner.replace(var, value)
        return cloner

    def of_head(self, bound: SymExpr) -> SymExpr:
        """Return a bound for the tile's head; loads that depend on the head are emitted here."""
        cloner = self.head_cloner(self.loops)
        mine = [v for v in bound.free_vars() if v.value is not None and v.value is not self.first]
        return bound.substitute({v: sym_expr_of(cloner(v.value)) for v in mine if v.value is not None})

    def cloner(self, inner: LoopBuilder, i: SSAValue, j: SSAValue, begin: SSAValue) -> Cloner:
        """Return a cloner of expressions for query i of the tile and key j after `begin`."""
        cloner = self._at(inner, i, j, begin)
        if self.piece is not None:
            zero = inner.const(0, self.index)
            for page in self._pages:  # all keys of a piece have the page of the first one
                cloner.replace(page.result, self._with_places(self._at(inner, i, zero, self.piece))(page.result))
        return cloner

    def _at(self, inner: LoopBuilder, i: SSAValue, j: SSAValue, begin: SSAValue) -> Cloner:
        cloner = self.head_cloner(inner)
        cloner.replace(self.attention.row.var, inner.sum(self.first, i))
        cloner.replace(self.attention.column.var, inner.sum(begin, j))
        return cloner

    def score_cloner(self, inner: LoopBuilder, i: SSAValue, j: SSAValue, begin: SSAValue) -> Cloner:
        """Return a cloner like `cloner` for expressions of the products of queries and keys."""
        return self._with_places(self.cloner(inner, i, j, begin))

    def _with_places(self, cloner: Cloner) -> Cloner:
        for it, index in self.attention.score_places:
            cloner.replace(it.var, cloner(index))
        return cloner

    # memory

    def prefetch_keys(self, key: SSAValue, ahead: int = 0) -> None:
        """Prefetch the piece of keys that is `ahead` keys after `key`."""
        self._prefetch(self._keys_far, key, ahead)

    def prefetch_values(self, key: SSAValue) -> None:
        """Prefetch the values of a piece."""
        self._prefetch(self._values_far, key, 0)

    def _prefetch(self, loads: Sequence[tuple[tir.LoadOp, Iter]], key: SSAValue, ahead: int) -> None:
        """Prefetch the rows of a piece's keys, which are adjacent in memory."""
        loops, dtype, piece = self.loops, self.index, self.piece
        j = loops.value(minimum(Var(key, dtype) + ahead, self.end - 1), dtype)
        zero = loops.const(0, dtype)
        self.piece = j
        for load, along in loads:
            cloner = self.score_cloner(loops, zero, j, zero)
            *row, _ = (cloner(i) for i in load.indices)
            self._prefetch_lines(load.buffer, row, mul(along.extent, Const(KEYS_OF_PIECE, dtype)))
        self.piece = piece

    def _prefetch_lines(self, buffer: SSAValue, row: Sequence[SSAValue], count: SymExpr) -> None:
        """Prefetch `count` elements from the beginning of a row."""
        loops, each = self.loops, Const(LINE_BITS // bit_width(element_type(buffer)), self.index)

        def line(v: SSAValue) -> None:
            prefetch(loops.insert, buffer, [*row, loops.value(mul(Var(v, self.index), each))])

        loops.loop(floordiv(count, each), line, dtype=self.index, name="line")

    @property
    def _keys_far(self) -> list[tuple[tir.LoadOp, Iter]]:
        """The loads of keys, with the iterator along a row of them."""
        stage, along = self.attention.scores, self.attention.scores.reduce[-1]
        column = self.attention.score_places[-1][0]
        return [(op, along) for op in stage.loads if _is_row(op, along, column)]

    @property
    def _values_far(self) -> list[tuple[tir.LoadOp, Iter]]:
        lane, column = self.attention.lane, self.attention.column
        return [(op, lane) for op in loads_below(self.attention.value) if _is_row(op, lane, column)]

    @cached_property
    def _pages(self) -> list[tir.LoadOp]:
        """The loads that look up the rows of keys and values, which are the same for all keys of a piece."""
        if self.plan.keys % KEYS_OF_PIECE:
            return []
        mixed, scored = self.attention.column, self.attention.score_places[-1][0]
        far = [(load, scored) for load, _ in self._keys_far] + [(load, mixed) for load, _ in self._values_far]
        below = [(page, column) for load, column in far for index in load.indices for page in loads_below(index)]
        return [page for page, column in below if all(_is_of_piece(index, column) for index in page.indices)]


def _is_row(load: tir.LoadOp, along: Iter, column: Iter) -> bool:
    """Return whether a load reads rows of memory, with the rows of consecutive keys adjacent to each other."""
    if isinstance(load.buffer.owner, tir.AllocBufferOp) or not is_in_order(load, along) or len(load.indices) < 2:
        return False
    return depends_on(load.indices[-2], [column.var])


def _is_of_piece(index: SSAValue, column: Iter) -> bool:
    """Return whether an index is the same for all keys of a piece: a quotient by a multiple of its size, or without
    keys.
    """
    if not depends_on(index, [column.var]):
        return True
    expr = sym_expr_of(index)
    if not isinstance(expr, Op) or expr.kind != "floordiv" or expr.args[0] != column.expr:
        return False
    return (expr.args[1].constant or 1) % KEYS_OF_PIECE == 0


class Scores:
    """The buffer s[queries, keys]: scores, then their powers."""

    def __init__(self, queries: Queries):
        self.queries, plan = queries, queries.plan
        like = plan.attention.scores.buffer
        self._vectors = SUMS_OF_TILE[0] * max(1, plan.machine.vector_bits // bit_width(element_type(like)))
        width = -(-plan.keys // self._vectors) * self._vectors
        self.buffer = queries.stages.buffer([plan.queries, width], like, "scores")

    def padded(self, extent: SymExpr) -> SymExpr:
        """Return a number of keys rounded up to the vectors that are summed side by side."""
        vectors = Const(self._vectors, extent.dtype)
        return mul(floordiv(add(extent, self._vectors - 1), vectors), vectors)

    def compute(
        self, begin: SSAValue, extent: SymExpr, first: SSAValue | None = None, keys: SSAValue | None = None
    ) -> None:
        """Emit s[i, j] = score(sum(Q[i, k] * K[j, k])) for the keys from `begin`; results are stored from `first`.

        `keys` are copies of the keys, [k, j].
        """
        queries, attention = self.queries, self.queries.attention
        stage, update = attention.scores, attention.updates[0]

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = queries.score_cloner(inner, v[0], v[1], begin)
            for it, k in zip(stage.reduce, v[2:], strict=True):
                cloner.replace(it.var, k)
            if keys is not None and attention.key is not None:
                cloner.replace(attention.key, inner.load(keys, [v[2], v[1]]))
            cloner.replace(update.old.result, inner.load(*place(inner, v)))
            return cloner(stage.store.value)

        def finished(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = queries.cloner(inner, v[0], v[1], begin)
            value = inner.load(*place(inner, v))
            for load in attention.score_loads:
                cloner.replace(load.result, value)
            score = cloner(attention.score)
            if attention.allowed is None:
                return score
            least = inner.const(float("-inf"), score.type)
            return inner.op(tir.SelectOp(cloner(attention.allowed), score, least))

        def place(inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
            return self.buffer, [v[0], v[1] if first is None else inner.sum(first, v[1])]

        extents = [*queries.each, (extent, False), *((it.extent, True) for it in stage.reduce)]
        queries.stages.write(extents, term, place, begin_of(stage), (finished, place))

    def copied_keys(self) -> SSAValue | None:
        """Allocate copies of some keys, [k, j], with which few queries sum products as many do; None if keys are not
        a factor.
        """
        attention = self.queries.attention
        if attention.key is None or len(attention.scores.reduce) != 1:
            return None
        keys = self.queries.loops.scratch([attention.scores.reduce[0].extent, KEYS_IN_LANES], attention.key.type)
        set_name(keys, "keys")
        return keys

    def copy_keys(self, keys: SSAValue, begin: SSAValue, extent: SymExpr, first: SSAValue) -> None:
        """Copy the keys from `begin` to the columns of `keys` from `first`."""
        queries, attention = self.queries, self.queries.attention
        key, along = attention.key, attention.scores.reduce[0]
        assert key is not None

        def element(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = queries.score_cloner(inner, inner.const(0, queries.index), v[0], begin)
            cloner.replace(along.var, v[1])
            return cloner(key)

        def place(inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
            return keys, [v[1], inner.sum(first, v[0])]

        queries.stages.write([(extent, False), (along.extent, False)], element, place)


class Softmax:
    """The buffers m[queries] and l[queries]: the maximum of a tile's scores in a row, and the total of its powers.

    Several tiles of keys are merged into the buffers M and L; the factors c and d are of the earlier tiles and of
    the new one.
    """

    def __init__(self, scores: Scores):
        self.scores, self.queries = scores, scores.queries
        self.attention, self.stages = self.queries.attention, self.queries.stages
        self.top = self._buffer(self.attention.top.buffer, "top")
        self.total = self._buffer(self.attention.total.buffer, "total")

    def _buffer(self, like: SSAValue, name: str) -> SSAValue:
        return self.stages.buffer([self.queries.plan.queries], like, name)

    def start(self) -> None:
        """Emit the code before the first of several tiles of keys."""
        like = self.attention.top.buffer
        self.merged_top, self.merged_total = self._buffer(like, "merged_top"), self._buffer(like, "merged_total")
        self.next_top, self.correction, self.share = (
            self._buffer(like, n) for n in ("next_top", "correction", "share")
        )
        for stage, buffer in ((self.attention.top, self.merged_top), (self.attention.total, self.merged_total)):
            self.stages.write(self.queries.each, begin_of(stage), at(buffer, 1))

    def step(self, extent: SymExpr) -> None:
        """Process the rows of a tile of keys."""

        def row(i: SSAValue) -> None:
            self._find_top(i, extent)
            self._powers(i, extent)
            self._sum(i, extent)

        self.queries.each_row(row)

    def merge(self, top: Write, total: Write) -> None:
        """Merge a tile's maxima and totals, and compute the factors for the weighted values."""
        each, write = self.queries.each, self.stages.write

        def larger(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return inner.op(tir.MaxOp(inner.load(self.merged_top, v), top(inner, v), nnan=True))

        def sum_of_both(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return self.merged(inner, self.merged_total, v, total(inner, v))

        write(each, larger, at(self.next_top, 1))
        write(each, lambda inner, v: self._factor(inner, inner.load(self.merged_top, v), v), at(self.correction, 1))
        write(each, lambda inner, v: self._factor(inner, top(inner, v), v), at(self.share, 1))
        write(each, sum_of_both, at(self.merged_total, 1))
        write(each, lambda inner, v: inner.load(self.next_top, v), at(self.merged_top, 1))

    def merge_tile(self) -> None:
        """Merge the tile that was processed last."""
        self.merge(lambda inner, v: inner.load(self.top, v), lambda inner, v: inner.load(self.total, v))

    def merged(self, inner: LoopBuilder, buffer: SSAValue, place: list[SSAValue], value: SSAValue) -> SSAValue:
        """Return the sum of a buffer's element and a value of the new tile, each times its factor.

        It says itself which product is rounded: LLVM would choose differently in different loops.
        """
        dtype = value.type
        mine = inner.op(tir.CallIntrinOp("strict_multiply", [value, inner.load(self.share, place[:1])], dtype))
        earlier = inner.load(buffer, place), inner.load(self.correction, place[:1])
        return inner.op(tir.CallIntrinOp("fma", [*earlier, mine], dtype))

    def _factor(self, inner: LoopBuilder, top: SSAValue, v: list[SSAValue]) -> SSAValue:
        return self._power(inner, top, inner.load(self.next_top, v))

    def norm(self, total: SSAValue) -> None:
        """Replace totals of 0 by 1, so that a row without keys yields zeros instead of 0 / 0."""

        def safe(i: SSAValue) -> None:
            loops = self.queries.loops
            value = loops.load(total, [i])
            zero, one = (loops.const(number, value.type) for number in (0.0, 1.0))
            loops.store(loops.op(tir.SelectOp(loops.op(tir.EqOp(value, zero)), one, value)), total, [i])

        self.queries.each_row(safe)

    def _power(self, inner: LoopBuilder, shifted: SSAValue, top: SSAValue) -> SSAValue:
        """Return exp(shifted - top)."""
        cloner = inner.cloner()
        cloner.replace(self.attention.shifted, shifted)
        for load in self.attention.top_loads:
            cloner.replace(load.result, top)
        return cloner(self.attention.power.result)

    def _find_top(self, i: SSAValue, extent: SymExpr) -> None:
        """Emit m[i] = max(s[i])."""

        def larger(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            old, score = inner.load(self.top, [i]), inner.load(self.scores.buffer, [i, v[0]])
            return inner.op(tir.MaxOp(old, score, nnan=True))  # powers of NaN are NaN anyway

        self.stages.write([(extent, True)], larger, in_row(self.top, i), begin_of(self.attention.top))

    def _powers(self, i: SSAValue, extent: SymExpr) -> None:
        """Emit s[i, j] = exp(s[i, j] - m[i]), and zeros after them."""
        loops, row = self.queries.loops, self.scores.buffer

        def power(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return self._power(inner, inner.load(row, [i, v[0]]), inner.load(self.top, [i]))

        def behind(inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
            return row, [i, inner.sum(loops.value(extent), v[0])]

        self.stages.write([(extent, False)], power, in_row(row, i))
        left = self.scores.padded(extent) - extent
        if left.constant != 0:
            self.stages.write([(left, False)], lambda inner, _: inner.const(0.0, element_type(row)), behind)

    def _sum(self, i: SSAValue, extent: SymExpr) -> None:
        """Emit l[i] = sum(s[i]), by full vectors only, so that the order does not depend on the number of keys."""

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return inner.op(tir.AddOp(inner.load(self.total, [i]), inner.load(self.scores.buffer, [i, v[0]])))

        extents = [(self.scores.padded(extent), True)]
        self.stages.write(extents, term, in_row(self.total, i), begin_of(self.attention.total))


class Mix:
    """The buffer o[queries, size]: values, weighted by the powers of a tile; several tiles are merged into P."""

    def __init__(self, softmax: Softmax):
        self.softmax, self.queries = softmax, softmax.queries
        self.attention, self.stages = self.queries.attention, self.queries.stages
        self.mixed = self._buffer("mixed")

    def _buffer(self, name: str) -> SSAValue:
        shape = [self.queries.plan.queries, self.attention.lane.extent]
        return self.stages.buffer(shape, self.attention.mix.buffer, name)

    def start(self) -> None:
        """Emit the code before the first of several tiles of keys."""
        self.merged = self._buffer("merged")
        self.stages.write(self.queries.each_lane, begin_of(self.attention.mix), at(self.merged, 2))

    def clear(self) -> None:
        """Emit the code before the first piece of a tile of keys."""
        self.stages.write(self.queries.each_lane, begin_of(self.attention.mix), at(self.mixed, 2))

    @property
    def result(self) -> tuple[Write, Place]:
        """The epilogue O[i, d] = o[i, d] / l[i], for a single tile of keys."""
        return self._result_of(self.mixed, self.softmax.total), self._result_place

    @property
    def merging(self) -> tuple[Write, Place]:
        """The epilogue P[i, d] = P[i, d] * c[i] + o[i, d] * d[i], for one of several tiles of keys."""
        return self.merged_with(lambda inner, v: inner.load(self.mixed, v)), at(self.merged, 2)

    def merged_with(self, value: Write) -> Write:
        """Return the merged sum for the weighted values of a tile."""
        return lambda inner, v: self.softmax.merged(inner, self.merged, [*v], value(inner, v))

    def merge_tile(self) -> None:
        """Merge the weighted values of the tile that was processed last."""
        self.stages.write(self.queries.each_lane, *self.merging)

    def store(self) -> None:
        """Store the result of several tiles of keys."""
        result = self._result_of(self.merged, self.softmax.merged_total)
        self.stages.write(self.queries.each_lane, result, self._result_place)

    def erase_unread(self) -> None:
        """Erase the buffer of sums if nothing reads it, because results were stored immediately."""
        erase_if_unread(self.mixed)

    def add(self, keys: SSAValue, extent: SymExpr, epilogue: tuple[Write, Place]) -> None:
        """Emit o[i, d] = sum(s[i, j] * V[j, d]) for the keys from `keys`. With few rows, V is not copied."""
        rows, begin = self.queries.rows, begin_of(self.attention.mix)

        def mix(*, copied: bool) -> None:
            self.add_piece(keys, extent, begin, epilogue, values=self._values(keys, extent) if copied else None)

        if rows.constant is not None:
            mix(copied=rows.constant >= MIN_PANEL_ROWS)
        else:
            loops = self.queries.loops
            loops.branch_at_least(rows, MIN_PANEL_ROWS, lambda: mix(copied=True), lambda: mix(copied=False))

    def add_piece(
        self,
        keys: SSAValue,
        extent: SymExpr,
        begin: Write,
        epilogue: tuple[Write, Place] | None = None,
        *,
        values: SSAValue | None = None,
        first: SSAValue | None = None,
    ) -> None:
        """Emit o[i, d] = begin + sum(s[i, j] * V[j, d]) for the keys from `keys`, with weights from `first`, and with a
        copy of the values if there is one.
        """
        queries, attention, weights = self.queries, self.attention, self.softmax.scores.buffer

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            i, d, j = v
            cloner = queries.cloner(inner, i, j, keys)
            cloner.replace(attention.lane.var, d)
            place = j if first is None else inner.sum(first, j)
            cloner.replace(attention.weight, inner.load(weights, [i, place]))
            if values is not None:
                cloner.replace(attention.value, inner.load(values, [j, d]))
            cloner.replace(attention.updates[1].old.result, inner.load(self.mixed, [i, d]))
            return cloner(attention.mix.store.value)

        self.stages.write([*queries.each_lane, (extent, True)], term, at(self.mixed, 2), begin, epilogue)

    def _values(self, keys: SSAValue, extent: SymExpr) -> SSAValue:
        """Return the values of a tile of keys in a contiguous buffer; in the tensor, other heads lie between them."""
        lane = self.attention.lane
        values = self.stages.buffer([self.queries.plan.keys, lane.extent], self.attention.mix.buffer, "values")

        def value(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = self.queries.cloner(inner, v[0], v[0], keys)
            cloner.replace(lane.var, v[1])
            return cloner(self.attention.value)

        self.stages.write([(extent, False), (lane.extent, False)], value, at(values, 2))
        return values

    def _result_of(self, mixed: SSAValue, total: SSAValue) -> Write:
        def result(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            value = inner.op(tir.DivOp(inner.load(mixed, [*v]), inner.load(total, [v[0]])))
            cloner = self._result_cloner(inner, v)
            cloner.replace(self.attention.read.result, value)
            return cloner(self.attention.result.store.value)

        return result

    def _result_place(self, inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
        store = self.attention.result.store
        cloner = self._result_cloner(inner, v)
        return store.buffer, [cloner(index) for index in store.indices]

    def _result_cloner(self, inner: LoopBuilder, v: list[SSAValue]) -> Cloner:
        cloner = inner.cloner(self.queries.where)
        cloner.replace(self.attention.result_row.var, inner.sum(self.queries.first, v[0]))
        cloner.replace(self.attention.result_lane.var, v[1])
        return cloner
