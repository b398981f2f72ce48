"""Operators of ONNX Runtime that exporters write, most of which ONNX has too, or had not at the time."""

from __future__ import annotations

from typing import Any

from ....handles.relax.expr import DataTypeImm, Expr, PrimValue, TupleGetItem
from ....handles.struct_info import ShapeStructInfo
from ....topi.warping import cheapest_path
from ..node import Node
from ..strings import Strings
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


@converter("DynamicTimeWarping", domain=MICROSOFT)
def warped(node: Node, x: Value) -> Expr:
    """Return the places, rows over columns, of the cheapest path through a matrix of costs."""
    rows, columns = x.dims[-2:]
    costs = x if x.rank == 2 else as_value(node.emit(op("reshape", x, (rows, columns))))
    both = node.emit(node.call_te(cheapest_path, costs))
    path, length = (node.emit(TupleGetItem(both, i)) for i in range(2))
    total = node.graph.fresh_size("steps")
    node.graph.builder.match_cast(node.emit(op("tensor_to_shape", length)), ShapeStructInfo([total]))
    end = rows + columns
    return op(
        "strided_slice", path, axes=[1], begin=[PrimValue(end - total)], end=[PrimValue(end)], assume_inbound=True
    )


def _rotated(node: Node, x: Any, bits: int) -> Expr:
    left, right = (Value.constant(n, "uint32") for n in (bits, 32 - bits))
    return node.emit(op("bitwise_or", op("left_shift", x, left), op("right_shift", x, right)))


@converter("MurmurHash3", domain=MICROSOFT)
def murmur_hash(node: Node, x: Value) -> Expr:
    """Return the hashes of the elements' bytes (MurmurHash3_x86_32, Appleby, 2011), as uint32 or int32."""
    if isinstance(x, Strings):
        raise node.unsupported("hashes of strings")

    def times(a: Any, factor: int) -> Expr:
        return node.emit(op("multiply", a, Value.constant(factor, "uint32")))

    def mixed(a: Any, bits: int) -> Expr:
        return node.emit(op("bitwise_xor", a, op("right_shift", a, Value.constant(bits, "uint32"))))

    words = _words(node, x)
    h: Any = op("full", x.dims, Value.constant(node.attr("seed", 0) & 0xFFFFFFFF, "uint32"), dtype="uint32")
    for word in words:
        k = times(_rotated(node, times(word, 0xCC9E2D51), 15), 0x1B873593)
        h = times(_rotated(node, node.emit(op("bitwise_xor", h, k)), 13), 5)
        h = node.emit(op("add", h, Value.constant(0xE6546B64, "uint32")))
    h = node.emit(op("bitwise_xor", h, Value.constant(4 * len(words), "uint32")))
    h = mixed(times(mixed(times(mixed(h, 16), 0x85EBCA6B), 13), 0xC2B2AE35), 16)
    return h if node.attr("positive", 1) else op("memory.view", h, None, DataTypeImm("int32"))


def _words(node: Node, x: Value) -> list[Expr]:
    """Return the 4 bytes of each element, or the first and the last 4, as uint32."""
    wide = x.dtype in ("int64", "uint64", "float64")
    own = "uint64" if wide else "uint32"
    bits = x.expr if x.dtype == own else node.emit(op("memory.view", x, None, DataTypeImm(own)))
    parts = [bits, op("right_shift", bits, Value.constant(32, own))] if wide else [bits]
    low = Value.constant(0xFFFFFFFF, own)
    return [node.emit(op("astype", op("bitwise_and", p, low), dtype="uint32") if wide else p) for p in parts]


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
