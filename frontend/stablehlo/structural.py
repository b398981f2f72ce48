"""Constants, and operations that move elements: broadcasts, reshapes, slices, pads, …."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IntegerType,
    Signedness,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import bit_width
from ...dialects.stablehlo import UniformType
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Expr, ShapeExpr, Tuple, const
from ...handles.tir import prim_expr as tx
from ...handles.tir.intrinsics import reinterpret
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te.tensor import Tensor, compute
from ..importing.relax_operators import R
from .bodies import constant
from .graph import Graph, dims_of, dtype_of, rule
from .narrow import carried, widened
from .numbers import LIMIT, array, of_value
from .values import (
    Dims,
    Numbers,
    Pair,
    Quantized,
    Splat,
    Value,
    array_of,
    attribute,
    element_of,
    integer,
    integers,
    is_complex,
    is_number,
    tensor_type,
)


@rule("stablehlo.constant", "chlo.constant")
def constants(graph: Graph, op: Operation) -> None:
    """Return a tensor of known elements."""
    value = attribute(op, "value")
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise UnsupportedError(f"the constant {str(value)[:60]}", expected="dense<…>")
    content = array_of(value)
    dtype = element_of(op.results[0])
    if is_complex(op.results[0]):
        graph.set(op, Pair(*(_constant(graph, content[..., k], dtype) for k in (0, 1))))
    elif is_number(dtype) and content.size <= LIMIT:
        numbers = [int(n) for n in content.flat]
        graph.set(op, Numbers(array(numbers, content.shape), dtype))
    else:
        graph.set(op, _known(content, dtype))


def _known(content: np.ndarray[Any, Any], dtype: Attribute) -> Splat | Expr:
    flat = content.reshape(-1)
    if flat.size and (flat.tobytes() == flat[:1].tobytes() * flat.size):
        return Splat(flat[0].item(), dtype, [Const(n) for n in content.shape])
    return const(content, dtype)


def _constant(graph: Graph, content: np.ndarray[Any, Any], dtype: Attribute) -> Expr:
    known = _known(content, dtype)
    return graph.made(known) if isinstance(known, Splat) else known


# -- shapes ------------------------------------------------------------------------------------------------------------


def declared(graph: Graph, value: SSAValue, sizes: SSAValue | None = None) -> Dims:
    """Return the sizes of a result: of its type, of a vector of sizes where that leaves them open."""
    shape = tensor_type(value).get_shape()
    if DYNAMIC_INDEX not in shape:
        return [Const(n) for n in shape]
    if sizes is None:
        raise UnsupportedError(f"a result of type {value.type}", expected="known sizes")
    computed = graph.sizes(sizes)
    return [c if n == DYNAMIC_INDEX else Const(n) for n, c in zip(shape, computed, strict=True)]


@rule("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(graph: Graph, op: Operation) -> None:
    """Repeat along dimensions."""
    source = op.operands[0]
    axes = integers(op, "broadcast_dimensions")
    dims = declared(graph, op.results[0], op.operands[1] if len(op.operands) > 1 else None)
    graph.set(op, broadcast(graph, source, axes, dims))


def broadcast(graph: Graph, source: SSAValue, axes: Sequence[int], dims: Dims) -> Value:
    """Return a value repeated along the dimensions that it lacks, or has only one element of."""
    known = graph.values[source]
    number = graph.number(source)
    if number is not None:
        result = Splat(number, element_of(source), dims)
        folded = of_numbers(result) if isinstance(known, Numbers) else None
        return result if folded is None else folded
    if (
        isinstance(known, Numbers)
        and all(d.constant for d in dims)
        and math.prod(d.constant or 0 for d in dims) <= LIMIT
    ):
        shape = [known.content.shape[axes.index(a)] if a in axes else 1 for a in range(len(dims))]
        order = sorted(range(len(axes)), key=lambda k: axes[k])
        content = known.content.transpose(order).reshape(shape)
        return Numbers(np.broadcast_to(content, [d.constant or 0 for d in dims]), known.dtype)
    return graph.like(source, [repeated(graph, x, axes, dims) for x in graph.parts(source)])


def of_numbers(known: Splat) -> Numbers | None:
    """Return a small tensor of one integer as known numbers."""
    shape = [d.constant for d in known.dims]
    if None in shape or math.prod(s or 0 for s in shape) > LIMIT or not is_number(known.dtype):
        return None
    return Numbers(np.full([s or 0 for s in shape], int(known.number), object), known.dtype)


def repeated(graph: Graph, x: Expr, axes: Sequence[int], dims: Dims) -> Expr:
    """Return a tensor repeated along dimensions."""
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    if order != list(range(len(order))):
        x = graph.emit(R.permute_dims(x, order))
    own = dict(zip(sorted(axes), dims_of(x), strict=True))
    shape = [own.get(a, Const(1)) for a in range(len(dims))]
    x = graph.reshaped(x, shape)
    expected = [d if s.constant == 1 else s if d.constant is None else d for s, d in zip(shape, dims, strict=True)]
    x = graph.matched(x, [s if s.constant == 1 else e for s, e in zip(shape, expected, strict=True)])
    return x if list(dims_of(x)) == list(dims) else graph.emit(R.broadcast_to(x, ShapeExpr(dims)))


@rule("stablehlo.broadcast")
def broadcast_first(graph: Graph, op: Operation) -> None:
    """Repeat along new first dimensions."""
    dims = declared(graph, op.results[0])
    count = len(integers(op, "broadcast_sizes"))
    graph.set(op, broadcast(graph, op.operands[0], range(count, len(dims)), dims))


@rule("stablehlo.reshape", "stablehlo.dynamic_reshape", "chlo.dynamic_reshape")
def reshape(graph: Graph, op: Operation) -> None:
    """Arrange the same elements in another shape."""
    source, result = op.operands[0], op.results[0]
    known = graph.values[source]
    dims = declared(graph, result, op.operands[1] if len(op.operands) > 1 else None)
    if isinstance(known, Splat):
        graph.set(op, Splat(known.number, known.dtype, dims))
    elif isinstance(known, Numbers):
        graph.set(op, Numbers(known.content.reshape([d.constant or 0 for d in dims]), known.dtype))
    else:
        graph.each(op, source, lambda x: graph.reshaped(x, dims))


@rule("stablehlo.transpose")
def transpose(graph: Graph, op: Operation) -> None:
    """Reorder dimensions."""
    order = integers(op, "permutation")
    known = graph.values[op.operands[0]]
    if isinstance(known, Splat):
        graph.set(op, Splat(known.number, known.dtype, [known.dims[a] for a in order]))
    elif isinstance(known, Numbers):
        graph.set(op, Numbers(known.content.transpose(order), known.dtype))
    else:
        graph.each(op, op.operands[0], lambda x: transposed(x, order))


def transposed(x: Expr, order: Sequence[int]) -> Expr:
    """Return a tensor with its dimensions in another order."""
    return x if list(order) == sorted(order) else R.permute_dims(x, list(order))


@rule("stablehlo.slice")
def slice_(graph: Graph, op: Operation) -> None:
    """Take elements at regular distances."""
    first, last = integers(op, "start_indices"), integers(op, "limit_indices")
    steps = integers(op, "strides", [1] * len(first))
    known = graph.values[op.operands[0]]
    if isinstance(known, Numbers):
        rows = tuple(slice(*row) for row in zip(first, last, steps, strict=True))
        graph.set(op, Numbers(known.content[rows], known.dtype))
    elif isinstance(known, Splat):
        graph.set(op, Splat(known.number, known.dtype, [Const(n) for n in tensor_type(op.results[0]).get_shape()]))
    else:
        graph.each(op, op.operands[0], lambda x: sliced(x, first, last, steps))


def sliced(x: Expr, first: Sequence[int], last: Sequence[int], steps: Sequence[int]) -> Expr:
    """Return a slice of a tensor."""
    sizes = [d.constant for d in dims_of(x)]
    axes = [a for a in range(len(first)) if (first[a], last[a], steps[a]) != (0, sizes[a], 1)]
    if not axes:
        return x
    numbers = [[values[a] for a in axes] for values in (first, last, steps)]
    return R.strided_slice(x, axes=axes, begin=numbers[0], end=numbers[1], strides=numbers[2])


@rule("stablehlo.real_dynamic_slice")
def real_dynamic_slice(graph: Graph, op: Operation) -> None:
    """Take elements at regular distances, from places that are sizes or computed, as many as sizes say."""
    _, start, limit, strides = op.operands
    steps = graph.sizes(strides)
    lengths = _distance(graph, start, limit)
    dims = [-(-n // s) for n, s in zip(lengths, steps, strict=True)]
    known = isinstance(graph.values[start], Numbers)
    first = graph.sizes(start) if known else []

    def element(t: Tensor, rest: Sequence[Tensor], i: Sequence[PrimExpr]) -> PrimExpr:
        begins = [from_sym(n) for n in first] if known else [rest[0](tx.const(a, i64)) for a in range(len(i))]
        rows = zip(i, begins, steps, strict=True)
        return t(*(k.astype(i64) * from_sym(s).astype(i64) + n.astype(i64) for k, n, s in rows))

    def taken(x: Expr) -> Expr:
        tensors = [x] if known else [x, graph.tensor(start)]
        return graph.one("slice", lambda t, *rest: compute(dims, lambda *i: element(t, rest, i), "slice"), *tensors)

    graph.each(op, op.operands[0], taken)


def _distance(graph: Graph, start: SSAValue, limit: SSAValue) -> list[SymExpr]:
    """Return how far limits are from where a slice begins: `start + sizes` is as far as the sizes."""
    if isinstance(graph.values[start], Numbers) and isinstance(graph.values[limit], Numbers):
        return [b - a for a, b in zip(graph.sizes(start), graph.sizes(limit), strict=True)]
    result = limit.owner
    if isinstance(result, Operation) and result.name == "stablehlo.add" and start in result.operands:
        (other,) = [v for v in result.operands if v is not start] or [start]
        return graph.sizes(other)
    return graph.sizes(limit)


@rule("stablehlo.reverse")
def reverse(graph: Graph, op: Operation) -> None:
    """Reverse dimensions."""
    axes = integers(op, "dimensions")

    def reversed_(x: Expr) -> Expr:
        for axis in axes:
            x = graph.emit(R.flip(x, axis=axis))
        return x

    graph.each(op, op.operands[0], reversed_)


@rule("stablehlo.concatenate")
def concatenate(graph: Graph, op: Operation) -> None:
    """Append tensors along a dimension."""
    axis = integer(op, "dimension")
    numbers = [of_value(graph, v) for v in op.operands]
    if all(n is not None for n in numbers) and is_number(element_of(op.results[0])):
        content = np.concatenate([n.content for n in numbers if n is not None], axis)
        if content.size <= LIMIT:
            graph.set(op, Numbers(content, element_of(op.results[0])))
            return
    if len(op.operands) == 1:
        graph.set(op, graph.values[op.operands[0]])
        return
    parts = [graph.parts(v) for v in op.operands]
    results = [graph.emit(R.concat(Tuple(list(column)), axis=axis)) for column in zip(*parts, strict=True)]
    graph.set(op, graph.like(op.operands[0], results))


# -- creation ----------------------------------------------------------------------------------------------------------


@rule("stablehlo.iota", "stablehlo.dynamic_iota")
def iota(graph: Graph, op: Operation) -> None:
    """Return the index along a dimension."""
    axis, dtype = integer(op, "iota_dimension"), element_of(op.results[0])
    dims = declared(graph, op.results[0], op.operands[0] if op.operands else None)

    def element(i: PrimExpr) -> PrimExpr:
        return i.astype(i32).astype(dtype) if bit_width(dtype) < 8 else i.astype(dtype)

    result = graph.one("iota", lambda: compute(list(dims), lambda *i: element(i[axis]), "iota"))
    if is_complex(op.results[0]):
        graph.set(op, Pair(result, graph.emit(R.zeros_like(result))))
    else:
        graph.set(op, result)


@rule("stablehlo.get_dimension_size")
def get_dimension_size(graph: Graph, op: Operation) -> None:
    """Return a size."""
    size = graph.dims(op.operands[0])[integer(op, "dimension")]
    graph.set(op, Numbers(array([size if size.constant is None else size.constant], ()), i32))


@rule("stablehlo.set_dimension_size")
def set_dimension_size(graph: Graph, op: Operation) -> None:
    """Keep a tensor, whose size must be what it is set to."""
    axis = integer(op, "dimension")
    size = graph.dims(op.operands[0])[axis]
    if graph.sizes(op.operands[1])[0] != size:
        raise UnsupportedError("a size that changes within bounds", expected=str(size))
    graph.set(op, graph.values[op.operands[0]])


# -- pads --------------------------------------------------------------------------------------------------------------


@rule("stablehlo.pad", "stablehlo.dynamic_pad")
def pad(graph: Graph, op: Operation) -> None:
    """Add elements around and between, or remove some at the borders."""
    if op.name == "stablehlo.pad":
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        low, high, inner = ([Const(n) for n in integers(op, name)] for name in names)
    else:
        low, high, inner = (graph.sizes(v) for v in op.operands[2:])
    source, content = op.operands[:2]
    fillers = _fillers(graph, content)
    parts = [padded(graph, x, f, low, high, inner) for x, f in zip(graph.parts(source), fillers, strict=True)]
    graph.set(op, graph.like(source, parts))


def _fillers(graph: Graph, value: SSAValue) -> list[Expr | PrimExpr]:
    number = graph.number(value)
    return list(graph.parts(value)) if number is None else [constant(number, element_of(value))]


def padded(graph: Graph, x: Expr, filler: Expr | PrimExpr, low: Dims, high: Dims, inner: Sequence[SymExpr]) -> Expr:
    """Return a tensor with elements added around and between its own: a number, or the only element of a tensor."""
    sizes = dims_of(x)
    if all(d.constant == 0 for d in (*low, *high, *inner)):
        return x
    dims = [_widened(n, a, b, k) for n, a, b, k in zip(sizes, low, high, inner, strict=True)]

    def element(t: Tensor, rest: Sequence[Tensor], i: Sequence[PrimExpr]) -> PrimExpr:
        inside: list[PrimExpr] = []
        places: list[PrimExpr] = []
        for axis, index in enumerate(i):
            at = index.astype(i64) - from_sym(low[axis]).astype(i64)
            step = inner[axis] + 1
            if step.constant != 1:
                inside.append(tx.equal(tx.floormod(at, from_sym(step).astype(i64)), tx.const(0, i64)))
                at = tx.floordiv(at, from_sym(step).astype(i64))
            if low[axis].constant != 0 or high[axis].constant != 0 or step.constant != 1:
                inside.append(tx.greater_equal(at, tx.const(0, i64)))
                inside.append(tx.less(at, from_sym(sizes[axis]).astype(i64)))
            places.append(at)
        other = rest[0]() if rest else cast(PrimExpr, filler)
        return tx.if_then_else(tx.logical_and(*inside), t(*places), other) if inside else t(*places)

    tensors = [x] if isinstance(filler, PrimExpr) else [x, filler]
    return graph.one("pad", lambda t, *rest: compute(dims, lambda *i: element(t, rest, i), "pad"), *tensors)


def _widened(size: SymExpr, low: SymExpr, high: SymExpr, inner: SymExpr) -> SymExpr:
    """Return a size after padding; that of nothing has nothing between its elements."""
    between = Const(0) if size.constant == 0 else (size - 1) * inner
    return size + between + low + high


# -- bits --------------------------------------------------------------------------------------------------------------


@rule("stablehlo.bitcast_convert")
def bitcast_convert(graph: Graph, op: Operation) -> None:
    """Read the same bits as elements of another type; of another width, a last dimension appears or goes."""
    known = graph.values[op.operands[0]]
    if is_complex(op.operands[0]) != is_complex(op.results[0]):
        raise UnsupportedError("bits of complex numbers as others")
    if isinstance(known, Pair):
        bits = _recast(graph, stacked(graph, known), element_of(op.results[0]))
        graph.set(op, Pair(*halves(graph, bits)))
        return
    bits = known.stored if isinstance(known, Quantized) else graph.tensor(op.operands[0])
    result = _recast(graph, bits, element_of(op.results[0]))
    kind = tensor_type(op.results[0]).element_type
    graph.set(op, Quantized(result, kind) if isinstance(kind, UniformType) else result)


def _recast(graph: Graph, x: Expr, target: Attribute) -> Expr:
    dims = list(dims_of(x))
    wide, narrow = bit_width(dtype_of(x)), bit_width(target)
    if dtype_of(x) == target:
        return x
    if wide == narrow:
        return graph.one("bitcast", lambda t: compute(dims, lambda *i: _bits(t(*i), target), "bitcast"), x)
    if wide > narrow:
        return graph.one("split", lambda t: _split(t, dims, target, wide // narrow), x)
    return graph.one("join", lambda t: _join(t, dims[:-1], target, narrow // wide), x)


def stacked(graph: Graph, value: Pair) -> Expr:
    """Return complex numbers as a tensor whose last dimension has their parts."""
    return graph.emit(R.stack([value.re, value.im], axis=-1))


def halves(graph: Graph, x: Expr) -> list[Expr]:
    """Return the two parts that the last dimension of a tensor has."""
    *dims, _ = dims_of(x)
    axis = len(dims)
    parts = [graph.emit(R.strided_slice(x, axes=[axis], begin=[k], end=[k + 1])) for k in (0, 1)]
    return [graph.reshaped(part, dims) for part in parts]


def _plain(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


def _bits(x: PrimExpr, target: Attribute) -> PrimExpr:
    return x.astype(target) if i1 in (x.type, target) else reinterpret(target, x)


def _split(t: Tensor, dims: Sequence[SymExpr], target: Attribute, count: int) -> Tensor:
    narrow = _plain(bit_width(target))

    def element(*i: PrimExpr) -> PrimExpr:
        bits = carried(_bits(t(*i[:-1]), _plain(bit_width(t.type))))
        wide = bits.type
        by = i[-1].astype(wide) * tx.const(bit_width(target), wide)
        low = tx.call_intrin(wide, "shift_right", bits, by)
        return _bits(low.astype(narrow), target)

    return compute([*dims, Const(count)], element, "split")


def _join(t: Tensor, dims: Sequence[SymExpr], target: Attribute, count: int) -> Tensor:
    narrow, whole = _plain(bit_width(t.type)), _plain(bit_width(target))
    wide = widened(whole)

    def element(*i: PrimExpr) -> PrimExpr:
        result = tx.const(0, wide)
        for k in range(count):
            part = _bits(t(*i, tx.const(k, i64)), narrow).astype(wide)
            part = tx.call_intrin(wide, "shift_left", part, tx.const(k * bit_width(narrow), wide))
            result = tx.call_intrin(wide, "bitwise_or", result, part)
        return _bits(result.astype(whole), target)

    return compute(list(dims), element, "join")
