"""Attention: products, softmax and products again, tile by tile, so that the full score matrix is never stored.

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

`score` is the elementwise function of the sums: a scale, a bias, a mask. Masked elements have no weight, and keys
that are masked for all queries of a tile are skipped. A query without any keys yields zeros. If all keys fit one
tile, the correction by c is omitted.

With few queries there is little to compute per key: keys and values are prefetched piece by piece. With few heads,
too, the keys of each head are divided into parts, whose results are combined at the end:

    for each head, for p in parts:  m[p], l[p], o[p] = …                    on several threads
    for each head:                  m = max(m[p]); c[p] = exp(m[p] - m);  O[i, d] = sum(o[p] * c[p]) / sum(l[p] * c[p])

The stages of a tile (`attention_tile`) are emitted by the rules for other stages: both products by microkernels,
with keys transposed in registers while they are copied into a panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr, Var, add, floordiv, mul, product
from ....dialects.sym.operators import maximum, minimum
from ...loop_builder import Bindings, LoopBuilder, unfused
from ..analysis.plan import Machine
from ..analysis.stages import element_type
from ..library import microkernel as mk
from ..library.attention_form import Attention, attention_of, reach
from ..policy.limits import (
    CAUSAL_QUERIES,
    FEW_CAUSAL_QUERIES,
    KEYS_AHEAD,
    KEYS_OF_PART,
    KEYS_OF_PIECE,
    MAX_KEYS,
    MAX_ONLY_QUERIES,
    MIN_KEYS,
    MIN_PANEL_ROWS,
    PARTS_OF_KEYS,
    QUERIES,
)
from .attention_tile import AttentionPlan, Mix, Queries, Scores, Softmax
from .tile_stages import Write, at, begin_of, previous_value


def plan_attention(func: tir.FuncOp, machine: Machine) -> AttentionPlan | None:
    """Return the plan for the attention that a function computes, or None if it computes none.

    The stages in between are inlined.
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
    """Return the number of rows of a tile; fewer if a mask `ends` their keys, so that more keys are skipped."""
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
    """Return the number of parts into which the keys of a head are divided; more than one if few queries use many
    keys.
    """
    rows, columns = attention.row.extent.constant, attention.column.extent.constant
    heads = product(it.extent for it in attention.outer).constant
    if rows is None or rows >= MIN_PANEL_ROWS or heads is None or not (columns is None or columns > keys):
        return 1
    return max(1, -(-PARTS_OF_KEYS // max(1, heads)))


def emit_attention(loops: LoopBuilder, plan: AttentionPlan) -> None:
    """Emit the loops of a plan."""
    if plan.parts > 1:
        _emit_parts(loops, plan)
        return
    row, size = plan.attention.row, plan.queries

    def head(where: Bindings) -> None:
        def tile(v: SSAValue) -> None:
            first = loops.value(mul(Var(v, row.dtype), Const(size, row.dtype)))
            _Tile(Queries(loops, plan, where, first, _part(row.extent, first, size, row.dtype))).emit()

        count = floordiv(add(row.extent, size - 1), Const(size, row.dtype))
        loops.loop(count, tile, dtype=row.dtype, name="queries")

    loops.nest(plan.attention.outer, {}, head)


def _emit_parts(loops: LoopBuilder, plan: AttentionPlan) -> None:
    """Emit the loops of a plan that divides the keys of a head into parts."""
    attention, dtype = plan.attention, plan.attention.row.dtype
    extents = [*(it.extent for it in attention.outer), Const(plan.parts, dtype)]
    gathered = _Gathered.of(loops, plan, product(extents))

    def tile(where: Bindings) -> _Tile:
        return _Tile(Queries(loops, plan, where, loops.value(Const(0, dtype)), attention.row.extent))

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
    """Return the number of pieces of a size, rounded up."""
    return floordiv(count + (size - 1), Const(size, count.dtype))


def _part(extent: SymExpr, first: SSAValue, size: int, dtype: IntegerType) -> SymExpr:
    """Return the number of elements of a tile of `size` from `first`, which may be the last one."""
    if extent.constant is not None and extent.constant % size == 0:
        return Const(size, dtype)
    return minimum(extent - Var(first, dtype), Const(size, dtype))


@dataclass(frozen=True)
class _Gathered:
    """The results for the parts of the keys of all heads: a row each of maxima, of totals and of weighted values."""

    top: SSAValue
    total: SSAValue
    mixed: SSAValue

    @classmethod
    def of(cls, loops: LoopBuilder, plan: AttentionPlan, count: SymExpr) -> _Gathered:
        """Allocate the buffers for `count` parts."""
        attention = plan.attention
        rows = [count, plan.queries]
        return cls(
            loops.scratch(rows, element_type(attention.top.buffer)),
            loops.scratch(rows, element_type(attention.total.buffer)),
            loops.scratch([*rows, attention.lane.extent], element_type(attention.mix.buffer)),
        )


class _Tile:
    """A tile of queries against all keys, or against the keys of a part."""

    def __init__(self, queries: Queries):
        self.queries, self.stages = queries, queries.stages
        self.scores = Scores(queries)
        self.softmax = Softmax(self.scores)
        self.mix = Mix(self.softmax)
        queries.find_head()

    def emit(self) -> None:
        """Iterate over the keys that the tile's queries may use, and store the result."""
        known = self.queries.attention.column.extent.constant
        if known is not None and known <= self.queries.plan.keys:
            self._only(self._reach()[1])
        else:
            self._several(*self._reach())
            self.queries.each_row(self.softmax.norm)
            self.mix.store()
        self.mix.erase_unread()

    def emit_part(self, number: SymExpr, row: SSAValue, gathered: _Gathered) -> None:
        """Iterate over the keys of a part, and store its results in a row. A part without keys has no `top`."""
        queries, softmax = self.queries, self.softmax
        self._several(*self._reach(), number, queries.plan.parts)
        parts = (
            (softmax.before, gathered.top, queries.each),
            (softmax.total, gathered.total, queries.each),
            (self.mix.mixed, gathered.mixed, queries.each_lane),
        )
        for mine, kept, extents in parts:
            self.stages.write(
                extents,
                lambda inner, v, mine=mine: inner.load(mine, v),
                lambda inner, v, kept=kept: (kept, [row, *v]),
            )

    def emit_gathered(self, first: SymExpr, gathered: _Gathered) -> None:
        """Combine the results of the parts, whose rows begin with `first`."""
        queries, softmax, mix = self.queries, self.softmax, self.mix
        attention, factors, begin = queries.attention, self.scores.buffer, queries.loops.value(first)
        parts = Const(queries.plan.parts, queries.index)

        def larger(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            old, other = inner.load(softmax.top, v[:1]), inner.load(gathered.top, [inner.sum(begin, v[1]), v[0]])
            return inner.op(tir.MaxOp(old, other, nnan=True))

        def factor(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
            return softmax.power(inner, inner.load(gathered.top, [inner.sum(begin, v[1]), v[0]]), v[0])

        def scaled(sums: SSAValue, kept: SSAValue) -> Write:
            def term(inner: LoopBuilder, v: list[SSAValue]) -> SSAValue:
                *place, p = v
                value = inner.load(kept, [inner.sum(begin, p), *place])
                more = inner.op(tir.MulOp(inner.load(factors, [place[0], p]), value))
                return inner.op(tir.AddOp(inner.load(sums, place), more))

            return term

        write, rows, total, mixed = self.stages.write, queries.each, softmax.total, mix.mixed
        write([*rows, (parts, True)], larger, at(softmax.top, 1), begin_of(attention.top))
        write([*rows, (parts, False)], factor, at(factors, 2))
        write([*rows, (parts, True)], scaled(total, gathered.total), at(total, 1), begin_of(attention.total))
        queries.each_row(softmax.norm)
        extents, term = [*queries.each_lane, (parts, True)], scaled(mixed, gathered.mixed)
        write(extents, term, at(mixed, 2), begin_of(attention.mix), mix.result)
        mix.erase_unread()

    def _only(self, end: SymExpr) -> None:
        """Emit all keys as one tile."""
        first = self.queries.loops.value(Const(0, self.queries.index))
        self.scores.compute(first, end)
        self.queries.each_row(lambda i: self.softmax.only(i, end))
        self.mix.add(first, end, begin_of(self.queries.attention.mix), self.mix.result)

    def _several(self, begin: SymExpr, end: SymExpr, number: SymExpr | int = 0, parts: int = 1) -> None:
        """Emit several tiles of keys; with `parts`, those of one part, which takes every `parts`-th tile."""
        loops, keys, dtype = self.queries.loops, self.queries.plan.keys, self.queries.index
        self.queries.end = end
        self.softmax.start()
        self.mix.start()
        skipped = floordiv(begin, Const(keys, dtype))
        left = _rounded_up(end, keys) - skipped - number
        count = maximum(left if parts == 1 else _rounded_up(left, parts), Const(0, dtype))

        def tile(v: SSAValue) -> None:
            first = loops.value(mul(add(Var(v, dtype) * parts + number, skipped), Const(keys, dtype)), dtype)
            self._step(first, _part(end, first, keys, dtype))

        loops.loop(count, tile, dtype=dtype, name="keys")

    def _reach(self) -> tuple[SymExpr, SymExpr]:
        """Return the first key, and the end of the keys, that the tile's queries may use."""
        queries, attention, dtype = self.queries, self.queries.attention, self.queries.index
        extent, first = attention.column.extent, Var(queries.first, dtype)
        lows, highs = reach(attention, first, add(first, queries.rows - 1))
        begin, end = Const(0, dtype), extent
        for low in lows:
            begin = maximum(begin, queries.of_head(low))
        for high in highs:
            end = minimum(end, queries.of_head(high))
        if highs:
            end = Var(queries.loops.value(maximum(end, Const(0, dtype)), dtype), dtype)
        return minimum(begin, extent), end

    def _step(self, first: SSAValue, extent: SymExpr) -> None:
        """Emit one of several tiles of keys; few queries process it in pieces."""
        if (self.queries.rows.constant or MIN_PANEL_ROWS) < MIN_PANEL_ROWS:
            self._in_pieces(first, extent, self._piece_of_scores)
            self.softmax.step(extent)
            self.mix.correct()
            self._in_pieces(first, extent, self._piece_of_mix)
        else:
            self.scores.compute(first, extent)
            self.softmax.step(extent)
            self.mix.add(first, extent, self.mix.corrected)

    def _in_pieces(
        self, first: SSAValue, extent: SymExpr, body: Callable[[SSAValue, SSAValue, SymExpr], object]
    ) -> None:
        """Emit `body` for pieces of a tile of keys: the first key, its position in the tile, and the number of keys."""
        queries, loops, dtype = self.queries, self.queries.loops, self.queries.index

        def piece(begin: SymExpr, size: SymExpr) -> None:
            queries.piece = loops.value(add(Var(first, dtype), begin), dtype)
            body(queries.piece, loops.value(begin, dtype), size)
            queries.piece = None

        mk.full_and_tail(loops, replace(queries.attention.column, extent=extent), KEYS_OF_PIECE, piece, "piece")

    def _piece_of_scores(self, key: SSAValue, begin: SSAValue, size: SymExpr) -> None:
        """Compute the scores of a piece, while the keys of a later piece and the values of this one are prefetched."""
        self.queries.prefetch_keys(key, KEYS_AHEAD)
        self.queries.prefetch_values(key)
        self.scores.compute(key, size, begin)

    def _piece_of_mix(self, key: SSAValue, begin: SSAValue, size: SymExpr) -> None:
        """Emit o[i, d] = o[i, d] + sum(s[i, j] * V[j, d]) for a piece, while keys of the next tile are prefetched."""
        self.queries.prefetch_keys(key, self.queries.plan.keys)
        self.mix.add_piece(key, size, previous_value(self.mix.mixed), first=begin)
