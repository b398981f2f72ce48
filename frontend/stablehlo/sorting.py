"""Sorts, by any comparison: a stable merge sort of positions; the order of numbers by Relax's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Block, Operation

from ...dialects.dtypes import dtype_name, is_float
from ...dialects.sym.expr import Const
from ...handles.relax.expr import Expr
from ...handles.tir import prim_expr as tx
from ...handles.tir.intrinsics import reinterpret
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te.extern_body import Statements, filled
from ...te.tensor import Tensor, compute
from ..importing.relax_operators import R
from .bodies import Body
from .graph import Graph, dims_of, dtype_of, rule
from .reductions import joined
from .scalars import order_bits
from .values import element_of, integer, is_complex, rank_of, word


@rule("stablehlo.sort")
def sort(graph: Graph, op: Operation) -> None:
    """Sort along a dimension."""
    axis = integer(op, "dimension", -1) % max(rank_of(op.operands[0]), 1)
    block = op.regions[0].block
    xs = [p for v in op.operands for p in graph.parts(v)]
    if rank_of(op.operands[0]) == 0:
        graph.set(op, *(graph.values[v] for v in op.operands))
        return
    direction = integer_order(block, dtype_of(xs[0]) if len(xs) == len(op.operands) else None)
    if direction is not None and len(xs) == 1:
        results = [graph.emit(R.sort(xs[0], axis=axis, descending=direction == "GT"))]
    else:
        results = merged(graph, Body(graph, block), xs, axis)
    graph.set(op, *joined(results, op.operands))


def integer_order(block: Block, dtype: object) -> str | None:
    """Return the direction of a comparison of integers by their value, None if it is another one."""
    first = block.first_op
    if dtype is None or is_float(dtype) or dtype == i1 or first is None or first.next_op is not block.last_op:  # type: ignore[arg-type]
        return None
    direction = word(first, "comparison_direction")
    plain = first.name == "stablehlo.compare" and list(first.operands) == list(block.args[:2])
    return direction if plain and direction in ("LT", "GT") else None


def merged(graph: Graph, body: Body, xs: Sequence[Expr], axis: int) -> list[Expr]:
    """Return tensors sorted by a comparison of the elements of all of them."""
    dims = dims_of(xs[0])
    xs = [graph.matched(x, dims) for x in xs]
    size = dims[axis]
    others = [d for a, d in enumerate(dims) if a != axis]

    def kernel(*given: Tensor) -> Sequence[Tensor]:
        def statements(b: Statements, *outs: Tensor) -> None:
            results, order = outs[:-1], outs[-1]
            with b.loops("i", others, parallel=True) as i:
                _merge_sort(b, body, given, order, i, axis, index_of(size))
                final = b.let("final", order(*i, tx.const(0, i64), tx.const(0, i64)))
                with b.loop("k", size) as k:
                    at = b.let("at", order(*i, final, index_of_expr(k) + 1))
                    for out, t in zip(results, given, strict=True):
                        b.store(out, [*i[:axis], k, *i[axis:]], t(*i[:axis], at, *i[axis:]))

        specs = [(f"out{k}", dims, t.type) for k, t in enumerate(given)]
        return filled([*specs, ("order", [*others, Const(2), size + 1], i64)], list(given), statements, "sort")

    return graph.te("sort", kernel, *xs)[: len(xs)]


def index_of(size: object) -> PrimExpr:
    """Return a size as an index."""
    return from_sym(size).astype(i64)  # type: ignore[arg-type]


def index_of_expr(x: PrimExpr) -> PrimExpr:
    """Return a number as an index."""
    return x.astype(i64)


def _merge_sort(
    b: Statements, body: Body, given: Sequence[Tensor], order: Tensor, i: Sequence[PrimExpr], axis: int, size: PrimExpr
) -> None:
    """Sort positions: two rows of them take turns, and the first element of the first row says which one is last."""
    zero, one = tx.const(0, i64), tx.const(1, i64)
    with b.loop("k", size) as k:
        b.store(order, [*i, zero, index_of_expr(k) + 1], index_of_expr(k))
    source = b.cell("source", i64, zero)
    width = b.cell("width", i64, one)
    with b.repeat_while(tx.less(width.value, size)):
        begin = b.cell("begin", i64, zero)
        target = b.let("target", one - source.value)
        with b.repeat_while(tx.less(begin.value, size)):
            middle = b.let("middle", tx.minimum(begin.value + width.value, size))
            end = b.let("end", tx.minimum(middle + width.value, size))
            left, right = b.cell("left", i64, begin.value), b.cell("right", i64, middle)
            to = b.cell("to", i64, begin.value)
            with b.repeat_while(tx.less(to.value, end)):
                takes_right = b.cell("takes_right", i32, tx.cast(i32, tx.greater_equal(left.value, middle)))
                both = tx.logical_and(tx.less(left.value, middle), tx.less(right.value, end))
                with b.when(both):
                    first = b.let("first", order(*i, source.value, left.value + 1))
                    second = b.let("second", order(*i, source.value, right.value + 1))
                    rows = [(t(*i[:axis], second, *i[axis:]), t(*i[:axis], first, *i[axis:])) for t in given]
                    (less,) = body.parts(*_arguments(body, rows))
                    takes_right.set(tx.cast(i32, less))
                chosen = b.let("chosen", tx.equal(takes_right.value, tx.const(1, i32)))
                place = b.let("place", tx.select(chosen, right.value, left.value))
                b.store(order, [*i, target, to.value + 1], order(*i, source.value, place + 1))
                right.set(right.value + tx.select(chosen, one, zero))
                left.set(left.value + tx.select(chosen, zero, one))
                to.set(to.value + 1)
            begin.set(begin.value + width.value * 2)
        source.set(target)
        width.set(width.value * 2)
    b.store(order, [*i, zero, zero], source.value)


def _arguments(body: Body, rows: Sequence[tuple[PrimExpr, PrimExpr]]) -> list[PrimExpr]:
    """Return the arguments of a comparison: pairs of elements, the parts of complex ones together."""
    results: list[PrimExpr] = []
    rest = iter(rows)
    for arg in body.block.args[::2]:
        parts = [next(rest) for _ in range(2 if is_complex(arg) else 1)]
        results += [p[0] for p in parts] + [p[1] for p in parts]
    return results


@rule("chlo.top_k")
def top_k(graph: Graph, op: Operation) -> None:
    """Return the greatest elements along the last dimension, and where they are."""
    best(graph, op, integer(op, "k"))


def best(graph: Graph, op: Operation, k: int) -> None:
    """Define the results of an operation as the greatest elements along the last dimension, in the total order."""
    x = graph.tensor(op.operands[0])
    dtype = dtype_of(x)
    kind = dtype_name(element_of(op.results[1]))
    keys = _mapped(graph, x, order_bits) if is_float(dtype) else x
    pair = graph.emit(R.topk(keys, k=k, axis=-1, ret_type="both", largest=True, dtype=kind))
    values, places = (graph.emit(pair[n]) for n in range(2))
    if is_float(dtype):
        values = _mapped(graph, values, lambda bits: reinterpret(dtype, order_bits(bits)))
    graph.set(op, values, places)


def _mapped(graph: Graph, x: Expr, function: Callable[[PrimExpr], PrimExpr]) -> Expr:
    dims = list(dims_of(x))
    return graph.one("key", lambda t: compute(dims, lambda *i: function(t(*i)), "key"), x)
