"""Compiled models, whose methods are called with arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from ...diagnostics import TiraxError, UnsupportedError, unknown_name
from ...runtime import Device, NDArray, ShapeTuple, VirtualMachine, from_dlpack
from ...runtime import device as device_of
from . import spec as _spec
from .exporter import Exporter

_PIPELINES = {"default_build": "default-cpu"}
"""TVM's pipeline names -> ours."""


class CompiledModule:
    """The compiled methods of a model: `compiled["forward"](x)`. Effects are kept between calls."""

    def __init__(
        self, spec: _spec.ModuleSpec, params: Sequence[Any], vm: VirtualMachine, convert: Callable[[Any], Any]
    ):
        self.spec = spec
        self.vm = vm
        self.params = list(params)
        self.effects: Any = vm["_initialize_effect"]() if "_initialize_effect" in vm.module else ()
        self._convert = convert

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        """Return a method that takes arrays, ints for `spec.Int`, and tuples for `spec.Tuple`. Raises
        `NameLookupError`.
        """
        if method_name not in self.spec.method_names:
            raise unknown_name("method", method_name, self.spec.method_names)
        method = self.spec.method_specs[self.spec.method_names.index(method_name)]

        def call(*args: Any) -> Any:
            if len(args) != len(method.arg_specs):
                raise TiraxError(
                    f"{method_name} takes {len(method.arg_specs)} arguments",
                    expected=", ".join(method.arg_names),
                    found=len(args),
                )
            inputs = [_argument(a, s) for a, s in zip(args, method.arg_specs, strict=True)]
            states = _passed(method.effect_mode, self.effects)
            result = self.vm[method_name](*inputs, *states, *_passed(method.param_mode, self.params, always=True))
            if states:
                result, self.effects = result
            return self._result(result)

        call.__name__ = call.__qualname__ = method_name
        return call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return `self[name]`: `compiled.forward(x)`."""
        spec: _spec.ModuleSpec | None = self.__dict__.get("spec")
        if spec is None or name not in spec.method_names:
            raise AttributeError(f"the compiled model has no method '{name}'")
        return self[name]

    def __call__(self, *args: Any) -> Any:
        """Call `forward`."""
        return self["forward"](*args)

    def _result(self, value: Any) -> Any:
        if isinstance(value, tuple) and not isinstance(value, ShapeTuple):
            return tuple(self._result(v) for v in cast("tuple[Any, ...]", value))
        return self._convert(value) if isinstance(value, np.ndarray) else value


def _argument(value: Any, spec: Any) -> Any:
    if isinstance(spec, _spec.Int):
        return ShapeTuple([int(value)]) if isinstance(value, int | np.integer) else value
    if isinstance(spec, _spec.Tuple):
        return tuple(_argument(v, s) for v, s in zip(value, spec.elements, strict=True))
    if isinstance(spec, _spec.Object) or isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    return from_dlpack(value)


def _passed(mode: str, values: Sequence[Any], always: bool = False) -> Sequence[Any]:
    if mode == "none" or not (values or always):
        return ()
    return values if mode == "plain" else (tuple(values),)


def _to_torch(value: NDArray) -> Any:
    return import_module("torch").from_dlpack(value)


_FORMATS: dict[str, Callable[[Any], Any]] = {"numpy": np.asarray, "torch": _to_torch}


def compile_module(
    module: _spec.Exported, spec: Any, device: Any, pipeline: Any, out_format: str, debug: bool
) -> CompiledModule:
    """Implement `Module.jit`."""
    from ...driver.build import build

    if out_format not in _FORMATS:
        raise unknown_name("out_format", str(out_format), _FORMATS)
    if out_format == "torch" and find_spec("torch") is None:
        raise UnsupportedError("torch is not installed", hint='pass out_format="numpy"')
    where = device if isinstance(device, Device) else device_of(str(device))
    chosen = _spec.ModuleSpec.from_raw(spec, module)
    exporter = Exporter(debug)
    mod = exporter.build(chosen)
    for extern in exporter.extern_mods:
        extern.load()
    params = [_contents(name, parameter.data) for name, parameter in module.named_parameters()]
    executable = build(mod, pipeline=_PIPELINES.get(pipeline, pipeline) if isinstance(pipeline, str) else pipeline)
    return CompiledModule(chosen, params, VirtualMachine(executable, where), _FORMATS[out_format])


def _contents(name: str, data: Any) -> Any:
    if data is None:
        raise TiraxError(f"the parameter {name} has no contents", hint="load_state_dict first")
    return data


__all__ = ["CompiledModule", "compile_module"]
