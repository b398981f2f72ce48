"""Attention to a paged KV cache, and rotary embedding.

The cache has pages of `size` positions for every layer: (layers, pages, heads, size, head size). Position p
of a sequence is row p % size of page `table[sequence, p // size]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f32, i64

from ...diagnostics import ShapeError
from ...dialects.sym.expr import Const, SymExpr, floordiv, mul
from ...handles.tir import limits, math_functions
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te.axis import reduce_axis
from ...te.reduction import sum as sum_of
from ...te.tensor import Tensor, compute
from ...topi import reduction as rd

Element = Callable[[PrimExpr, PrimExpr, PrimExpr, PrimExpr], PrimExpr]


def angles(starts: Tensor, frequencies: Tensor, length: SymExpr, magnitude: float = 1.0) -> list[Tensor]:
    """Return cosines and sines of the positions from `starts[sequence]` on, times `magnitude`.

    Both are (sequences, length, planes), float32.
    """
    dims = [starts.dims[0], length, frequencies.dims[0]]

    def angle(b: PrimExpr, i: PrimExpr, plane: PrimExpr) -> PrimExpr:
        return (starts(b).astype(i64) + i).astype(f32) * frequencies(plane)

    def scaled(x: PrimExpr) -> PrimExpr:
        return x if magnitude == 1.0 else x * tx.const(magnitude, x.type)

    cosines = compute(dims, lambda *i: scaled(math_functions.cos(angle(*i))), "cosines")
    return [cosines, compute(dims, lambda *i: scaled(math_functions.sin(angle(*i))), "sines")]


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate each head of `x` (sequences, length, heads, size) in the planes of its numbers i and i + planes.

    The result has heads first: (sequences, heads, length, size). Numbers past the first 2 * planes are
    unchanged.
    """
    planes = cosines.dims[2]

    def element(b: PrimExpr, h: PrimExpr, i: PrimExpr, d: PrimExpr) -> PrimExpr:
        half = from_sym(planes)
        second = tx.floordiv(d, half)
        plane = tx.floormod(d, half)
        other = tx.floormod(1 - second, 2) * half + plane
        sign = (second * 2 - 1).astype(x.type)
        turned = x(b, i, h, d) * cosines(b, i, plane) + sign * x(b, i, h, other) * sines(b, i, plane)
        return turned if is_full else tx.if_then_else(d < half * 2, turned, x(b, i, h, d))

    is_full = planes * 2 == x.dims[3]
    return compute([x.dims[0], x.dims[2], x.dims[1], x.dims[3]], element, "turned")


def paged_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    table: Tensor,
    starts: Tensor,
    layer: PrimExpr,
    *,
    scale: float,
    causal: bool,
    window: int | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Compute softmax(softcap(query · keyᵀ * scale)) · value over the cached positions up to that of the query.

    `query` is (sequences, heads, rows, size); its number of heads is a multiple of the cache's. Its first row
    is at position `starts[sequence]`; with `causal`, each further row is one position later, else all are at
    that position. A query attends to its own position and the `window` - 1 before it, or to all before it if
    `window` is None. The softcap is c * tanh(x / c).
    """
    sequences, heads, rows, size = query.dims
    page, columns = _columns(keys, table)
    each = _heads_served(heads, keys.dims[2])

    def cached(pool: Tensor, b: PrimExpr, h: PrimExpr, j: PrimExpr, d: PrimExpr) -> PrimExpr:
        place = table(b, tx.floordiv(j, page))
        return pool(layer, place, tx.floordiv(h, each), tx.floormod(j, page), d).astype(query.type)

    k = reduce_axis((0, size), "k")
    dims = [sequences, heads, rows, columns]
    products = compute(dims, lambda b, h, i, j: sum_of(query(b, h, i, k) * cached(keys, b, h, j, k), axis=k), "scores")
    scores = compute(dims, lambda *i: _capped(products(*i) * tx.const(scale, query.type), softcap), "capped")

    def allowed(i: Sequence[PrimExpr]) -> PrimExpr:
        own = starts(i[0]).astype(i64) + (i[2] if causal else 0)
        up_to = i[3] < own + 1
        return up_to if window is None else tx.logical_and(up_to, i[3] >= own - (window - 1))

    weights = _masked_softmax(scores, allowed)
    j = reduce_axis((0, columns), "j")
    dims = [sequences, heads, rows, values.dims[4]]
    mixed = compute(dims, lambda b, h, i, d: sum_of(weights(b, h, i, j) * cached(values, b, h, j, d), axis=j), "mixed")
    return compute(dims, lambda *i: mixed(*i), "attention")  # what is computed tile by tile ends in a stage of its own


def _columns(keys: Tensor, table: Tensor) -> tuple[int, SymExpr]:
    """Return the positions in a page, and the pages of the table. Raises `ShapeError` if the former is not constant."""
    page = keys.dims[3].constant
    if page is None:
        raise ShapeError("pages are of a known size", found=keys.dims[3])
    return page, mul(table.dims[1], Const(page, table.dims[1].dtype))


def _heads_served(heads: SymExpr, kv_heads: SymExpr) -> PrimExpr:
    return from_sym(floordiv(heads, kv_heads))


def _capped(score: PrimExpr, softcap: float | None) -> PrimExpr:
    if softcap is None:
        return score
    most = tx.const(softcap, score.type)
    return most * math_functions.tanh(tx.div(score, most))


def _masked_softmax(scores: Tensor, allowed: Callable[[Sequence[PrimExpr]], PrimExpr]) -> Tensor:
    """Return the softmax over the allowed elements of each row, and 0 for the others."""
    least, zero = limits.min_value(scores.type), tx.const(0, scores.type)
    axis = scores.ndim - 1
    masked = compute(scores.dims, lambda *i: tx.select(allowed(i), scores(*i), least), "masked")
    top = rd.at_least_lowest(masked, axis, keepdims=True)
    powers = compute(
        scores.dims, lambda *i: tx.select(allowed(i), math_functions.exp(masked(*i) - top(*i[:-1], 0)), zero), "powers"
    )
    total = rd.sum(powers, axis, keepdims=True)

    def weight(*i: PrimExpr) -> PrimExpr:
        denominator = total(*i[:-1], 0)
        return tx.div(powers(*i), tx.select(tx.equal(denominator, zero), tx.const(1, denominator.type), denominator))

    return compute(scores.dims, weight, "weights")
