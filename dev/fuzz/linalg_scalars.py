"""What operations of arith and math compute, by numpy, on arrays of scalars, and where that is exact.

Integers are computed in 64 bits and cut to their width. A float is exact if a wider one gives the same number: what is
rounded may differ from native code, which keeps more digits, or sums in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from ...dialects.xdsl_extras.arith_extras import FLOAT_PREDICATES, INTEGER_PREDICATES

Array = np.ndarray[Any, Any]
DTYPES: Mapping[str, np.dtype[Any]] = {
    "i1": np.dtype(bool),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
"""The element types of MLIR, and their arrays."""
INTEGERS, FLOATS = ("i1", "i8", "i16", "i32", "i64", "index"), ("f16", "bf16", "f32", "f64")
DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
"""The binary digits of a float."""


@dataclass(frozen=True)
class Known:
    """Elements, and which of them must be so."""

    data: Array
    sure: Array

    def at(self, place: Any) -> Known:
        """Return the elements at some indices."""
        return Known(np.asarray(self.data[place]), np.asarray(self.sure[place]))


def sure(data: Any) -> Known:
    """Return elements that are exact."""
    array = np.asarray(data)
    return Known(array, np.ones(array.shape, bool))


def width(kind: str) -> int:
    """Return the bits of an integer type."""
    return 64 if kind == "index" else int(kind[1:])


def dtype_of(kind: Attribute | str) -> np.dtype[Any]:
    """Return the dtype of an element type."""
    return DTYPES[str(kind)]


def signed(data: Array) -> Array:
    """Return integers in 64 bits; a truth value is 0 or -1."""
    return -data.astype(np.int64) if data.dtype == np.bool_ else data.astype(np.int64)


def unsigned(data: Array) -> Array:
    """Return the bits of integers as unsigned numbers of 64 bits."""
    if data.dtype == np.bool_:
        return data.astype(np.uint64)
    return data.view(f"u{data.dtype.itemsize}").astype(np.uint64)


def cut(data: Array, kind: str) -> Array:
    """Return the lowest bits of integers."""
    return (data & data.dtype.type(1)).astype(bool) if kind == "i1" else data.astype(DTYPES[kind])


def _quotient(a: Array, b: Array) -> Array:
    rest = (np.fmod(a, b) != 0) & ((a < 0) != (b < 0))
    return a // b + rest


def _ceiling(a: Array, b: Array) -> Array:
    return a // b + (a % b != 0).astype(a.dtype)


_SIGNED: Mapping[str, Callable[[Any, Any], Any]] = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
    "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum, "divsi": _quotient, "remsi": np.fmod,
    "floordivsi": np.floor_divide, "ceildivsi": _ceiling, "shli": np.left_shift, "shrsi": np.right_shift,
}  # fmt: skip
_UNSIGNED: Mapping[str, Callable[[Any, Any], Any]] = {
    "maxui": np.maximum, "minui": np.minimum, "divui": np.floor_divide, "remui": np.remainder,
    "ceildivui": _ceiling, "shrui": np.right_shift,
}  # fmt: skip
_FLOAT: Mapping[str, Callable[..., Any]] = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "remf": np.fmod,
    "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin, "negf": np.negative,
    "absf": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "roundeven": np.rint, "sqrt": np.sqrt,
    "round": lambda a: np.copysign(np.floor(np.abs(a) + 0.5), a), "copysign": np.copysign,
    "fma": lambda a, b, c: a * b + c,
}  # fmt: skip
_TESTS: Mapping[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
_ORDERED: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def result_of(op: Operation, values: Sequence[Known]) -> Known:
    """Return the result of an operation on scalars."""
    name, kind = op.name.partition(".")[2], str(op.results[0].type)
    if name == "constant":
        value = op.properties["value"]
        assert isinstance(value, IntegerAttr | FloatAttr)
        return sure(np.array(value.value.data).astype(DTYPES[kind]))
    arrays = [v.data for v in values]
    known = np.logical_and.reduce(np.broadcast_arrays(*(v.sure for v in values)))
    if name == "select":
        chosen = np.where(arrays[0], values[1].sure, values[2].sure)
        return Known(np.where(*arrays), chosen & values[0].sure)
    if name in ("cmpi", "cmpf"):
        return Known(_compared(op, *arrays), known)
    if name in _TESTS:
        return Known(_TESTS[name](arrays[0]), known)
    if name in _FLOAT:
        return _of_floats(name, arrays, known)
    if name in _UNSIGNED:
        return Known(cut(_UNSIGNED[name](*map(unsigned, arrays)), kind), known)
    if name in _SIGNED:
        return Known(cut(_SIGNED[name](*map(signed, arrays)), kind), known)
    if name in _BITS:
        return Known(cut(_BITS[name](arrays[0], width(kind)), kind), known)
    return _converted(name, values[0], str(op.operands[0].type), kind)


def _bits_of(a: Array, w: int) -> Array:
    return (unsigned(a)[..., np.newaxis] >> np.arange(w, dtype=np.uint64)) & np.uint64(1)


def _zeros(bits: Array) -> Array:
    """Return how many bits in front are 0, along the last dimension."""
    return np.where(bits.any(-1), bits.argmax(-1), bits.shape[-1])


_BITS: Mapping[str, Callable[[Array, int], Array]] = {
    "absi": lambda a, w: np.abs(signed(a)),
    "ctpop": lambda a, w: _bits_of(a, w).sum(-1),
    "cttz": lambda a, w: _zeros(_bits_of(a, w)),
    "ctlz": lambda a, w: _zeros(_bits_of(a, w)[..., ::-1]),
}


def _of_floats(name: str, arrays: Sequence[Array], known: Array) -> Known:
    result = np.asarray(_FLOAT[name](*arrays)).astype(arrays[0].dtype)
    wide = _FLOAT[name](*(a.astype(np.longdouble) for a in arrays))
    exact = (wide == result.astype(np.longdouble)) | np.isnan(wide)
    if name == "copysign":  # the signs of zeros and NaN are not compared
        exact &= (arrays[1] != 0) & ~np.isnan(arrays[1])
    if name in ("divf", "remf"):
        exact &= arrays[1] != 0
    return Known(result, known & exact)


def _compared(op: Operation, a: Array, b: Array) -> Array:
    number = cast("IntegerAttr[Any]", op.properties["predicate"]).value.data
    if op.name == "arith.cmpi":
        name = INTEGER_PREDICATES[number]
        view = unsigned if name[0] == "u" else signed
        return _ORDERED[name if name in _ORDERED else name[1:]](view(a), view(b))
    name = FLOAT_PREDICATES[number]
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("false", "true"):
        return np.full(unordered.shape, name == "true")
    if name in ("ord", "uno"):
        return unordered ^ (name == "ord")
    ordered = _ORDERED[name[1:]](a, b)
    return ordered | unordered if name[0] == "u" else ordered & ~unordered


def _converted(name: str, value: Known, source: str, target: str) -> Known:
    data, dtype = value.data, DTYPES[target]
    if name in ("extf", "truncf"):
        result = data.astype(dtype)
        twice = source == "f64" and target == "bf16"  # numpy rounds twice
        return Known(result, value.sure & ~(twice & (result.astype(np.float64) != data) & ~np.isnan(data)))
    if name in ("sitofp", "uitofp"):
        number = unsigned(data) if name == "uitofp" else signed(data)
        result = number.astype(dtype)
        twice = target in ("f16", "bf16")
        return Known(result, value.sure & ~(twice & (result.astype(np.longdouble) != number.astype(np.longdouble))))
    if name in ("fptosi", "fptoui"):
        return Known(cut(np.trunc(data.astype(np.float64)).astype(np.int64), target), value.sure)
    if name == "bitcast":
        ends = (data != 0) & ~np.isnan(data) if source in FLOATS else True
        return Known(np.asarray(data).view(dtype), value.sure & ends)
    number = unsigned(data) if name in ("extui", "index_castui") else signed(data)
    return Known(cut(number, target), value.sure)
