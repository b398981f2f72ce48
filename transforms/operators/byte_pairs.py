"""Which bytes of a column are multiplied together, so that `vpmaddubsw` gives what a sum of two products is.

It sums a[0] * w[0] + a[1] * w[1] of unsigned a and signed w in 16 bits, and saturates. A pair of weights fits where its
positive ones are 128 together at most, and its negative ones -128 at least: 255 * 128 fits. Of 16 neighbouring rows any
two may be a pair, as bytes of 16 are rearranged by one instruction; all columns of a panel have the same pairs.

The order of the rows is its own inverse: position p holds row order[p], and row k is at position order[k]. For pairs
that are given there is always such one: those of neighbours and those that are given make circles together, and what
turns such a circle around at one of its rows exchanges the two kinds.

A row that fits none of its 16 is cut into halves, one of which stands below all others, with what the row is multiplied
by: x * w = x * h + x * (w - h).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

ROWS = 16
"""So many rows are rearranged among each other."""
_HALF = ROWS // 2
_MOST = 128
_PART = 8
"""At most one in so many rows is cut into halves: more work would take longer than products of words."""
_KEPT = 256


@dataclass(frozen=True)
class PairedBytes:
    """Int8 [..., K, N] the first rows of which are the matrix, `halved` ones but by half, the rest below those.

    `order` is uint8 [N / width, ..., K], rounded up: for each panel, of each row its number among its 16.
    """

    matrix: Array
    order: Array
    halved: list[int]


def paired_bytes(matrix: Array, width: int) -> PairedBytes | None:
    """The pairs of int8 [..., K, N] in panels of `width` columns; None where there are none, or no number of 16s."""
    count = matrix.shape[-2]
    if matrix.dtype != np.int8 or count % ROWS or not matrix.size:
        return None
    halves = _in_halves(matrix, width)
    orders = _of_halves(_fits(halves))
    most, blocks = count // _PART // ROWS * ROWS, halves.reshape(-1, ROWS, width)
    left, halved = np.unique(np.flatnonzero((orders < 0).any(-1)) // 2), set[int]()
    while left.size:
        bits = _as_bits(_fits(_halved(blocks[left], left * ROWS % count, halved)))
        again: list[int] = []
        for block, fits in zip(left.tolist(), bits, strict=True):
            partners, first = _matching(fits), block * ROWS % count
            if partners is None:
                again.append(block)
                halved.update(first + row for row in _alone(fits))
            else:
                orders[2 * block : 2 * block + 2] = np.reshape(_pair_order(partners), (2, _HALF))
                orders[2 * block + 1] -= _HALF
        if len(halved) > most:
            return None
        left = np.array(again, np.int64)
    orders[1::2] += _HALF
    *outer, rows, _ = matrix.shape
    order = orders.astype(np.uint8).reshape(-1, *outer, rows)
    return _below(matrix, order, sorted(halved), width)


def order_of(matrix: Array, width: int) -> Array | None:
    """The order of the rows of a matrix that `paired_bytes` gave, or that needs no halves."""
    if matrix.dtype != np.int8:
        return None
    key = _key(matrix, width)
    if key not in _known:
        paired = paired_bytes(matrix, width)
        return None if paired is None or paired.halved else paired.order
    return _known[key]


_known: OrderedDict[Any, Array] = OrderedDict()
"""Weights are asked for twice: whether there is an order, and what it is."""


def _key(matrix: Array, width: int) -> tuple[bytes, tuple[int, ...], int]:
    return hashlib.blake2b(np.ascontiguousarray(matrix).data).digest(), matrix.shape, width


def _below(matrix: Array, order: Array, halved: list[int], width: int) -> PairedBytes:
    """A matrix with what is left of the rows that are halves now below: any two of these fit."""
    *outer, count, columns = matrix.shape
    more = -(-len(halved) // ROWS) * ROWS
    wide = np.zeros((*outer, count + more, columns), np.int8)
    wide[..., :count, :] = matrix
    half = _larger_half(matrix[..., halved, :])
    wide[..., halved, :] = half
    wide[..., count : count + len(halved), :] = matrix[..., halved, :] - half
    natural = np.broadcast_to(np.arange(more, dtype=np.uint8) % ROWS, (*order.shape[:-1], more))
    paired = PairedBytes(wide, np.concatenate([order, natural], axis=-1), halved)
    _known[_key(wide, width)] = paired.order
    if len(_known) > _KEPT:
        _known.popitem(last=False)
    return paired


def _larger_half(numbers: Array) -> Array:
    """The half of each that is further from 0, or as far: -64 to 64."""
    return numbers - (numbers / np.float32(2)).astype(np.int8)


def _halved(blocks: Array, first: Array, rows: set[int]) -> Array:
    """Blocks [n, 16, width], which begin with rows `first`, with halves of `rows`."""
    own = np.isin(first[:, None] + np.arange(ROWS), sorted(rows))
    return np.where(own[..., None], _larger_half(blocks), blocks)


def _in_halves(matrix: Array, width: int) -> Array:
    """Int8 [..., K, N] -> [n, 8, width]: for each panel 8 rows after the other, zeros where there are no columns."""
    *outer, rows, columns = matrix.shape
    count = -(-columns // width)
    padded = np.zeros((*outer, rows, count * width), np.int8)
    padded[..., :columns] = matrix
    panels = np.moveaxis(padded.reshape(*outer, rows, count, width), -2, 0)
    return np.ascontiguousarray(panels).reshape(-1, _HALF, width)


def _fits(blocks: Array) -> Array:
    """Whether two rows of a block [n, rows, width] may be a pair: [rows, rows, n]."""
    by_row = np.ascontiguousarray(blocks.transpose(1, 2, 0))
    above, below = np.maximum(by_row, 0).view(np.uint8), np.negative(np.minimum(by_row, 0)).view(np.uint8)
    left_above, left_below = _MOST - above, _MOST - below
    rows, _, count = by_row.shape
    fits = np.zeros((rows, rows, count), bool)
    for i in range(rows):
        for j in range(i + 1, rows):
            clash = (above[i] > left_above[j]) | (below[i] > left_below[j])
            fits[i, j] = fits[j, i] = ~np.logical_or.reduce(clash, axis=0)
    return fits


def _of_halves(fits: Array) -> Array:
    """The order of each block of 8 rows, -1 where it has none."""
    orders = np.full((fits.shape[-1], _HALF), -1, np.int16)
    left = np.arange(len(orders))
    for partners, order in _HALVES:
        pairs = [(i, j) for i, j in enumerate(partners) if i < j]
        good = np.logical_and.reduce([fits[i, j] for i, j in pairs])
        orders[left[good]] = order
        left, fits = left[~good], fits[..., ~good]
        if not left.size:
            break
    return orders


def _as_bits(fits: Array) -> list[list[int]]:
    """For each block and row the rows that may be its partner, as bits of a number."""
    return np.tensordot(1 << np.arange(len(fits)), fits, axes=(0, 0)).T.tolist()


def _matching(fits: Sequence[int]) -> list[int] | None:
    """The partner of each row where all have one; the row with the fewest to choose from is the next to choose."""
    partners = [-1] * len(fits)

    def choose(left: int) -> bool:
        if not left:
            return True
        first = _pickiest(fits, left)
        for other in _rows(fits[first] & left):
            if choose(left & ~(1 << first | 1 << other)):
                partners[first], partners[other] = other, first
                return True
        return False

    return partners if choose((1 << len(fits)) - 1) else None


def _alone(fits: Sequence[int]) -> list[int]:
    """Rows that are left where each, those with the fewest to choose from first, takes the one with the fewest."""
    left, alone = (1 << len(fits)) - 1, list[int]()
    while left:
        first = _pickiest(fits, left)
        others = fits[first] & left
        if others:
            left &= ~(1 << min(_rows(others), key=lambda i: (fits[i] & left).bit_count()))
        else:
            alone.append(first)
        left &= ~(1 << first)
    return alone


def _pickiest(fits: Sequence[int], left: int) -> int:
    return min(_rows(left), key=lambda i: (fits[i] & left).bit_count())


def _rows(bits: int) -> list[int]:
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def _pair_order(partners: Sequence[int]) -> list[int]:
    """The order, its own inverse, in which rows that are partners are neighbours."""
    order = [-1] * len(partners)
    for start in range(len(partners)):
        if order[start] >= 0:
            continue
        order[start], a, b = start, start ^ 1, partners[start]
        while order[a] < 0:
            order[a], order[b] = b, a
            a, b = b ^ 1, partners[a]
    return order


def _all_pairs(left: Sequence[int]) -> Iterator[dict[int, int]]:
    """All ways to make pairs of rows, that of neighbours first."""
    if not left:
        yield {}
        return
    first, *others = left
    for other in others:
        for rest in _all_pairs([n for n in others if n != other]):
            yield {first: other, other: first, **rest}


_PARTNERS = [[pairing[i] for i in range(_HALF)] for pairing in _all_pairs(range(_HALF))]
_HALVES = [(partners, _pair_order(partners)) for partners in _PARTNERS]
"""The partners of 8 rows, and their order."""
