"""Elements at computed positions: gather, scatter, dynamic slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.stablehlo import StructAttr
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Expr
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te.extern_body import Statements, filled
from ...te.tensor import Tensor, compute
from .bodies import Body
from .graph import Graph, dims_of, rule
from .reductions import joined
from .structural import sliced
from .values import Dims, Numbers, attribute, integer, integers


def _zero() -> PrimExpr:
    return tx.const(0, i64)


def index(x: PrimExpr) -> PrimExpr:
    """Return a number as an index."""
    return x.astype(i64)


@dataclass(frozen=True)
class Starts:
    """Where slices begin: dimension numbers that gather and scatter share."""

    mapped: Sequence[int]
    """The dimension of the operand that each component of an index is of."""
    vector: int
    """The dimension of the indices that holds components."""
    batch: Sequence[int]
    """Dimensions of the operand that are those of the indices."""
    index_batch: Sequence[int]

    def component(self, indices: Tensor, at: Sequence[PrimExpr], k: int) -> PrimExpr:
        """Return a component of the index at a place of the batch."""
        full = list(at)
        if self.vector < indices.ndim:
            full.insert(self.vector, tx.const(k, i64))
        return index(indices(*full) if full else indices())

    def of_operand(self, indices: Tensor, at: Sequence[PrimExpr], rank: int) -> list[PrimExpr | None]:
        """Return where a slice begins in each dimension of the operand; None where it has no number."""
        result: list[PrimExpr | None] = [None] * rank
        for k, axis in enumerate(self.mapped):
            result[axis] = self.component(indices, at, k)
        return result

    def batch_index(self, axis: int, at: Sequence[PrimExpr]) -> PrimExpr | None:
        """Return the index of a dimension that is one of the batch."""
        if axis not in self.batch:
            return None
        place = self.index_batch[self.batch.index(axis)]
        return at[place - (self.vector < place)]


def _numbers(op: Operation, name: str) -> StructAttr:
    found = attribute(op, name)
    if not isinstance(found, StructAttr):
        raise UnsupportedError(f"'{op.name}' without {name}")
    return found


# -- gather ------------------------------------------------------------------------------------------------------------


@rule("stablehlo.gather", "stablehlo.dynamic_gather")
def gather(graph: Graph, op: Operation) -> None:
    """Take a slice at each index; one that would leave the operand moves inside."""
    numbers = _numbers(op, "dimension_numbers")
    operand, places = op.operands[:2]
    dims = graph.dims(operand)
    sizes: Dims = (
        graph.sizes(op.operands[2])
        if op.name == "stablehlo.dynamic_gather"
        else [Const(n) for n in integers(op, "slice_sizes")]
    )
    batch = numbers.numbers("operand_batching_dims")
    starts = Starts(
        numbers.numbers("start_index_map"),
        numbers.number("index_vector_dim"),
        batch,
        numbers.numbers("start_indices_batching_dims"),
    )
    offset_dims = numbers.numbers("offset_dims")
    kept = [a for a in range(len(dims)) if a not in (*numbers.numbers("collapsed_slice_dims"), *batch)]
    shape = [d for a, d in enumerate(graph.dims(places)) if a != starts.vector]
    rank = len(shape) + len(offset_dims)
    offsets = dict(zip(offset_dims, kept, strict=True))
    rest = iter(shape)
    out = [sizes[offsets[a]] if a in offsets else next(rest) for a in range(rank)]

    def element(t: Tensor, indices: Tensor, i: Sequence[PrimExpr]) -> PrimExpr:
        at = [i[a] for a in range(rank) if a not in offsets]
        begin = starts.of_operand(indices, at, len(dims))
        inside = {axis: i[a] for a, axis in offsets.items()}
        return t(
            *(
                _gathered(begin[a], starts.batch_index(a, at), inside.get(a), dims[a] - sizes[a])
                for a in range(len(dims))
            )
        )

    def taken(x: Expr) -> Expr:
        return graph.one(
            "gather", lambda t, n: compute(out, lambda *i: element(t, n, i), "gather"), x, graph.tensor(places)
        )

    graph.each(op, operand, taken)


def _gathered(begin: PrimExpr | None, batch: PrimExpr | None, offset: PrimExpr | None, last: SymExpr) -> PrimExpr:
    """Return the index in one dimension of the operand: where the slice begins, kept inside, and the place in it."""
    if batch is not None:
        return index(batch)
    place = _zero() if begin is None else kept_inside(begin, last)
    return place if offset is None else place + index(offset)


def kept_inside(start: PrimExpr, last: SymExpr) -> PrimExpr:
    """Return where a slice begins, from 0 to the last place where it fits."""
    return tx.maximum(tx.minimum(start, index(from_sym(last))), _zero())


@rule("stablehlo.torch_index_select")
def torch_index_select(graph: Graph, op: Operation) -> None:
    """Take slices along a dimension."""
    axis, batch = integer(op, "dim"), integer(op, "batch_dims")
    dims, places = graph.dims(op.operands[0]), graph.dims(op.operands[1])
    count = len(places) - batch
    out = [*dims[:axis], *places[batch:], *dims[axis + 1 :]]

    def element(t: Tensor, n: Tensor, i: Sequence[PrimExpr]) -> PrimExpr:
        at = index(n(*i[:batch], *i[axis : axis + count]))
        return t(*i[:axis], at, *i[axis + count :])

    x, n = (graph.tensor(v) for v in op.operands)
    graph.set(op, graph.one("take", lambda t, n: compute(out, lambda *i: element(t, n, i), "take"), x, n))


# -- scatter -----------------------------------------------------------------------------------------------------------


@rule("stablehlo.scatter")
def scatter(graph: Graph, op: Operation) -> None:
    """Combine updates with elements at indices, one after the other; those outside are left out."""
    numbers = _numbers(op, "scatter_dimension_numbers")
    count = len(op.operands) // 2
    operands, indices, updates = op.operands[:count], op.operands[count], op.operands[count + 1 :]
    batch = numbers.numbers("input_batching_dims")
    starts = Starts(
        numbers.numbers("scatter_dims_to_operand_dims"),
        numbers.number("index_vector_dim"),
        batch,
        numbers.numbers("scatter_indices_batching_dims"),
    )
    window = numbers.numbers("update_window_dims")
    xs = [p for v in operands for p in graph.parts(v)]
    ups = [p for v in updates for p in graph.parts(v)]
    dims = dims_of(xs[0])
    kept = [a for a in range(len(dims)) if a not in (*numbers.numbers("inserted_window_dims"), *batch)]
    body = Body(graph, op.regions[0].block)

    def place(n: Tensor, u: Sequence[PrimExpr]) -> list[PrimExpr]:
        at = [u[a] for a in range(len(u)) if a not in window]
        begin = starts.of_operand(n, at, len(dims))
        inside = dict(zip(kept, (u[a] for a in window), strict=True))
        results: list[PrimExpr] = []
        for axis in range(len(dims)):
            parts = (begin[axis], starts.batch_index(axis, at), inside.get(axis))
            numbers = [index(p) for p in parts if p is not None]
            results.append(_sum(numbers))
        return results

    def kernel(*given: Tensor) -> Sequence[Tensor]:
        data, news, n = given[: len(xs)], given[len(xs) : -1], given[-1]

        def statements(b: Statements, *outs: Tensor) -> None:
            with b.loops("c", dims, parallel=True) as c:
                for out, t in zip(outs, data, strict=True):
                    b.store(out, c, t(*c) if c else t())
            with b.loops("u", dims_of(ups[0])) as u:
                at = [b.let("at", p) for p in place(n, u)]
                inside = [
                    tx.logical_and(tx.greater_equal(p, _zero()), tx.less(p, index(from_sym(d))))
                    for p, d in zip(at, dims, strict=True)
                ]
                with b.when(tx.logical_and(*inside) if inside else tx.const(True, "bool")):
                    old = [out(*at) if at else out() for out in outs]
                    new = [t(*u) if u else t() for t in news]
                    results = [b.let("t", v) for v in body.parts(*old, *new)]
                    for out, value in zip(outs, results, strict=True):
                        b.store(out, at, value)

        specs = [(f"out{k}", dims, t.type) for k, t in enumerate(data)]
        return filled(specs, list(given), statements, "scatter")

    results = graph.te("scatter", kernel, *xs, *ups, graph.tensor(indices))
    graph.set(op, *joined(results, operands))


def _sum(numbers: Sequence[PrimExpr]) -> PrimExpr:
    total = _zero()
    for k, number in enumerate(numbers):
        total = number if k == 0 else total + number
    return total


# -- dynamic slices ----------------------------------------------------------------------------------------------------


@rule("stablehlo.dynamic_slice")
def dynamic_slice(graph: Graph, op: Operation) -> None:
    """Take a slice that begins at computed indices, and moves inside."""
    source, starts = op.operands[0], op.operands[1:]
    sizes = integers(op, "slice_sizes")
    dims = graph.dims(source)
    known = [graph.number(v) for v in starts]
    if all(isinstance(n, int) for n in known) and all(d.constant is not None for d in dims):
        first = [max(min(int(n or 0), (d.constant or 0) - s), 0) for n, d, s in zip(known, dims, sizes, strict=True)]
        graph.each(
            op, source, lambda x: sliced(x, first, [a + s for a, s in zip(first, sizes, strict=True)], [1] * len(first))
        )
        return
    out = [Const(n) for n in sizes]
    begins, tensors = _begins(graph, starts, dims, out)

    def element(t: Tensor, rest: Sequence[Tensor], i: Sequence[PrimExpr]) -> PrimExpr:
        return t(*(begin + index(k) for begin, k in zip(begins(rest), i, strict=True)))

    def taken(x: Expr) -> Expr:
        return graph.one(
            "dynamic_slice",
            lambda t, *rest: compute(out, lambda *i: element(t, rest, i), "dynamic_slice"),
            x,
            *tensors,
        )

    graph.each(op, source, taken)


def _begins(graph: Graph, starts: Sequence[SSAValue], dims: Dims, sizes: Dims) -> tuple[Any, list[Expr]]:
    """Return a function of tensors that gives where a slice begins, and these tensors."""
    tensors: list[Expr] = []
    sources: list[int | SymExpr] = []
    for value in starts:
        known = graph.values[value]
        if isinstance(known, Numbers):
            (number,) = known.content.flat
            sources.append(Const(number) if isinstance(number, int) else number)
        else:
            sources.append(len(tensors))
            tensors.append(graph.tensor(value))

    def begins(given: Sequence[Tensor]) -> list[PrimExpr]:
        rows = zip(sources, dims, sizes, strict=True)
        return [kept_inside(index(given[s]() if isinstance(s, int) else from_sym(s)), d - n) for s, d, n in rows]

    return begins, tensors


@rule("stablehlo.dynamic_update_slice")
def dynamic_update_slice(graph: Graph, op: Operation) -> None:
    """Replace a slice that begins at computed indices, and moves inside."""
    source, update, *starts = op.operands
    dims, sizes = graph.dims(source), graph.dims(update)
    begins, tensors = _begins(graph, starts, dims, sizes)

    def element(t: Tensor, new: Tensor, rest: Sequence[Tensor], i: Sequence[PrimExpr]) -> PrimExpr:
        inside: list[PrimExpr] = []
        places: list[PrimExpr] = []
        for k, begin, size in zip(i, begins(rest), sizes, strict=True):
            place = index(k) - begin
            inside += [tx.greater_equal(place, _zero()), tx.less(place, index(from_sym(size)))]
            places.append(place)
        if not places:
            return new()
        return tx.if_then_else(tx.logical_and(*inside), new(*places), t(*i))

    def replaced(x: Expr, y: Expr) -> Expr:
        return graph.one(
            "dynamic_update_slice",
            lambda t, n, *rest: compute(list(dims), lambda *i: element(t, n, rest, i), "dynamic_update_slice"),
            x,
            y,
            *tensors,
        )

    parts = zip(graph.parts(source), graph.parts(update), strict=True)
    graph.set(op, graph.like(source, [replaced(x, y) for x, y in parts]))
