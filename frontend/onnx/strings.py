"""Tensors of strings: numpy arrays of Python's strings, on which the package onnx computes when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.sym.expr import SymExpr
from ...handles.relax.calls import call_operator, call_pure_packed
from ...handles.relax.expr import Expr
from ...handles.struct_info import ObjectStructInfo, ShapeStructInfo, TensorStructInfo
from ...runtime.onnx_operators import name_of
from ..block_builder import BlockBuilder
from ..importing.errors import ModelError, NotInferred
from .values import Array, Dims, Value

STRING = "string"
"""The name of their data type."""


class Strings(Value):
    """A tensor of strings: a constant, or an object of the program, whose shape may be known."""

    __slots__ = ("_dims",)

    def __init__(self, expr: Expr | None = None, *, array: Array | None = None, dims: Dims | None = None):
        super().__init__(expr)
        self._array = array
        self._make = (lambda: _constant(array)) if array is not None else None
        self._dims = Value.constant(np.empty(array.shape, bool)).dims if array is not None else dims

    @property
    def type(self) -> Any:
        """Raises `ModelError`: it has no type of tensors."""
        raise ModelError("a tensor of numbers was expected", found="strings")

    @property
    def dims(self) -> Dims:
        """The extents. Raises `NotInferred` if they are unknown."""
        if self._dims is None:
            raise NotInferred("a tensor of known shape is needed", found="strings")
        return self._dims

    @property
    def has_shape(self) -> bool:
        """Whether the extents are known."""
        return self._dims is not None

    @property
    def rank(self) -> int:
        """The number of dimensions. Raises `NotInferred` if it is unknown."""
        return len(self.dims)

    @property
    def dtype(self) -> str:
        """`STRING`."""
        return STRING


def _constant(array: Array) -> Expr:
    from onnx import helper, numpy_helper

    tensor = numpy_helper.from_array(array.astype(object))
    node = helper.make_node("Constant", [], ["value"], value=tensor)
    return call_pure_packed(name_of(node, 13), sinfo_args=ObjectStructInfo())


def constant(array: Array) -> Value:
    """Return a constant of numbers or of strings."""
    return Strings(array=array) if array.dtype.kind in "OUS" else Value(array=array)


def bound(builder: BlockBuilder, expr: Expr, dims: Dims | None) -> Strings:
    """Return an object of the program as a tensor of strings; its extents are checked, and set those that are new."""
    from onnx import helper

    if dims is not None and any(isinstance(d, SymExpr) and d.constant is None for d in dims):
        node = helper.make_node("Shape", ["x"], ["shape"])
        info = TensorStructInfo((len(dims),), "int64")
        shape = builder.emit(call_pure_packed(name_of(node, 13), expr, sinfo_args=info))
        builder.match_cast(builder.emit(call_operator("relax.tensor_to_shape", shape)), ShapeStructInfo(list(dims)))
    return Strings(expr, dims=dims)


def gathered(builder: BlockBuilder, table: Array, places: Value) -> Strings:
    """Return strings of a table by their places."""
    from onnx import helper

    node = helper.make_node("Gather", ["table", "places"], ["strings"])
    expr = builder.emit(
        call_pure_packed(name_of(node, 13), _constant(table), places.expr, sinfo_args=ObjectStructInfo())
    )
    return Strings(expr, dims=places.dims)
