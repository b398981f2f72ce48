"""Modules: parts of models, with parameters, effects and methods."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from ...diagnostics import unknown_name
from ...handles.module import IRModule
from .compiled import compile_module
from .exporter import Exporter
from .extern import ExternModule
from .spec import ModuleSpec
from .subroutine import SubroutineMixin
from .tensor import (
    Effect,
    Object,
    Parameter,
    Tensor,
    get_default_dtype,
    set_default_dtype,
    wrap_nested,
)

_Part = TypeVar("_Part", "Module", Parameter)


class Module(SubroutineMixin):
    """A part of a model; attributes that are modules or parameters are its parts. Override `forward`.

    With `define_subroutine = True` in the class, each call of it is a call of a function of its own.
    """

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """The parameters by name, such as `fc1.weight`, in the order of their definition."""
        return ((name, part) for name, part in self._named_parts(prefix) if isinstance(part, Parameter))

    def named_effects(self, prefix: str = "") -> Iterator[tuple[str, Effect]]:
        """The effects by name, in the order of their definition."""
        return ((name, part) for name, part in self._named_parts(prefix) if isinstance(part, Effect))

    def _named_parts(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """The parameters and effects of this module and all inside of it."""
        for name, part in self._parts():
            if isinstance(part, Module):
                yield from part._named_parts(f"{prefix}{name}.")
            else:
                yield prefix + name, part

    def _parts(self) -> Iterable[tuple[str, Any]]:
        return ((n, v) for n, v in vars(self).items() if isinstance(v, Parameter | Effect | Module))

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        return (p for _, p in self.named_parameters())

    def modules(self) -> Iterator[Module]:
        """This module and all inside of it."""
        yield self
        for _, part in self._parts():
            if isinstance(part, Module):
                yield from part.modules()

    def state_dict(self, *, prefix: str = "", destination: dict[str, Parameter] | None = None) -> dict[str, Parameter]:
        """The parameters by name, put into `destination` where that is given."""
        state: dict[str, Parameter] = OrderedDict() if destination is None else destination
        state.update(self.named_parameters(prefix))
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Give parameters their contents; returns the names missing and those not known.

        Raises `NameLookupError` for either where `strict`, `ShapeError` for contents that do not fit.
        """
        own = self.state_dict()
        missing, unknown = [n for n in own if n not in state_dict], [n for n in state_dict if n not in own]
        if strict and unknown:
            raise unknown_name("parameter", unknown[0], own)
        if strict and missing:
            raise unknown_name("parameter in the state", missing[0], state_dict)
        for name, value in state_dict.items():
            if name in own:
                own[name].data = value.data if isinstance(value, Parameter) else value
        return missing, unknown

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and effects."""
        for _, part in self._parts():
            part.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return cast(Any, self).forward(*args, **kwargs)

    def export_tvm(
        self, spec: Any, debug: bool = False, allow_extern: bool = False
    ) -> (
        tuple[IRModule, list[tuple[str, Parameter]]] | tuple[IRModule, list[tuple[str, Parameter]], list[ExternModule]]
    ):
        """The methods named in `spec` as functions of a module, and the parameters, which are their last arguments.

        `spec` is a `spec.ModuleSpec`, or `{"forward": {"x": spec.Tensor(("n", 4), "float32")}}`. With `debug` the
        functions have an effect for `op.print_` and `op.debug_func`. External modules that the model calls are the
        third result where `allow_extern`, and refused (`TiraxError`) where not.
        """

        exporter = Exporter(debug)
        mod = exporter.build(ModuleSpec.from_raw(spec, self))
        parameters = list(self.named_parameters())
        if allow_extern:
            return mod, parameters, exporter.extern_mods
        exporter.refuse_extern()
        return mod, parameters

    def jit(
        self,
        spec: Any,
        device: Any = "cpu",
        pipeline: Any = "default_build",
        out_format: str = "torch",
        debug: bool = False,
    ) -> Any:
        """Compile the methods named in `spec`: `model.jit(spec, out_format="numpy")["forward"](x)`.

        The parameters are those of the module, which must have contents (`load_state_dict`). Methods take and return
        arrays of `out_format`, "torch" or "numpy"; effects are kept between the calls. Raises `TiraxError`,
        `NameLookupError`, and what `relax.build` does.
        """

        return compile_module(self, spec, device, pipeline, out_format, debug)


class _List(Module, Generic[_Part]):
    """Parts in order."""

    def __init__(self, parts: Iterable[_Part]):
        self._list: list[_Part] = list(parts)

    def _parts(self) -> Iterable[tuple[str, Any]]:
        return ((str(i), part) for i, part in enumerate(self._list))

    def __iter__(self) -> Iterator[_Part]:
        return iter(self._list)

    def __getitem__(self, index: int) -> _Part:
        return self._list[index]

    def __setitem__(self, index: int, part: _Part) -> None:
        self._list[index] = part

    def __len__(self) -> int:
        return len(self._list)


class _Dict(Module, Generic[_Part]):
    """Parts by name."""

    def __init__(self, parts: Mapping[str, _Part] | None = None):
        self._dict: dict[str, _Part] = dict(parts or {})

    def _parts(self) -> Iterable[tuple[str, Any]]:
        return self._dict.items()

    def __getitem__(self, key: str) -> _Part:
        return self._dict[key]

    def __setitem__(self, key: str, part: _Part) -> None:
        self._dict[key] = part

    def __delitem__(self, key: str) -> None:
        del self._dict[key]

    def __contains__(self, key: object) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._dict.keys()

    def values(self) -> Iterable[_Part]:
        """The parts."""
        return self._dict.values()

    def items(self) -> Iterable[tuple[str, _Part]]:
        """Names and parts."""
        return self._dict.items()

    def get(self, key: str, default: _Part | None = None) -> _Part | None:
        """The part of a name, `default` where there is none."""
        return self._dict.get(key, default)

    def clear(self) -> None:
        """Take all parts out."""
        self._dict.clear()

    def pop(self, key: str) -> _Part:
        """Take the part of a name out. Raises `KeyError`."""
        return self._dict.pop(key)


class ModuleList(_List[Module]):
    """A list of modules; called, it applies them in order."""

    def __init__(self, modules: Iterable[Module]):
        super().__init__(modules)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self._list.append(module)

    def extend(self, modules: Iterable[Module]) -> None:
        """Add modules at the end."""
        self._list.extend(modules)

    def forward(self, x: Any) -> Any:
        """Apply the modules one after the other."""
        for module in self:
            x = module(x)
        return x


class ModuleDict(_Dict[Module]):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        super().__init__(modules)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, in place of those of the same name."""
        self._dict.update(modules)


class ParameterList(_List[Parameter]):
    """A list of parameters."""

    def __init__(self, params: Iterable[Parameter] | None = None):
        super().__init__(params or ())

    def append(self, param: Parameter) -> None:
        """Add a parameter at the end."""
        self._list.append(param)

    def extend(self, params: Iterable[Parameter]) -> None:
        """Add parameters at the end."""
        self._list.extend(params)


class ParameterDict(_Dict[Parameter]):
    """Parameters by name."""

    def __init__(self, params: Mapping[str, Parameter] | None = None):
        super().__init__(params)

    def update(self, params: Mapping[str, Parameter]) -> None:
        """Add parameters, in place of those of the same name."""
        self._dict.update(params)


__all__ = [
    "Effect",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Object",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Tensor",
    "get_default_dtype",
    "set_default_dtype",
    "wrap_nested",
]
