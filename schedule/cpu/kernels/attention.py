"""Attention: products, softmax and products again, tile by tile, so that the scores are never in memory as a whole.

    S[i, j] = sum(Q[i, k] * K[j, k])
    M[i] = max(score(S[i, j]))
    L[i] = sum(exp(score(S[i, j]) - M[i]))
    O[i, d] = sum(exp(score(S[i, j]) - M[i]) / L[i] * V[j, d])
        ->
    for each head, for i in N / queries:
        m, l, o = least, 0, 0
        for j in M / keys:
            s[queries, keys] = score(sum(Q[i, k] * K[j, k]))
            n = max(m, max(s)); c = exp(m - n); m = n
            s = exp(s - m)
            l = l * c + sum(s)
            o[queries, size] = o * c + sum(s * V[j, d])
        O[i, d] = o / l

`score` is whatever is done to the sums element by element: a scale, a bias, a mask. What a mask does not allow has no
weight; keys that it allows to no query of a tile are not looked at. A query that may look at nothing gets zeros. Where
all keys are one tile there is nothing to be corrected by c.

Where few queries look at keys and values in memory there is little to compute: these are asked for piece by piece.
Where there are few heads, too, the keys of each are divided into parts, and what these give is put together in the end:

    for each head, for p in parts:  m[p], l[p], o[p] = …                    on several threads
    for each head:                  m = max(m[p]); c[p] = exp(m[p] - m);  O[i, d] = sum(o[p] * c[p]) / sum(l[p] * c[p])

The stages of a tile are written by the rules of the other stages: both products by microkernels, keys being turned
around in registers on their way into a panel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Region, SSAValue

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of, set_name
from ....dialects.sym.expr import Const, Op, SymExpr, Var, add, floordiv, maximum, minimum, mul, product
from ....dialects.tir import BufferType
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Cloner, LoopBuilder, unfused
from ...rewrite import erase_if_unread
from ..analysis.plan import Machine, Plan
from ..analysis.stages import Iter, Stage, depends_on, element_type, is_in_order, loads_below
from ..library import microkernel as mk
from ..library.attention_form import Attention, attention_of, reach
from ..library.epilogue import Epilogue
from ..library.prefetch import prefetch
from ..policy.choices import first_fit
from ..policy.limits import (
    CAUSAL_QUERIES,
    FEW_CAUSAL_QUERIES,
    KEYS_AHEAD,
    KEYS_OF_PART,
    KEYS_OF_PIECE,
    LINE_BITS,
    MAX_KEYS,
    MAX_ONLY_QUERIES,
    MIN_KEYS,
    MIN_PANEL_ROWS,
    PARTS_OF_KEYS,
    QUERIES,
)
from ..policy.rules import rules


@dataclass(frozen=True)
class AttentionPlan(Plan):
    """Tiles of `queries` by `keys` scores, whose stages the rules write for `machine`; of the keys `parts`."""

    attention: Attention
    machine: Machine
    queries: int
    keys: int
    parts: int


def plan_attention(func: tir.FuncOp, machine: Machine) -> AttentionPlan | None:
    """The plan for the attention that a function computes, None where it computes none.

    What stands between its stages is inlined then.
    """
    attention = attention_of(func)
    if attention is None:
        return None
    row, column = attention.row, attention.column
    queries = _queries(row.extent.constant, bool(reach(attention, row.expr, row.expr)[1]))
    keys = _keys(column.extent.constant, machine)
    parts = _parts(attention, keys)
    return AttentionPlan(attention, machine, queries, keys if parts == 1 else min(keys, KEYS_OF_PART), parts)


def _queries(rows: int | None, ends: bool) -> int:
    """How many rows a tile has; with a mask that `ends` what they look at, fewer, so that more keys are left out."""
    if ends:
        size = CAUSAL_QUERIES if rows is not None and rows > 2 * CAUSAL_QUERIES else FEW_CAUSAL_QUERIES
        return size if rows is None else max(1, min(rows, size))
    if rows is None or rows > MAX_ONLY_QUERIES:
        return QUERIES
    return max(1, rows)


def _keys(columns: int | None, machine: Machine) -> int:
    fitting = machine.caches.l2 // (16 * QUERIES) // MIN_KEYS * MIN_KEYS
    most = max(MIN_KEYS, min(MAX_KEYS, fitting))
    return most if columns is None else max(1, min(columns, most))


def _parts(attention: Attention, keys: int) -> int:
    """Into how many parts the keys of a head are divided: one, but where few queries of few heads look at many keys."""
    rows, columns = attention.row.extent.constant, attention.column.extent.constant
    heads = product(it.extent for it in attention.outer).constant
    if rows is None or rows >= MIN_PANEL_ROWS or heads is None or not (columns is None or columns > keys):
        return 1
    return max(1, -(-PARTS_OF_KEYS // max(1, heads)))


def emit_attention(loops: LoopBuilder, plan: AttentionPlan) -> None:
    """The loops of a plan."""
    if plan.parts > 1:
        _emit_parts(loops, plan)
        return
    row, size = plan.attention.row, plan.queries

    def head(where: Bindings) -> None:
        def tile(v: SSAValue) -> None:
            first = loops.value(mul(Var(v, row.dtype), Const(size, row.dtype)))
            _Tile(loops, plan, where, first, _part(row.extent, first, size, row.dtype)).emit()

        count = floordiv(add(row.extent, size - 1), Const(size, row.dtype))
        loops.loop(count, tile, dtype=row.dtype, name="queries")

    loops.nest(plan.attention.outer, {}, head)


def _emit_parts(loops: LoopBuilder, plan: AttentionPlan) -> None:
    """The loops of a plan that divides the keys of a head."""
    attention, dtype = plan.attention, plan.attention.row.dtype
    extents = [*(it.extent for it in attention.outer), Const(plan.parts, dtype)]
    gathered = _Gathered.of(loops, plan, product(extents))

    def tile(where: Bindings) -> _Tile:
        return _Tile(loops, plan, where, loops.value(Const(0, dtype)), attention.row.extent)

    def part(v: SSAValue) -> None:
        *head, number = unfused(Var(v, dtype), extents)
        where = {it: loops.value(at, it.dtype) for it, at in zip(attention.outer, head, strict=True)}
        tile(where).emit_part(number, v, gathered)

    def head(where: Bindings) -> None:
        first: SymExpr = Const(0, dtype)
        for it in attention.outer:
            first = first * it.extent + Var(where[it], dtype)
        tile(where).emit_gathered(first * plan.parts, gathered)

    loops.loop(product(extents), part, dtype=dtype, name="part")
    loops.nest(attention.outer, {}, head)


def _rounded_up(count: SymExpr, size: int) -> SymExpr:
    """How many pieces of a size there are, with what is left over."""
    return floordiv(count + (size - 1), Const(size, count.dtype))


def _part(extent: SymExpr, first: SSAValue, size: int, dtype: IntegerType) -> SymExpr:
    """How much of a tile of `size` from `first` there is."""
    if extent.constant is not None and extent.constant % size == 0:
        return Const(size, dtype)
    return minimum(extent - Var(first, dtype), Const(size, dtype))


Write = Callable[[LoopBuilder, list[SSAValue]], SSAValue]
"""Builds the value of an element, given where it is along each iterator."""
Place = Callable[[LoopBuilder, list[SSAValue]], tuple[SSAValue, list[SSAValue]]]
"""The buffer that an element is stored in, and where."""


def _at(buffer: SSAValue, rank: int) -> Place:
    """Elements of a buffer that stand where the first iterators say."""
    return lambda inner, v: (buffer, v[:rank])


def _in_row(buffer: SSAValue, i: SSAValue) -> Place:
    """Elements of row i of a buffer of one dimension or two."""
    rank = len(cast(BufferType, buffer.type).dims) - 1
    return lambda inner, v: (buffer, [i, *v[:rank]])


@dataclass(frozen=True)
class _Gathered:
    """What the parts of the keys of all heads give: a row each of maxima, of totals and of mixed values."""

    top: SSAValue
    total: SSAValue
    mixed: SSAValue

    @classmethod
    def of(cls, loops: LoopBuilder, plan: AttentionPlan, count: SymExpr) -> _Gathered:
        """Buffers for so many parts."""
        attention = plan.attention
        rows = [count, plan.queries]
        return cls(
            loops.scratch(rows, element_type(attention.top.buffer)),
            loops.scratch(rows, element_type(attention.total.buffer)),
            loops.scratch([*rows, attention.lane.extent], element_type(attention.mix.buffer)),
        )


@dataclass
class _Tile:
    """A tile of queries, of `rows` from `first`, against all keys."""

    loops: LoopBuilder
    plan: AttentionPlan
    where: Bindings
    first: SSAValue
    rows: SymExpr

    def __post_init__(self) -> None:
        self.attention, loops = self.plan.attention, self.loops
        self.index = self.attention.row.dtype
        queries = self.plan.queries
        self.scores = self._buffer([queries, self.plan.keys], self.attention.scores.buffer, "scores")
        self.top = self._buffer([queries], self.attention.top.buffer, "top")
        self.total = self._buffer([queries], self.attention.total.buffer, "total")
        self.mixed = self._buffer([queries, self.attention.lane.extent], self.attention.mix.buffer, "mixed")
        cloner = loops.cloner(self.where)
        self.batch = [(it.var, cloner(index)) for it, index in self.attention.batch]
        self.piece: SSAValue | None = None
        """The first key of the piece that is looked at, if it is one."""
        self.end = self.attention.column.extent
        """The first key that no query of the tile looks at."""

    def emit(self) -> None:
        """Go over all keys that a query of the tile may look at, and store what was mixed."""
        known = self.attention.column.extent.constant
        if known is not None and known <= self.plan.keys:
            self._only(self._reach()[1])
        else:
            self._several(*self._reach())
            self._each_row(self._norm)
            self._write([(self.rows, False), (self.attention.lane.extent, False)], self._result, self._result_place)
        erase_if_unread(self.mixed)

    def emit_part(self, number: SymExpr, row: SSAValue, gathered: _Gathered) -> None:
        """Go over the keys of a part, and keep what they give in a row; there may be none, and no `top` then."""
        begin, end = self._reach()
        self._several(begin, end, number, self.plan.parts)
        for mine, kept in ((self.before, gathered.top), (self.total, gathered.total), (self.mixed, gathered.mixed)):
            lanes = [(self.attention.lane.extent, False)] if kept is gathered.mixed else []
            self._write(
                [(self.rows, False), *lanes],
                lambda inner, v, mine=mine: inner.load(mine, v),
                lambda inner, v, kept=kept: (kept, [row, *v]),
            )

    def emit_gathered(self, first: SymExpr, gathered: _Gathered) -> None:
        """Put together what the parts gave, whose rows begin with `first`."""
        parts, attention, begin = Const(self.plan.parts, self.index), self.attention, self.loops.value(first)

        def larger(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            old, other = inner.load(self.top, v[:1]), inner.load(gathered.top, [inner.sum(begin, v[1]), v[0]])
            return inner.op(tir.MaxOp(old, other, nnan=True))

        def factor(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return self._power(inner, inner.load(gathered.top, [inner.sum(begin, v[1]), v[0]]), v[0])

        def scaled(sums: SSAValue, kept: SSAValue) -> Write:
            def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
                *place, p = v
                value = inner.load(kept, [inner.sum(begin, p), *place])
                more = inner.op(tir.MulOp(inner.load(self.scores, [place[0], p]), value))
                return inner.op(tir.AddOp(inner.load(sums, place), more))

            return term

        rows, lanes, sums = (self.rows, False), (attention.lane.extent, False), (parts, True)
        self._write([rows, sums], larger, _at(self.top, 1), _begin_of(attention.top))
        self._write([rows, (parts, False)], factor, _at(self.scores, 2))
        self._write([rows, sums], scaled(self.total, gathered.total), _at(self.total, 1), _begin_of(attention.total))
        self._each_row(self._norm)
        mixed, result = scaled(self.mixed, gathered.mixed), (self._result, self._result_place)
        self._write([rows, lanes, sums], mixed, _at(self.mixed, 2), _begin_of(attention.mix), result)
        erase_if_unread(self.mixed)

    def _several(self, begin: SymExpr, end: SymExpr, number: SymExpr | int = 0, parts: int = 1) -> None:
        """Tiles of keys; of so many parts, which take turns, those of one."""
        loops, keys, dtype = self.loops, self.plan.keys, self.index
        self.end = end
        self.before = self._buffer([self.plan.queries], self.attention.top.buffer, "top_before")
        self.factor = self._buffer([self.plan.queries], self.attention.top.buffer, "correction")
        self._start()
        skipped = floordiv(begin, Const(keys, dtype))
        left = _rounded_up(end, keys) - skipped - number
        count = maximum(left if parts == 1 else _rounded_up(left, parts), Const(0, dtype))

        def tile(v: SSAValue) -> None:
            at = loops.value(mul(add(Var(v, dtype) * parts + number, skipped), Const(keys, dtype)), dtype)
            self._step(at, _part(end, at, keys, dtype))

        loops.loop(count, tile, dtype=dtype, name="keys")

    def _reach(self) -> tuple[SymExpr, SymExpr]:
        """From which key on, and before which one, a query of the tile may look at keys."""
        dtype = self.index
        extent = self.attention.column.extent
        first = Var(self.first, dtype)
        lows, highs = reach(self.attention, first, add(first, self.rows - 1))
        begin, end = Const(0, dtype), extent
        for low in lows:
            begin = maximum(begin, self._of_head(low))
        for high in highs:
            end = minimum(end, self._of_head(high))
        if highs:
            end = Var(self.loops.value(maximum(end, Const(0, dtype)), dtype), dtype)
        return minimum(begin, extent), end

    def _of_head(self, bound: SymExpr) -> SymExpr:
        """A bound for the head that the tile is of; what is read for the head is read here."""
        cloner = self.loops.cloner()
        for var, value in self.batch:
            cloner.replace(var, value)
        mine = [v for v in bound.free_vars() if v.value is not None and v.value is not self.first]
        return bound.substitute({v: sym_expr_of(cloner(v.value)) for v in mine if v.value is not None})

    # the steps

    def _only(self, end: SymExpr) -> None:
        """All keys as one tile."""
        at = self.loops.value(Const(0, self.index))
        self._scores(at, end)

        def row(i: SSAValue) -> None:
            self._top(i, end, _begin_of(self.attention.top))
            self._powers(i, end)
            self._sum(i, end, _begin_of(self.attention.total))
            self._norm(i)

        self._each_row(row)
        self._mix(at, end, _begin_of(self.attention.mix), (self._result, self._result_place))

    def _start(self) -> None:
        """Before the first tile of keys."""
        lane = self.attention.lane
        for stage, buffer in ((self.attention.top, self.before), (self.attention.total, self.total)):
            self._write([(self.rows, False)], _begin_of(stage), _at(buffer, 1))
        self._write([(self.rows, False), (lane.extent, False)], _begin_of(self.attention.mix), _at(self.mixed, 2))

    def _step(self, at: SSAValue, extent: SymExpr) -> None:
        """One tile of keys."""
        few = (self.rows.constant or MIN_PANEL_ROWS) < MIN_PANEL_ROWS
        if few:
            self._in_pieces(at, extent, self._asked_scores)
        else:
            self._scores(at, extent)
        self._each_row(lambda i: self._top(i, extent, lambda inner, _: inner.load(self.before, [i])))
        self._write([(self.rows, False)], lambda inner, v: self._correction(inner, v[0]), _at(self.factor, 1))
        self._write([(self.rows, False)], lambda inner, v: inner.load(self.top, [v[0]]), _at(self.before, 1))

        def row(i: SSAValue) -> None:
            self._powers(i, extent)
            self._sum(i, extent, lambda inner, _: self._corrected(inner, self.total, i))

        self._each_row(row)

        def corrected(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return self._corrected(inner, self.mixed, v[0], v[1])

        if few:
            self._write([(self.rows, False), (self.attention.lane.extent, False)], corrected, _at(self.mixed, 2))
            self._in_pieces(at, extent, self._more_mixed)
        else:
            self._mix(at, extent, corrected, None)

    def _each_row(self, body: Callable[[SSAValue], object]) -> None:
        self.loops.loop(self.rows, body, dtype=self.index, name=name_of(self.attention.row.var))

    def _in_pieces(self, at: SSAValue, extent: SymExpr, body: Callable[[SSAValue, SSAValue, SymExpr], object]) -> None:
        """`body` for pieces of a tile of keys: the first key of it, where it is in the tile, and how many there are."""
        loops, dtype = self.loops, self.index

        def piece(begin: SymExpr, size: SymExpr) -> None:
            self.piece = loops.value(add(Var(at, dtype), begin), dtype)
            body(self.piece, loops.value(begin, dtype), size)
            self.piece = None

        mk.full_and_tail(loops, replace(self.attention.column, extent=extent), KEYS_OF_PIECE, piece, "piece")

    def _asked_scores(self, mine: SSAValue, begin: SSAValue, size: SymExpr) -> None:
        """The scores of a piece, while memory brings keys of a later one and the values of this one."""
        self._ask(self._keys_far, mine, KEYS_AHEAD)
        self._ask(self._values_far, mine)
        self._scores(mine, size, begin)

    def _more_mixed(self, mine: SSAValue, begin: SSAValue, size: SymExpr) -> None:
        """o[i, d] = o[i, d] + sum(s[i, j] * V[j, d]) over a piece, while memory brings keys of the next tile."""
        self._ask(self._keys_far, mine, self.plan.keys)
        self._mix_with(None, mine, size, _at_begin(self.mixed), None, begin)

    def _ask(self, loads: Sequence[tuple[tir.LoadOp, Iter]], mine: SSAValue, ahead: int = 0) -> None:
        """Ask for the rows of `KEYS_OF_PIECE` keys, so many behind `mine`, which lie behind each other."""
        loops, dtype, piece = self.loops, self.index, self.piece
        j = loops.value(minimum(Var(mine, dtype) + ahead, self.end - 1), dtype)
        zero = loops.const(0, dtype)
        self.piece = j
        for load, along in loads:
            cloner = self._cloner(loops, zero, j, zero)
            for it, index in self.attention.score_places:
                cloner.replace(it.var, cloner(index))
            *row, _ = (cloner(i) for i in load.indices)
            self._ask_lines(load.buffer, row, mul(along.extent, Const(KEYS_OF_PIECE, dtype)))
        self.piece = piece

    def _ask_lines(self, buffer: SSAValue, row: Sequence[SSAValue], count: SymExpr) -> None:
        """Ask for so many elements from the beginning of a row on."""
        loops, each = self.loops, Const(LINE_BITS // bit_width(element_type(buffer)), self.index)

        def line(v: SSAValue) -> None:
            prefetch(loops.insert, buffer, [*row, loops.value(mul(Var(v, self.index), each))])

        loops.loop(floordiv(count, each), line, dtype=self.index, name="line")

    @property
    def _keys_far(self) -> list[tuple[tir.LoadOp, Iter]]:
        """Loads of keys, and what runs along a row of them."""
        stage, along = self.attention.scores, self.attention.scores.reduce[-1]
        column = self.attention.score_places[-1][0]
        return [(op, along) for op in stage.loads if _is_row(op, along, column)]

    @property
    def _values_far(self) -> list[tuple[tir.LoadOp, Iter]]:
        lane, column = self.attention.lane, self.attention.column
        return [(op, lane) for op in loads_below(self.attention.value) if _is_row(op, lane, column)]

    def _scores(self, at: SSAValue, extent: SymExpr, first: SSAValue | None = None) -> None:
        """s[i, j] = score(sum(Q[i, k] * K[j, k])), those of the keys from `at` on; they stand from `first` on."""
        stage, update = self.attention.scores, self.attention.updates[0]

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = self._cloner(inner, v[0], v[1], at)
            for it, index in self.attention.score_places:
                cloner.replace(it.var, cloner(index))
            for it, k in zip(stage.reduce, v[2:], strict=True):
                cloner.replace(it.var, k)
            cloner.replace(update.old.result, inner.load(*place(inner, v)))
            return cloner(stage.store.value)

        def finished(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = self._cloner(inner, v[0], v[1], at)
            value = inner.load(*place(inner, v))
            for load in self.attention.score_loads:
                cloner.replace(load.result, value)
            score = cloner(self.attention.score)
            if self.attention.allowed is None:
                return score
            least = inner.const(float("-inf"), score.type)
            return inner.op(tir.SelectOp(cloner(self.attention.allowed), score, least))

        def place(inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
            return self.scores, [v[0], v[1] if first is None else inner.sum(first, v[1])]

        iters = [(self.rows, False), (extent, False), *((it.extent, True) for it in stage.reduce)]
        self._write(iters, term, place, _begin_of(stage), (finished, place))

    def _top(self, i: SSAValue, extent: SymExpr, begin: Write) -> None:
        """n[i] = max(m[i], max(s[i]))"""

        def larger(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            old, score = inner.load(self.top, [i]), inner.load(self.scores, [i, v[0]])
            return inner.op(tir.MaxOp(old, score, nnan=True))  # of NaN the powers are NaN, too

        self._write([(extent, True)], larger, _in_row(self.top, i), begin)

    def _correction(self, inner: LoopBuilder, i: SSAValue) -> SSAValue:
        """c[i] = exp(m[i] - n[i])"""
        return self._power(inner, inner.load(self.before, [i]), i)

    def _power(self, inner: LoopBuilder, shifted: SSAValue, i: SSAValue) -> SSAValue:
        """exp(shifted - n[i])"""
        cloner = inner.cloner()
        cloner.replace(self.attention.shifted, shifted)
        self._put_top(cloner, inner.load(self.top, [i]))
        return cloner(self.attention.power.result)

    def _powers(self, i: SSAValue, extent: SymExpr) -> None:
        """s[i, j] = exp(s[i, j] - n[i])"""

        def power(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return self._power(inner, inner.load(self.scores, [i, v[0]]), i)

        self._write([(extent, False)], power, _in_row(self.scores, i))

    def _put_top(self, cloner: Cloner, top: SSAValue) -> None:
        for load in self.attention.top_loads:
            cloner.replace(load.result, top)

    def _sum(self, i: SSAValue, extent: SymExpr, begin: Write) -> None:
        """l[i] = l[i] * c[i] + sum(s[i])"""

        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return inner.op(tir.AddOp(inner.load(self.total, [i]), inner.load(self.scores, [i, v[0]])))

        self._write([(extent, True)], term, _in_row(self.total, i), begin)

    def _norm(self, i: SSAValue) -> None:
        """Nothing to look at: zeros, not 0 / 0."""
        loops = self.loops
        total = loops.load(self.total, [i])
        zero, one = (loops.const(number, total.type) for number in (0.0, 1.0))
        safe = loops.op(tir.SelectOp(loops.op(tir.EqOp(total, zero)), one, total))
        loops.store(safe, self.total, [i])

    def _values(self, at: SSAValue, extent: SymExpr) -> SSAValue:
        """The values of a tile of keys side by side: in the tensor those of the other heads lie between them."""
        values = self._buffer([self.plan.keys, self.attention.lane.extent], self.attention.mix.buffer, "values")

        def value(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            cloner = self._cloner(inner, v[0], v[0], at)
            cloner.replace(self.attention.lane.var, v[1])
            return cloner(self.attention.value)

        self._write([(extent, False), (self.attention.lane.extent, False)], value, _at(values, 2))
        return values

    def _mix(self, at: SSAValue, extent: SymExpr, begin: Write, epilogue: tuple[Write, Place] | None) -> None:
        """o[i, d] = o[i, d] * c[i] + sum(s[i, j] * V[j, d]); few rows do not pay for a copy of the values."""

        def mix(*, copied: bool) -> None:
            values = self._values(at, extent) if copied else None
            self._mix_with(values, at, extent, begin, epilogue)

        if self.rows.constant is not None:
            mix(copied=self.rows.constant >= MIN_PANEL_ROWS)
        else:
            self.loops.branch_at_least(self.rows, MIN_PANEL_ROWS, lambda: mix(copied=True), lambda: mix(copied=False))

    def _mix_with(
        self,
        values: SSAValue | None,
        at: SSAValue,
        extent: SymExpr,
        begin: Write,
        epilogue: tuple[Write, Place] | None,
        first: SSAValue | None = None,
    ) -> None:
        def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            i, d, j = v
            cloner = self._cloner(inner, i, j, at)
            cloner.replace(self.attention.lane.var, d)
            place = j if first is None else inner.sum(first, j)
            cloner.replace(self.attention.weight, inner.load(self.scores, [i, place]))
            if values is not None:
                cloner.replace(self.attention.value, inner.load(values, [j, d]))
            cloner.replace(self.attention.updates[1].old.result, inner.load(self.mixed, [i, d]))
            return cloner(self.attention.mix.store.value)

        iters = [(self.rows, False), (self.attention.lane.extent, False), (extent, True)]
        self._write(iters, term, _at(self.mixed, 2), begin, epilogue)

    def _result(self, inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
        """o[i, d] / l[i], as it is stored."""
        mixed = inner.load(self.mixed, [*v])
        value = inner.op(tir.DivOp(mixed, inner.load(self.total, [v[0]])))
        cloner = self._result_cloner(inner, v)
        cloner.replace(self.attention.read.result, value)
        return cloner(self.attention.result.store.value)

    def _result_place(self, inner: LoopBuilder, v: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
        store = self.attention.result.store
        cloner = self._result_cloner(inner, v)
        return store.buffer, [cloner(index) for index in store.indices]

    # what they are made of

    def _result_cloner(self, inner: LoopBuilder, v: list[SSAValue]) -> Cloner:
        cloner = inner.cloner(self.where)
        cloner.replace(self.attention.result_row.var, inner.sum(self.first, v[0]))
        cloner.replace(self.attention.result_lane.var, v[1])
        return cloner

    def _cloner(self, inner: LoopBuilder, i: SSAValue, j: SSAValue, at: SSAValue) -> Cloner:
        """Copies of expressions for the query i of the tile, and the key j behind `at`."""
        cloner = inner.cloner()
        for var, value in self.batch:
            cloner.replace(var, value)
        cloner.replace(self.attention.row.var, inner.sum(self.first, i))
        cloner.replace(self.attention.column.var, inner.sum(at, j))
        if self.piece is not None:
            self._replace_pages(cloner, inner, i, self.piece)
        return cloner

    def _replace_pages(self, cloner: Cloner, inner: LoopBuilder, i: SSAValue, piece: SSAValue) -> None:
        """Let all keys of a piece read the page of the first one."""
        zero = inner.const(0, self.index)
        for page in self._pages:
            first = inner.cloner()
            for var, value in self.batch:
                first.replace(var, value)
            first.replace(self.attention.row.var, inner.sum(self.first, i))
            first.replace(self.attention.column.var, inner.sum(piece, zero))
            for it, index in self.attention.score_places:
                first.replace(it.var, first(index))
            cloner.replace(page.result, first(page.result))

    @cached_property
    def _pages(self) -> list[tir.LoadOp]:
        """Where it is looked up which rows keys and values are: the same for all keys of a piece."""
        if self.plan.keys % KEYS_OF_PIECE:
            return []
        mixed, scored = self.attention.column, self.attention.score_places[-1][0]
        far = [(load, scored) for load, _ in self._keys_far] + [(load, mixed) for load, _ in self._values_far]
        below = [(page, column) for load, column in far for index in load.indices for page in loads_below(index)]
        return [page for page, column in below if all(_is_of_piece(index, column) for index in page.indices)]

    def _corrected(self, inner: LoopBuilder, buffer: SSAValue, *place: SSAValue) -> SSAValue:
        return inner.op(tir.MulOp(inner.load(buffer, [*place]), inner.load(self.factor, [place[0]])))

    def _buffer(self, shape: Sequence[SymExpr | int], like: SSAValue, name: str) -> SSAValue:
        buffer = self.loops.scratch(shape, element_type(like))
        set_name(buffer, name)
        return buffer

    def _write(
        self,
        iters: Sequence[tuple[SymExpr, bool]],
        value: Write,
        to: Place,
        begin: Write | None = None,
        epilogue: tuple[Write, Place] | None = None,
    ) -> None:
        """Write loops over `iters`, (extent, whether it is a sum): `value` goes to `to`, or where `epilogue` says."""
        stage = _stage_of(iters, self.index, value, to, begin)
        finished = Epilogue(stage)
        if epilogue is not None:
            last = _stage_of([it for it in iters if not it[1]], self.index, *epilogue)
            finished = Epilogue(stage, last, tuple(zip(stage.spatial, last.iters, strict=True)))
        decision = first_fit(rules(), finished, self.plan.machine)
        if decision is None:
            raise TiraxError("no rule fits a tile of attention")
        decision.emit(self.loops)
        for part in dict.fromkeys((finished.stage.root, finished.last.root)):
            part.erase(safe_erase=False)


def _is_row(load: tir.LoadOp, along: Iter, column: Iter) -> bool:
    """Whether a load is of rows in memory, that of a key behind that of the one before."""
    if isinstance(load.buffer.owner, tir.AllocBufferOp) or not is_in_order(load, along) or len(load.indices) < 2:
        return False
    return depends_on(load.indices[-2], [column.var])


def _is_of_piece(index: SSAValue, column: Iter) -> bool:
    """Whether an index is the same for all keys of a piece: a quotient by a multiple of its size, if of keys at all."""
    if not depends_on(index, [column.var]):
        return True
    expr = sym_expr_of(index)
    if not isinstance(expr, Op) or expr.kind != "floordiv" or expr.args[0] != column.expr:
        return False
    return (expr.args[1].constant or 1) % KEYS_OF_PIECE == 0


def _at_begin(buffer: SSAValue) -> Write:
    """What stands there: a sum goes on."""
    return lambda inner, v: inner.load(buffer, v[: len(cast(BufferType, buffer.type).dims)])


def _begin_of(stage: Stage) -> Write:
    """What a reduction begins with."""
    init = stage.init
    assert init is not None
    return lambda inner, _: inner.cloner()(init.value)


def _stage_of(
    iters: Sequence[tuple[SymExpr, bool]], dtype: IntegerType, value: Write, to: Place, begin: Write | None = None
) -> Stage:
    """A stage that stands nowhere, for rules to look at."""
    block = Block(arg_types=[dtype] * len(iters))
    inner = LoopBuilder(block)
    v: list[SSAValue] = list(block.args)
    init = None
    if begin is not None:
        first = Block()
        with inner.inside(first):
            init = _store(inner, v, begin, to)
        inner.insert(tir.InitOp(Region(first)))
    store = _store(inner, v, value, to)
    root = tir.BlockOp("tile", [], Region(block))
    stage_iters = [Iter(var, extent, reduce) for var, (extent, reduce) in zip(v, iters, strict=True)]
    return Stage(root, root, stage_iters, store, init)


def _store(inner: LoopBuilder, v: list[SSAValue], value: Write, to: Place) -> tir.StoreOp:
    buffer, place = to(inner, v)
    store = tir.StoreOp(value(inner, v), buffer, place)
    inner.insert(store)
    return store
