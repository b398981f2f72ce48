"""Specs of the inputs of exported methods, and of how parameters and effects are passed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ...diagnostics import TiraxError, unknown_name
from ...dialects.sym.expr import Var as SymVar
from ...handles.struct_info import ObjectStructInfo, ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo


@dataclass(frozen=True)
class Tensor:
    """A tensor: `Tensor(("n", 784), "float32")`; an extent is an int, the name of a symbolic variable, or an
    expression.
    """

    shape: Sequence[Any]
    dtype: str

    def struct_info(self, name: str) -> StructInfo:
        """Return the struct info of an argument called `name`."""
        return TensorStructInfo(self.shape, self.dtype)


@dataclass(frozen=True)
class Int:
    """A symbolic integer, named by its argument; it is passed as a shape of one extent, as in TVM."""

    def struct_info(self, name: str) -> StructInfo:
        """Return the struct info of an argument called `name`: a shape of the symbolic variable `name`."""
        return ShapeStructInfo([SymVar(name)])


@dataclass(frozen=True)
class Object:
    """A value other than a tensor; the method receives an `object_type`, constructed from `_expr` and `_name`."""

    object_type: type

    def struct_info(self, name: str) -> StructInfo:
        """Return the struct info of an argument called `name`."""
        return ObjectStructInfo()


@dataclass(frozen=True)
class Tuple:
    """A tuple of inputs in one argument."""

    name: str
    elements: Sequence[Any]

    def struct_info(self, name: str) -> StructInfo:
        """Return the struct info of an argument called `name`."""
        return TupleStructInfo([e.struct_info(f"{self.name}_{i}") for i, e in enumerate(self.elements)])


Spec = Tensor | Int | Object | Tuple
_MODES = {"param_mode": ("plain", "packed", "none"), "effect_mode": ("plain", "packed", "none")}


@dataclass
class MethodSpec:
    """A method: its inputs by name, and how the parameters and effects of the module are passed.

    "plain" passes each as an argument, "packed" passes one tuple, and "none" omits them: parameters are then
    constants, and effects are unavailable.
    """

    method: Callable[..., Any]
    arg_names: list[str]
    arg_specs: list[Spec]
    param_mode: str
    effect_mode: str

    @staticmethod
    def from_raw(spec: Any, method: Callable[..., Any]) -> MethodSpec:
        """Create a spec from `{"x": Tensor(…), "$": {"param_mode": "packed"}}`; inputs are in the order of the method.

        Raises `NameLookupError` for names that the method or the options do not have, and `TiraxError` for other
        specs.
        """
        if isinstance(spec, MethodSpec):
            return spec
        if not isinstance(spec, Mapping):
            raise TiraxError("not the spec of a method", expected="a dictionary of inputs", found=repr(spec))
        entries = dict(cast("Mapping[str, Any]", spec))
        modes = _modes(entries.pop("$", {}))
        names = _in_order(list(entries), method)
        return MethodSpec(method, names, [as_spec(entries[n], n) for n in names], *modes)

    @staticmethod
    def from_torch(args: Sequence[Any], method: Callable[..., Any]) -> MethodSpec:
        """Return the spec of a method for example arguments: tensors (of torch, or arrays) and ints.

        Raises `TiraxError` for other arguments, or if the method takes fewer.
        """
        names = list(inspect.signature(method).parameters)
        if len(args) > len(names):
            raise TiraxError("the method takes fewer arguments", expected=", ".join(names), found=len(args))
        return MethodSpec.from_raw({n: _spec_like(a) for n, a in zip(names, args, strict=False)}, method)

    @property
    def inputs(self) -> dict[str, Spec]:
        """The inputs by name."""
        return dict(zip(self.arg_names, self.arg_specs, strict=True))


def _spec_like(value: Any) -> Any:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return Tensor(tuple(value.shape), str(value.dtype).rpartition(".")[2])
    return int if isinstance(value, int) and not isinstance(value, bool) else value


def _modes(options: Mapping[str, Any]) -> list[str]:
    for name in options:
        if name not in _MODES:
            raise unknown_name("option", name, _MODES)
    chosen = [options.get(name, "plain") for name in _MODES]
    for name, mode in zip(_MODES, chosen, strict=True):
        if mode not in _MODES[name]:
            raise unknown_name(name, str(mode), _MODES[name])
    return chosen


def _in_order(inputs: list[str], method: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(method).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return inputs
    for name in inputs:
        if name not in parameters:
            raise unknown_name("argument of the method", name, parameters)
    for name, p in parameters.items():
        if name not in inputs and p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
            raise TiraxError(f"the spec says nothing of the argument '{name}'", expected="a spec for each argument")
    return [name for name in parameters if name in inputs]


class Exported(Protocol):
    """The interface of a module for an export (`core.Module`)."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Any]]: ...

    def named_effects(self, prefix: str = "") -> Iterator[tuple[str, Any]]: ...


@dataclass
class ModuleSpec:
    """The exported methods of a module."""

    module: Exported
    method_names: list[str]
    method_specs: list[MethodSpec]

    @staticmethod
    def from_raw(spec: Any, module: Exported) -> ModuleSpec:
        """Create a spec from `{"forward": {"x": Tensor(…)}}`. Raises `TiraxError` for unknown methods, and as
        `MethodSpec`.
        """
        if isinstance(spec, ModuleSpec):
            return spec
        methods: dict[str, MethodSpec] = {}
        for name, inputs in dict(spec).items():
            method = getattr(module, name, None)
            if not callable(method):
                raise TiraxError(f"{type(module).__name__} has no method '{name}'")
            if hasattr(type(method), "forward"):
                method = method.forward
            methods[name] = MethodSpec.from_raw(inputs, method)
        return ModuleSpec(module, list(methods), list(methods.values()))


def _elements(elements: Sequence[Any], name: str) -> Sequence[Spec]:
    specs = [as_spec(e, f"{name}_{i}") for i, e in enumerate(elements)]
    return specs if isinstance(elements, list) else tuple(specs)


def as_spec(value: Any, name: str = "") -> Spec:
    """Return a spec, converting `int`, `"int"`, tuples and lists. Raises `TiraxError`."""
    if value is int or value is Int or value == "int":
        return Int()
    if isinstance(value, Tensor | Int | Object):
        return value
    if isinstance(value, Tuple):
        return Tuple(value.name, _elements(value.elements, value.name))
    if isinstance(value, tuple | list):
        return Tuple(name, _elements(cast("Sequence[Any]", value), name))
    expected = "spec.Tensor, spec.Int, spec.Object, spec.Tuple, a tuple of them, or int"
    raise TiraxError(f"not the spec of an input: {name}", expected=expected, found=repr(value))


__all__ = ["Int", "MethodSpec", "ModuleSpec", "Object", "Spec", "Tensor", "Tuple", "as_spec"]
