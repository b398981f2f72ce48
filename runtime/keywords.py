"""Keyword arguments of native functions, whose entry points take positional ones.

A few instructions before the entry point pass a call on; only a call with keywords goes through Python, which orders
its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .abi import ARRAY_LAYOUT, fastcall
from .arguments import bind_keywords
from .jit import link_native
from .metadata import FunctionInfo

_DATA_AT = 16
"""The offset of an array's data that `native/keywords.ll` reads."""


def with_keywords(function: Callable[..., Any], address: int, info: FunctionInfo) -> Callable[..., Any]:
    """Return `function`, the native one at an address, so that it also takes its arguments by keyword."""
    owner = getattr(function, "__self__", None)
    if ARRAY_LAYOUT["data"] != _DATA_AT or owner is None:
        return function
    slow = functools.partial(_call, function, info)
    data = np.array([address, id(owner), id(slow)], np.int64)
    code, start = _code()
    return fastcall(info.name, start, (code, function, slow), str(info), data, keywords=True)


def _call(function: Callable[..., Any], info: FunctionInfo, *args: Any, **kwargs: Any) -> Any:
    return function(*bind_keywords(info, args, kwargs))


@functools.cache
def _code() -> tuple[object, int]:
    tracker, addresses = link_native(["keywords"], ("call_with_keywords",))
    return tracker, addresses["call_with_keywords"]
