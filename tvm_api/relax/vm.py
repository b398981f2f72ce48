"""`tvm.relax.VirtualMachine`: an executable's functions, called as by TVM's virtual machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from ...diagnostics import DTypeError, ShapeError, UnsupportedError
from ...runtime import Device, Executable, ShapeTuple, VirtualMachine, cpu
from ...runtime.errors import ArgumentError
from ...runtime.metadata import ShapeInfo

CPU = cpu(0)


class StateError(ArgumentError, ValueError):
    """A function was invoked before its inputs were set, or its outputs read before it was invoked."""


class ValueArgumentError(ArgumentError, ValueError):
    """An argument of another kind, rank or dtype than the function declares."""


class VMInstrumentReturnKind(IntEnum):
    """What an instrument of TVM's virtual machine answers."""

    NO_OP = 0
    SKIP_RUN = 1


class TVMVirtualMachine(VirtualMachine):
    """The functions of an executable; shapes that they return equal lists, as in TVM."""

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(
        self,
        rt_mod: Any,
        device: Device | Sequence[Device] = CPU,
        memory_cfg: Any = None,
        profile: bool = False,
    ):
        super().__init__(rt_mod, device, memory_cfg, profile)

    def __getitem__(self, key: str) -> Callable[..., Any]:
        """Return a function, or a method of this machine such as `invoke_stateful`, by name."""
        if key in _METHODS and key not in self.module and key not in self._functions:
            return getattr(self, key)
        function = super().__getitem__(key)
        as_shape = key in self.module and isinstance(self._info(key).result, ShapeInfo)
        return _called(function, as_shape)

    def invoke_closure(self, closure: Callable[..., Any], *args: Any) -> Any:
        """Call a function that a function returned."""
        return closure(*args)

    def set_instrument(self, instrument: Any) -> None:
        """Raise `UnsupportedError`: there are no instructions of a virtual machine to watch."""
        raise UnsupportedError("instruments of a virtual machine: functions are native code", hint="vm.profile(…)")

    def invoke_stateful(self, func_name: str) -> None:
        try:
            super().invoke_stateful(func_name)
        except ArgumentError as error:
            if func_name in self._inputs:
                raise
            raise StateError(error.message, hint=error.hint) from error

    def get_outputs(self, func_name: str) -> Any:
        try:
            return super().get_outputs(func_name)
        except ArgumentError as error:
            raise StateError(error.message, hint=error.hint) from error


_METHODS = ("get_outputs", "invoke_closure", "invoke_stateful", "set_input")


_CHECKS = {
    "wrong dtype": "in TVM's words: expect Tensor with this dtype",
    "wrong number of dimensions": "in TVM's words: match_cast error of a param or return, expect Tensor with this ndim",
    "wrong extent": "in TVM's words: match_cast error of a param or the return, shape mismatch",
}
"""What TVM's virtual machine says about a check, by the end of a message."""


def _called(function: Callable[..., Any], as_shape: bool) -> Callable[..., Any]:
    """Return a function whose shapes equal lists, and that refuses arguments by a `ValueError`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except (ArgumentError, DTypeError, ShapeError) as error:
            details = {n: getattr(error, n) for n in ("expected", "found", "hint")}
            notes = [*error.notes, *(text for words, text in _CHECKS.items() if error.message.endswith(words))]
            raise ValueArgumentError(error.message, notes=notes, **details) from error
        return ShapeTuple(result) if as_shape else result

    return call


VMExecutable = Executable

__all__ = ["StateError", "TVMVirtualMachine", "VMExecutable", "VMInstrumentReturnKind", "ValueArgumentError"]
