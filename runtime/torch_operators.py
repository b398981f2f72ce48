"""Operators of PyTorch as packed functions, for what tirax has no code for.

    torch.ops.aten.geqrf.default([{"tensor": 0}])

is a function of one array. Its name has everything that a call needs, so that saved executables find it again: the
operator and its arguments as JSON, in which `{"tensor": i}`, `{"complex": i}` and `{"number": i}` stand for the i-th
argument of the packed function. Complex tensors are pairs of numbers here: their last dimension is (real, imaginary).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from .errors import ArgumentError, NameLookupError
from .ndarray import NDArray, from_dlpack

PREFIX = "torch.ops."
_CONSTANTS = ("dtype", "layout", "memory_format", "device")
"""Kinds of constants that are objects of PyTorch; each is written `{kind: name}`."""


def name_of(operator: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """Return the name of the packed function of an operator such as `aten.geqrf.default`, by `encoded` arguments."""
    named = f", {json.dumps(kwargs)}" if kwargs else ""
    return f"{PREFIX}{operator}({json.dumps(args)}{named})"


def operator_of(name: str) -> str:
    """Return the operator in the name of a packed function: `aten.geqrf.default`."""
    return name.removeprefix(PREFIX).partition("(")[0]


def encoded(value: Any) -> Any:
    """Return a constant argument as data of JSON. Raises `ArgumentError` for objects that have no text."""
    if isinstance(value, list | tuple):
        return [encoded(v) for v in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex number": str(value)}
    kind = type(value).__name__
    if kind in _CONSTANTS:
        return {kind: str(value).removeprefix("torch.")}
    raise ArgumentError("an argument of an operator has no text", found=kind)


def _decoded(data: Any, arguments: tuple[Any, ...]) -> Any:
    if isinstance(data, list):
        return [_decoded(v, arguments) for v in data]
    if not isinstance(data, dict):
        return data
    ((kind, value),) = data.items()
    return _DECODE[kind](value, arguments)


def _tensor(index: int, arguments: tuple[Any, ...]) -> Any:
    import torch

    value = arguments[index]
    return torch.from_dlpack(value.view(NDArray) if isinstance(value, np.ndarray) else value)  # for bfloat16


def _complex(index: int, arguments: tuple[Any, ...]) -> Any:
    import torch

    return torch.view_as_complex(_tensor(index, arguments))


def _object(name: str, _: tuple[Any, ...]) -> Any:
    import torch

    return getattr(torch, name)


def _device(name: str, _: tuple[Any, ...]) -> Any:
    import torch

    return torch.device(name)


_DECODE: dict[str, Callable[[Any, tuple[Any, ...]], Any]] = {
    "tensor": _tensor,
    "complex": _complex,
    "number": lambda index, arguments: arguments[index],
    "float": lambda text, _: float(text),
    "complex number": lambda text, _: complex(text),
    "device": _device,
    **dict.fromkeys(("dtype", "layout", "memory_format"), _object),
}


@cache
def torch_operator(name: str) -> Callable[..., Any] | None:
    """Return the packed function of a name that begins with `PREFIX`, None if PyTorch is not installed.

    Raises `NameLookupError` for an operator that this version of PyTorch does not have.
    """
    try:
        import torch
    except ModuleNotFoundError:
        return None
    function: Any = torch.ops
    for part in operator_of(name).split("."):
        function = getattr(function, part, None)
        if function is None:
            raise NameLookupError(f"PyTorch {torch.__version__} has no operator {operator_of(name)}")
    args, kwargs = _arguments(name)

    def call(*arguments: Any) -> Any:
        with torch.no_grad():
            values = {k: _decoded(v, arguments) for k, v in kwargs.items()}
            results = list(_arrays(function(*_decoded(args, arguments), **values)))
        return results[0] if len(results) == 1 else tuple(results)

    return call


def _arguments(name: str) -> tuple[list[Any], dict[str, Any]]:
    parts = json.loads(f"[{name.partition('(')[2].removesuffix(')')}]")
    return parts[0], parts[1] if len(parts) > 1 else {}


def _arrays(result: Any) -> Iterator[Any]:
    import torch

    if isinstance(result, list | tuple):
        for item in result:
            yield from _arrays(item)
        return
    plain = result.resolve_conj().resolve_neg()
    yield from_dlpack((torch.view_as_real(plain) if plain.is_complex() else plain).contiguous())


__all__ = ["PREFIX", "encoded", "name_of", "operator_of", "torch_operator"]
