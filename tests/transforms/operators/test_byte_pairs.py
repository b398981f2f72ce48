"""Pairs of rows whose products fit into 16 bits: that they do, that nothing is lost, and when there are none."""

import numpy as np
import pytest

from tirax.transforms.operators import byte_pairs
from tirax.transforms.operators.byte_pairs import ROWS, order_of, paired_bytes
from tirax.transforms.operators.pack_dots import in_panels

RNG = np.random.default_rng(5)
WIDTH = 16


def normal(*shape, deviation=36):
    return np.clip(np.round(RNG.standard_normal(shape) * deviation), -127, 127).astype(np.int8)


def with_large_rows(*shape, rows):
    matrix = normal(*shape, deviation=20)
    matrix[..., rows, :] = RNG.choice(np.array([-128, -127, 127], np.int8), (*shape[:-2], len(rows), shape[-1]))
    return matrix


MATRICES = {
    "zeros": (np.zeros((16, 16), np.int8), 0),
    "normal": (normal(64, 48), 0),
    "one column": (normal(32, 1), 0),
    "a part of a panel": (normal(48, 40), 0),
    "taps": (normal(3, 3, 32, 24), 0),
    "in any order but that of neighbours": (np.repeat(np.array([[100, 1], [1, 100]] * 8, np.int8), 8, axis=1), 0),
    "ends": (np.tile(np.array([[127], [-128], [1], [0]], np.int8), (4, 16)), 0),
    "large rows": (with_large_rows(128, 64, rows=[3, 4, 5, 77]), 4),
    "large channels": (with_large_rows(2, 2, 160, 20, rows=[0, 159]), 2),
}


@pytest.mark.parametrize("case", MATRICES)
def test_pairs_fit(case):
    """All sums of two products with bytes up to 255 fit, and the rows that are halves give what they were together."""
    matrix, least = MATRICES[case]
    actual = paired_bytes(matrix, WIDTH)
    rows, count = matrix.shape[-2], -(-matrix.shape[-1] // WIDTH)
    assert (len(actual.halved) >= least) and (least > 0 or not actual.halved)
    assert actual.matrix.shape[-2] == rows + -(-len(actual.halved) // ROWS) * ROWS
    together = actual.matrix[..., :rows, :].astype(int)
    together[..., actual.halved, :] += actual.matrix[..., rows : rows + len(actual.halved), :]
    assert (together == matrix).all() and not actual.matrix[..., rows + len(actual.halved) :, :].any()

    assert actual.order.shape == (count, *actual.matrix.shape[:-1]) and actual.order.dtype == np.uint8
    by_block = actual.order.reshape(-1, ROWS).astype(int)
    assert (np.take_along_axis(by_block, by_block, -1) == np.arange(ROWS)).all()
    panels = in_panels(actual.matrix, WIDTH, 4, actual.order)
    pairs = panels.reshape(*panels.shape[:-1], WIDTH, 2, 2).astype(int)
    assert (255 * np.maximum(pairs, 0).sum(-1)).max() <= 32767
    assert (255 * np.minimum(pairs, 0).sum(-1)).min() >= -32768
    assert (order_of(actual.matrix, WIDTH) == actual.order).all()


def test_neighbours_stay_where_they_fit():
    assert (paired_bytes(normal(32, 16, deviation=10), WIDTH).order == np.arange(32) % ROWS).all()


def test_none():
    """Large weights everywhere, depths that are no 16s, other dtypes, nothing at all."""
    assert paired_bytes(np.full((64, 16), 127, np.int8), WIDTH) is None
    assert order_of(np.full((64, 16), 127, np.int8), WIDTH) is None
    assert order_of(MATRICES["large rows"][0], WIDTH) is None  # with halves only
    assert paired_bytes(normal(24, 16), WIDTH) is None
    assert paired_bytes(normal(32, 16).astype(np.int16), WIDTH) is None
    assert order_of(normal(32, 16).astype(np.int16), WIDTH) is None
    assert paired_bytes(np.zeros((0, 16), np.int8), WIDTH) is None
    assert paired_bytes(np.zeros((16, 0), np.int8), WIDTH) is None


def test_pairs_that_one_choice_would_miss():
    """16 rows with one way to make pairs, in which rows of the two halves meet."""
    partner = [(i + 8) % ROWS for i in range(ROWS)]
    matrix = np.zeros((ROWS, 120), np.int8)
    others = [(i, j) for i in range(ROWS) for j in range(i + 1, ROWS) if partner[i] != j]
    for column, (i, j) in enumerate(others):
        matrix[[i, j], column] = 100
    actual = paired_bytes(matrix, 120)
    order = actual.order[0]
    assert not actual.halved and all(partner[order[2 * n]] == order[2 * n + 1] for n in range(8))


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(byte_pairs, "_KEPT", 2)
    for _ in range(4):
        paired_bytes(normal(16, 16), WIDTH)
    assert len(byte_pairs._known) <= 256
