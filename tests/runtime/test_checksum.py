"""Checksums of large contents."""

import numpy as np
import pytest

from tirax.runtime.checksum import checksum

SIZES = [0, 1, 63, 64, (1 << 16) - 1, 1 << 16, (1 << 16) + 5, 1 << 18]
"""Bytes: hashed as a whole, and in blocks of 64 with a rest."""


def contents(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_equal_bytes_are_equal_wherever_they_lie(size: int):
    data = contents(size)
    moved = np.empty(size + 3, np.uint8)[3:]
    moved[:] = data
    assert checksum(data, b"secret") == checksum(moved, b"secret") == checksum(data.tobytes(), b"secret")
    assert len(checksum(data, b"secret")) == 32


@pytest.mark.parametrize("size", SIZES[1:])
def test_each_changed_bit_is_seen(size: int):
    data = contents(size)
    before = checksum(data, b"secret")
    for at in {0, size // 2, size - 1, size // 3}:
        data[at] ^= 1
        assert checksum(data, b"secret") != before
        data[at] ^= 1
    assert checksum(data, b"secret") == before
    assert checksum(data, b"another") != before


def test_blocks_in_another_order_and_more_zeros_are_seen():
    data = contents(1 << 17)
    swapped = np.concatenate([data[64:128], data[:64], data[128:]])
    assert checksum(data, b"") != checksum(swapped, b"")
    zeros = {checksum(np.zeros(size, np.uint8), b"") for size in range(1 << 16, (1 << 16) + 130)}
    assert len(zeros) == 130
