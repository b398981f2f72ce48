"""Instructions on registers for matrices: as numpy multiplies, and as a processor would refuse."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from tirax.interpreter.matrix_registers import INSTRUCTIONS, MatrixRegisterError
from tirax.ir.matrix_registers import CONFIGURE, LOAD, RELEASE, STORE, ZERO

RNG = np.random.default_rng(5)
M, N, STEPS = 13, 16, 11
SUMS, ROWS, COLUMNS = 0, 1, 2


@pytest.fixture(autouse=True)
def registers() -> Iterator[None]:
    """Sums [M, N], rows [M, STEPS] and columns [STEPS, N], of 32 bits each."""
    sizes = np.zeros(64, np.uint8)
    sizes[0] = 1
    for number, (rows, columns) in enumerate(((M, N), (M, STEPS), (STEPS, N))):
        sizes[16 + 2 * number], sizes[48 + number] = 4 * columns, rows
    INSTRUCTIONS[CONFIGURE](sizes)
    yield
    INSTRUCTIONS[RELEASE]()


def drawn(shape: tuple[int, int], dtype: type) -> np.ndarray:
    if dtype is ml_dtypes.bfloat16:
        return RNG.standard_normal(shape).astype(dtype)
    return RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.parametrize(
    ("name", "a", "b", "sums"),
    [
        ("tdpbusd", np.uint8, np.int8, np.int32),
        ("tdpbssd", np.int8, np.int8, np.int32),
        ("tdpbsud", np.int8, np.uint8, np.int32),
        ("tdpbuud", np.uint8, np.uint8, np.int32),
        ("tdpbf16ps", ml_dtypes.bfloat16, ml_dtypes.bfloat16, np.float32),
    ],
)
def test_products_are_those_of_matrices(name: str, a: type, b: type, sums: type) -> None:
    group = 4 // np.dtype(a).itemsize
    x, w = drawn((M, STEPS * group + 3), a), drawn((STEPS * group, N), b)  # rows lie apart in memory
    panel = np.ascontiguousarray(w.reshape(STEPS, group, N).swapaxes(1, 2))
    INSTRUCTIONS[ZERO](SUMS)
    INSTRUCTIONS[LOAD](ROWS, x.reshape(-1), x.strides[0])
    INSTRUCTIONS[LOAD](COLUMNS, panel.reshape(-1), 4 * N)
    for _ in range(2):
        INSTRUCTIONS[f"llvm.x86.{name}"](SUMS, ROWS, COLUMNS)
    actual = np.full((M, N + 2), 7, sums)
    INSTRUCTIONS[STORE](SUMS, actual.reshape(-1), actual.strides[0])
    expected = 2 * (x[:, : STEPS * group].astype(np.float64) @ w.astype(np.float64))
    np.testing.assert_allclose(
        actual[:, :N], expected, rtol=0 if sums is np.int32 else 1e-6, atol=0 if sums is np.int32 else 1e-5
    )
    assert (actual[:, N:] == 7).all()


def test_what_has_no_size_is_refused() -> None:
    with pytest.raises(MatrixRegisterError, match="register 5"):
        INSTRUCTIONS[ZERO](5)
    INSTRUCTIONS[RELEASE]()
    with pytest.raises(MatrixRegisterError, match="register 0"):
        INSTRUCTIONS[ZERO](SUMS)


def test_rows_lie_in_memory() -> None:
    memory = np.zeros(M * 4 * STEPS, np.uint8)
    INSTRUCTIONS[LOAD](ROWS, memory, 4 * STEPS)
    for name in (LOAD, STORE):
        with pytest.raises(MatrixRegisterError, match="no memory"):
            INSTRUCTIONS[name](ROWS, memory[1:], 4 * STEPS)


def test_sizes_have_to_fit() -> None:
    with pytest.raises(MatrixRegisterError, match="do not fit"):
        INSTRUCTIONS["llvm.x86.tdpbusd"](SUMS, COLUMNS, ROWS)
    with pytest.raises(MatrixRegisterError, match="another kind"):
        INSTRUCTIONS[CONFIGURE](np.zeros(64, np.uint8))
