"""Differential testing of two modules: run both on random inputs, at several values of each symbolic variable."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ..diagnostics import TiraxError
from ..dialects import relax, tir
from ..dialects.dtypes import dtype_name, numpy_dtype
from ..dialects.names import name_of
from ..dialects.relax import free_symbolic_vars
from ..dialects.sym.expr import SymExpr, Var
from ..ir.functions.iterations import UNKNOWN, iterations
from ..ir.passes.limits import limit
from ..ir.passes.transform import module_op
from .run import interpret
from .scalars import InterpreterError

SIZES = (2, 5, 1, 0)
"""The values that symbolic variables take, one after the other."""

Sizes = Sequence[int] | Mapping[str, int]
"""Values that all symbolic variables take one after the other, or values by name."""

_TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Relative and absolute tolerance by dtype: transforms may reassociate sums, so results may differ by a few roundings.
"""

Function = relax.FuncOp | tir.FuncOp


class MeaningError(TiraxError):
    """Two programs that should be equivalent compute different results."""


def symbolic_vars(func: Function) -> list[Var]:
    """Return the symbolic variables of a function's parameters."""
    types = [p.type for p in func.params]
    buffers = [e for t in types if isinstance(t, tir.BufferType) for e in t.exprs()]
    variables = dict.fromkeys(free_symbolic_vars(types))
    for e in buffers:
        variables.update(dict.fromkeys(e.free_vars()))
    return list(variables)


def symbolic_sizes(func: Function, sizes: Sizes = SIZES) -> Iterator[dict[str, int]]:
    """Yield assignments to the symbolic variables: one for each of `sizes`, with a different value for each variable.

    If 0 is a size, each second one of several variables is also set to 0 alone, for points that sum over nothing.
    A mapping fixes variables by name; the others take the values of `SIZES`.
    """
    names = [str(v.name) for v in symbolic_vars(func)]
    if isinstance(sizes, Mapping):
        fixed = {n: sizes[n] for n in names if n in sizes}
        yield from (fixed | others for others in _assignments([n for n in names if n not in fixed], SIZES))
    else:
        yield from _assignments(names, sizes)


def _assignments(names: Sequence[str], sizes: Sequence[int]) -> Iterator[dict[str, int]]:
    if not names:
        yield {}
        return
    for i, size in enumerate(sizes):
        yield {n: size if k == 0 or size < 2 else sizes[i] + k for k, n in enumerate(names)}
    if 0 in sizes and len(names) > 1:
        yield {n: 0 if k % 2 else 3 for k, n in enumerate(names)}


def random_inputs(func: Function, sizes: Mapping[str, int], seed: int = 0) -> list[Any]:
    """Return random inputs for a function's parameters, with the symbolic variables set to `sizes`.

    Floats are in [-1, 1), integers in [0, 3). Buffers that a tensor function writes are random, too. An integer that is
    the size of a buffer is that size.
    """
    rng = np.random.default_rng(seed)
    values = dict(sizes)
    drawn = [(_size(p, values), _random_value(p.type, values, rng)) for p in func.params]
    return [value if size is None else size for size, value in drawn]


def _size(param: SSAValue, sizes: Mapping[str, int]) -> Any:
    """Return the value of an integer parameter whose name is a size in the shapes of others, or None."""
    name = name_of(param) if isinstance(param.type, IntegerType) else None
    return None if name is None or name not in sizes else numpy_dtype(param.type).type(sizes[name])


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
    """Return a random array, also for rank 0, where numpy would return a scalar."""
    if dtype.kind in "biu":
        return np.asarray(rng.integers(0, 2 if dtype.kind == "b" else 3, shape)).astype(dtype)
    return np.asarray(rng.random(shape) * 2 - 1).astype(dtype)


@dataclass(frozen=True)
class Disagreement:
    """The inputs on which two modules differ, and both results."""

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


@dataclass
class Comparison:
    """The outcome of a comparison: inputs by function, reasons for skipped functions, and the disagreement."""

    compared: dict[str, int] = field(default_factory=dict[str, int])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    disagreement: Disagreement | None = None

    def __str__(self) -> str:
        calls = ", ".join(f"@{name} on {count} inputs" for name, count in self.compared.items())
        return f"compared: {calls}" if calls else "nothing was compared"

    @property
    def reasons(self) -> list[str]:
        """Return a line for each function that was not compared."""
        return [f"@{name}: {why}" for name, why in self.skipped.items()]


def compare(
    before: Any,
    after: Any,
    *,
    functions: Sequence[str] | None = None,
    private: bool = False,
    sizes: Sizes = SIZES,
    seed: int = 0,
    packed: Mapping[str, Callable[..., Any]] | None = None,
    inputs: Callable[[Function, Mapping[str, int], int], list[Any]] = random_inputs,
) -> Comparison:
    """Run the functions of `before` and their namesakes in `after` on the same inputs, up to the first disagreement.

    Modules are `ModuleOp`s or `IRModule`s. Compares `functions`, by default the public ones; with `private` also the
    private tensor functions whose parameters are the same in both modules. Inputs on which `before` itself is undefined
    are skipped.
    """
    before, after = module_op(before), module_op(after)
    theirs, result = functions_of(after), Comparison()
    tolerance = max(map(widening_tolerance, (before, after)))
    for name, func in functions_of(before).items():
        if not is_compared(func, functions, private):
            continue
        why = difference_of_signatures(func, theirs.get(name))
        for n, chosen in enumerate(symbolic_sizes(func, sizes) if why is None else ()):
            if iterations_of(func, chosen) > limit("check.iterations"):
                why = "it takes too many iterations (check.iterations)"
                continue
            try:
                values = inputs(func, chosen, seed + n)
                expected = observe(before, name, values, packed)
            except InterpreterError as error:
                why = error.message
                continue
            if not takes(theirs[name], values, chosen):
                why = "the types of its parameters change"
                continue
            outcomes = _disagreement(expected, after, name, values, packed, tolerance)
            if outcomes is not None:
                result.disagreement = Disagreement(name, chosen, values, *outcomes)
                return result
            result.compared[name] = result.compared.get(name, 0) + 1
        if name not in result.compared:
            result.skipped[name] = why or "there are no sizes"
    result.skipped |= {name: "it is not there before" for name in functions or () if name not in functions_of(before)}
    return result


def is_compared(func: Function, functions: Sequence[str] | None, private: bool) -> bool:
    if functions is not None:
        return func.sym_name.data in functions
    return not func.private or (private and isinstance(func, tir.FuncOp))


def difference_of_signatures(before: Function, after: Function | None) -> str | None:
    """Return why two functions cannot be called with the same arguments, or None if they can."""
    if after is None:
        return "it is not there after"
    if len(before.params) != len(after.params):
        return f"it has {len(before.params)} parameters before and {len(after.params)} after"
    if before.private and [p.type for p in before.params] != [p.type for p in after.params]:
        return "it is private and the types of its parameters change"
    return None


def iterations_of(func: Function, sizes: Mapping[str, int]) -> int:
    """Return the number of loop iterations of a tensor function if it is known, otherwise 0: such functions are run."""
    count = iterations(func, sizes) if isinstance(func, tir.FuncOp) else 0
    return count if count < UNKNOWN else 0


def takes(func: Function, values: Sequence[Any], sizes: Mapping[str, int]) -> bool:
    """Return whether values match a function's parameter types; variables missing in `sizes` are bound on first use."""
    known = dict(sizes)
    return all(_fits(p.type, v, known) for p, v in zip(func.params, values, strict=True))


def _fits(t: Attribute, value: Any, sizes: dict[str, int]) -> bool:
    if isinstance(t, relax.TensorType | tir.BufferType):
        dtype = t.element if isinstance(t, relax.TensorType) else t.dtype
        right = isinstance(value, np.ndarray) and (dtype is None or value.dtype == numpy_dtype(dtype))
        return right and t.rank in (None, value.ndim) and (t.dims is None or _are_dims(t.dims, value.shape, sizes))
    if isinstance(t, relax.ShapeType):
        return isinstance(value, tuple) and (t.dims is None or _are_dims(t.dims, value, sizes))
    if isinstance(t, TupleType):
        return (
            isinstance(value, tuple)
            and len(value) == len(t.types)
            and all(map(_fits, t.types, value, [sizes] * len(value)))
        )
    if isinstance(t, relax.CallableType):
        return callable(value)
    return isinstance(t, relax.ObjectType) or not isinstance(value, np.ndarray | tuple)


def _are_dims(dims: Sequence[SymExpr], shape: Sequence[int], sizes: dict[str, int]) -> bool:
    if len(dims) != len(shape):
        return False
    for dim, extent in zip(dims, shape, strict=True):
        if isinstance(dim, Var) and isinstance(dim.name, str):
            sizes.setdefault(dim.name, extent)
        if all(v.name in sizes for v in dim.free_vars()) and max(dim.evaluate(sizes), 0) != extent:
            return False
    return True


def first_disagreement(before: Any, after: Any, **options: Any) -> Disagreement | None:
    """Return the first inputs on which two modules disagree, or None; options as for `compare`.

    Raises `MeaningError` if nothing was compared, or if one of the named `functions` was not.
    """
    result = compare(before, after, **options)
    named = set(options.get("functions") or ())
    if result.disagreement is None and (not result.compared or named & result.skipped.keys()):
        raise MeaningError(
            "nothing was compared", expected="a function that both have and can run", notes=result.reasons
        )
    return result.disagreement


def functions_of(module: ModuleOp) -> dict[str, Function]:
    return {f.sym_name.data: f for f in module.ops if isinstance(f, relax.FuncOp | tir.FuncOp)}


def _disagreement(
    expected: Any,
    after: ModuleOp,
    name: str,
    values: list[Any],
    packed: Mapping[str, Callable[..., Any]] | None,
    tolerance: float,
) -> tuple[Any, Any] | None:
    try:
        actual = observe(after, name, values, packed)
    except InterpreterError as error:
        return expected, str(error)
    actual = _without_status(expected, actual)
    return None if same_values(expected, actual, tolerance) else (expected, actual)


def _without_status(expected: Any, actual: Any) -> Any:
    """Return the actual results without the status 0 that `lower-asserts` adds to functions without results."""
    match expected, actual:
        case (None, list()), (np.integer() as status, list()) if status == 0:
            return None, actual[1]
        case _:
            return actual


def observe(module: ModuleOp, name: str, values: list[Any], packed: Any = None) -> Any:
    """Return the result of a call with copies of `values`; for a tensor function also the arrays after the call."""
    args = [copied(v) for v in values]
    random.seed(0)
    result = interpret(module, name, args, packed)
    return (result, args) if isinstance(functions_of(module)[name], tir.FuncOp) else result


def copied(value: Any) -> Any:
    """Return a copy of an argument, which a call may modify."""
    if isinstance(value, tuple):
        return tuple(copied(v) for v in value)
    return value.copy() if isinstance(value, np.ndarray) else value


def widening_tolerance(op: Operation) -> float:
    """Return the tolerance of the narrowest floats that `op` casts to wider ones, or 0 if there are none.

    A value rounded to float16 and cast to float32 is only as accurate as float16.
    """
    return max((_widens(inner) for inner in op.walk()), default=0.0)


def _widens(op: Operation) -> float:
    narrowest = max((_tolerance(v.type) for v in op.operands), default=0.0)
    results = [t for t in map(_tolerance, op.result_types) if t]
    return narrowest if results and narrowest > min(results) else 0.0


def _tolerance(t: Attribute) -> float:
    """Return the tolerance of a type's floats, 0 if it has none; of a tuple, the greatest of its fields."""
    if isinstance(t, TupleType):
        return max(map(_tolerance, t.types), default=0.0)
    dtype = t.element if isinstance(t, relax.TensorType) else getattr(t, "dtype", t)
    return _TOLERANCE.get(dtype_name(dtype), 0.0) if isinstance(dtype, AnyFloat) else 0.0


def same_values(a: Any, b: Any, least: float = 0.0) -> bool:
    """Return whether two values have the same kind, shape and dtype, and equal elements up to the dtype's tolerance.

    NaN equals NaN. `least` is the minimum tolerance of floats.
    """
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(same_values(x, y, least) for x, y in zip(a, b, strict=True))
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a is b or (type(a) is type(b) and a == b)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    tolerance = _TOLERANCE.get(x.dtype.name)
    if tolerance is None:
        return bool(np.array_equal(x, y))
    tolerance = max(tolerance, least)
    wide = [v.astype(np.float64) for v in (x, y)]
    return bool(np.allclose(*wide, rtol=tolerance, atol=tolerance, equal_nan=True))


def assert_same_meaning(before: Any, after: Any, *, proof: bool = False, **options: Any) -> None:
    """Raise `MeaningError`, which shows the inputs, if `first_disagreement(before, after, **options)` returns some.

    With `proof`, raise it unless the functions are proved equal for all inputs: it says why one is not covered.
    """
    if proof:
        from .. import extend  # the package `proof` is based on this one, so that it is loaded by its name

        extend.assert_proved(before, after, **options)
        return
    disagreement = first_disagreement(before, after, **options)
    if disagreement is not None:
        raise MeaningError("the programs do not mean the same", notes=str(disagreement).split("\n"))
