"""Rows that are sorted in vectors, against numpy's sorts of the keys' integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from strength import only_full, some, thinned

import tirax.tvm_api as tvm
from tirax.topi.scan import sort_in_vectors
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax, te, topi

Check = Callable[..., None]
TYPES = ("float32", "float64", "int32", "uint32", "int64", "uint64")
SIZES = (0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 513, 1000, 4097)


@cache
def sorter(dtype: str, descending: bool = False) -> Any:
    """A compiled function of rows of any size and their sorted ones."""
    n, m = tvm.tir.Var("n", "int64"), tvm.tir.Var("m", "int64")
    x = te.placeholder((n, m), dtype, name="x")
    return tvm.build(te.create_prim_func([x, sort_in_vectors(x, 1, descending)]))["main"]


def ordered(x: np.ndarray) -> np.ndarray:
    """Sorted rows, -0 before 0."""
    if x.dtype.kind != "f":
        return np.sort(x, 1)
    order = np.lexsort((~np.signbit(x), x), axis=1)
    return np.take_along_axis(x, order, 1)


def check_rows(x: np.ndarray, descending: bool = False) -> None:
    """Sorted by compiled code as by numpy, the signs of zeros too."""
    out = tvm.nd.array(np.full_like(x, 3))
    sorter(str(x.dtype), descending)(tvm.nd.array(x), out)
    expected = ordered(x)[:, ::-1] if descending else ordered(x)
    np.testing.assert_array_equal(out.numpy(), expected)
    if x.dtype.kind == "f":
        np.testing.assert_array_equal(
            np.signbit(out.numpy()) | np.isnan(expected), np.signbit(expected) | np.isnan(x[:0].sum() + expected)
        )


def numbers(dtype: str, *shape: int) -> np.ndarray:
    """All kinds of numbers, the edges of the type among them."""
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        edges = np.array([info.min, info.max, info.max - 1, 0, 1], dtype)
    else:
        x = rng.standard_normal(shape).astype(dtype)
        edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1), 1e-40, -1e-40], dtype)
    return np.where(rng.random(shape) < 0.1, rng.choice(edges, shape), x)


@pytest.mark.thinned  # by `some`, too
@thinned("dtype,descending", [(t, t in ("float64", "uint32")) for t in TYPES], quick=1)
def test_sizes_around_those_of_the_networks(dtype: str, descending: bool) -> None:
    for size in some(SIZES, 6):
        check_rows(numbers(dtype, 3, size), descending)


ORDERS: dict[str, Callable[[int], np.ndarray]] = {
    "equal": lambda n: np.zeros(n),
    "greatest": lambda n: np.full(n, np.inf),
    "nan": lambda n: np.full(n, np.nan),
    "sorted": lambda n: np.arange(n),
    "reversed": lambda n: -np.arange(n),
    "organ pipe": lambda n: np.minimum(np.arange(n), n - np.arange(n)),
    "saw": lambda n: np.arange(n) % 17,
    "two": lambda n: np.random.default_rng(1).choice([0.0, 1.0], n, p=[0.95, 0.05]),
    "powers": lambda n: np.exp2(np.arange(n) % 250 - 125),
    "one apart": lambda n: np.where(np.arange(n) == n // 3, -1, 5),
}


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: str) -> None:
    check_rows(np.stack([ORDERS[order](5000), -ORDERS[order](5000)]).astype("float32"))


def test_a_sample_that_misleads_every_pivot() -> None:
    """Where samples are taken stand the least values, some powers of two apart: each division is unfair."""
    check_rows(misleading(6000)[None])


def misleading(size: int) -> np.ndarray:
    """A run of the divisions backwards: what is sampled is less than all that is not sampled yet."""
    values, part, least = np.zeros(size, "float32"), np.arange(size), -120
    while len(part) > 256:
        taken = len(part) // 16 * np.arange(16) + len(part) // 32
        values[part[taken]] = -np.exp2(-least - np.arange(16) / 16)
        least, part = least + 1, np.delete(part, taken)
    values[part] = np.arange(len(part))
    return values


@only_full
@thinned("axis", [0, 1], quick=1)
def test_legalized_for_a_target(axis: int) -> None:
    x = relax.Var("x", relax.TensorStructInfo((70, 90), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.sort(x, axis, True)))
    wide, narrow = (LegalizeOps(target=f"llvm -mcpu={cpu}")(bb.get()) for cpu in ("skylake-avx512", "haswell"))
    assert "vector.compress" in wide.script()
    assert "vector.compress" not in narrow.script()
    assert narrow.script() == LegalizeOps()(bb.get()).script()
    data = numbers("float32", 70, 90)
    out = relax.build(wide)["main"](tvm.nd.array(data)).numpy()
    np.testing.assert_array_equal(out, np.flip(np.sort(data, axis), axis))


def test_meaning_on_the_interpreter(check: Check) -> None:
    row = numbers("int64", 1, 70)
    check(lambda x: sort_in_vectors(x, 1, False), [row], np.sort(row, 1))


def test_short_rows_are_merged() -> None:
    x = te.placeholder((5, 60), "float32", name="x")
    assert "compress" not in te.create_prim_func([x, sort_in_vectors(x, 1, False)]).script()


def test_narrow_types_are_sorted_by_their_bits() -> None:
    x = te.placeholder((70,), "float16", name="x")
    assert "compress" not in te.create_prim_func([x, topi.sort(x)]).script()
