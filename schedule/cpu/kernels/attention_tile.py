"""The parts of an attention tile: its queries, their scores, the state of the softmax, and the weighted values.

    Scores.compute:    s[i, j] = score(sum(Q[i, k] * K[j, k]))
    Softmax.top:       n[i] = max(m[i], max(s[i]))
    Softmax.powers:    s[i, j] = exp(s[i, j] - n[i])
    Softmax.total:     l[i] = l[i] * c[i] + sum(s[i])            c[i] = exp(m[i] - n[i])
    Mix.add:           o[i, d] = o[i, d] * c[i] + sum(s[i, j] * V[j, d])
    Mix.store:         O[i, d] = o[i, d] / l[i]

`attention` determines the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, Op, SymExpr, Var, floordiv, mul
from ....dialects.sym.operators import minimum
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ...rewrite import erase_if_unread
from ..analysis.plan import Machine, Plan
from ..analysis.stages import Iter, depends_on, element_type, is_in_order, loads_below
from ..library.attention_form import Attention
from ..library.prefetch import prefetch
from ..policy.limits import KEYS_OF_PIECE, LINE_BITS, MIN_PANEL_ROWS
from .tile_stages import Extents, Place, StageWriter, Write, at, begin_of, in_row


@dataclass(frozen=True)
class AttentionPlan(Plan):
    """A plan with tiles of `queries` by `keys` scores; `parts` is the number of parts of the keys.

    The rules emit its stages for `machine`.
    """

    attention: Attention
    machine: Machine
    queries: int
    keys: int
    parts: int


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
        """The first key that none of the queries looks at."""

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
        self.buffer = queries.stages.buffer([plan.queries, plan.keys], plan.attention.scores.buffer, "scores")

    def compute(self, begin: SSAValue, extent: SymExpr, first: SSAValue | None = None) -> None:
        """Emit s[i, j] = score(sum(Q[i, k] * K[j, k])) for the keys from `begin`; results are stored from `first`."""
        queries, attention = self.queries, self.queries.attention
        stage, update = attention.scores, attention.updates[0]

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = queries.score_cloner(inner, v[0], v[1], begin)
            for it, k in zip(stage.reduce, v[2:], strict=True):
                cloner.replace(it.var, k)
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


class Softmax:
    """The buffers m[queries] and l[queries]: the maximum of a row, and the total of its powers.

    With several tiles of keys, each scales the sums `before` it by a `factor`.
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
        self.before = self._buffer(self.attention.top.buffer, "top_before")
        self.factor = self._buffer(self.attention.top.buffer, "correction")
        for stage, buffer in ((self.attention.top, self.before), (self.attention.total, self.total)):
            self.stages.write(self.queries.each, begin_of(stage), at(buffer, 1))

    def only(self, i: SSAValue, extent: SymExpr) -> None:
        """Process a row whose keys are all in this tile."""
        self._find_top(i, extent, begin_of(self.attention.top))
        self._powers(i, extent)
        self._sum(i, extent, begin_of(self.attention.total))
        self.norm(i)

    def step(self, extent: SymExpr) -> None:
        """Process one of several tiles of keys."""
        queries = self.queries
        queries.each_row(lambda i: self._find_top(i, extent, lambda inner, _: inner.load(self.before, [i])))
        self.stages.write(queries.each, lambda inner, v: self._correction(inner, v[0]), at(self.factor, 1))
        self.stages.write(queries.each, lambda inner, v: inner.load(self.top, [v[0]]), at(self.before, 1))

        def row(i: SSAValue) -> None:
            self._powers(i, extent)
            self._sum(i, extent, lambda inner, _: self.corrected(inner, self.total, i))

        queries.each_row(row)

    def corrected(self, inner: LoopBuilder, buffer: SSAValue, *place: SSAValue) -> SSAValue:
        """Return the previous sum, scaled by the correction factor."""
        return inner.op(tir.MulOp(inner.load(buffer, [*place]), inner.load(self.factor, [place[0]])))

    def norm(self, i: SSAValue) -> None:
        """Replace a total of 0 by 1, so that a row without keys yields zeros instead of 0 / 0."""
        loops = self.queries.loops
        total = loops.load(self.total, [i])
        zero, one = (loops.const(number, total.type) for number in (0.0, 1.0))
        safe = loops.op(tir.SelectOp(loops.op(tir.EqOp(total, zero)), one, total))
        loops.store(safe, self.total, [i])

    def power(self, inner: LoopBuilder, shifted: SSAValue, i: SSAValue) -> SSAValue:
        """Return exp(shifted - m[i])."""
        cloner = inner.cloner()
        cloner.replace(self.attention.shifted, shifted)
        top = inner.load(self.top, [i])
        for load in self.attention.top_loads:
            cloner.replace(load.result, top)
        return cloner(self.attention.power.result)

    def _find_top(self, i: SSAValue, extent: SymExpr, begin: Write) -> None:
        """Emit n[i] = max(m[i], max(s[i]))."""

        def larger(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            old, score = inner.load(self.top, [i]), inner.load(self.scores.buffer, [i, v[0]])
            return inner.op(tir.MaxOp(old, score, nnan=True))  # powers of NaN are NaN anyway

        self.stages.write([(extent, True)], larger, in_row(self.top, i), begin)

    def _correction(self, inner: LoopBuilder, i: SSAValue) -> SSAValue:
        """Return c[i] = exp(m[i] - n[i])."""
        return self.power(inner, inner.load(self.before, [i]), i)

    def _powers(self, i: SSAValue, extent: SymExpr) -> None:
        """Emit s[i, j] = exp(s[i, j] - n[i])."""

        def power(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return self.power(inner, inner.load(self.scores.buffer, [i, v[0]]), i)

        self.stages.write([(extent, False)], power, in_row(self.scores.buffer, i))

    def _sum(self, i: SSAValue, extent: SymExpr, begin: Write) -> None:
        """Emit l[i] = l[i] * c[i] + sum(s[i])."""

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return inner.op(tir.AddOp(inner.load(self.total, [i]), inner.load(self.scores.buffer, [i, v[0]])))

        self.stages.write([(extent, True)], term, in_row(self.total, i), begin)


class Mix:
    """The buffer o[queries, size]: values, weighted by the powers."""

    def __init__(self, softmax: Softmax):
        self.softmax, self.queries = softmax, softmax.queries
        self.attention, self.stages = self.queries.attention, self.queries.stages
        shape = [self.queries.plan.queries, self.attention.lane.extent]
        self.mixed = self.stages.buffer(shape, self.attention.mix.buffer, "mixed")

    def start(self) -> None:
        """Emit the code before the first of several tiles of keys."""
        self.stages.write(self.queries.each_lane, begin_of(self.attention.mix), at(self.mixed, 2))

    @property
    def result(self) -> tuple[Write, Place]:
        """The epilogue O[i, d] = o[i, d] / l[i]."""
        return self._result, self._result_place

    def store(self) -> None:
        """Store the result."""
        self.stages.write(self.queries.each_lane, *self.result)

    def erase_unread(self) -> None:
        """Erase the buffer of sums if nothing reads it, because results were stored immediately."""
        erase_if_unread(self.mixed)

    def corrected(self, inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
        """Return o[i, d] * c[i]."""
        return self.softmax.corrected(inner, self.mixed, v[0], v[1])

    def correct(self) -> None:
        """Emit o[i, d] = o[i, d] * c[i]."""
        self.stages.write(self.queries.each_lane, self.corrected, at(self.mixed, 2))

    def add(self, keys: SSAValue, extent: SymExpr, begin: Write, epilogue: tuple[Write, Place] | None = None) -> None:
        """Emit o[i, d] = begin + sum(s[i, j] * V[j, d]) for the keys from `keys`. With few rows, V is not copied."""
        rows = self.queries.rows

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
        """Emit `add` with weights from `first`, and with a copy of the values if there is one."""
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

    def _result(self, inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
        mixed = inner.load(self.mixed, [*v])
        value = inner.op(tir.DivOp(mixed, inner.load(self.softmax.total, [v[0]])))
        cloner = self._result_cloner(inner, v)
        cloner.replace(self.attention.read.result, value)
        return cloner(self.attention.result.store.value)

    def _result_place(self, inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
        store = self.attention.result.store
        cloner = self._result_cloner(inner, v)
        return store.buffer, [cloner(index) for index in store.indices]

    def _result_cloner(self, inner: LoopBuilder, v: list[SSAValue]) -> Cloner:
        cloner = inner.cloner(self.queries.where)
        cloner.replace(self.attention.result_row.var, inner.sum(self.queries.first, v[0]))
        cloner.replace(self.attention.result_lane.var, v[1])
        return cloner
