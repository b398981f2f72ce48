"""Reductions, of any function: over dimensions, over windows, and what picks an element of each window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.dtypes import is_float
from ...dialects.stablehlo import UniformType
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Expr, const
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction
from ...te.axis import reduce_axis
from ...te.extern_body import Statements, filled
from ...te.tensor import Tensor, compute
from ..importing.relax_operators import R
from .bodies import Body, constant
from .graph import Graph, dims_of, dtype_of, rule
from .values import Pair, Quantized, Value, element_of, integers, is_complex, pairs, tensor_type

_REDUCERS: dict[str, Callable[..., Any]] = {"add": R.sum, "multiply": R.prod, "maximum": R.max, "minimum": R.min}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": R.add, "multiply": R.multiply, "maximum": R.maximum, "minimum": R.minimum,
}  # fmt: skip


def known_reducer(block: Block) -> str | None:
    """Return the name of the only operation of a body, None if it is another function."""
    first = block.first_op
    if first is None or first.next_op is not block.last_op or len(block.args) != 2:
        return None
    last = block.last_op
    applies = {*first.operands} == {*block.args} and last is not None and list(last.operands) == list(first.results)
    name = first.name.removeprefix("stablehlo.")
    kind = element_of(block.args[0])
    return name if applies and name in _REDUCERS and kind != i1 and not is_complex(block.args[0]) else None


def neutral(name: str, dtype: Attribute) -> float | int:
    """Return the number that a reduction leaves as it is."""
    if name in ("add", "multiply"):
        return int(name == "multiply")
    if is_float(dtype):
        return -math.inf if name == "maximum" else math.inf
    return tx.integer_range(dtype)[0 if name == "maximum" else 1]


def split(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """Return the inputs and the initial values."""
    half = len(op.operands) // 2
    return op.operands[:half], op.operands[half:]


@rule("stablehlo.reduce")
def reduce(graph: Graph, op: Operation) -> None:
    """Reduce dimensions."""
    inputs, starts = split(op)
    axes = integers(op, "dimensions")
    block = op.regions[0].block
    name = known_reducer(block)
    if name is not None:
        graph.set(op, _plain(graph, name, inputs[0], starts[0], axes))
        return
    parts = [graph.parts(v) for v in inputs]
    result = _general(graph, Body(graph, block), [p for ps in parts for p in ps], firsts(graph, starts), axes)
    graph.set(op, *joined(result, inputs))


def joined(parts: Sequence[Expr], like: Sequence[SSAValue]) -> list[Value]:
    """Return values of the kinds of others, of their parts."""
    rest = iter(parts)
    return [_of_parts(v, rest) for v in like]


def _of_parts(like: SSAValue, rest: Iterator[Expr]) -> Value:
    if is_complex(like):
        return Pair(next(rest), next(rest))
    kind = tensor_type(like).element_type
    return Quantized(next(rest), kind) if isinstance(kind, UniformType) else next(rest)


First = Expr | PrimExpr
"""An initial value: a number, or the only element of a tensor."""


def firsts(graph: Graph, values: Sequence[SSAValue]) -> list[First]:
    """Return initial values, each part of them."""
    results: list[First] = []
    for value in values:
        number = graph.number(value)
        results += graph.parts(value) if number is None else [constant(number, element_of(value))]
    return results


def _plain(graph: Graph, name: str, source: SSAValue, start: SSAValue, axes: list[int]) -> Expr:
    x = graph.tensor(source)
    result = graph.emit(_REDUCERS[name](x, axis=axes)) if axes else x
    result = graph.cast(result, dtype_of(x))
    number = graph.number(start)
    if number is not None and number == neutral(name, dtype_of(x)):
        return result
    first = graph.tensor(start) if number is None else const(number, dtype_of(x))
    return graph.emit(_BINARY[name](first, result))


def _general(graph: Graph, body: Body, xs: Sequence[Expr], starts: Sequence[First], axes: Sequence[int]) -> list[Expr]:
    dims = dims_of(xs[0])
    kept = [a for a in range(len(dims)) if a not in axes]
    xs = [graph.matched(x, dims) for x in xs]
    tensors = [s for s in starts if isinstance(s, Expr)]

    def kernel(*given: Tensor) -> Sequence[Tensor]:
        values, first = given[: len(xs)], scalars_of(starts, given[len(xs) :])

        def statements(b: Statements, *outs: Tensor) -> None:
            with b.loops("i", [dims[a] for a in kept], parallel=True) as i:
                cells = [b.cell(f"s{k}", v.type, f) for k, (v, f) in enumerate(zip(values, first, strict=True))]
                with b.loops("r", [dims[a] for a in axes]) as r:
                    at = placed(kept, i, axes, r)
                    step(b, body, cells, [v(*at) if at else v() for v in values])
                for out, cell in zip(outs, cells, strict=True):
                    b.store(out, i, cell.value)

        specs = [(f"out{k}", [dims[a] for a in kept], v.type) for k, v in enumerate(values)]
        return filled(specs, list(given), statements, "reduce")

    return graph.te("reduce", kernel, *xs, *tensors)


def scalars_of(starts: Sequence[First], tensors: Sequence[Tensor]) -> list[PrimExpr]:
    """Return initial values as expressions."""
    rest = iter(tensors)
    return [s if isinstance(s, PrimExpr) else next(rest)() for s in starts]


def placed(kept: Sequence[int], i: Sequence[PrimExpr], axes: Sequence[int], r: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return indices of all dimensions, of those of two kinds."""
    at = dict(zip(kept, i, strict=True)) | dict(zip(axes, r, strict=True))
    return [at[a] for a in sorted(at)]


def step(b: Statements, body: Body, cells: Sequence[Any], elements: Sequence[PrimExpr]) -> None:
    """Combine variables with elements."""
    values = body.parts(*(c.value for c in cells), *elements)
    values = [b.let("t", v) for v in values] if len(values) > 1 else values
    for cell, value in zip(cells, values, strict=True):
        cell.set(value)


@rule("stablehlo.map")
def map_(graph: Graph, op: Operation) -> None:
    """Apply a function to elements."""
    body = Body(graph, op.regions[0].block)
    parts = [p for v in op.operands for p in graph.parts(v)]
    dims = dims_of(parts[0])
    count = 2 if is_complex(op.results[0]) else 1

    def part(*ts: Tensor, k: int) -> Tensor:
        return compute(list(dims), lambda *i: body.parts(*(t(*i) if i else t() for t in ts))[k], "map")

    results = [graph.one("map", lambda *ts, k=k: part(*ts, k=k), *parts) for k in range(count)]
    graph.set(op, Pair(*results) if count == 2 else results[0])


# -- windows -----------------------------------------------------------------------------------------------------------


class Windows:
    """Where the elements of windows are."""

    def __init__(
        self,
        dims: Sequence[SymExpr],
        sizes: Sequence[SymExpr],
        strides: Sequence[int],
        base: Sequence[int],
        dilations: Sequence[int],
        padding: Sequence[tuple[SymExpr, SymExpr]],
    ):
        self.dims, self.sizes, self.strides = dims, sizes, strides
        self.base, self.dilations, self.padding = base, dilations, padding

    @classmethod
    def of(cls, op: Operation, dims: Sequence[SymExpr]) -> Windows:
        """Return the windows of an operation's attributes."""
        ones = [1] * len(dims)
        steps, base, dilations = (
            integers(op, name, ones) for name in ("window_strides", "base_dilations", "window_dilations")
        )
        sizes = [Const(n) for n in integers(op, "window_dimensions", ones)]
        padding = [(Const(a), Const(b)) for a, b in pairs(op, "padding", len(dims))]
        return cls(dims, sizes, steps, base, dilations, padding)

    def results(self) -> list[SymExpr]:
        """Return how many windows there are."""
        results: list[SymExpr] = []
        for axis, size in enumerate(self.dims):
            wide = Const(0) if size.constant == 0 else (size - 1) * self.base[axis] + 1
            wide = wide + self.padding[axis][0] + self.padding[axis][1]
            window = (self.sizes[axis] - 1) * self.dilations[axis] + 1
            room = (wide - window).constant
            empty = wide.constant == 0 or (room is not None and room < 0)
            results.append(Const(0) if empty else (wide - window) // self.strides[axis] + 1)
        return results

    def place(self, i: Sequence[PrimExpr], r: Sequence[PrimExpr]) -> tuple[list[PrimExpr], list[PrimExpr]]:
        """Return the indices of an element of a window, and the conditions that there is one."""
        places: list[PrimExpr] = []
        inside: list[PrimExpr] = []
        for axis, (index, offset) in enumerate(zip(i, r, strict=True)):
            low, high = self.padding[axis]
            at = index.astype(i64) * self.strides[axis] + offset.astype(i64) * self.dilations[axis]
            at = at - from_sym(low).astype(i64)
            if self.base[axis] != 1:
                phase = tx.floormod(at, tx.const(self.base[axis], i64))
                inside.append(tx.equal(phase, tx.const(0, i64)))
                at = tx.floordiv(at, tx.const(self.base[axis], i64))
            if low.constant is None or low.constant > 0 or self.base[axis] != 1:
                inside.append(tx.greater_equal(at, tx.const(0, i64)))
            if high.constant is None or high.constant > 0 or self.base[axis] != 1:
                inside.append(tx.less(at, from_sym(self.dims[axis]).astype(i64)))
            places.append(at)
        return places, inside


@rule("stablehlo.reduce_window")
def reduce_window(graph: Graph, op: Operation) -> None:
    """Reduce each window."""
    inputs, starts = split(op)
    reduced_windows(graph, op, op.regions[0].block, Windows.of(op, graph.dims(inputs[0])), inputs, starts)


def reduced_windows(
    graph: Graph,
    op: Operation,
    block: Block,
    windows: Windows,
    inputs: Sequence[SSAValue],
    starts: Sequence[SSAValue],
) -> None:
    """Define the results of an operation as the reductions of windows."""
    name = known_reducer(block)
    if name is not None:
        graph.set(op, _plain_windows(graph, name, windows, inputs[0], starts[0]))
        return
    xs = [p for v in inputs for p in graph.parts(v)]
    graph.set(op, *joined(_general_windows(graph, Body(graph, block), windows, xs, firsts(graph, starts)), inputs))


_SCANS: dict[str, Callable[..., Any]] = {"add": R.cumsum, "multiply": R.cumprod}


def _plain_windows(graph: Graph, name: str, windows: Windows, source: SSAValue, start: SSAValue) -> Expr:
    x = graph.tensor(source)
    dtype = dtype_of(x)
    number = graph.number(start)
    is_neutral = number is not None and number == neutral(name, dtype)
    axis = _scanned(windows)
    if is_neutral and axis is not None and name in _SCANS:
        return graph.cast(graph.emit(_SCANS[name](x, axis=axis)), dtype)
    (first,) = firsts(graph, [start])
    between = constant(neutral(name, dtype), dtype) if is_neutral else first

    def kernel(t: Tensor, *rest: Tensor) -> Tensor:
        (outside,) = scalars_of([between], rest)
        axes = [reduce_axis((0, size), f"r{k}") for k, size in enumerate(windows.sizes)]
        moving = [a for a, size in zip(axes, windows.sizes, strict=True) if size.constant != 1]

        def element(*i: PrimExpr) -> PrimExpr:
            rows = zip(axes, windows.sizes, strict=True)
            offsets = [a.var if size.constant != 1 else tx.const(0, i64) for a, size in rows]
            places, inside = windows.place(i, offsets)
            value = tx.if_then_else(tx.logical_and(*inside), t(*places), outside) if inside else t(*places)
            return _TE[name](value, axis=moving) if moving else value

        return compute(windows.results(), element, "window")

    result = graph.one(f"window_{name}", kernel, x, *([between] if isinstance(between, Expr) else []))
    return result if is_neutral else graph.emit(_BINARY[name](graph.tensor(start), result))


_TE: dict[str, Callable[..., Any]] = {
    "add": reduction.sum,
    "multiply": reduction.comm_reducer(lambda a, b: a * b, lambda dtype: tx.const(1, dtype), "prod"),
    "maximum": reduction.max_of_all,
    "minimum": reduction.min_of_all,
}


def _scanned(windows: Windows) -> int | None:
    """Return the dimension along which windows hold all elements up to each one."""
    moving = [a for a, size in enumerate(windows.sizes) if size.constant != 1]
    plain = all(n == 1 for n in (*windows.strides, *windows.base, *windows.dilations))
    if len(moving) != 1 or not plain:
        return None
    (axis,) = moving
    size = windows.sizes[axis]
    others = all(n.constant == 0 for a, p in enumerate(windows.padding) if a != axis for n in p)
    low, high = windows.padding[axis]
    return axis if windows.dims[axis] == size and low == size - 1 and high.constant == 0 and others else None


def _general_windows(
    graph: Graph, body: Body, windows: Windows, xs: Sequence[Expr], starts: Sequence[First]
) -> list[Expr]:
    xs = [graph.matched(x, windows.dims) for x in xs]
    dims = windows.results()

    def kernel(*given: Tensor) -> Sequence[Tensor]:
        values, first = given[: len(xs)], scalars_of(starts, given[len(xs) :])

        def statements(b: Statements, *outs: Tensor) -> None:
            with b.loops("i", dims, parallel=True) as i:
                cells = [b.cell(f"s{k}", v.type, f) for k, (v, f) in enumerate(zip(values, first, strict=True))]
                with b.loops("r", windows.sizes) as r:
                    places, inside = windows.place(i, r)
                    condition = tx.logical_and(*inside) if inside else tx.const(True, i1)
                    rows = zip(values, first, strict=True)
                    step(b, body, cells, [tx.if_then_else(condition, v(*places), f) for v, f in rows])
                for out, cell in zip(outs, cells, strict=True):
                    b.store(out, i, cell.value)

        specs = [(f"out{k}", dims, v.type) for k, v in enumerate(values)]
        return filled(specs, list(given), statements, "reduce_window")

    return graph.te("reduce_window", kernel, *xs, *(s for s in starts if isinstance(s, Expr)))


@rule("stablehlo.select_and_scatter")
def select_and_scatter(graph: Graph, op: Operation) -> None:
    """Pick an element of each window, and combine an element of the source with the result there."""
    operand, source, start = op.operands
    select, combine = (Body(graph, region.block) for region in op.regions)
    x, updates = graph.parts(operand), graph.parts(source)
    windows = Windows.of(op, dims_of(x[0]))
    starts = firsts(graph, [start])

    def kernel(*given: Tensor) -> Sequence[Tensor]:
        xs, ups = given[: len(x)], given[len(x) : 2 * len(x)]
        first = scalars_of(starts, given[2 * len(x) :])

        def statements(b: Statements, *outs: Tensor) -> None:
            with b.loops("c", windows.dims, parallel=True) as c:
                for out, value in zip(outs, first, strict=True):
                    b.store(out, c, value)
            with b.loops("i", ups[0].dims) as i:
                best = [b.cell(f"v{k}", t.type, tx.const(0, t.type)) for k, t in enumerate(xs)]
                at = [b.cell(f"p{k}", i64, tx.const(0, i64)) for k in range(len(i))]
                found = b.cell("found", i32, tx.const(0, i32))
                with b.loops("r", windows.sizes) as r:
                    places, inside = windows.place(i, r)
                    with b.when(tx.logical_and(*inside) if inside else tx.const(True, i1)):
                        elements = [b.let("e", t(*places)) for t in xs]
                        (keeps,) = select.parts(*(c.value for c in best), *elements)
                        new = tx.logical_or(tx.equal(found.value, tx.const(0, i32)), tx.logical_not(keeps))
                        chosen = b.let("new", new)
                        with b.when(chosen):
                            for cell, value in zip((*best, *at, found), (*elements, *places, 1), strict=True):
                                cell.set(value)
                with b.when(tx.equal(found.value, tx.const(1, i32))):
                    place = [b.let("at", c.value) for c in at]
                    old = [out(*place) for out in outs]
                    result = combine.parts(*old, *(u(*i) for u in ups))
                    for out, value in zip(outs, [b.let("t", v) for v in result], strict=True):
                        b.store(out, place, value)

        specs = [(f"out{k}", windows.dims, t.type) for k, t in enumerate(xs)]
        return filled(specs, list(given), statements, "select_and_scatter")

    result = graph.te("select_and_scatter", kernel, *x, *updates, *(s for s in starts if isinstance(s, Expr)))
    graph.set(op, *joined(result, [operand]))
