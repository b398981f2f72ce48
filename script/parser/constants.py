"""Constants that a script writes by calls of numpy, `np.array([1, 2]).astype("int8")`: the only calls that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, cast

import numpy as np

from .folding import is_constant

_MAKERS: tuple[Any, ...] = (
    *(np.array, np.asarray, np.zeros, np.ones, np.full, np.arange, np.eye, np.linspace, np.iinfo, np.finfo),
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.dtype, np.float16, np.float32, np.float64),
)
_METHODS = ("astype", "reshape")
_LIMITS = ("bits", "dtype", "eps", "max", "min", "tiny")


def is_maker(function: Any) -> bool:
    """Return whether a call of `function` is evaluated: a constructor of numpy's, or a method of an array."""
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, np.ndarray):
        return function.__name__ in _METHODS
    return any(function is maker for maker in _MAKERS)


def made(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the constant; a scalar is a number. Raises `TypeError` or `ValueError` for wrong arguments."""
    for value in (*args, *kwargs.values()):
        if not (is_constant(value) or isinstance(value, np.ndarray | np.generic | np.dtype | type)):
            raise TypeError(f"{value!r} is no constant")
    value = function(*args, **kwargs)
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def constant_member(value: Any, name: str) -> Any:
    """Return a method of an array that makes another, or a limit of a dtype; None for other members."""
    if isinstance(value, np.ndarray) and name in _METHODS:
        return cast("Any", getattr(value, name))
    if isinstance(value, np.iinfo | np.finfo) and name in _LIMITS:
        member = cast("Any", getattr(value, name))
        return member.item() if isinstance(member, np.generic) else member
    return None


__all__ = ["constant_member", "is_maker", "made"]
