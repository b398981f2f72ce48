"""Arrays of other libraries: a result becomes an array of the library that the arguments came from, without a copy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..runtime.ndarray import NDArray


def _to_torch(array: NDArray) -> Any:
    return sys.modules["torch"].from_dlpack(array)


def _to_jax(array: NDArray) -> Any:
    return sys.modules["jax"].dlpack.from_dlpack(array)


_CONVERTERS: dict[str, Callable[[NDArray], Any]] = {
    "torch": _to_torch,
    "jax": _to_jax,
    "jaxlib": _to_jax,
    "numpy": np.asarray,
    "tirax": lambda array: array,
}
"""By the top package of an argument's class."""


def converter_for(arguments: Iterable[Any]) -> Callable[[NDArray], Any]:
    """Return what makes results of the kind of the first array among the arguments; numpy's if there is none."""
    for value in arguments:
        convert = _CONVERTERS.get(type(value).__module__.partition(".")[0])
        if convert is not None and not isinstance(value, np.generic):
            return convert
    return np.asarray


def convert(result: Any, to: Callable[[NDArray], Any]) -> Any:
    """Return a native result with its arrays converted."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result  # strings, which other libraries lack
    if isinstance(result, np.ndarray):  # a plain array is the memory of an argument that is returned
        return to(result if isinstance(result, NDArray) else result.view(NDArray))
    return tuple(convert(item, to) for item in result) if isinstance(result, tuple) else result
