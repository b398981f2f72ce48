"""Every call of native code is made with each of its allocations failing before it is made as it should be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import strength

from tirax.diagnostics import TiraxError
from tirax.runtime import abi, module, result_pool
from tirax.runtime.failing_memory import failing_allocations

MOST = 40
"""Allocations of one call that are let fail: rows of a table differ in no more."""
QUICK_SHARE = 6
"""At less than full strength each function of so many that are built is tried."""


def outcomes(call: Callable[..., Any], *args: Any) -> list[str]:
    """What becomes of a call on copies of its arguments where its first, second, … allocation and all later ones fail.

    Each is "memory" for a `MemoryError`; the last is "done", or the name of the error that the call raises anyway.
    Fails where what was allocated is not freed.
    """
    results: list[str] = []
    for first in range(MOST):
        copies = [_copy(a) for a in args]
        with failing_allocations(first) as counts:
            live = counts.live()
            try:
                call(*copies)
            except MemoryError:
                results.append("memory")
            except (TiraxError, TypeError, ValueError) as error:
                results.append(type(error).__name__)
            else:
                results.append("done" if counts.calls() <= first else "lost")
            assert counts.live() == live, f"{counts.live() - live} blocks are not freed where allocation {first} fails"
        assert results[-1] != "lost", f"allocation {first} failed, and the call did not say so"
        if results[-1] != "memory":
            break
    return results


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, (np.ndarray, int, float, bool))


_BUILT = itertools.count()
"""Numbers the functions that are loaded."""


@contextmanager
def every_call_fails_first() -> Iterator[None]:
    """Inside, the first call of each native function that is loaded goes through `outcomes` before."""

    def fastcall(name: str, address: int, *rest: Any) -> Callable[..., Any]:
        function = abi.fastcall(name, address, *rest)
        if not strength.is_full() and next(_BUILT) % QUICK_SHARE:
            return function
        tried: list[bool] = []

        def call(*args: Any) -> Any:
            if not tried and all(map(_is_plain, args)):
                tried.append(True)
                outcomes(function, *args)
            return function(*args)

        call.__name__, call.__doc__ = name, function.__doc__
        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "fastcall", fastcall)
        held = result_pool.default_limit()
        result_pool.set_held_memory(0)
        try:
            yield
        finally:
            result_pool.set_held_memory(held)
