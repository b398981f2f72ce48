"""Arrays of terms, where all numbers are known beside numpy, and where none are beside the laws."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.proof.algebra import Level, algebra_of
from tirax.proof.functions import load
from tirax.proof.terms import NotCoveredError, Terms

BITS, REASSOCIATED, REAL = map(algebra_of, Level)
EACH = pytest.mark.parametrize("algebra", [BITS, REASSOCIATED, REAL], ids=[level.value for level in Level])


def unknown(algebra, *shape, name="x", dtype=np.float32):
    return Terms.atoms(algebra, dtype, name, shape)


def same(a, b):
    return a.shape == b.shape and bool((a.data["term"][..., 0, :] == b.data["term"][..., 0, :]).all())


FUNCTIONS = {
    "sums": lambda a, b: np.add(a, b) - a * 2,
    "quotients": lambda a, b: a / (b + 3),
    "comparisons": lambda a, b: (a < b) | ~(a >= b) | (a == b) | (a != b),
    "functions": lambda a, b: np.exp(a) + np.sqrt(np.abs(b)) + np.tanh(a),
    "where": lambda a, b: np.where(a > b, a, b),
    "reductions": lambda a, b: a.sum(axis=1, keepdims=True) + np.max(b, axis=0) - b.mean(),
    "moving": lambda a, b: np.concatenate([np.transpose(a), np.flip(b.T, 0)], axis=1).reshape(2, -1),
    "padding": lambda a, b: (
        np.pad(a, [(1, 0), (0, 2)], constant_values=5) + np.pad(b, [(0, 1), (1, 1)], mode="reflect")
    ),
    "products": lambda a, b: a @ np.swapaxes(b, 0, 1) + np.einsum("ij,kj->ik", a, b),
    "indexing": lambda a, b: a[1:, [0, 2]] + np.take(b, np.array([1, 0]), axis=1)[:2],
    "extrema": lambda a, b: np.maximum(a, b) - np.minimum(a, 1),
    "powers": lambda a, b: np.power(np.abs(a), 2.0) + np.square(b),
}


@EACH
@pytest.mark.parametrize("row", list(FUNCTIONS))
def test_known_numbers_are_computed_as_numpy_does(algebra, row):
    a = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    b = np.arange(12, dtype=np.float32).reshape(3, 4)[::-1] * np.float32(0.5)
    expected = FUNCTIONS[row](a, b)
    got = FUNCTIONS[row](Terms.lift(algebra, a), Terms.lift(algebra, b))
    np.testing.assert_allclose(got.numbers(), expected, rtol=1e-6)
    assert not got.data["unwritten"].any()


LAWS = {
    "x + y = y + x": (Level.BITS, lambda x, y, z: x + y, lambda x, y, z: y + x),
    "|-x| = |x|": (Level.BITS, lambda x, y, z: np.abs(-x), lambda x, y, z: np.abs(x)),
    "x - y = -(y - x) + 0": (Level.REASSOCIATED, lambda x, y, z: x - y, lambda x, y, z: -(y - x)),
    "(x + y) + z = x + (y + z)": (Level.REASSOCIATED, lambda x, y, z: (x + y) + z, lambda x, y, z: x + (y + z)),
    "(x y) z = x (y z)": (Level.REASSOCIATED, lambda x, y, z: (x * y) * z, lambda x, y, z: x * (y * z)),
    "max": (
        Level.REASSOCIATED,
        lambda x, y, z: np.maximum(np.maximum(x, y), z),
        lambda x, y, z: np.maximum(x, np.maximum(z, y)),
    ),
    "x (y + z) = x y + x z": (Level.REAL, lambda x, y, z: x * (y + z), lambda x, y, z: x * y + x * z),
    "x / y = x (1 / y)": (Level.REAL, lambda x, y, z: x / y, lambda x, y, z: x * (1.0 / y)),
    "exp": (Level.REAL, lambda x, y, z: np.exp(x - y), lambda x, y, z: np.exp(x) / np.exp(y)),
    "(x + y) / 2": (Level.REAL, lambda x, y, z: (x + y) / 2, lambda x, y, z: x * 0.5 + y * 0.5),
}


@pytest.mark.parametrize("law", list(LAWS))
def test_a_law_holds_from_its_level_on(law):
    level, left, right = LAWS[law]
    for algebra in (BITS, REASSOCIATED, REAL):
        operands = [unknown(algebra, 3, name=name) for name in "xyz"]
        holds = list(Level).index(algebra.level) >= list(Level).index(level)
        assert same(left(*operands), right(*operands)) == holds, algebra.level


FALSE = {
    "x - y": (lambda x, y: x - y, lambda x, y: y - x),
    "x / y": (lambda x, y: x / y, lambda x, y: y / x),
    "max and x": (np.maximum, lambda x, y: x),
    "max and min": (np.maximum, np.minimum),
    "exp and sum": (lambda x, y: np.exp(x + y), lambda x, y: np.exp(x) + np.exp(y)),
    "square": (lambda x, y: x * x, lambda x, y: x),
    "by zero": (lambda x, y: x / (y - y), lambda x, y: y - y),
    "constants": (lambda x, y: x * 0.1, lambda x, y: x * np.float32(0.1000001)),
    "casts": (lambda x, y: x.astype(np.int32).astype(np.float32), lambda x, y: x),
}


@EACH
@pytest.mark.parametrize("row", list(FALSE))
def test_different_terms_differ_at_every_level(algebra, row):
    x, y = unknown(algebra, 4), unknown(algebra, 4, name="y")
    left, right = (f(x, y) for f in FALSE[row])
    assert not (left.data["term"][..., 0, :] == right.data["term"][..., 0, :]).all(axis=-1).any()


def test_integers_are_polynomials_and_casts_of_narrow_ones_are_not():
    x, y = (unknown(BITS, 3, name=n, dtype=np.int32) for n in "xy")
    assert same((x + y) * (x - y), x * x - y * y)
    a, b = (unknown(BITS, 3, name=n, dtype=np.int8) for n in "ab")
    assert not same((a * b).astype(np.int32), a.astype(np.int32) * b.astype(np.int32))
    assert same(a.astype(np.int64), a.astype(np.int32).astype(np.int64))


@EACH
def test_unwritten_memory_marks_what_depends_on_it(algebra):
    x, memory = unknown(algebra, 3), unknown(algebra, 3, name="memory")
    memory.data["unwritten"] = True
    for value in (x + memory, memory - memory, memory * 0.0, np.maximum(x, memory), memory.astype(np.float16)):
        assert value.data["unwritten"].all()
    kept = np.where(np.array([True, False, True]), x, memory)
    assert kept.data["unwritten"].tolist() == [False, True, False]


@EACH
def test_slices_are_views_and_what_needs_numbers_is_refused(algebra):
    x = unknown(algebra, 2, 3)
    x[0][1] = np.float32(4)
    assert x[0, 1].numbers() == 4
    for needs in (bool, int, float, lambda t: [1, 2][t], np.asarray, np.sort):
        with pytest.raises(NotCoveredError):
            needs(x[1, 1])
    with pytest.raises(NotCoveredError):
        x.view(np.int32)


@EACH
def test_elements_that_data_choose_are_functions_of_all_that_they_may_be(algebra):
    table, index = unknown(algebra, 5, 2), unknown(algebra, 3, name="i", dtype=np.int64)
    chosen = np.take(table, index, axis=0)
    assert chosen.shape == (3, 2) and same(chosen[:, 1], load(table, [index, np.array(1)]))
    other = table.copy()
    other[4, 1] = np.float32(0)
    changed = np.take(other, index, axis=0)
    assert not same(changed, chosen)
    row = np.maximum(np.minimum(index, 4), 0)
    assert same(load(table.reshape(-1), [row * 2 + 1]), chosen[:, 1])
    assert not same(load(table.reshape(-1), [row * 2]), chosen[:, 1])


def test_sums_and_quotients_of_exponentials_are_positive_as_real_numbers():
    x, y = unknown(REAL, 3), unknown(REAL, 3, name="y")
    total = np.exp(x) + np.exp(y)
    assert not (total == 0).numbers().any() and (np.exp(x) / total > 0).numbers().all()
    for value in (x, x + total, x - x + y, np.exp(x) - np.exp(y), np.where(x > 0, y, total)):
        assert not (value == 0).data["known"].any()
    assert not (np.exp(unknown(BITS, 3)) == 0).data["known"].any()  # it may be too small for a float


def test_a_softmax_is_the_same_in_an_exponent_whatever_was_subtracted():
    x, y, m = (unknown(REAL, 3, name=name) for name in "xym")

    def weight(shift):
        one, other = np.exp(x - shift), np.exp(y - shift)
        return one / (one + other)

    assert same(np.exp(weight(m)), np.exp(weight(y * 2)))
    assert not same(np.exp(weight(m)), np.exp(1.0 - weight(m)))


@EACH
def test_exclusive_or(algebra):
    a, b = unknown(algebra, 3) > 0, unknown(algebra, 3, name="y") > 0
    assert same(a ^ np.bool_(True), ~a) and same(a ^ b, b ^ a) and not same(a ^ b, a | b)
