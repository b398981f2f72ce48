"""The first few elements of rows: values, positions, ties and NaNs as a stable sort has them."""

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor
from strength import thinned

from tirax.driver.build import build

RNG = np.random.default_rng(11)
COUNTS = (1, 2, 5, 33, 64)
DTYPES = ("float32", "float64", "float16", "int8", "int64", "uint8")
ROWS = {
    "random": lambda n: RNG.normal(size=n) * 50,
    "equal": lambda n: np.ones(n),
    "few values": lambda n: RNG.integers(0, 3, n),
    "ascending": lambda n: np.arange(n) % 120,
    "descending": lambda n: -(np.arange(n) % 120),
    "the best ones last": lambda n: np.concatenate([np.zeros(n - n // 3), np.arange(1, n // 3 + 1) % 100]),
}


def function(k, largest, dtype="float32", axis=-1, extent='"n"'):
    binding = f'y = R.topk(x, k={k}, axis={axis}, ret_type="both", largest={largest}, dtype="int64")'
    return build(dataflow_program(tensor("x", '"m"', extent, dtype=dtype), binding, "y", sizes="nm"))["main"]


def expected(x, k, largest):
    order = np.argsort(-x if largest else x, axis=-1, kind="stable")[:, :k]
    return np.take_along_axis(x, order, -1), order


def compare(f, x, k, largest):
    values, places = (np.asarray(r) for r in f(x))
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    right, order = expected(wide, k, largest)
    np.testing.assert_array_equal(values, right.astype(x.dtype))
    np.testing.assert_array_equal(places, order)


@thinned("dtype", DTYPES, 1)
@pytest.mark.parametrize("largest", [True, False])
@thinned("k", COUNTS, 2)
def test_rows(k, largest, dtype):
    f = function(k, largest, dtype)
    for n in (k, k + 1, 63, 64, 65, 127, 1000, 1031):
        if n >= k:
            scale = 1 if np.dtype(dtype).kind != "u" else 0
            rows = [np.abs(make(n)) if not scale else make(n) for make in ROWS.values()]
            compare(f, np.stack(rows).astype(dtype), k, largest)


@pytest.mark.parametrize("largest", [True, False])
def test_nan_is_greater_than_all_numbers(largest):
    f = function(3, largest)
    x = RNG.normal(size=(4, 200)).astype(np.float32)
    x[0, 150] = x[1, 3] = x[1, 70] = x[2, 199] = np.nan
    x[3] = np.nan
    values, places = (np.asarray(r) for r in f(x))
    key = np.where(np.isnan(x), np.inf, x).astype(np.float64)
    right, order = expected(key, 3, largest)
    np.testing.assert_array_equal(np.where(np.isnan(values), np.inf, values), right)
    np.testing.assert_array_equal(places, order)


def test_zeros_of_both_signs_are_equal():
    x = np.tile(np.array([0.0, -0.0], np.float32), (2, 50))
    compare(function(5, True), x, 5, True)


def test_along_the_first_axis():
    f = function(4, True, axis=0, extent=7)
    x = RNG.normal(size=(300, 7)).astype(np.float32)
    values, places = (np.asarray(r) for r in f(x))
    right, order = expected(x.T, 4, True)
    np.testing.assert_array_equal(values, right.T)
    np.testing.assert_array_equal(places, order.T)


def test_no_rows():
    assert np.asarray(function(2, True)(np.zeros((0, 9), np.float32))[0]).shape == (0, 2)
