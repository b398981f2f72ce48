"""Arithmetic of fingerprints, beside Python's whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.proof import fingerprints as fp

NUMBERS = np.array([0, 1, 2, 3, 97, 2**31, -1, -(2**63), 2**62 + 12345], np.int64)


@pytest.mark.parametrize("primes", [fp.P, fp.Q], ids=["values", "exponents"])
def test_integers(primes):
    a, b = np.meshgrid(NUMBERS, NUMBERS)
    x, y = fp.of_integers(a, primes), fp.of_integers(b, primes)
    for i, p in enumerate(map(int, primes)):
        rows = [(int(m), int(n)) for m, n in zip(a.flat, b.flat, strict=True)]
        for got, exact in (
            (fp.add(x, y, primes), [m + n for m, n in rows]),
            (fp.multiply(x, y, primes), [m * n for m, n in rows]),
            (fp.negative(x, primes), [-m for m, _ in rows]),
        ):
            assert got[..., i].reshape(-1).tolist() == [e % p for e in exact]
    inverses = fp.multiply(x, fp.inverse(x, primes), primes)
    assert (inverses[a != 0] == 1).all() and (inverses[a == 0] == 0).all()


def test_exponentials_are_a_homomorphism():
    a, b = (fp.drawn(np.arange(100, dtype=np.uint64) + np.uint64(start), fp.Q) for start in (0, 1000))
    assert (fp.exp(fp.add(a, b, fp.Q)) == fp.multiply(fp.exp(a), fp.exp(b))).all()
    assert not (fp.exp(a) == fp.exp(b)).all(axis=-1).any()


def test_floats_are_fractions():
    values = np.array([0.0, 1.0, -1.5, 0.1, 2.0**-1074, 1e300])
    expected = [
        [n * pow(d, -1, int(p)) % int(p) for p in fp.P] for n, d in (v.as_integer_ratio() for v in values.tolist())
    ]
    assert fp.of_floats(values).tolist() == expected
    third = fp.of_floats(np.array([np.float64(np.float32(1 / 3))]), rounded=np.dtype(np.float32))
    assert fp.multiply(third, fp.of_integers(np.array([3]))).tolist() == [[1, 1]]
    assert len({tuple(row) for row in fp.of_floats(np.array([np.inf, -np.inf, np.nan])).tolist()}) == 3


def test_odd_hashes():
    x = fp.drawn(np.arange(1000, dtype=np.uint64))
    assert (fp.odd("f", fp.negative(x)) == fp.negative(fp.odd("f", x))).all()
    assert (fp.odd("f", np.zeros((1, 2), np.uint64)) == 0).all()
    assert not (fp.odd("f", x) == fp.odd("g", x)).all(axis=-1).any()
    assert len(np.unique(fp.packed(fp.odd("f", x)))) == 1000
