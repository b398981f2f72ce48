"""Values of a graph during the import: tensors of the program, constants, and integers known as expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...dialects import relax
from ...dialects.dtypes import dtype_name, dtype_of, numpy_dtype
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.elementwise import BINARY
from ...dialects.sym.expr import SymExpr, as_expr
from ...handles.relax.calls import call_operator
from ...handles.relax.expr import Constant, Expr, ShapeExpr
from ..importing.errors import ModelError, NotInferred

Array = np.ndarray[Any, Any]
Dims = tuple[SymExpr, ...]

MOST_KNOWN = 1024
"""The maximal number of elements of an integer tensor that are tracked individually."""


class Value:
    """A tensor of the graph. Converters need not distinguish its three kinds:

    - computed by the program: `array` and `elements` are None;
    - a constant: `array` has its contents;
    - integers known as expressions over symbolic sizes: `elements` has them, `array` is None unless all are constant.

    `expr` is the value in the program, for all kinds; operators accept a `Value` like an `Expr`.
    """

    __slots__ = ("_array", "_elements", "_expr", "_make", "_type", "sources")

    def __init__(
        self,
        expr: Expr | None = None,
        *,
        array: Array | None = None,
        elements: Array | None = None,
        dtype: str | None = None,
        make: Callable[[], Expr] | None = None,
    ):
        self._expr = expr
        self._array = array
        self._elements = elements
        self._make = make
        self.sources: frozenset[str] = frozenset()
        """The names of the model's inputs on whose contents it depends."""
        self._type: relax.TensorType | None = None
        if expr is None and array is not None:
            self._type = relax.TensorType.of([as_expr(n) for n in array.shape], dtype_of(array.dtype.name))
        elif expr is None and elements is not None:
            self._type = relax.TensorType.of([as_expr(n) for n in elements.shape], dtype_of(dtype or "int64"))

    @staticmethod
    def constant(array: Any, dtype: str | None = None) -> Value:
        """Return a constant, from an array or anything that numpy can convert."""
        return Value(array=np.asarray(array) if dtype is None else np.asarray(array).astype(dtype))

    @staticmethod
    def known(elements: Any, dtype: str = "int64") -> Value:
        """Return a tensor of integer expressions, or a constant if all of them are."""
        array = np.empty(np.shape(elements), object)
        array[...] = elements
        numbers = [e if isinstance(e, int) else as_expr(e).constant for e in array.ravel()]
        if None not in numbers:
            return Value(array=np.array(numbers, dtype=dtype).reshape(array.shape))
        return Value(elements=array, dtype=dtype)

    @property
    def expr(self) -> Expr:
        """The value in the program."""
        if self._expr is not None:
            return self._expr
        if self._make is None and self._array is None:
            return self._written()  # not cached: its first position need not be visible elsewhere
        self._expr = self._written() if self._make is None else self._make()
        return self._expr

    @property
    def expr_handle(self) -> Expr:
        """The same as `expr`: the protocol of operator arguments."""
        return self.expr

    def _written(self) -> Expr:
        if self._array is not None:
            return constant_of(self._array)
        assert self._elements is not None
        flat = call_operator("relax.shape_to_tensor", ShapeExpr([as_expr(e) for e in self._elements.ravel()]))
        if self._elements.ndim != 1:
            flat = call_operator("relax.reshape", flat, self._elements.shape)
        return flat if self.dtype == "int64" else call_operator("relax.astype", flat, self.dtype)

    @property
    def type(self) -> relax.TensorType:
        """The type in the program. Raises `ModelError` for values other than tensors."""
        if self._type is not None:
            return self._type
        t = self.expr.ssa.type
        if not isinstance(t, relax.TensorType):
            raise ModelError("a tensor was expected", found=t)
        return t

    @property
    def array(self) -> Array | None:
        """The contents, or None if they are not known at import."""
        return self._array

    @property
    def elements(self) -> list[SymExpr] | None:
        """The integers of a tensor in row-major order, or None if they are unknown or too many."""
        known = self.known_elements
        return None if known is None else [as_expr(e) for e in known.ravel().tolist()]

    @property
    def known_elements(self) -> Array | None:
        """The integers as an array of expressions and numbers, or None if they are unknown or too many."""
        if self._elements is not None:
            return self._elements
        if self._array is None or self._array.dtype.kind not in "iub" or self._array.size > MOST_KNOWN:
            return None
        return self._array.astype(object)

    @property
    def dims(self) -> Dims:
        """The extents. Raises `ModelError` if they are unknown."""
        if self.type.dims is None:
            raise NotInferred("a tensor of known shape is needed", found=self.type)
        return tuple(self.type.dims)

    @property
    def rank(self) -> int:
        """The number of dimensions. Raises `ModelError` if it is unknown."""
        if self.type.rank is None:
            raise NotInferred("a tensor of known rank is needed", found=self.type)
        return self.type.rank

    @property
    def dtype(self) -> str:
        """The name of the data type. Raises `ModelError` if it is unknown."""
        if self.type.element is None:
            raise NotInferred("a tensor of known data type is needed", found=self.type)
        return dtype_name(self.type.element)

    @property
    def sizes(self) -> list[int]:
        """The extents as numbers. Raises `ModelError` if one of them is symbolic."""
        numbers = [d.constant for d in self.dims]
        if None in numbers:
            raise NotInferred("a tensor of constant shape is needed", found=[str(d) for d in self.dims])
        return [n for n in numbers if n is not None]


class TensorSequence(list[Value]):
    """A sequence of tensors whose length is known at import."""


Output = Value | Expr
"""A tensor: the type of most outputs of converters."""

Result = Value | Expr | TensorSequence | None
"""An output of a converter; None if it is absent."""


def constant_of(array: Array, key: str | None = None) -> Constant:
    """Return a constant in the program; contents that are read-only and row-major are shared, others copied.

    `key` is its name in the model.
    """
    element = dtype_of(array.dtype.name)
    if array.size and array.flags.c_contiguous and not array.flags.writeable:
        return Constant.on(relax.ConstantOp(TensorDataAttr.sharing(array, element, key)).result)
    data = TensorDataAttr.from_numpy(array, element).data
    return Constant.on(relax.ConstantOp(TensorDataAttr(replace(data, key=key))).result)


def op(name: str, *args: Any, **attrs: Any) -> Expr:
    """Return a call of the operator `relax.<name>`: `op("nn.softmax", x, axis=-1)`.

    Arguments are `Value`s, expressions, or sequences for shapes; a Python number beside a tensor becomes a
    constant of its dtype. The result is unbound, so it may be an argument of the next call.
    """
    plain = [plain_argument(a) for a in args]
    if f"relax.{name}" in _ALIKE:
        plain = [*plain[:-2], *_alike(plain[-2], plain[-1])]
    return call_operator(f"relax.{name}", *plain, **attrs)


_ALIKE = frozenset({"relax.where", *(cls.name for cls in BINARY.values())})
"""Operators whose last two operands have the same dtype."""


def plain_argument(value: Any) -> Any:
    """Convert a value, or a sequence of values, to expressions."""
    if isinstance(value, Value):
        return value.expr
    if isinstance(value, list | tuple):
        return [plain_argument(v) for v in value]
    return value


def _alike(a: Any, b: Any) -> list[Any]:
    return [like(a, b) if isinstance(a, int | float) else a, like(b, a) if isinstance(b, int | float) else b]


def like(number: float, x: Any) -> Constant:
    """Return a number as a constant of rank 0 with the dtype of `x`."""
    return constant_of(np.asarray(number, dtype=numpy_dtype(dtype_of(as_value(x).dtype))))


def as_value(x: Any) -> Value:
    """Wrap an expression as a value with shape and dtype."""
    return x if isinstance(x, Value) else Value(x)
