"""Modules: parts of models with parameters, effects and methods."""

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

    With `define_subroutine = True` in the class, each call becomes a call of a separate function.
    """

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters by name, such as `fc1.weight`, in order of definition."""
        return ((name, part) for name, part in self._named_parts(prefix) if isinstance(part, Parameter))

    def named_effects(self, prefix: str = "") -> Iterator[tuple[str, Effect]]:
        """Yield the effects by name, in order of definition."""
        return ((name, part) for name, part in self._named_parts(prefix) if isinstance(part, Effect))

    def _named_parts(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """Yield the parameters and effects of this module and its submodules."""
        for name, part in self._parts():
            if isinstance(part, Module):
                yield from part._named_parts(f"{prefix}{name}.")
            else:
                yield prefix + name, part

    def _parts(self) -> Iterable[tuple[str, Any]]:
        return ((n, v) for n, v in vars(self).items() if isinstance(v, Parameter | Effect | Module))

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters."""
        return (p for _, p in self.named_parameters())

    def modules(self) -> Iterator[Module]:
        """Yield this module and all its submodules."""
        yield self
        for _, part in self._parts():
            if isinstance(part, Module):
                yield from part.modules()

    def state_dict(self, *, prefix: str = "", destination: dict[str, Parameter] | None = None) -> dict[str, Parameter]:
        """Return the parameters by name, added to `destination` if it is not None."""
        state: dict[str, Parameter] = OrderedDict() if destination is None else destination
        state.update(self.named_parameters(prefix))
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Set the contents of parameters; return the missing and the unexpected names.

        Raises `NameLookupError` for either if `strict`, and `ShapeError` for contents of another shape.
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
        """Return the methods named in `spec` as functions of a module, and the parameters, which are their last
        arguments.

        `spec` is a `spec.ModuleSpec`, or `{"forward": {"x": spec.Tensor(("n", 4), "float32")}}`. With `debug` the
        functions have an effect for `op.print_` and `op.debug_func`. With `allow_extern` the external modules that
        the model calls are the third result; without, they raise `TiraxError`.
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

        The module's parameters are used and must have contents (`load_state_dict`). Methods take and return arrays
        of `out_format`, "torch" or "numpy"; effects are kept between calls. Raises `TiraxError`, `NameLookupError`,
        and the errors of `relax.build`.
        """

        return compile_module(self, spec, device, pipeline, out_format, debug)


class _List(Module, Generic[_Part]):
    """A list of parts."""

    def __init__(self, parts: Iterable[_Part]):
        self._list: list[_Part] = list(parts)

    def _parts(self) -> Iterable[tuple[str, Any]]:
        return ((str(i), part) for i, part in enumerate(self._list))

    def __iter__(self) -> Iterator[_Part]:
        return iter(self._list)

    def __getitem__(self, idx: int) -> _Part:
        return self._list[idx]

    def __setitem__(self, index: int, part: _Part) -> None:
        self._list[index] = part

    def __len__(self) -> int:
        return len(self._list)


class _Dict(Module, Generic[_Part]):
    """A dictionary of parts."""

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
        """Return the names of the parts."""
        return self._dict.keys()

    def values(self) -> Iterable[_Part]:
        """Return the parts."""
        return self._dict.values()

    def items(self) -> Iterable[tuple[str, _Part]]:
        """Return the names and the parts."""
        return self._dict.items()

    def get(self, key: str, default: _Part | None = None) -> _Part | None:
        """Return the part of a name, or `default` if there is none."""
        return self._dict.get(key, default)

    def clear(self) -> None:
        """Remove all parts."""
        self._dict.clear()

    def pop(self, key: str) -> _Part:
        """Remove and return the part of a name. Raises `KeyError`."""
        return self._dict.pop(key)


class ModuleList(_List[Module]):
    """A list of modules; calling it applies them in order."""

    def __init__(self, modules: Iterable[Module]):
        super().__init__(modules)

    def append(self, module: Module) -> None:
        """Append a module."""
        self._list.append(module)

    def extend(self, modules: Iterable[Module]) -> None:
        """Append modules."""
        self._list.extend(modules)

    def forward(self, x: Any) -> Any:
        """Apply the modules one after the other."""
        for module in self:
            x = module(x)
        return x


class ModuleDict(_Dict[Module]):
    """A dictionary of modules."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        super().__init__(modules)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, replacing those of the same names."""
        self._dict.update(modules)


class ParameterList(_List[Parameter]):
    """A list of parameters."""

    def __init__(self, params: Iterable[Parameter] | None = None):
        super().__init__(params or ())

    def append(self, param: Parameter) -> None:
        """Append a parameter."""
        self._list.append(param)

    def extend(self, params: Iterable[Parameter]) -> None:
        """Append parameters."""
        self._list.extend(params)


class ParameterDict(_Dict[Parameter]):
    """A dictionary of parameters."""

    def __init__(self, params: Mapping[str, Parameter] | None = None):
        super().__init__(params)

    def update(self, params: Mapping[str, Parameter]) -> None:
        """Add parameters, replacing those of the same names."""
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
