"""The registry of packed functions: Python callables that compiled code calls by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, overload, runtime_checkable

from ..tables import Table
from . import onnx_operators, torch_operators
from .errors import ArgumentError, RegistryError

PackedFunction = Callable[..., Any]

_F = TypeVar("_F", bound=PackedFunction)


@runtime_checkable
class PackedFunc(Protocol):
    """Type of callables registered by name, as in TVM: any callable is an instance."""

    def __call__(self, *args: Any) -> Any:
        """Call the function with tensors, shapes, numbers and strings."""
        ...


class _FunctionTable(Table[PackedFunction]):
    error = RegistryError


_FRAMEWORKS: dict[str, Callable[[str], PackedFunction | None]] = {
    torch_operators.PREFIX: torch_operators.torch_operator,
    onnx_operators.PREFIX: onnx_operators.onnx_operator,
}
"""What makes the function of a name that begins with a prefix; None if its package is not installed."""

FUNCTIONS = _FunctionTable("packed function")


@overload
def register_func(name: str, f: None = None, override: bool = False) -> Callable[[_F], _F]: ...
@overload
def register_func(name: str, f: _F, override: bool = False) -> _F: ...
@overload
def register_func(name: _F, f: None = None, override: bool = False) -> _F: ...


def register_func(name: str | PackedFunction, f: PackedFunction | None = None, override: bool = False) -> Any:
    """Register `f` under `name`; also a decorator: `@register_func("env.linear", override=True)`, or plain
    `@register_func`, which takes the function's own name.

    Raises `ArgumentError` if `f` is not callable, `RegistryError` if the name is taken and `override` is False.
    """
    if not isinstance(name, str):
        if not callable(name):
            raise ArgumentError("a packed function needs a name", expected="str", found=type(name).__name__)
        return register_func(name.__name__, name, override)
    if f is None:
        return lambda function: register_func(name, function, override)
    if not callable(f):
        raise ArgumentError(f"'{name}' cannot be registered", expected="a callable", found=type(f).__name__)
    FUNCTIONS.add(name, f, override)
    return f


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunction | None:
    """Return the function registered under `name`. If there is none, return None if `allow_missing`, else raise
    `NameLookupError`. Names of operators of PyTorch and of ONNX (`torch_operators.py`, `onnx_operators.py`) need no
    registration.
    """
    make = next((make for prefix, make in _FRAMEWORKS.items() if name.startswith(prefix)), None)
    if make is not None and name not in FUNCTIONS:
        function = make(name)
        if function is not None or allow_missing:
            return function
    return FUNCTIONS.get(name) if allow_missing else FUNCTIONS.find(name)


def remove_global_func(name: str) -> None:
    """Unregister `name`; executables that are already loaded keep the function. Raises `NameLookupError`."""
    FUNCTIONS.remove(name)


def list_global_func_names() -> list[str]:
    """The names of all registered functions, sorted."""
    return sorted(FUNCTIONS)


def convert(value: Any) -> Any:
    """Return TVM's object for a value: numbers, strings, arrays and functions as they are; sequences become lists."""
    if isinstance(value, tuple | list):
        return [convert(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownVariableType]
