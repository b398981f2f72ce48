"""Normalization of a call's arguments, and diagnostics for invalid ones.

Compiled functions check their arguments natively and call `normalize_arguments` only if that check fails. So this is
written for correctness and good messages, not for speed: every problem of the arguments is reported at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import DTYPES, describe_dtype
from .errors import ArgumentError, DTypeError, ShapeError, TiraxError
from .metadata import (
    Dim,
    FunctionInfo,
    Info,
    ObjectInfo,
    Parameter,
    PrimInfo,
    ShapeInfo,
    TensorInfo,
    TupleInfo,
    dim_text,
    dim_value,
    dim_vars,
)
from .ndarray import NDArray, as_ndarray

_Extent = tuple[str, Dim, int]  # location (for the message), declared dimension, actual extent


def normalize_arguments(function: FunctionInfo, *args: Any) -> tuple[Any, ...]:
    """Return the arguments in the form that native code expects.

    Tensors: arrays of exactly the declared dtype, C-contiguous, aligned and in native byte order; others are copied if
    the function only reads them, and so are those that share memory with a tensor that it writes. Torch tensors and
    other objects with `__dlpack__` are accepted. Numbers: Python int, float, bool. Shapes: tuples of int. Tuples:
    tuples of these.

    Raises `ArgumentError` (count, kind), `DTypeError`, `ShapeError` or `DeviceError`: the first problem, with the
    others in its notes.
    """
    check = _Check(function.name)
    _check_count(function, args)
    results = [check.value(_place(i, p), p.info, a, p.access) for i, (p, a) in enumerate(zip(function.params, args))]
    check.bounds(function, check.extents({}))
    check.overlaps(function, results)
    check.finish(str(function))
    return tuple(results)


def normalize_value(name: str, info: Info, env: dict[str, int], value: Any) -> Any:
    """Normalize one value inside a function (`match_cast`); `env` holds the symbolic variables that are already bound.

    None counts as the empty tuple: it is what a Python function without a result returns. Raises like
    `normalize_arguments`.
    """
    check = _Check(None)
    result = check.value(f"'{name}'", info, () if value is None and info == _NOTHING else value, "read")
    check.extents(env)
    check.finish(None)
    return result


_NOTHING = TupleInfo(())


def bind_keywords(function: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return positional arguments for positional and keyword arguments. Raises `ArgumentError`."""
    names = [p.name for p in function.params]
    rest = names[len(args) :]
    wrong = [f"'{name}'" for name in kwargs if name not in rest]
    missing = [f"'{name}'" for name in rest if name not in kwargs]
    if wrong or missing:
        notes = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"not expected: {', '.join(wrong)}"] * bool(wrong)
        raise ArgumentError(f"wrong arguments for '{function.name}'", expected=str(function), notes=notes)
    return (*args, *(kwargs[name] for name in rest))


def _place(position: int, parameter: Parameter) -> str:
    return f"argument {position} '{parameter.name}'"


def _check_count(function: FunctionInfo, args: Sequence[Any]) -> None:
    expected, found = len(function.params), len(args)
    if expected == found:
        return
    names = ", ".join(f"'{p.name}'" for p in function.params[found:])
    raise ArgumentError(
        f"'{function.name}' takes {expected} argument{'s' * (expected != 1)}",
        expected=str(function),
        found=f"{found} argument{'s' * (found != 1)}",
        hint=f"missing: {names}" if names else None,
    )


class _Check:
    """The check of one call's arguments: collects problems and extents, then binds and compares the extents."""

    def __init__(self, function: str | None):
        self.function = function
        self.problems: list[TiraxError] = []
        self.checked_extents: list[_Extent] = []
        self.visitors: dict[type, Callable[..., Any]] = {
            TensorInfo: self._tensor,
            ShapeInfo: self._shape,
            PrimInfo: self._prim,
            TupleInfo: self._tuple,
            ObjectInfo: self._object,
        }

    def value(self, place: str, info: Info, value: Any, access: str) -> Any:
        """Return the normalized value, or None if a problem was recorded."""
        return self.visitors[type(info)](place, info, value, access)

    def problem(
        self, kind: type[TiraxError], place: str, what: str, expected: Any, found: Any, hint: str | None = None
    ):
        owner = f" of '{self.function}'" if self.function else ""
        self.problems.append(kind(f"{place}{owner}: {what}", expected=expected, found=found, hint=hint))

    def finish(self, signature: str | None) -> None:
        """Raise the first problem, with the others as its notes."""
        if not self.problems:
            return
        first, *others = self.problems
        notes = [f"{o.message}: expected {o.expected}, found {o.found}" for o in others]
        if signature:
            notes.append(f"the function is {signature}")
        raise type(first)(first.message, expected=first.expected, found=first.found, hint=first.hint, notes=notes)

    def _tensor(self, place: str, info: TensorInfo, value: Any, access: str) -> Any:
        data = self._array(place, value, info)
        if data is None:
            return None
        result = self._dtype(place, info, data)
        if info.ndim not in (-1, data.ndim):
            found = f"{data.ndim}, shape {data.shape}"
            self.problem(ShapeError, place, "wrong number of dimensions", f"{info.ndim}, as in {info}", found)
        elif info.shape is not None:
            self.checked_extents += [
                (f"{place}, dimension {i}", d, n) for i, (d, n) in enumerate(zip(info.shape, data.shape))
            ]
        return None if result is None else self._layout(place, result, access)

    def _array(self, place: str, value: Any, info: TensorInfo) -> np.ndarray | None:
        if isinstance(value, np.ma.MaskedArray):
            self.problem(ArgumentError, place, "masked arrays are not supported", info, "MaskedArray", "x.filled(0)")
            return None
        if isinstance(value, np.ndarray):
            return value
        try:
            return as_ndarray(value)
        except TiraxError as error:
            plain = isinstance(value, (list, tuple, int, float, bool))
            hint = "make an array of it: tirax.runtime.array(x)" if plain else error.hint
            if hasattr(value, "__dlpack__"):
                self.problem(type(error), place, error.message, error.expected or info, error.found, hint)
            else:
                self.problem(ArgumentError, place, "not an array", info, _shown(value), hint)
            return None

    def _dtype(self, place: str, info: TensorInfo, data: np.ndarray) -> np.ndarray | None:
        """Return `data` with the declared dtype object, or None if its dtype differs."""
        native = data.dtype if data.dtype.isnative else data.dtype.newbyteorder("=")
        declared = DTYPES.get(info.dtype or native.name)
        if declared is None or native != declared:
            convertible = declared is not None and native.name in DTYPES
            hint = f"convert it: x.astype('{info.dtype}')" if convertible else None
            expected = info.dtype or f"one of {', '.join(DTYPES)}"
            self.problem(DTypeError, place, "wrong dtype", expected, describe_dtype(data.dtype), hint)
            return None
        return data.view(declared) if data.dtype.isnative else data

    def _layout(self, place: str, data: np.ndarray, access: str) -> np.ndarray | None:
        """Return `data` in the form that native code reads: itself or, if it is only read, a copy."""
        flags = data.flags
        dense = flags.c_contiguous and flags.aligned and data.dtype.isnative
        if access != "read":
            faults = ["read-only"] * (not flags.writeable) + ["not contiguous, aligned or in native byte order"] * (
                not dense
            )
            if faults:
                found = " and ".join(faults)
                self.problem(ArgumentError, place, "cannot be written in place", "a writable C-contiguous array", found)
                return None
        if dense:
            return data if type(data) in (np.ndarray, NDArray) else data.view(NDArray)
        return np.array(data, dtype=DTYPES[data.dtype.name], order="C", copy=True, subok=False)

    def _shape(self, place: str, info: ShapeInfo, value: Any, access: str) -> Any:
        values = _integers(value)
        if values is None:
            self.problem(ArgumentError, place, "not a shape", info, _shown(value))
        elif info.ndim not in (-1, len(values)):
            self.problem(ShapeError, place, "wrong number of values", f"{info.ndim}, as in {info}", values)
        elif any(not 0 <= n < 2**63 for n in values):
            self.problem(ShapeError, place, "extents out of range", "0 <= extent < 2**63", values)
        elif info.values is not None:
            self.checked_extents += [(f"{place}, value {i}", d, n) for i, (d, n) in enumerate(zip(info.values, values))]
        return values

    def _prim(self, place: str, info: PrimInfo, value: Any, access: str) -> Any:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        result = _number(info.dtype, value)
        if result is None:
            found = _shown(value)
            self.problem(ArgumentError, place, f"not a number of type {info.dtype}", _range_text(info.dtype), found)
        elif info.value is not None:
            self.checked_extents.append((place, info.value, int(result)))
        return result

    def _tuple(self, place: str, info: TupleInfo, value: Any, access: str) -> Any:
        if not isinstance(value, (tuple, list)):
            self.problem(ArgumentError, place, "not a tuple", info, type(value).__name__)
            return None
        if len(value) != len(info.fields):
            self.problem(ArgumentError, place, "wrong number of fields", len(info.fields), len(value))
            return None
        fields = enumerate(zip(info.fields, value))
        return tuple(self.value(f"{place}, field {i}", field, each, access) for i, (field, each) in fields)

    def _object(self, place: str, info: ObjectInfo, value: Any, access: str) -> Any:
        if info.kind == "callable" and not callable(value):
            self.problem(ArgumentError, place, "not callable", "a callable", type(value).__name__)
        return value

    def extents(self, env: dict[str, int]) -> dict[str, int]:
        """Bind each variable at its first plain occurrence, then compare every extent with its declaration.

        Returns the values of the variables.
        """
        bound = dict(env)
        origin: dict[str, str] = {}
        for place, dim, extent in self.checked_extents:
            if isinstance(dim, tuple) and dim[0] == "var" and dim[1] not in bound:
                bound[dim[1]] = extent
                origin[dim[1]] = place
        for place, dim, extent in self.checked_extents:
            self._compare(place, dim, extent, bound, origin)
        return bound

    def bounds(self, function: FunctionInfo, variables: dict[str, int]) -> None:
        """Record a problem for each variable whose value is out of its bounds."""
        for name, low, high in function.bounds:
            value = variables.get(name)
            if value is None or ((low is None or low <= value) and (high is None or value <= high)):
                continue
            expected = " <= ".join(str(part) for part in (low, name, high) if part is not None)
            self.problem(ShapeError, f"the size '{name}'", "out of its bounds", expected, value)

    def overlaps(self, function: FunctionInfo, results: list[Any]) -> None:
        """Copy tensors in `results` that are only read and share memory with a written one; report those that
        are both written.
        """
        tensors = [i for i, result in enumerate(results) if isinstance(result, np.ndarray)]
        written = [i for i in tensors if function.params[i].access != "read"]
        for i in written:
            for j in tensors:
                if i == j or not np.may_share_memory(results[i], results[j]):
                    continue
                if j not in written:
                    results[j] = results[j].copy()
                elif i < j:
                    place, other = (_place(k, function.params[k]) for k in (j, i))
                    self.problem(ArgumentError, place, "overlaps", "memory of its own", f"memory of {other}")

    def _compare(self, place: str, dim: Dim, extent: int, bound: dict[str, int], origin: dict[str, str]) -> None:
        try:
            expected = dim_value(dim, bound)
        except (ZeroDivisionError, OverflowError) as error:
            self.problem(ShapeError, place, f"the extent cannot be computed ({error})", dim_text(dim), extent)
            return
        if expected is None or expected == extent:
            return
        self.problem(ShapeError, place, "wrong extent", _expected_text(dim, expected, bound, origin), extent)


def _expected_text(dim: Dim, expected: int, bound: dict[str, int], origin: dict[str, str]) -> str:
    """Return `784`, `n = 3 (by argument 0 …)`, `n * 4 = 12 (n = 3 by argument 0 …)`."""
    if isinstance(dim, int):
        return str(expected)
    is_variable = dim[0] == "var"
    sources = [(v, origin[v]) for v in sorted(dim_vars(dim)) if v in origin]
    texts = [f"by {place}" if is_variable else f"{v} = {bound[v]} by {place}" for v, place in sources]
    source = f" ({'; '.join(texts)})" if texts else ""
    return f"{dim_text(dim)} = {expected}{source}"


def _shown(value: Any) -> str:
    """Return the type and the start of the value; only the type for objects without a readable text."""
    try:
        return f"{type(value).__name__} {value!r:.60}"
    except Exception:  # noqa: BLE001 - whatever a foreign __repr__ raises, the error to report is another one
        return type(value).__name__


def _integers(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, (tuple, list)) or any(isinstance(each, (bool, np.bool_)) for each in value):
        return None
    try:
        return tuple(operator.index(each) for each in value)
    except TypeError:
        return None


def _range_text(dtype: str) -> str:
    kind = DTYPES[dtype]
    if kind.kind not in "iu":
        return dtype
    limits = np.iinfo(kind)
    return f"{dtype}: {limits.min} to {limits.max}"


def _number(dtype: str, value: Any) -> int | float | bool | None:
    """Return `value` as the Python number of a scalar parameter, or None if it is not a number or does not fit."""
    kind = DTYPES[dtype]
    is_bool = isinstance(value, (bool, np.bool_))
    if kind.kind == "b":
        return bool(value) if is_bool else None
    if kind.kind not in "iu":
        real = isinstance(value, (int, float, np.integer, np.floating)) and not is_bool
        return _float(value) if real else None
    if is_bool or not hasattr(value, "__index__"):
        return None
    try:
        number = operator.index(value)
    except TypeError:  # arrays and tensors have __index__, too, and refuse unless they hold one integer
        return None
    limits = np.iinfo(kind)
    return number if limits.min <= number <= limits.max else None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
