"""`Terms`: an array of terms that numpy's functions take like an array of numbers.

An element is a fingerprint (`algebra.py`), its number where it is a constant, and whether it depends on memory that
nobody has written, or is positive among real numbers. Functions that only move elements act on the records as they are;
arithmetic is a table by the name of numpy's function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..diagnostics import TiraxError
from . import fingerprints as fp
from .algebra import Algebra, Level

Array = Any


class NotCoveredError(TiraxError):
    """The program does something that symbolic execution does not model: data decide what runs."""


def _record(algebra: Algebra, dtype: np.dtype[Any]) -> np.dtype[Any]:
    value = np.int64 if dtype.kind in "iub" else np.float64
    fields = [
        ("term", np.uint64, (algebra.kind(dtype).width, 2)),
        ("known", np.bool_),
        ("value", value),
        ("unwritten", np.bool_),
        ("positive", np.bool_),
    ]
    return np.dtype(fields)


class Terms(NDArrayOperatorsMixin):
    """An array of terms of a dtype; slices are views, as of numpy arrays."""

    elementwise: ClassVar[Callable[..., Any]]
    """`(name, *arrays)` -> results of an elementwise function; `elementwise.py` sets it."""
    reduction: ClassVar[Callable[..., Any]]
    """`(name, terms, axis, …)` -> results of a reduction; `functions.py` sets it."""
    functions: ClassVar[dict[Any, Callable[..., Any]]]
    """numpy's functions on arrays of terms; `functions.py` fills it."""

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    def __init__(self, algebra: Algebra, dtype: np.dtype[Any], data: Array):
        self.algebra = algebra
        self.dtype = dtype
        self.data = data
        self.source: Terms | None = None
        """The booleans that these 0 and 1 were cast from."""

    @classmethod
    def of(cls, algebra: Algebra, dtype: Any, term: Array) -> Terms:
        """Return an array of unknown numbers from their terms."""
        dtype = np.dtype(dtype)
        data = np.zeros(term.shape[:-2], _record(algebra, dtype))
        data["term"] = term
        return cls(algebra, dtype, data)

    @classmethod
    def atoms(cls, algebra: Algebra, dtype: Any, name: str, shape: Sequence[int]) -> Terms:
        """Return an array of different unknown numbers; those of the same name are the same."""
        count = int(np.prod(shape, dtype=np.int64))
        words = fp.hashed(f"atom {name}", np.arange(count, dtype=np.uint64).reshape(tuple(shape)))
        result = cls.of(algebra, dtype, algebra.kind(np.dtype(dtype)).of(fp.drawn(words)))
        if algebra.history is not None:
            algebra.history.atoms(name, result)
        return result

    @classmethod
    def lift(cls, algebra: Algebra, x: Any, dtype: Any = None) -> Terms:
        """Return numbers as terms."""
        if isinstance(x, Terms):
            return x
        array = np.asarray(x) if dtype is None else np.asarray(x).astype(dtype)
        data = np.zeros(array.shape, _record(algebra, array.dtype))
        data["known"] = True
        data["value"] = array.astype(data["value"].dtype)
        data["term"] = algebra.kind(array.dtype).constants(data["value"], array.dtype)
        return cls(algebra, array.dtype, data)

    # what numpy arrays have

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def itemsize(self) -> int:
        return self.data.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return self.data.strides

    @property
    def base(self) -> Any:
        return self.data.base

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The place in memory, for checks that arrays share it; numpy must not make an array of terms from it."""
        raise AttributeError("__array_interface__")

    @property
    def address(self) -> int:
        return self.data.__array_interface__["data"][0]

    @property
    def T(self) -> Terms:  # noqa: N802 (numpy's name)
        return self.with_data(self.data.T)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotCoveredError("numbers that are not known are needed here")

    def __len__(self) -> int:
        return len(self.data)

    def with_data(self, data: Array) -> Terms:
        """Return other records of the same dtype."""
        return Terms(self.algebra, self.dtype, data)

    def __getitem__(self, key: Any) -> Terms:
        if isinstance(key, tuple) and not key:
            return self
        data = self.data[_key(key)]
        return self.with_data(data if isinstance(data, np.ndarray) else np.asarray(data))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[_key(key)] = Terms.lift(self.algebra, value, self.dtype).as_dtype(self.dtype).data

    def reshape(self, *shape: Any) -> Terms:
        return self.with_data(self.data.reshape(*shape))

    def transpose(self, *axes: Any) -> Terms:
        return self.with_data(self.data.transpose(*axes))

    def swapaxes(self, a: int, b: int) -> Terms:
        return self.with_data(self.data.swapaxes(a, b))

    def ravel(self) -> Terms:
        return self.with_data(self.data.ravel())

    def copy(self) -> Terms:
        return self.with_data(self.data.copy())

    def view(self, dtype: Any) -> Terms:
        if np.dtype(dtype) != self.dtype:
            raise NotCoveredError("the bytes of numbers are read as another dtype", expected=self.dtype, found=dtype)
        return self.with_data(self.data.view())

    # numbers

    def numbers(self) -> Array:
        """Return the numbers as an array. Raises `NotCoveredError` if one is not known."""
        if not self.data["known"].all():
            raise NotCoveredError("data decide what the program does")
        return self.data["value"].astype(self.dtype)

    def __bool__(self) -> bool:
        return bool(self.numbers())

    def __int__(self) -> int:
        return int(self.numbers())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.numbers())

    def item(self) -> Any:
        return self.numbers().item()

    def tolist(self) -> Any:
        return self.numbers().tolist()

    # casts

    def as_dtype(self, dtype: Any) -> Terms:
        """Return the same terms under another dtype of the same class: no rounding is modelled."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if self.algebra.kind(dtype) is not self.algebra.kind(self.dtype):
            return self.astype(dtype)
        return Terms(self.algebra, dtype, self.data)

    def astype(self, dtype: Any, copy: bool = True) -> Terms:
        """Return converted terms; the same conversion of the same term gives the same term."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        if self._keeps_terms(dtype):
            return Terms(self.algebra, dtype, self.data.copy())
        if dtype.kind == "b":
            return Terms.elementwise("not_equal", self, Terms.lift(self.algebra, 0, self.dtype))
        words = fp.packed(self.data["term"][..., 0, :])
        widens = dtype.kind in "iu" and self.dtype.kind in "iu" and np.can_cast(self.dtype, dtype)
        name = f"cast {self.dtype}" if widens else f"cast {self.dtype} {dtype}"
        term = self.algebra.kind(dtype).opaque(name, words)
        result = marked(folded(Terms.of(self.algebra, dtype, term), lambda x: x.astype(dtype), self), self)
        result.source = self if self.dtype.kind == "b" else None
        if self.algebra.history is not None:
            self.algebra.history.note(str(dtype), result, self)
        return result

    def widened(self) -> Terms:
        """Return the terms in which the interpreter's operators compute: 16-bit floats become float32."""
        narrow = self.dtype.kind not in "iub" and self.dtype.itemsize < 4
        return self.astype(np.float32) if narrow else self

    def _keeps_terms(self, dtype: np.dtype[Any]) -> bool:
        """Return whether a conversion changes no number: between reals, and of 32 to 64 bits (sums do not overflow)."""
        old, new = self.dtype, dtype
        if self.algebra.kind(old) is not self.algebra.kind(new):
            return False
        if new.kind not in "iub":
            return self.algebra.level is Level.REAL
        return old.kind in "iu" and new.kind in "iu" and min(old.itemsize, new.itemsize) >= 4

    # arithmetic: numpy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce":
            return Terms.reduction(ufunc.__name__, inputs[0], **options)
        if method != "__call__" or options.get("out") is not None:
            raise NotCoveredError(f"numpy.{ufunc.__name__}.{method} on data")
        if ufunc is np.matmul:
            return self.functions[ufunc](self.algebra, *inputs)
        return Terms.elementwise(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, _types: Any, args: Any, options: Any) -> Any:
        own = self.functions.get(function)
        if own is None:
            raise NotCoveredError(f"numpy.{function.__name__} on data")
        return own(self.algebra, *args, **options)

    def sum(self, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
        return Terms.reduction("add", self, axis, keepdims=keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Any:
        return Terms.reduction("multiply", self, axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        return Terms.reduction("maximum", self, axis, keepdims=keepdims, initial=initial)

    def min(self, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        return Terms.reduction("minimum", self, axis, keepdims=keepdims, initial=initial)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        total = self.sum(axis, keepdims)
        return total / self.dtype.type(self.size // max(total.size, 1))

    def var(self, axis: Any = None, keepdims: bool = False) -> Any:
        rest = self - self.mean(axis, True)
        return (rest * rest).mean(axis, keepdims)

    def std(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sqrt(self.var(axis, keepdims))

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        return Terms.reduction("logical_or", self, axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        return Terms.reduction("logical_and", self, axis, keepdims=keepdims)

    def call(self, name: str, *others: Any) -> Terms:
        """Return the results of a function of which nothing is known, in this dtype."""
        operands = [self, *(Terms.lift(self.algebra, x) for x in others)]
        words = [fp.packed(t.data["term"][..., 0, :]) for t in operands]
        result = marked(
            Terms.of(self.algebra, self.dtype, self.algebra.kind(self.dtype).opaque(name, *words)), *operands
        )
        if self.algebra.history is not None:
            self.algebra.history.note(name, result, *operands)
        return result


def _key(key: Any) -> Any:
    """Return an index with the numbers of terms that are known."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(p.numbers() if isinstance(p, Terms) else p for p in parts)


def is_unknown(x: Any) -> bool:
    """Return whether a value has elements whose numbers are not known."""
    return isinstance(x, Terms) and not x.data["known"].all()


def marked(result: Terms, *operands: Terms) -> Terms:
    """Mark the elements that depend on unwritten ones, also where a law drops them: x - x is not 0 for a NaN."""
    unwritten = operands[0].data["unwritten"]
    for t in operands[1:]:
        unwritten = unwritten | t.data["unwritten"]
    if np.any(unwritten):
        result = result.copy()
        result.data["unwritten"] |= unwritten
    return result


def folded(result: Terms, function: Callable[..., Any], *operands: Terms) -> Terms:
    """Replace terms all of whose operands are constants by the constant."""
    known = operands[0].data["known"]
    for t in operands[1:]:
        known = known & t.data["known"]
    if known.any():
        with np.errstate(all="ignore"):
            values = function(*(t.data["value"].astype(t.dtype) for t in operands))
        constants = Terms.lift(result.algebra, np.broadcast_to(values, result.shape).astype(result.dtype))
        result = result.with_data(np.where(known, constants.data, result.data))
    return result
