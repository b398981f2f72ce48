"""Do two modules mean the same? Run both on random inputs, at several values of each symbolic variable, and compare."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute

from ..diagnostics import TiraxError
from ..dialects import relax, tir
from ..dialects.dtypes import numpy_dtype
from ..dialects.relax import free_symbolic_vars
from ..dialects.sym.expr import SymExpr, Var
from .run import interpret
from .scalars import InterpreterError

SIZES = (2, 5, 1, 0)
"""The values that symbolic variables take in turn."""

_TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Relative and absolute tolerance by dtype: transforms may reassociate sums, so equality is to a few roundings."""

Function = relax.FuncOp | tir.FuncOp


class MeaningError(TiraxError):
    """Two programs that should mean the same do not."""


def symbolic_vars(func: Function) -> list[Var]:
    """The symbolic variables of a function's parameters."""
    types = [p.type for p in func.params]
    buffers = [e for t in types if isinstance(t, tir.BufferType) for e in t.exprs()]
    found = dict.fromkeys(free_symbolic_vars(types))
    for e in buffers:
        found.update(dict.fromkeys(e.free_vars()))
    return list(found)


def symbolic_sizes(func: Function, sizes: Sequence[int] = SIZES) -> Iterator[dict[str, int]]:
    """Assignments to the symbolic variables: one for each of `sizes`, the variables taking different values."""
    names = [str(v.name) for v in symbolic_vars(func)]
    if not names:
        yield {}
        return
    for i, size in enumerate(sizes):
        yield {n: size if k == 0 or size < 2 else sizes[i] + k for k, n in enumerate(names)}


def random_inputs(func: Function, sizes: Mapping[str, int], seed: int = 0) -> list[Any]:
    """Inputs of the types of a function's parameters, the symbolic variables having the values `sizes`.

    Floats are of [-1, 1), integers of [0, 3). Buffers that a tensor function writes are random, too.
    """
    rng = np.random.default_rng(seed)
    values = dict(sizes)
    return [_random_value(p.type, values, rng) for p in func.params]


def _random_value(t: Attribute, sizes: Mapping[str, int], rng: np.random.Generator) -> Any:
    if isinstance(t, relax.TensorType):
        dims = (2,) * (2 if t.rank is None else t.rank) if t.dims is None else _shape(t.dims, sizes)
        return _random_array(dims, numpy_dtype(t.element) if t.element is not None else np.dtype("float32"), rng)
    if isinstance(t, tir.BufferType):
        return _random_array(_shape(t.dims, sizes), numpy_dtype(t.dtype), rng)
    if isinstance(t, relax.ShapeType):
        return (2,) * (t.rank or 1) if t.dims is None else _shape(t.dims, sizes)
    if isinstance(t, relax.PrimType):
        return int(rng.integers(1, 3)) if t.expr is None else t.expr.evaluate(dict(sizes))
    if isinstance(t, TupleType):
        return tuple(_random_value(f, sizes, rng) for f in t.types)
    if isinstance(t, relax.ObjectType | relax.CallableType | tir.HandleType):
        raise InterpreterError("there are no random inputs of this type", found=t)
    return _random_array((), numpy_dtype(t), rng)[()]


def _shape(dims: Sequence[SymExpr], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(max(d.evaluate(dict(sizes)), 0) for d in dims)


def _random_array(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 3, shape).astype(dtype)
    return (rng.random(shape) * 2 - 1).astype(dtype)


@dataclass(frozen=True)
class Disagreement:
    """Inputs on which two modules differ, and what each gave."""

    function: str
    sizes: Mapping[str, int]
    inputs: Sequence[Any]
    before: Any
    after: Any

    def __str__(self) -> str:
        shown = "\n".join(f"  input {i}: {_show(v)}" for i, v in enumerate(self.inputs))
        results = f"  before: {_show(self.before)}\n  after: {_show(self.after)}"
        return f"@{self.function} at {dict(self.sizes)}\n{shown}\n{results}"


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=32, precision=6).replace("\n", " ")
        return f"{value.dtype}{list(value.shape)} {text}"
    return repr(value)


def first_disagreement(
    before: ModuleOp,
    after: ModuleOp,
    *,
    functions: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
    packed: Mapping[str, Callable[..., Any]] | None = None,
    inputs: Callable[[Function, Mapping[str, int], int], list[Any]] = random_inputs,
) -> Disagreement | None:
    """The first inputs on which a function of `before` and its namesake of `after` disagree, None where there are none.

    Compared are `functions`, or all public ones that both modules have with the same number of parameters. Where
    `before` itself has no meaning on some inputs, these are passed over.
    """
    theirs = _functions(after)
    for name, func in _functions(before).items():
        if name not in theirs or (name not in functions if functions is not None else func.private):
            continue
        if len(theirs[name].params) != len(func.params):
            continue
        for n, chosen in enumerate(symbolic_sizes(func, sizes)):
            values = inputs(func, chosen, seed + n)
            found = _compare_on(name, before, after, values, packed)
            if found is not None:
                return Disagreement(name, chosen, values, *found)
    return None


def _functions(module: ModuleOp) -> dict[str, Function]:
    return {f.sym_name.data: f for f in module.ops if isinstance(f, relax.FuncOp | tir.FuncOp)}


def _compare_on(
    name: str, before: ModuleOp, after: ModuleOp, values: list[Any], packed: Mapping[str, Callable[..., Any]] | None
) -> tuple[Any, Any] | None:
    try:
        expected = _observe(before, name, values, packed)
    except InterpreterError:
        return None
    try:
        found = _observe(after, name, values, packed)
    except InterpreterError as error:
        return expected, str(error)
    return None if same_values(expected, found) else (expected, found)


def _observe(module: ModuleOp, name: str, values: list[Any], packed: Any) -> Any:
    """The result, and for a tensor function the arrays after the call."""
    args = [_copied(v) for v in values]
    random.seed(0)
    result = interpret(module, name, args, packed)
    return (result, args) if isinstance(_functions(module)[name], tir.FuncOp) else result


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_copied(v) for v in value)
    return value.copy() if isinstance(value, np.ndarray) else value


def same_values(a: Any, b: Any) -> bool:
    """Equal in kind, shape and dtype, and equal in value to the tolerance of the dtype (NaN equals NaN)."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same_values, a, b))
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a is b or a == b
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    tolerance = _TOLERANCE.get(x.dtype.name)
    if tolerance is None:
        return bool(np.array_equal(x, y))
    wide = [v.astype(np.float64) for v in (x, y)]
    return bool(np.allclose(*wide, rtol=tolerance, atol=tolerance, equal_nan=True))


def assert_same_meaning(before: ModuleOp, after: ModuleOp, **options: Any) -> None:
    """Raise `MeaningError`, which shows the inputs, where `first_disagreement(before, after, **options)` finds one."""
    found = first_disagreement(before, after, **options)
    if found is not None:
        raise MeaningError("the programs do not mean the same", notes=str(found).split("\n"))
