"""Random numbers: the published answers of Philox, and the laws that numbers made of it have to follow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tirax.runtime import philox

OF = philox.NumpyArithmetic()
COUNT = 200_000

# Known answers that Random123 publishes for philox4x32 of ten rounds: counter, key, words.
ANSWERS = [
    ((0x00000000,) * 4, (0x00000000,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def pair(low: int, high: int) -> np.ndarray:
    return np.array([low | high << 32], np.uint64)


@pytest.mark.parametrize(("counter", "key", "words"), ANSWERS)
def test_known_answers(counter, key, words):
    actual = philox.block(OF, pair(*key), pair(*counter[:2]), pair(*counter[2:]))
    assert tuple(int(w[0]) for w in actual) == words


def block(seed: int = 1, offset: int = 2, count: int = COUNT):
    return philox.block(OF, pair(seed, 0), pair(offset, 0), np.arange(count, dtype=np.uint64))


def distance(sample: np.ndarray, law) -> float:
    """Of Kolmogorov and Smirnov, times the root of the count: more than 1.95 for one sample of a thousand."""
    ordered = np.sort(sample)
    expected = law(ordered)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return math.sqrt(len(ordered)) * max(np.max(steps[1:] - expected), np.max(expected - steps[:-1]))


def gauss(x: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def test_distributions():
    for seed, offset in ((0, 0), (1, 2), (2**32 - 1, 7)):
        words = block(seed, offset)
        assert distance(philox.fraction(OF, *words[:2]), lambda x: x) < 1.95
        assert distance(philox.exponential(OF, words, 2.0), lambda x: -np.expm1(-2.0 * x)) < 1.95
        normal = philox.normal(OF, words, 0.0, 1.0)
        assert distance(normal, gauss) < 1.95
        moments = [np.mean(normal**k) for k in (1, 2, 3, 4)]
        deviations = np.array([1.0, 2.0, 15.0, 96.0]) ** 0.5 / math.sqrt(COUNT)
        assert np.all(np.abs(np.array(moments) - [0, 1, 0, 3]) < 5 * deviations)


def test_numbers_are_accurate():
    """Beside the functions of long double."""
    words = block()
    u = philox.open_fraction(OF, words[0], words[1]).astype(np.longdouble)
    logarithm = -np.log(u)
    actual = philox.exponential(OF, words, 1.0)
    assert np.max(np.abs(actual - logarithm) / logarithm) < 6 * 2.0**-53
    angle = 2 * np.arctan2(np.longdouble(0), np.longdouble(-1)) * philox.fraction(OF, *words[2:])
    assert np.max(np.abs(philox.normal(OF, words, 0.0, 1.0) - np.sqrt(2 * logarithm) * np.cos(angle))) < 1e-14


def test_extremes():
    """All bits 0 and all bits 1 give numbers within the bounds."""
    for word in (0, 0xFFFFFFFF):
        words = (np.array([word], np.uint64),) * 4
        for digits in philox.DIGITS.values():
            assert 0 <= philox.fraction(OF, *words[:2], digits)[0] < 1
        assert 0 < philox.exponential(OF, words, 1.0)[0] < 37
        assert np.abs(philox.normal(OF, words, 0.0, 1.0)[0]) < 8.6


@pytest.mark.parametrize("step", ["seed", "offset", "index"])
def test_neighbours_do_not_correlate(step):
    """Numbers of consecutive seeds, offsets and elements."""
    first = philox.normal(OF, block(5, 9), 0.0, 1.0)
    other = {"seed": block(6, 9), "offset": block(5, 10), "index": tuple(w[1:] for w in block(5, 9, COUNT + 1))}[step]
    correlation = np.mean(first * philox.normal(OF, other, 0.0, 1.0))
    assert abs(correlation) < 5 / math.sqrt(COUNT)


def test_bits_are_balanced():
    for word in block():
        ones = np.array([np.mean((word >> bit) & 1) for bit in range(32)])
        assert np.all(np.abs(ones - 0.5) < 5 * 0.5 / math.sqrt(COUNT))
