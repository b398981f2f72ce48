"""What a compiled function calls where an argument is no array: PyTorch's tensors are taken over by native code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .arguments import normalize_arguments
from .metadata import Dim, FunctionInfo, TensorInfo

_INTERFACE = "__dlpack_c_exchange_api__"


class Normalizer:
    """`normalize_arguments` of a function, in a microsecond for tensors with DLPack's C exchange interface."""

    def __init__(self, info: FunctionInfo):
        self._slow: Callable[..., tuple[Any, ...]] = functools.partial(normalize_arguments, info)
        self._info = info
        self._dims = _dimensions(info)
        self._by_type: dict[type, Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Return the arguments in the form that native code expects. Raises like `normalize_arguments`."""
        kind = type(args[0]) if args else object
        native = self._by_type.get(kind)
        if native is None:
            native = self._by_type[kind] = self._of_type(kind)
        return native(*args)

    def _of_type(self, kind: type) -> Callable[..., Any]:
        if self._dims is None or _INTERFACE not in vars(kind):  # subclasses may have no memory
            return self._slow
        from .exchange import normalizing

        return normalizing(functools.partial(self._checked, self._dims), self._info, kind, self._slow)

    def _checked(self, dims: list[tuple[Dim, ...]], *arrays: np.ndarray) -> tuple[Any, ...]:
        """Return arrays of the right ranks and dtypes; if an extent differs, `normalize_arguments` reports it."""
        variables: dict[str, int] = {}
        for array, expected in zip(arrays, dims, strict=True):
            if array.shape == expected:  # without names
                continue
            for extent, dim in zip(array.shape, expected, strict=True):
                if extent != (dim if isinstance(dim, int) else variables.setdefault(str(dim[1]), extent)):
                    return self._slow(*arrays)
        return arrays


def _dimensions(info: FunctionInfo) -> list[tuple[Dim, ...]] | None:
    """Return the shapes of a function that only reads tensors whose extents are numbers and names, else None."""
    found: list[tuple[Dim, ...]] = []
    for parameter in info.params:
        each = parameter.info
        if not isinstance(each, TensorInfo) or each.shape is None or parameter.access != "read":
            return None
        if not all(isinstance(dim, int) or dim[0] == "var" for dim in each.shape):
            return None
        found.append(each.shape)
    return None if info.bounds else found
