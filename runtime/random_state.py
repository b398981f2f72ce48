"""The seed and the offsets of programs that draw random numbers and take neither as an argument.

There is one state per process. It starts with a seed from the system; each call of such a program takes `OFFSETS`
offsets.
"""

from __future__ import annotations

import os
import threading

import numpy as np

from .errors import ArgumentError
from .ndarray import NDArray, array
from .registry import register_func

OFFSETS = 1 << 16
"""Number of offsets per call: as many random operators as a function can have."""
_LARGEST = (1 << 63) - 1


class _State:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = (int.from_bytes(os.urandom(8), "little") & _LARGEST, 0)

    def set(self, seed: int) -> None:
        with self._lock:
            self._next = (seed, 0)

    def take(self) -> tuple[int, int]:
        """Return the seed, and the first of the offsets reserved for the caller."""
        with self._lock:
            seed, offset = self._next
            self._next = (seed, (offset + OFFSETS) & _LARGEST)
            return seed, offset


_state = _State()


def manual_seed(seed: int) -> None:
    """Restart the state with `seed`, an int64: from here on calls draw the same sequence of numbers.

    The state is shared by all programs and threads of the process. Raises `ArgumentError` if `seed` is not an int64.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not -_LARGEST - 1 <= seed <= _LARGEST:
        raise ArgumentError("a seed is an integer of 64 bits", expected="an int", found=repr(seed))
    _state.set(int(seed))


@register_func("relax.run.random_state")
def take_random_state() -> tuple[NDArray, NDArray]:
    """Return the seed and an offset, int64 of rank 0: the first of `OFFSETS` that no other call gets."""
    seed, offset = _state.take()
    return array(np.int64(seed)), array(np.int64(offset))
