"""Operators on the representation of tensors: bit casts, and key-value caches."""

from __future__ import annotations

from ....dialects.dtypes import bit_width, byte_size, dtype_of
from ....handles.relax.expr import DataTypeImm, Expr, PrimValue
from ..node import Node
from ..table import converter
from ..tensors import dtype_name
from ..values import Output, Value, op
from .elementwise import converted


@converter("BitCast")
def bit_cast(node: Node, x: Value) -> Output:
    """Reinterpret the bits as elements of the same width."""
    dtype = dtype_name(node.attr("to"), "the result")
    if bit_width(dtype_of(dtype)) != bit_width(dtype_of(x.dtype)) and byte_size(dtype_of(dtype)) != byte_size(
        dtype_of(x.dtype)
    ):
        raise node.error("the elements have another number of bits", expected=x.dtype, found=dtype)
    return x if dtype == x.dtype else op("memory.view", x, None, DataTypeImm(dtype))


@converter("TensorScatter")
def tensor_scatter(node: Node, cache: Value, update: Value, places: Value | None = None) -> Expr:
    """Return a cache with the update at the position of each sequence, wrapping around in circular mode."""
    axis = node.attr("axis")
    axis = axis + cache.rank if axis < 0 else axis
    length = update.dims[axis]
    steps = op("arange", PrimValue(0), PrimValue(length), PrimValue(1), dtype="int64")
    index = op("reshape", steps, tuple(length if i == axis else 1 for i in range(cache.rank)))
    if places is not None:
        first = op("reshape", converted(places, "int64"), (cache.dims[0], *[1] * (cache.rank - 1)))
        index = op("add", index, first)
    if node.attr("mode") == "circular":
        index = op("floor_mod", index, Value.known(cache.dims[axis]))
    return op("scatter_elements", cache, op("broadcast_to", index, update.dims), update, axis=axis)
