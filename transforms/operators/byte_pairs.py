"""Pairing of the rows of byte matrices such that `vpmaddubsw` computes sums of two products exactly.

The instruction sums a[0] * w[0] + a[1] * w[1] of unsigned a and signed w in 16 bits, with saturation. A pair of weights
fits if its positive ones add up to at most 128, and its negative ones to at least -128: 255 * 128 fits. Any two of 16
adjacent rows may be a pair, because one instruction shuffles 16 bytes; all columns of a panel have the same pairs.

The row order is its own inverse: position p holds row order[p], and row k is at position order[k]. Such an order exists
for every pairing: the pairs of neighbors and the given pairs form cycles together, and reversing each cycle at one of
its rows exchanges the two kinds.

A row that fits no other of its 16 is split into halves, one of which is appended below all rows, with a copy of its
operand: x * w = x * h + x * (w - h).
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
"""The number of rows that are shuffled together."""
_HALF = ROWS // 2
_MOST = 128
_PART = 8
"""At most one in this many rows is split into halves: more would be slower than products of 16-bit words."""
_KEPT = 256


@dataclass(frozen=True)
class PairedBytes:
    """Int8 [..., K, N]: the rows of the matrix, with `halved` ones replaced by one half, and the other halves below.

    `order` is uint8 [N / width, ..., K], rounded up: for each panel and row its position among its 16 rows.
    """

    matrix: Array
    order: Array
    halved: list[int]


def paired_bytes(matrix: Array, width: int) -> PairedBytes | None:
    """Return the pairing of int8 [..., K, N] in panels of `width` columns, or None; K must be a multiple of 16."""
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
    """Return the row order of a matrix from `paired_bytes`, or of one that needs no halves."""
    if matrix.dtype != np.int8:
        return None
    key = _key(matrix, width)
    if key not in _known:
        paired = paired_bytes(matrix, width)
        return None if paired is None or paired.halved else paired.order
    return _known[key]


_known: OrderedDict[Any, Array] = OrderedDict()
"""Cached orders: weights are looked up twice, for the existence of an order and for the order itself."""


def _key(matrix: Array, width: int) -> tuple[bytes, tuple[int, ...], int]:
    return hashlib.blake2b(np.ascontiguousarray(matrix).data).digest(), matrix.shape, width


def _below(matrix: Array, order: Array, halved: list[int], width: int) -> PairedBytes:
    """Append the other halves of the split rows below the matrix: any two of these fit."""
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
    """Return the half of each number that is further from 0, or as far: -64 to 64."""
    return numbers - (numbers / np.float32(2)).astype(np.int8)


def _halved(blocks: Array, first: Array, rows: set[int]) -> Array:
    """Return blocks [n, 16, width], which begin with rows `first`, with `rows` halved."""
    own = np.isin(first[:, None] + np.arange(ROWS), sorted(rows))
    return np.where(own[..., None], _larger_half(blocks), blocks)


def _in_halves(matrix: Array, width: int) -> Array:
    """Reshape int8 [..., K, N] to [n, 8, width]: for each panel groups of 8 rows, padded with zero columns."""
    *outer, rows, columns = matrix.shape
    count = -(-columns // width)
    padded = np.zeros((*outer, rows, count * width), np.int8)
    padded[..., :columns] = matrix
    panels = np.moveaxis(padded.reshape(*outer, rows, count, width), -2, 0)
    return np.ascontiguousarray(panels).reshape(-1, _HALF, width)


def _fits(blocks: Array) -> Array:
    """Return whether two rows of a block [n, rows, width] may be a pair: [rows, rows, n]."""
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
    """Return the order of each block of 8 rows, -1 if it has none."""
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
    """Return for each block and row the possible partners as a bit mask."""
    return np.tensordot(1 << np.arange(len(fits)), fits, axes=(0, 0)).T.tolist()


def _matching(fits: Sequence[int]) -> list[int] | None:
    """Return the partner of each row if all have one; rows with the fewest options choose first."""
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
    """Return the rows left over if each row, fewest options first, takes the partner with the fewest options."""
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
    """Return the self-inverse order that makes partners adjacent."""
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
    """Yield all pairings of the rows, that of neighbors first."""
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
