"""`VirtualMachine`: TVM's way to call an executable. There is no interpreter behind it: functions are native."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arguments import bind_keywords, normalize_arguments
from .devices import CPU, Device, require_cpu
from .errors import ArgumentError, unknown_name
from .executable import Executable
from .module import Module
from .ndarray import array
from .timing import Evaluator


class VirtualMachine:
    """Calls functions of an executable: `vm["main"](x)`. Usable from several threads, but for the stateful methods."""

    def __init__(
        self,
        executable: Executable | Module,
        device: Device | Sequence[Device] = CPU,
        memory_cfg: Any = None,
        profile: bool = False,
    ):
        """`memory_cfg` and `profile` are accepted for TVM's sake and change nothing.

        Packed functions are looked up now. Raises `DeviceError`, `NameLookupError`, `LoadError`, `ArgumentError`.
        """
        for each in [device] if isinstance(device, Device) else device:
            require_cpu(each)
        if not isinstance(executable, (Executable, Module)):
            found = type(executable).__name__
            raise ArgumentError("not an executable", expected="what relax.build returns", found=found)
        self.module = executable.fresh_module() if isinstance(executable, Executable) else executable
        self._functions = {name: self.module[name] for name in self.module.function_names}
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function by name. Raises `NameLookupError` with a suggestion."""
        function = self._functions.get(name)
        if function is None:
            raise unknown_name("function", name, self._functions)
        return function

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Copy the arguments for a later `invoke_stateful`; raises what a call with them would."""
        info = self._info(func_name)
        values = normalize_arguments(info, *bind_keywords(info, args, kwargs))
        self._inputs[func_name] = tuple(map(_copy, values))

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the inputs that were set; `get_outputs` gives the result. Raises `ArgumentError`."""
        if func_name not in self._inputs:
            self._info(func_name)
            raise ArgumentError(f"no inputs were set for '{func_name}'", hint=f"vm.set_input('{func_name}', …)")
        self._outputs[func_name] = self.module[func_name](*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful` of a function. Raises `ArgumentError` where there is none."""
        if func_name not in self._outputs:
            self._info(func_name)
            raise ArgumentError(f"'{func_name}' was not invoked", hint=f"vm.invoke_stateful('{func_name}')")
        return self._outputs[func_name]

    def save_function(self, func_name: str, saved_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep a function with its arguments under another name: `vm[saved_name]()`. Raises as `set_input`."""
        info = self._info(func_name)
        values = normalize_arguments(info, *bind_keywords(info, args, kwargs))
        self._functions[saved_name] = functools.partial(self.module[func_name], *values)

    def time_evaluator(self, func_name: str, dev: Device | None = None, *args: Any, **options: Any) -> Evaluator:
        """As `Module.time_evaluator`; also for saved functions."""
        if dev is not None:
            require_cpu(dev)
        return Evaluator(self[func_name], *args, **options)

    def _info(self, name: str) -> Any:
        if name not in self.module:
            raise unknown_name("function", name, self.module.function_names)
        return self.module.functions[name]


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return array(value)
    return tuple(map(_copy, value)) if isinstance(value, tuple) else value
