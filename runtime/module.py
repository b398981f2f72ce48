"""`Module`: native code in memory, its functions by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from .abi import fastcall
from .devices import Device, require_cpu
from .errors import UnsupportedError, unknown_name
from .metadata import FunctionInfo
from .registry import PackedFunction
from .slots import SlotContext, SlotSpec, resolve
from .timing import Evaluator

if TYPE_CHECKING:
    from .engine import LoadedObject

_SHOWN = 8
"""The number of functions that a text names."""


class Unpicklable:
    """Base of holders of native code: they cannot be pickled, and copying returns the object itself."""

    def __copy__(self) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UnsupportedError(
            f"native code in memory is neither pickled nor copied deeply: {type(self).__name__}",
            hint="export_library(path) writes an executable, tvm.runtime.load_module(path) reads it",
        )


class Functions(Unpicklable):
    """Native functions by name; subclasses create them."""

    def __init__(self, functions: Mapping[str, FunctionInfo], callables: Mapping[str, Callable[..., Any]]):
        self.functions = functions
        self._callables = callables

    @property
    def function_names(self) -> list[str]:
        """The names of all functions."""
        return list(self._callables)

    def replace(self, function: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace each function by `function(name, old)`."""
        self._callables = {name: function(name, old) for name, old in self._callables.items()}

    def __contains__(self, name: object) -> bool:
        return name in self._callables or any(name == info.alias for info in self.functions.values() if info.alias)

    def __repr__(self) -> str:
        return functions_text(type(self).__name__, self.functions.values())

    def info(self, name: str) -> FunctionInfo:
        """Return the metadata of a function, by its name or its alias. Raises `NameLookupError` with a suggestion."""
        info = self.functions.get(name) or next((f for f in self.functions.values() if f.alias == name != ""), None)
        if info is None:
            raise unknown_name("function", name, self._callables)
        return info

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function by its name or its alias. Raises `NameLookupError` with a suggestion."""
        function = self._callables.get(name)
        return self._callables[self.info(name).name] if function is None else function

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """Return `self[name]`; `query_imports` is accepted for compatibility with TVM."""
        return self[name]

    def time_evaluator(self, func_name: str, dev: Device | None = None, *args: Any, **options: Any) -> Evaluator:
        """Return a callable that times calls of a function with its arguments; other options are those of
        `timing.Evaluator`.

        Raises `NameLookupError`, `DeviceError`, `ArgumentError`.
        """
        if dev is not None:
            require_cpu(dev)
        return Evaluator(self[func_name], *args, **options)


def functions_text(kind: str, functions: Collection[FunctionInfo]) -> str:
    """Return the text of a holder of functions: the signature of a single function, the names of several."""
    if len(functions) == 1:
        return f"<{kind} {next(iter(functions))}>"
    names = [function.name for function in functions]
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return f"<{kind} of {', '.join(names[:_SHOWN] + more) or 'nothing'}>"


def _callable(loaded: LoadedObject, info: FunctionInfo) -> Callable[..., Any]:
    from .keywords import with_keywords

    address = loaded.address(info.entry)
    return with_keywords(fastcall(info.name, address, loaded), address, info)


class Module(Functions):
    """Loaded functions; a call runs no Python code. Each keeps the code alive, so it may outlive the module."""

    def __init__(
        self,
        code: bytes,
        functions: Mapping[str, FunctionInfo],
        slots: Sequence[SlotSpec],
        constants: Sequence[np.ndarray],
        external: Mapping[str, PackedFunction] | None = None,
        imports: Mapping[str, int] | None = None,
        rows: np.ndarray | None = None,
    ):
        """`imports` are symbols to link with, by address, which take precedence over those of the runtime; `rows` are
        the profiling rows of instrumented code.

        Raises `LoadError`, `AbiError`, `NameLookupError` (packed functions), `MetadataError`.
        """
        from .engine import load_object

        self.rows = np.zeros((0, 0), np.int64) if rows is None else rows
        addresses, references = resolve(slots, SlotContext(functions, constants, external or {}, self.rows))
        loaded = load_object(code, [f.entry for f in functions.values()], addresses, references, imports)
        callables = {name: _callable(loaded, info) for name, info in functions.items()}
        super().__init__(functions, callables)
