"""Operators of ONNX Runtime that exporters write, most of which ONNX has too, or had not at the time."""

from __future__ import annotations

from typing import Any

from ....handles.relax.expr import Expr, TupleGetItem
from ..node import Node
from ..table import MICROSOFT, Converter, converter, rows
from ..values import Output, Value, as_value, op
from .creation import arange
from .image import grid_sample
from .indexing import from_front, gather_nd, triangle
from .manipulation import pad
from .sets import unique
from .signal import frame_places


def _with(convert: Converter, **defaults: Any) -> Converter:
    """Return a converter with defaults of attributes: contributed operators have no schema."""
    return lambda node, *inputs: convert(node.with_attributes({**defaults, **node.attributes}), *inputs)


rows(_with(triangle, upper=1), "Trilu", domain=MICROSOFT)
rows(_with(gather_nd, batch_dims=0), "GatherND", domain=MICROSOFT)
rows(_with(grid_sample, mode="bilinear", padding_mode="zeros", align_corners=0), "GridSample", domain=MICROSOFT)


@converter("Pad", domain=MICROSOFT)
def pad_by_rows(node: Node, x: Value, pads: Value, value: Value | None = None) -> Output:
    """The amounts may be a matrix of one row."""
    if pads.rank == 2:
        pads = as_value(node.emit(op("reshape", pads, (-1,)))) if pads.array is None else Value(array=pads.array[0])
    return _with(pad, mode="constant")(node, x, pads, value)


@converter("Range", domain=MICROSOFT)
def range_with_default(node: Node, start: Value, limit: Value, delta: Value | None = None) -> Any:
    return arange(node, start, limit, Value.constant(1, start.dtype) if delta is None else delta)


@converter("Unique", domain=MICROSOFT)
def unique_in_order(node: Node, x: Value) -> tuple[Expr, ...]:
    """Return the elements in the order in which they occur, the number of each, and the counts."""
    elements, _, inverse, counts = _with(unique, sorted=0)(node, x)
    return elements, inverse, counts


@converter("ExpandDims", domain=MICROSOFT)
def expand_dims(node: Node, x: Value, axis: Value) -> Expr:
    return op("expand_dims", x, axis=[int(node.number(axis))])


@converter("TorchEmbedding", domain=MICROSOFT)
def embedding(node: Node, table: Value, indices: Value, *_: Value) -> Expr:
    return op("take", table, from_front(indices, table.dims[0]), axis=0)


@converter("Inverse", domain=MICROSOFT)
def inverse(node: Node, x: Value) -> Expr:
    return TupleGetItem(node.emit(op("linalg.inv", x)), 0)


@converter("CDist", domain=MICROSOFT)
def distances(node: Node, a: Value, b: Value) -> Expr:
    """Return the distances of all rows of one matrix from those of another."""
    metric = node.attr("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise node.unsupported(f"the metric {metric}")
    difference = node.emit(op("subtract", op("expand_dims", a, axis=[1]), op("expand_dims", b, axis=[0])))
    squares = op("sum", op("multiply", difference, difference), axis=[2])
    return squares if metric == "sqeuclidean" else op("sqrt", squares)


@converter("UnfoldTensor", domain=MICROSOFT)
def unfold(node: Node, x: Value) -> Expr:
    """Return the slices of a dimension, whose elements are a new last one."""
    axis, size = node.attr("dim", -1) % x.rank, node.attr("size")
    windows = as_value(
        node.emit(op("take", x, frame_places(node, x.dims[axis], node.attr("step", 1), size), axis=axis))
    )
    axes = [i for i in range(windows.rank) if i != axis + 1]
    return op("permute_dims", windows, axes=[*axes, axis + 1])


@converter("MatMulInteger16", domain=MICROSOFT)
def matmul_of_shorts(node: Node, a: Value, b: Value) -> Expr:
    return op("matmul", *(op("astype", x, dtype="int32") for x in (a, b)))


# Complex numbers are pairs in the last dimension.


def _require_one_dimension(node: Node) -> None:
    if node.attr("signal_ndim", 1) != 1 or node.attr("normalized", 0) or not node.attr("onesided", 1):
        raise node.unsupported("transforms of several dimensions, or of other forms")


@converter("Rfft", domain=MICROSOFT)
def real_transform(node: Node, x: Value) -> Expr:
    _require_one_dimension(node)
    return op("fft.rfft", x, axis=-1)


@converter("Irfft", domain=MICROSOFT)
def real_inverse(node: Node, x: Value) -> Expr:
    _require_one_dimension(node)
    return op("fft.irfft", x, axis=-1)


def _complex_product(sign: int) -> Converter:
    """Return a converter of a · b, or of a times the conjugate of b for a `sign` of -1."""

    def convert(node: Node, a: Value, b: Value) -> Expr:
        last = a.rank - 1
        real, imaginary = (op("take", a, Value.constant([i], "int64"), axis=last) for i in (0, 1))
        turned = op("take", b, Value.constant([1, 0], "int64"), axis=b.rank - 1)
        first = op("multiply", real, op("multiply", b, Value.constant([1, sign], b.dtype)))
        return op("add", first, op("multiply", imaginary, op("multiply", turned, Value.constant([-sign, 1], b.dtype))))

    return convert


rows(_complex_product(1), "ComplexMul", domain=MICROSOFT)
rows(_complex_product(-1), "ComplexMulConj", domain=MICROSOFT)
