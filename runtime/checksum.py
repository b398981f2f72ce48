"""Keyed checksums of many megabytes at memory speed.

SHA-256 takes two seconds for a gigabyte of weights, this a tenth of that: sums of products of words with a secret,
which cannot be forged without knowing it, and which collide by chance with probability 2^-64. Small data is hashed by
BLAKE2. The code is `native/checksum.ll`.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from .jit import link_native

_SYMBOL = "tirax_checksum"
_BLOCK = 64
_SMALL = 1 << 16
"""Bytes below which BLAKE2 is fast enough."""


def checksum(data: bytes | memoryview | np.ndarray, secret: bytes) -> bytes:
    """Return 32 bytes that authenticate `data` (contiguous) for holders of the secret."""
    view = memoryview(cast("Any", data)).cast("B")
    key = hashlib.blake2b(secret, digest_size=64).digest()
    digest = hashlib.blake2b(len(view).to_bytes(8, "little"), key=key, digest_size=32)
    if len(view) < _SMALL:
        digest.update(view)
        return digest.digest()
    blocks = len(view) // _BLOCK
    sums = (ctypes.c_uint64 * 4)()
    _native()(sums, key, np.frombuffer(view, np.uint8).ctypes.data, blocks)
    digest.update(sums)
    digest.update(view[blocks * _BLOCK :])
    return digest.digest()


@functools.cache
def _native() -> Callable[..., None]:
    """Return the native function, compiled at the first call and never unloaded; it runs without the GIL."""
    tracker, addresses = link_native(["checksum"], (_SYMBOL,))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64)
    return kind(addresses[_SYMBOL])
