"""Arguments for the functions that `tirax run` calls: from .npy files, or generated from the function's signature."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diagnostics import TiraxError, unknown_name
from ..runtime import FunctionInfo, Parameter, PrimInfo, ShapeInfo, TensorInfo, TupleInfo, array, to_dtype
from ..runtime.metadata import Dim, Info, dim_text, dim_value, dim_vars
from ..untrusted import brief
from ..untrusted.arrays import read_arrays
from .guard import UsageError

DEFAULT_SIZE = 4
"""Default value of symbolic sizes."""

_LARGEST = 2**48
"""Elements of a tensor that no machine has memory for; numpy raises different errors for these."""

FILLS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "random": lambda rng, shape: rng.random(shape) * 2 - 1,
    "zeros": lambda _rng, shape: np.zeros(shape),
    "ones": lambda _rng, shape: np.ones(shape),
    "arange": lambda _rng, shape: np.arange(np.prod(shape, dtype=int)).reshape(shape),
}
"""The contents of generated tensors; `random` is in [-1, 1), for integers in [0, 3)."""


@dataclass
class Arguments:
    """The arguments of one call. `inputs` are the texts of `--input` by parameter, `sizes` the symbolic sizes."""

    function: FunctionInfo
    inputs: Mapping[str, str]
    sizes: dict[str, int]
    seed: int = 0
    assumed: list[str] = field(default_factory=list)

    def values(self) -> list[Any]:
        """Return the arguments in order; afterwards `assumed` lists the sizes that got their default.

        Raises `UsageError` for an unknown parameter or an invalid text, `TiraxError` for a file that cannot be read
        or a parameter that cannot be generated.
        """
        names = [p.name for p in self.function.params]
        for name in self.inputs:
            if name not in names:
                error = unknown_name("parameter", name, names)
                raise UsageError(f"{error.message} of '{self.function.name}'", hint=error.hint)
        rng = np.random.default_rng(self.seed)
        files = {n: load_array(t) for n, t in self.inputs.items() if _fill_of(t) is None}
        for p in self.function.params:
            if p.name in files:
                self._bind(p.info, files[p.name])
        variables: set[str] = set().union(*(_variables(p.info) for p in self.function.params))
        for name in self.sizes.keys() - variables:
            error = unknown_name("size", name, variables)
            raise UsageError(f"{error.message} of '{self.function.name}'", hint=error.hint)
        for name in sorted(variables - self.sizes.keys()):
            self.sizes[name] = DEFAULT_SIZE
            self.assumed.append(name)
        return [array(files[p.name]) if p.name in files else self._filled(p, rng) for p in self.function.params]

    def _bind(self, info: Info, value: np.ndarray[Any, Any]) -> None:
        """Bind the sizes that are plain variables in a parameter's shape to the extents of its array."""
        if not isinstance(info, TensorInfo) or info.shape is None:
            return
        for dim, extent in zip(info.shape, value.shape):
            if isinstance(dim, tuple) and dim[0] == "var":
                self.sizes.setdefault(dim[1], extent)

    def _filled(self, p: Parameter, rng: np.random.Generator) -> Any:
        text = self.inputs.get(p.name, "random")
        fill, _, shape = text.partition(":")
        return self._value(p.info, fill, _shape(shape) if shape else None, rng, p.name)

    def _value(self, info: Info, fill: str, shape: tuple[int, ...] | None, rng: np.random.Generator, name: str) -> Any:
        if isinstance(info, TensorInfo):
            return self._tensor(info, fill, shape, rng)
        if isinstance(info, ShapeInfo) and info.values is not None:
            return tuple(self._extent(d) for d in info.values)
        if isinstance(info, PrimInfo):
            return 1 if info.value is None else self._extent(info.value)
        if isinstance(info, TupleInfo):
            return tuple(self._value(f, fill, shape, rng, name) for f in info.fields)
        raise TiraxError(f"no argument can be made up for parameter '{name}'", found=info, hint="call it from Python")

    def _tensor(self, info: TensorInfo, fill: str, shape: tuple[int, ...] | None, rng: np.random.Generator) -> Any:
        if shape is None:
            dims = info.shape if info.shape is not None else (DEFAULT_SIZE,) * max(info.ndim, 0)
            shape = tuple(self._extent(d) for d in dims)
        dtype = to_dtype(info.dtype or "float32")
        if math.prod(max(n, 1) for n in shape) > _LARGEST:
            raise TiraxError("a tensor is too large to be made up", found=shape)
        if fill == "random" and dtype.kind in "iub":
            return array(rng.integers(0, 2 if dtype.kind == "b" else 3, shape).astype(dtype))
        return array(np.asarray(FILLS[fill](rng, shape)).astype(dtype))

    def _extent(self, dim: Dim) -> int:
        try:
            value = dim_value(dim, self.sizes)
        except (ZeroDivisionError, OverflowError) as error:
            raise TiraxError(f"the size {dim_text(dim)} has no value: {error}", found=self.sizes) from error
        if value is None or value < 0:
            raise TiraxError(f"the size {dim_text(dim)} is not a size", found=value, hint="--sizes n=4,m=8")
        return value


def _variables(info: Info) -> set[str]:
    """Return the symbolic sizes in struct info."""
    if isinstance(info, TupleInfo):
        return set().union(*map(_variables, info.fields))
    dims: Iterable[Dim] = ()
    if isinstance(info, TensorInfo):
        dims = info.shape or ()
    elif isinstance(info, ShapeInfo):
        dims = info.values or ()
    elif isinstance(info, PrimInfo) and info.value is not None:
        dims = (info.value,)
    return set().union(*map(dim_vars, dims))


def _fill_of(text: str) -> str | None:
    fill = text.partition(":")[0]
    return fill if fill in FILLS else None


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(n) for n in text.split("x"))
    except ValueError:
        raise UsageError("a shape is wrong", expected="extents such as 4x784", found=text) from None
    if min(shape) < 0:
        raise UsageError("a shape is wrong", expected="extents of at least 0", found=text)
    return shape


def load_array(path: str) -> np.ndarray[Any, Any]:
    """Load the array of a .npy file. Raises `TiraxError`."""
    hint = f"a .npy file, or one of {', '.join(FILLS)}, with a shape: random:4x784"
    value = read_arrays(path, TiraxError, hint)
    if not isinstance(value, np.ndarray):
        raise TiraxError(f"'{brief(path)}' holds several arrays", hint=hint)
    return value
