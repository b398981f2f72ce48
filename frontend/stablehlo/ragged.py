"""Products of which a dimension of the left operand has groups: `chlo.ragged_dot`, as JAX's mixtures of experts have.

Each row belongs to a group, which says what it is multiplied by; or each group has a product of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute, Operation

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import bit_width, is_float
from ...dialects.stablehlo import StructAttr
from ...dialects.sym.expr import SymExpr
from ...handles.relax.expr import Expr
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction
from ...te.axis import reduce_axis
from ...te.tensor import Tensor, compute
from ..importing.relax_operators import R
from .contractions import Axes, product
from .graph import Graph, dims_of, rule
from .values import attribute, element_of, is_complex, rank_of


@dataclass(frozen=True)
class Ragged:
    """Dimensions of both operands: that which has groups, and that of the right operand which numbers them, if any."""

    left: Axes
    right: Axes
    ragged: int
    group: int | None

    @property
    def sums_groups(self) -> bool:
        """Whether groups are parts of the sums, each with a result."""
        return self.ragged in self.left.contracted

    @property
    def right_free(self) -> list[int]:
        """The dimensions of the right operand that the product keeps."""
        return [a for a in self.right.free if a != self.group]


def _axes(op: Operation) -> Ragged:
    numbers = attribute(op, "ragged_dot_dimension_numbers")
    if not isinstance(numbers, StructAttr):
        raise UnsupportedError("a product without dimension numbers")
    left, right = (
        Axes(numbers.numbers(f"{side}_batching_dimensions"), numbers.numbers(f"{side}_contracting_dimensions"), rank)
        for side, rank in zip(("lhs", "rhs"), (rank_of(v) for v in op.operands[:2]), strict=True)
    )
    group = numbers.numbers("rhs_group_dimensions")
    return Ragged(left, right, numbers.numbers("lhs_ragged_dimensions")[0], group[0] if group else None)


@rule("chlo.ragged_dot")
def ragged_dot(graph: Graph, op: Operation) -> None:
    """Multiply along dimensions, and sum, by groups."""
    axes = _axes(op)
    dtype = element_of(op.results[0], op)
    if is_complex(op.results[0]):
        raise UnsupportedError(f"'{op.name}' of complex numbers")
    lhs, rhs, sizes = (graph.tensor(v) for v in op.operands)
    if axes.ragged in axes.left.batch:  # the groups change nothing
        graph.set(op, product(graph, lhs, rhs, axes.left, axes.right, dtype))
        return
    sizes = graph.cast(sizes, i64)
    ends = graph.cast(graph.emit(R.cumsum(sizes, axis=-1)), i64)
    wide = _summed_in(dtype)
    dims = _dims(axes, dims_of(lhs), dims_of(rhs), dims_of(sizes)[-1])

    def kernel(a: Tensor, b: Tensor, last: Tensor, count: Tensor) -> Tensor:
        return compute(dims, lambda *i: _element(axes, (a, b, last, count), i, wide), "ragged_dot")

    graph.set(op, graph.cast(graph.one("ragged_dot", kernel, lhs, rhs, _numbered(graph, axes, lhs, ends), ends), dtype))


def _summed_in(dtype: Attribute) -> Attribute:
    if bit_width(dtype) >= 32:
        return dtype
    return f32 if is_float(dtype) else i32


def _dims(axes: Ragged, left: Sequence[SymExpr], right: Sequence[SymExpr], groups: SymExpr) -> list[SymExpr]:
    kept = [left[a] for a in (*axes.left.batch, *axes.left.free)] + [right[a] for a in axes.right_free]
    return [groups, *kept] if axes.sums_groups else kept


def _numbered(graph: Graph, axes: Ragged, lhs: Expr, ends: Expr) -> Expr:
    """Return the number of the group that each place along the dimension with groups belongs to, as `ends` say."""
    *lead, groups = dims_of(ends)
    size = dims_of(lhs)[axes.ragged]

    def element(t: Tensor, i: Sequence[PrimExpr]) -> PrimExpr:
        axis = reduce_axis((0, groups), "g")
        over = tx.less_equal(t(*i[:-1], axis.var), i[-1].astype(i64))
        return reduction.sum(tx.select(over, tx.const(1, i64), tx.const(0, i64)), axis=[axis])

    return graph.one("group", lambda t: compute([*lead, size], lambda *i: element(t, i), "group"), ends)


def _element(axes: Ragged, tensors: Sequence[Tensor], i: Sequence[PrimExpr], wide: Attribute) -> PrimExpr:
    a, b, numbered, ends = tensors
    own = list(i[1:] if axes.sums_groups else i)
    sums = [reduce_axis((0, a.dims[axis]), f"k{axis}") for axis in axes.left.contracted]
    batch, rest = own[: len(axes.left.batch)], own[len(axes.left.batch) :]
    free, others = rest[: len(axes.left.free)], rest[len(axes.left.free) :]
    inner = [axis.var for axis in sums]
    left = dict(zip((*axes.left.batch, *axes.left.free, *axes.left.contracted), [*batch, *free, *inner], strict=True))
    right = dict(
        zip((*axes.right.batch, *axes.right_free, *axes.right.contracted), [*batch, *others, *inner], strict=True)
    )
    lead = batch if numbered.ndim > 1 else []
    group = numbered(*lead, left[axes.ragged])
    if axes.sums_groups:
        inside = tx.equal(group, i[0].astype(i64))
    else:
        count = from_sym(ends.dims[-1]).astype(i64)
        inside = tx.less(group, count)
        right[axes.group or 0] = tx.minimum(group, count - 1)
    x, y = (t(*(at[k] for k in sorted(at))).astype(wide) for t, at in ((a, left), (b, right)))
    return reduction.sum(tx.select(inside, x * y, tx.const(0, wide)), axis=sums)
