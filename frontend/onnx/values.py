"""Values of a graph while it is imported: tensors of the program, constants, small integers known as expressions."""

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
"""Elements of a tensor of integers that are followed one by one."""


class Value:
    """A tensor of the graph. Three kinds, of which a converter need not know:

    - computed by the program: `array` and `elements` are None;
    - a constant: `array` has its contents;
    - integers known as expressions over symbolic sizes: `elements` has them, `array` is None unless all are constant.

    `expr` is the value in the program, whatever its kind; operators take a `Value` as they take an `Expr`.
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
        """A constant of an array, or of anything numpy reads."""
        return Value(array=np.asarray(array) if dtype is None else np.asarray(array).astype(dtype))

    @staticmethod
    def known(elements: Any, dtype: str = "int64") -> Value:
        """A tensor of integers that are expressions; a constant where all of them are."""
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
            return self._written()  # anew each time: where it stands first need not be visible elsewhere
        self._expr = self._written() if self._make is None else self._make()
        return self._expr

    @property
    def expr_handle(self) -> Expr:
        """As `expr`: what operators ask of an argument."""
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
        """The type in the program. Raises `ModelError` for what is no tensor."""
        if self._type is not None:
            return self._type
        t = self.expr.ssa.type
        if not isinstance(t, relax.TensorType):
            raise ModelError("a tensor was expected", found=t)
        return t

    @property
    def array(self) -> Array | None:
        """The contents, None where they are not known at import."""
        return self._array

    @property
    def elements(self) -> list[SymExpr] | None:
        """The integers of a tensor of any rank, row by row, None where they are not known or too many."""
        known = self.known_elements
        return None if known is None else [as_expr(e) for e in known.ravel().tolist()]

    @property
    def known_elements(self) -> Array | None:
        """The integers as an array of expressions and numbers, None where they are not known or too many."""
        if self._elements is not None:
            return self._elements
        if self._array is None or self._array.dtype.kind not in "iub" or self._array.size > MOST_KNOWN:
            return None
        return self._array.astype(object)

    @property
    def dims(self) -> Dims:
        """The extents. Raises `ModelError` where they are not known."""
        if self.type.dims is None:
            raise NotInferred("a tensor of known shape is needed", found=self.type)
        return tuple(self.type.dims)

    @property
    def rank(self) -> int:
        """The number of dimensions. Raises `ModelError` where it is not known."""
        if self.type.rank is None:
            raise NotInferred("a tensor of known rank is needed", found=self.type)
        return self.type.rank

    @property
    def dtype(self) -> str:
        """The data type, by its name. Raises `ModelError` where it is not known."""
        if self.type.element is None:
            raise NotInferred("a tensor of known data type is needed", found=self.type)
        return dtype_name(self.type.element)

    @property
    def sizes(self) -> list[int]:
        """The extents as numbers. Raises `ModelError` where one of them is symbolic."""
        numbers = [d.constant for d in self.dims]
        if None in numbers:
            raise NotInferred("a tensor of constant shape is needed", found=[str(d) for d in self.dims])
        return [n for n in numbers if n is not None]


class TensorSequence(list[Value]):
    """A sequence of tensors whose length is known at import."""


Output = Value | Expr
"""A tensor: what a converter gives for most outputs."""

Result = Value | Expr | TensorSequence | None
"""What a converter gives for an output; None where it is not there."""


def constant_of(array: Array, key: str | None = None) -> Constant:
    """A constant in the program; contents that are read-only and row major are shared, others copied.

    `key` is what the model calls it.
    """
    element = dtype_of(array.dtype.name)
    if array.size and array.flags.c_contiguous and not array.flags.writeable:
        return Constant.on(relax.ConstantOp(TensorDataAttr.sharing(array, element, key)).result)
    data = TensorDataAttr.from_numpy(array, element).data
    return Constant.on(relax.ConstantOp(TensorDataAttr(replace(data, key=key))).result)


def op(name: str, *args: Any, **attrs: Any) -> Expr:
    """A call of the operator `relax.<name>`: `op("nn.softmax", x, axis=-1)`.

    Arguments are `Value`s, expressions, shapes as sequences; a Python number beside a tensor becomes a constant of its
    dtype. What it gives is not bound yet: it may be an argument of the next call.
    """
    plain = [plain_argument(a) for a in args]
    if f"relax.{name}" in _ALIKE:
        plain = [*plain[:-2], *_alike(plain[-2], plain[-1])]
    return call_operator(f"relax.{name}", *plain, **attrs)


_ALIKE = frozenset({"relax.where", *(cls.name for cls in BINARY.values())})
"""Operators whose last two operands have one dtype."""


def plain_argument(value: Any) -> Any:
    """A value, or a sequence of them, as expressions."""
    if isinstance(value, Value):
        return value.expr
    if isinstance(value, list | tuple):
        return [plain_argument(v) for v in value]
    return value


def _alike(a: Any, b: Any) -> list[Any]:
    return [like(a, b) if isinstance(a, int | float) else a, like(b, a) if isinstance(b, int | float) else b]


def like(number: float, x: Any) -> Constant:
    """A number as a constant of rank 0, of the dtype of `x`."""
    return constant_of(np.asarray(number, dtype=numpy_dtype(dtype_of(as_value(x).dtype))))


def as_value(x: Any) -> Value:
    """An expression as a value, to ask for its shape and dtype."""
    return x if isinstance(x, Value) else Value(x)
