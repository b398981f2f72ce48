"""What the inputs of an exported method are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import TiraxError, unknown_name
from ...ir.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo


@dataclass(frozen=True)
class Tensor:
    """A tensor: `Tensor(("n", 784), "float32")`; an extent is an int, a symbolic variable's name or an expression."""

    shape: Sequence[Any]
    dtype: str = "float32"

    def struct_info(self) -> StructInfo:
        return TensorStructInfo(self.shape, self.dtype)


@dataclass(frozen=True)
class Int:
    """A symbolic integer, named by its argument; it is passed as a shape of one extent, as in TVM."""

    dtype: str = "int64"

    def struct_info(self) -> StructInfo:
        return ShapeStructInfo(ndim=1)


@dataclass(frozen=True)
class Tuple:
    """Several inputs in one argument."""

    name: str
    elements: Sequence[Any]

    def struct_info(self) -> StructInfo:
        return TupleStructInfo([as_spec(e).struct_info() for e in self.elements])


Spec = Tensor | Int | Tuple
_PARAM_MODES = ("plain", "packed", "none")


@dataclass(frozen=True)
class MethodSpec:
    """A method: its inputs by name, and how the parameters of the module are passed."""

    name: str
    inputs: Mapping[str, Spec]
    param_mode: str = "plain"

    @staticmethod
    def of(name: str, given: Mapping[str, Any]) -> MethodSpec:
        """From `{"x": Tensor(…), "$": {"param_mode": "plain"}}`. Raises `TiraxError` or `NameLookupError`."""
        options = dict(given.get("$", {}))
        mode = options.pop("param_mode", "plain")
        if mode not in _PARAM_MODES:
            raise unknown_name("param_mode", str(mode), _PARAM_MODES)
        if options.pop("effect_mode", "none") != "none":
            raise TiraxError(f"{name}: effects are not exported", expected='effect_mode "none"')
        if options:
            raise unknown_name("option", next(iter(options)), ("param_mode", "effect_mode"))
        return MethodSpec(name, {k: as_spec(v) for k, v in given.items() if k != "$"}, mode)


def as_spec(value: Any) -> Spec:
    """A spec, or what stands for one: `int` for `Int()`. Raises `TiraxError`."""
    if value is int:
        return Int()
    if isinstance(value, Tensor | Int | Tuple):
        return value
    raise TiraxError("not the spec of an input", expected="spec.Tensor, spec.Int, spec.Tuple or int", found=repr(value))
