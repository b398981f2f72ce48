"""Products of tensors: dot_general, dot, einsum, convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import dtype_name
from ...dialects.stablehlo import ConvAttr, StructAttr
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Expr, const
from ..importing.relax_operators import R
from .bodies import constant
from .graph import Graph, dims_of, dtype_of, rule
from .structural import padded, transposed
from .values import Pair, Splat, Value, attribute, element_of, integer, integers, is_complex, pairs


@dataclass(frozen=True)
class Axes:
    """The dimensions of one operand of a product, by what happens to them."""

    batch: Sequence[int]
    contracted: Sequence[int]
    rank: int

    @property
    def free(self) -> list[int]:
        """The dimensions that the product keeps."""
        return [a for a in range(self.rank) if a not in self.batch and a not in self.contracted]


def _axes(op: Operation) -> tuple[Axes, Axes]:
    given = attribute(op, "dot_dimension_numbers")

    def listed(name: str) -> list[int]:
        return given.numbers(name) if isinstance(given, StructAttr) else integers(op, name)

    a, b = (
        Axes(listed(f"{side}_batching_dimensions"), listed(f"{side}_contracting_dimensions"), _rank(value))
        for side, value in zip(("lhs", "rhs"), op.operands, strict=False)
    )
    return a, b


def _rank(value: SSAValue) -> int:
    return len(cast(Any, value.type).get_shape())


@rule("stablehlo.dot_general")
def dot_general(graph: Graph, op: Operation) -> None:
    """Multiply along dimensions, and sum."""
    graph.set(op, _product(graph, op, *_axes(op)))


@rule("stablehlo.dot")
def dot(graph: Graph, op: Operation) -> None:
    """Multiply vectors and matrices: the last dimension of the one, and the first of the other."""
    ranks = [_rank(v) for v in op.operands]
    graph.set(op, _product(graph, op, Axes([], [ranks[0] - 1], ranks[0]), Axes([], [0], ranks[1])))


def _product(graph: Graph, op: Operation, a: Axes, b: Axes) -> Value:
    dtype = element_of(op.results[0], op)
    lhs, rhs = (graph.parts(v) for v in op.operands[:2])
    if not is_complex(op.results[0]):
        return product(graph, lhs[0], rhs[0], a, b, dtype)

    def times(x: Expr, y: Expr) -> Expr:
        return product(graph, x, y, a, b, dtype)

    if len(lhs) == 1:
        return Pair(times(lhs[0], rhs[0]), times(lhs[0], rhs[1]))
    if len(rhs) == 1:
        return Pair(times(lhs[0], rhs[0]), times(lhs[1], rhs[0]))
    re = graph.emit(R.subtract(times(lhs[0], rhs[0]), times(lhs[1], rhs[1])))
    return Pair(re, graph.emit(R.add(times(lhs[0], rhs[1]), times(lhs[1], rhs[0]))))


def product(graph: Graph, lhs: Expr, rhs: Expr, a: Axes, b: Axes, dtype: Attribute) -> Expr:
    """Return the sums of products, in the order of batch, kept dimensions of the left, and of the right."""
    if dtype == i1:
        counts = product(graph, graph.cast(lhs, i32), graph.cast(rhs, i32), a, b, i32)
        return graph.emit(R.greater(counts, const(0, "int32")))
    left, right = dims_of(lhs), dims_of(rhs)
    batch, rows, columns = ([s[k] for k in ks] for s, ks in ((left, a.batch), (left, a.free), (right, b.free)))
    inner = [
        left[k] if left[k].constant is not None else right[j] for k, j in zip(a.contracted, b.contracted, strict=True)
    ]
    x = graph.emit(transposed(graph.cast(lhs, dtype), [*a.batch, *a.free, *a.contracted]))
    y = graph.emit(transposed(graph.cast(rhs, dtype), [*b.batch, *b.contracted, *b.free]))
    x = graph.reshaped(x, [*_folded(batch, bool(batch)), _size(rows), _size(inner)])
    y = graph.reshaped(y, [*_folded(batch, bool(batch)), _size(inner), _size(columns)])
    result = graph.emit(R.matmul(x, y, out_dtype=dtype_name(dtype)))
    return graph.reshaped(result, [*batch, *rows, *columns])


def _folded(dims: Sequence[SymExpr], present: bool) -> list[SymExpr]:
    return [_size(dims)] if present else []


def _size(dims: Sequence[SymExpr]) -> SymExpr:
    return math.prod(dims, start=Const(1))


@rule("stablehlo.einsum", "stablehlo.unary_einsum")
def einsum(graph: Graph, op: Operation) -> None:
    """Sum products as a formula says."""
    formula = cast(Any, attribute(op, "einsum_config")).data
    graph.set(op, graph.emit(R.einsum(tuple(graph.tensor(v) for v in op.operands), formula)))


# -- convolutions ------------------------------------------------------------------------------------------------------


@dataclass
class Window:
    """How a kernel moves over an image."""

    strides: list[int]
    padding: list[tuple[int, int]]
    lhs_dilation: list[int]
    rhs_dilation: list[int]
    reversal: list[int]


def _window(op: Operation, count: int) -> Window:
    ones = [1] * count
    return Window(
        integers(op, "window_strides", ones),
        pairs(op, "padding", count),
        integers(op, "lhs_dilation", ones),
        integers(op, "rhs_dilation", ones),
        integers(op, "window_reversal", [0] * count),
    )


@rule("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(graph: Graph, op: Operation) -> None:
    """Move a kernel over an image, as dimension numbers say."""
    numbers = attribute(op, "dimension_numbers")
    if not isinstance(numbers, ConvAttr):
        raise UnsupportedError("a convolution without dimension numbers")
    letters = [part.data.split() for part in (numbers.operand, numbers.kernel, numbers.result)]
    count = len(letters[0]) - 2
    window = _window(op, count)
    if op.name == "stablehlo.dynamic_conv":
        flat = [d.constant for d in graph.sizes(op.operands[2])]
        if None in flat:
            raise UnsupportedError("a convolution whose padding depends on sizes")
        window.padding = list(zip(cast("list[int]", flat[::2]), cast("list[int]", flat[1::2]), strict=True))
    dtype = element_of(op.results[0], op)
    if is_complex(op.results[0]):
        raise UnsupportedError("a convolution of complex numbers")
    groups = (integer(op, "feature_group_count", 1), integer(op, "batch_group_count", 1))
    x, w = (graph.cast(graph.tensor(v), dtype) for v in op.operands[:2])
    graph.set(op, convolved(graph, x, w, letters, window, groups))


def convolved(
    graph: Graph, x: Expr, w: Expr, letters: list[list[str]], window: Window, groups: tuple[int, int]
) -> Expr:
    """Return a convolution: of an image N, C, … and a kernel O, I, …."""
    count = len(window.strides)
    spatial = [str(k) for k in range(count)]
    x = graph.emit(transposed(x, [letters[0].index(c) for c in ("b", "f", *spatial)]))
    w = graph.emit(transposed(w, [letters[1].index(c) for c in ("o", "i", *spatial)]))
    for axis, flag in enumerate(window.reversal):
        if flag:
            w = graph.emit(R.flip(w, axis=axis + 2))
    feature_groups, batch_groups = groups
    if batch_groups > 1:
        x = _grouped(graph, x, batch_groups)
    padding = window.padding
    if any(d > 1 for d in window.lhs_dilation) or any(p < 0 for pair in padding for p in pair):
        zero = constant(0, dtype_of(x))
        around = ([Const(0), Const(0), *(Const(p[side]) for p in padding)] for side in (0, 1))
        between = [Const(0), Const(0), *(Const(d - 1) for d in window.lhs_dilation)]
        x = padded(graph, x, zero, *around, between)  # type: ignore[misc]
        padding = [(0, 0)] * count
    result = _plain_convolution(graph, x, w, window, padding, feature_groups * batch_groups)
    order = ("b", "f", *spatial)
    return graph.emit(transposed(result, [order.index(c) for c in letters[2]]))


def _grouped(graph: Graph, x: Expr, groups: int) -> Expr:
    """Let groups of images be groups of features."""
    n, c, *rest = dims_of(x)
    x = graph.reshaped(x, [Const(groups), n // groups, c, *rest])
    x = graph.emit(R.permute_dims(x, [1, 0, 2, *range(3, 3 + len(rest))]))
    return graph.reshaped(x, [n // groups, c * groups, *rest])


def _extents(x: Expr, w: Expr, window: Window, padding: list[tuple[int, int]]) -> list[SymExpr]:
    rows = zip(dims_of(x)[2:], dims_of(w)[2:], window.strides, window.rhs_dilation, padding, strict=True)
    return [(size + low + high - (kernel - 1) * by - 1) // step + 1 for size, kernel, step, by, (low, high) in rows]


def _is_empty(x: Expr, w: Expr, window: Window, padding: list[tuple[int, int]]) -> bool:
    """Return whether the kernel fits nowhere, or there is nothing to sum."""
    sizes = [*dims_of(x), *dims_of(w), *_extents(x, w, window, padding)]
    return any(d.constant is not None and d.constant <= 0 for d in sizes)


def _nothing(x: Expr, w: Expr, window: Window, padding: list[tuple[int, int]]) -> Splat:
    extents = [Const(max(d.constant, 0)) if d.constant is not None else d for d in _extents(x, w, window, padding)]
    return Splat(0, dtype_of(x), [dims_of(x)[0], dims_of(w)[0], *extents])


def _plain_convolution(
    graph: Graph, x: Expr, w: Expr, window: Window, padding: list[tuple[int, int]], groups: int
) -> Expr:
    count = len(window.strides)
    if _is_empty(x, w, window, padding):
        return graph.made(_nothing(x, w, window, padding))
    if count == 0:  # a matrix product
        x, w = (graph.reshaped(v, [*dims_of(v), Const(1)]) for v in (x, w))
        result = _plain_convolution(graph, x, w, Window([1], [], [], [1], []), [(0, 0)], groups)
        return graph.reshaped(result, dims_of(result)[:2])
    if count > 3:
        raise UnsupportedError(f"a convolution over {count} dimensions", expected="3 at most")
    function = (R.nn.conv1d, R.nn.conv2d, R.nn.conv3d)[count - 1]
    around = [p[0] for p in padding] + [p[1] for p in padding]
    return graph.emit(
        function(
            x,
            w,
            strides=window.strides,
            padding=around,
            dilation=window.rhs_dilation,
            groups=groups,
            out_dtype=dtype_name(dtype_of(x)),
        )
    )
