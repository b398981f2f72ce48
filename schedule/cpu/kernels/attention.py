"""Attention: products, softmax and products again, tile by tile, so that the full score matrix is never stored.

    S[i, j] = sum(Q[i, k] * K[j, k])
    M[i] = max(score(S[i, j]))
    L[i] = sum(exp(score(S[i, j]) - M[i]))
    O[i, d] = sum(exp(score(S[i, j]) - M[i]) / L[i] * V[j, d])
        ->
    for each head, for i in N / queries:
        M, L, P = least, 0, 0
        for j in J / keys:
            s[queries, keys] = score(sum(Q[i, k] * K[j, k]))
            m = max(s); s = exp(s - m); l = sum(s)
            n = max(M, m); c = exp(M - n); d = exp(m - n); M = n
            L = L * c + l * d
            P[queries, size] = P * c + sum(s * V[j, d]) * d
        O[i, d] = P / L

`score` is the elementwise function of the sums: a scale, a bias, a mask. Masked elements have no weight, and keys
that are masked for all queries of a tile are skipped. A query without any keys yields zeros. If all keys fit one
tile, nothing is merged.

With few queries there is little to compute per key: keys and values are prefetched piece by piece. Copies of keys
are transposed in registers, so that products are summed in the same order as with many queries. With few heads, too,
the tiles of keys are spread over several threads, and merged in their order at the end:

    for each head, for t in J / keys:  m[t], l[t], o[t] = …                    on several threads
    for each head:  M, L, P = least, 0, 0;  for t in J / keys:  merge m[t], l[t], o[t];  O[i, d] = P / L

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
    KEYS_IN_LANES,
    KEYS_OF_PIECE,
    MANY_HEADS,
    MAX_KEYS,
    MAX_ONLY_QUERIES,
    MIN_KEYS,
    MIN_PANEL_ROWS,
    QUERIES,
)
from .attention_tile import AttentionPlan, Mix, Queries, Scores, Softmax
from .tile_stages import Write, at, previous_value


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
    return AttentionPlan(attention, machine, queries, keys, _in_parts(attention, keys))


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


def _in_parts(attention: Attention, keys: int) -> bool:
    """Return whether the tiles of keys of a head are spread over threads: few queries of few heads use many keys."""
    rows, columns = attention.row.extent.constant, attention.column.extent.constant
    heads = product(it.extent for it in attention.outer).constant
    if rows is None or rows >= MIN_PANEL_ROWS or heads is None or not (columns is None or columns > keys):
        return False
    return heads < MANY_HEADS


def emit_attention(loops: LoopBuilder, plan: AttentionPlan) -> None:
    """Emit the loops of a plan."""
    if plan.in_parts:
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
    """Emit the loops of a plan whose tiles of keys are computed independently of each other."""
    attention, dtype = plan.attention, plan.attention.row.dtype
    extents = [*(it.extent for it in attention.outer), _rounded_up(attention.column.extent, plan.keys)]
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
        tile(where).emit_gathered(first * extents[-1], gathered)

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
    """The results for the tiles of keys of all heads: a row each of maxima, of totals and of weighted values."""

    top: SSAValue
    total: SSAValue
    mixed: SSAValue

    @classmethod
    def of(cls, loops: LoopBuilder, plan: AttentionPlan, count: SymExpr) -> _Gathered:
        """Allocate the buffers for `count` tiles."""
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
        begin, self.queries.end = self._reach()
        known = self.queries.attention.column.extent.constant
        if known is not None and known <= self.queries.plan.keys:
            self._only()
        else:
            self._several(begin)
            self.softmax.norm(self.softmax.merged_total)
            self.mix.store()
        self.mix.erase_unread()

    def emit_part(self, number: SymExpr, row: SSAValue, gathered: _Gathered) -> None:
        """Process a tile of keys if the queries use any of it, and store its results in a row."""
        queries, softmax = self.queries, self.softmax
        begin, queries.end = self._reach()
        used = maximum(minimum(queries.end - begin, self._tiles(queries.end) - number), Const(0, queries.index))
        used = used if begin.constant == 0 else minimum(used, number + 1 - self._skipped(begin))
        parts = (
            (softmax.top, gathered.top, queries.each),
            (softmax.total, gathered.total, queries.each),
            (self.mix.mixed, gathered.mixed, queries.each_lane),
        )

        def process() -> None:
            self._step(*self._keys_of(number))
            for mine, kept, extents in parts:
                self.stages.write(
                    extents,
                    lambda inner, v, mine=mine: inner.load(mine, v),
                    lambda inner, v, kept=kept: (kept, [row, *v]),
                )

        queries.loops.branch_if_any(used, process)

    def emit_gathered(self, first: SymExpr, gathered: _Gathered) -> None:
        """Merge the results for the tiles of keys, whose rows begin with `first`."""
        queries, softmax, mix = self.queries, self.softmax, self.mix
        loops, dtype = queries.loops, queries.index
        begin, queries.end = self._reach()
        softmax.start()
        mix.start()

        def merge(v: SSAValue) -> None:
            row = loops.value(first + self._skipped(begin) + Var(v, dtype), dtype)

            def of(kept: SSAValue) -> Write:
                return lambda inner, v: inner.load(kept, [row, *v])

            softmax.merge(of(gathered.top), of(gathered.total))
            self.stages.write(queries.each_lane, mix.merged_with(of(gathered.mixed)), at(mix.merged, 2))

        loops.loop(self._count(begin), merge, dtype=dtype, name="part")
        softmax.norm(softmax.merged_total)
        mix.store()
        mix.erase_unread()

    def _only(self) -> None:
        """Emit all keys as one tile."""
        queries, first = self.queries, self.queries.loops.value(Const(0, self.queries.index))
        self._scores(first, queries.end)
        self.softmax.step(queries.end)
        self.softmax.norm(self.softmax.total)
        self.mix.add(first, queries.end, self.mix.result)

    def _several(self, begin: SymExpr) -> None:
        """Emit several tiles of keys."""
        loops, dtype = self.queries.loops, self.queries.index
        self.softmax.start()
        self.mix.start()

        def tile(v: SSAValue) -> None:
            first, extent = self._keys_of(Var(v, dtype) + self._skipped(begin))
            if self._is_few:
                self._step(first, extent)
                self.softmax.merge_tile()
                self.mix.merge_tile()
            else:
                self._scores(first, extent)
                self.softmax.step(extent)
                self.softmax.merge_tile()
                self.mix.add(first, extent, self.mix.merging)

        loops.loop(self._count(begin), tile, dtype=dtype, name="keys")

    def _keys_of(self, number: SymExpr) -> tuple[SSAValue, SymExpr]:
        """Return the first key of a tile, and the number of its keys."""
        keys, dtype = self.queries.plan.keys, self.queries.index
        first = self.queries.loops.value(mul(number, Const(keys, dtype)), dtype)
        return first, _part(self.queries.end, first, keys, dtype)

    def _tiles(self, keys: SymExpr) -> SymExpr:
        return _rounded_up(keys, self.queries.plan.keys)

    def _skipped(self, begin: SymExpr) -> SymExpr:
        """Return the number of tiles before the first that is used."""
        return floordiv(begin, Const(self.queries.plan.keys, self.queries.index))

    def _count(self, begin: SymExpr) -> SymExpr:
        """Return the number of tiles that are used."""
        return maximum(self._tiles(self.queries.end) - self._skipped(begin), Const(0, self.queries.index))

    @property
    def _is_few(self) -> bool:
        return (self.queries.rows.constant or MIN_PANEL_ROWS) < MIN_PANEL_ROWS

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
        """Emit one of several tiles of keys, which few queries process in pieces."""
        self._scores(first, extent)
        self.softmax.step(extent)
        self.mix.clear()
        self._in_pieces(first, extent, self._piece_of_mix)

    def _scores(self, first: SSAValue, extent: SymExpr) -> None:
        """Emit the scores of a tile of keys."""
        rows, compute = self.queries.rows, self.scores.compute
        if rows.constant is None:
            self.queries.loops.branch_at_least(
                rows, MIN_PANEL_ROWS, lambda: compute(first, extent), lambda: self._scores_of_few(first, extent)
            )
        elif self._is_few:
            self._scores_of_few(first, extent)
        else:
            compute(first, extent)

    def _scores_of_few(self, first: SSAValue, extent: SymExpr) -> None:
        """Emit the scores of few queries: from copies of keys, or else piece by piece."""
        loops, dtype, keys = self.queries.loops, self.queries.index, self.scores.copied_keys()

        def piece(key: SSAValue, begin: SSAValue, size: SymExpr) -> None:
            self.queries.prefetch_keys(key, KEYS_AHEAD)
            self.queries.prefetch_values(key)
            if keys is None:
                self.scores.compute(key, size, begin)
            else:
                self.scores.copy_keys(keys, key, size, begin)

        def several(v: SSAValue) -> None:
            begin = loops.value(mul(Var(v, dtype), Const(KEYS_IN_LANES, dtype)), dtype)
            size = _part(extent, begin, KEYS_IN_LANES, dtype)
            key = loops.value(add(Var(first, dtype), Var(begin, dtype)), dtype)
            self._in_pieces(key, size, piece)
            self.scores.compute(key, size, begin, keys)

        if keys is None:
            self._in_pieces(first, extent, piece)
        else:
            loops.loop(_rounded_up(extent, KEYS_IN_LANES), several, dtype=dtype, name="keys")

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

    def _piece_of_mix(self, key: SSAValue, begin: SSAValue, size: SymExpr) -> None:
        """Emit o[i, d] = o[i, d] + sum(s[i, j] * V[j, d]) for a piece, while keys of the next tile are prefetched."""
        self.queries.prefetch_keys(key, self.queries.plan.keys)
        self.mix.add_piece(key, size, previous_value(self.mix.mixed), first=begin)
