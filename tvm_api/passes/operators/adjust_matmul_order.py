"""Reorder chained matrix products to reduce their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects import relax
from ....dialects.relax.operator import Operator
from ....dialects.relax.types import TensorType
from ....dialects.sym.analyzer import Analyzer, Interval
from ....dialects.sym.expr import Const, SymExpr, product
from ....ir.functions.bounds import variable_bounds
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_rules
from ....transforms.operators.rules import producer
from ....transforms.params.weights import is_of_weights


@dataclass(frozen=True)
class AdjustMatmulOrder(Pass):
    """Reassociates two matrix products if the other order is provably cheaper.

    y = matmul(x, matmul(a, b))  ->  y = matmul(matmul(x, a), b), and back

    The inner product may be transposed, `matmul(x, permute_dims(matmul(b, a)))`; then `a` and `b` are
    transposed. The cost of an order is its number of multiplications, an expression in symbolic sizes, which
    are non-negative and within the function's attributes `tir_var_lower_bound` and `tir_var_upper_bound`; an
    inner product with other users is free. A product of weights (the parameters after the first `num_input`)
    remains, since it is computed ahead of time, and so does a product that does not accumulate in the dtype of
    its factors. Without `batches` a batched product counts as a single one.
    """

    name = "adjust-matmul-order"
    batches: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # A new order may make another one cheaper; this terminates, since each step reduces the cost.
        while apply_rules(op, {"relax.matmul": partial(_matmul, batches=self.batches)}):
            pass


Dims = tuple[SymExpr, ...]


@dataclass(frozen=True)
class _Factor:
    """A factor of a product, one matrix or several; `transposed` in the product."""

    value: SSAValue
    dims: Dims
    transposed: bool = False

    def emit(self, emit: Emit) -> SSAValue:
        """Emit the factor, transposed if necessary."""
        if not self.transposed:
            return self.value
        rank = len(self.dims)
        return emit("permute_dims", self.value, axes=None if rank == 2 else _swap_last_two(rank))

    def transposed_factor(self) -> _Factor:
        return replace(self, dims=(*self.dims[:-2], self.dims[-1], self.dims[-2]), transposed=True)


def _swap_last_two(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


_CORNERS = 16
"""The maximal number of combinations of bounds at which costs are compared."""


def _bounds(op: Operator) -> dict[str, Interval]:
    """Return the bounds of symbolic sizes in the function around an operator."""
    func = op.parent_op()
    while func is not None and not isinstance(func, relax.FuncOp):
        func = func.parent_op()
    return {} if func is None else variable_bounds(func)


def _matmul(op: Operator, emit: Emit, batches: bool) -> SSAValue | None:
    left, right = _inner(op, op.operands[1]), _inner(op, op.operands[0])
    if left is not None and (x := _factor(op, op.operands[0])) is not None:
        a, b, shared = left
        if _pays(_costs(x, a, b, batches), _bounds(op), to_left=True, shared=shared):
            return emit("matmul", emit("matmul", x.value, a.emit(emit)), b.emit(emit))
    if right is not None and (b := _factor(op, op.operands[1])) is not None:
        x, a, shared = right
        if _pays(_costs(x, a, b, batches), _bounds(op), to_left=False, shared=shared):
            return emit("matmul", x.emit(emit), emit("matmul", a.emit(emit), b.value))
    return None


def _factor(op: Operator, value: SSAValue) -> _Factor | None:
    """Return a factor of known sizes and with the dtype of the product, or None."""
    t, out = value.type, op.results[0].type
    if not isinstance(t, TensorType) or not t.dims or not isinstance(out, TensorType) or t.element != out.element:
        return None
    return _Factor(value, t.dims)


def _inner(op: Operator, value: SSAValue) -> tuple[_Factor, _Factor, bool] | None:
    """Return the factors of a product, possibly transposed, that is a factor itself, and whether it has other users."""
    if is_of_weights(value):
        return None
    shared = not value.has_one_use()
    transpose = producer(value, "permute_dims")
    if transpose is not None:
        rank = transpose.tensor("x").rank
        axes = transpose.attr("axes")
        if rank is None or (axes is None and rank != 2) or (axes is not None and axes != _swap_last_two(rank)):
            return None
        value = transpose.operands[0]
        shared = shared or not value.has_one_use()
    inner = producer(value, "matmul")
    if inner is None or _factor(op, value) is None:
        return None
    first, second = (_factor(op, v) for v in inner.operands)
    if first is None or second is None:
        return None
    if transpose is None:
        return first, second, shared
    if len(first.dims) < 2 or len(second.dims) < 2:
        return None
    return second.transposed_factor(), first.transposed_factor(), shared


@dataclass(frozen=True)
class _Costs:
    """The costs of `(x a) b` and `x (a b)`, each with its inner and outer product."""

    left: tuple[SymExpr, SymExpr]
    right: tuple[SymExpr, SymExpr]


def _costs(x: _Factor, a: _Factor, b: _Factor, batches: bool) -> _Costs | None:
    vectors = any(len(f.dims) == 1 for f in (x, b))
    if len(a.dims) < 2 or (vectors and any(len(f.dims) > 2 for f in (x, a, b))):
        return None
    # A vector is a row as the first operand, and a column as the last one.
    rows = x.dims if len(x.dims) > 1 else (Const(1), *x.dims)
    columns = b.dims if len(b.dims) > 1 else (*b.dims, Const(1))
    left, right = _product(rows, a.dims, batches), _product(a.dims, columns, batches)
    if left is None or right is None:
        return None
    outer_left, outer_right = _product(left[0], columns, batches), _product(rows, right[0], batches)
    if outer_left is None or outer_right is None:
        return None
    return _Costs((left[1], outer_left[1]), (right[1], outer_right[1]))


def _product(a: Dims, b: Dims, batches: bool) -> tuple[Dims, SymExpr] | None:
    """Return the sizes and the multiplications of a product, or None if it is unknown how leading sizes broadcast."""
    rank = max(len(a), len(b)) - 2
    batch: list[SymExpr] = []
    for m, n in zip(_padded(a, rank), _padded(b, rank), strict=True):
        if m != n and 1 not in (m.constant, n.constant):
            return None
        batch.append(n if m.constant == 1 else m)
    dims = (*batch, a[-2], b[-1])
    return dims, product([*(dims if batches else dims[-2:]), a[-1]])


def _padded(dims: Dims, rank: int) -> list[SymExpr]:
    batch = list(dims[:-2])
    return [Const(1)] * (rank - len(batch)) + batch


def _pays(costs: _Costs | None, bounds: Mapping[str, Interval], to_left: bool, shared: bool) -> bool:
    """Return whether the other order is never costlier and sometimes cheaper; a shared inner product remains."""
    if costs is None:
        return False
    new, (inner, outer) = (costs.left, costs.right) if to_left else (costs.right, costs.left)
    saved = (outer if shared else inner + outer) - new[0] - new[1]
    analyzer = Analyzer()
    for v in saved.free_vars():
        analyzer.bind(v, 0)
    return saved.constant != 0 and all(analyzer.bounds(e).low >= 0 for e in _at_bounds(saved, bounds))


def _at_bounds(e: SymExpr, bounds: Mapping[str, Interval]) -> list[SymExpr]:
    """Return an expression at the bounds of variables it is linear in; its minimum is at one of these."""
    corners: list[SymExpr] = [e]
    for v in e.free_vars():
        known = bounds.get(v.name, Interval(0, inf)) if isinstance(v.name, str) else Interval(0, inf)
        linear = v not in (e.substitute({v: v + 1}) - e).free_vars()
        if known.high != inf and linear and 2 * len(corners) <= _CORNERS:
            ends: list[SymExpr] = [Const(int(end), v.dtype) for end in (known.low, known.high)]
            corners = [c.substitute({v: end}) for c in corners for end in ends]
    return corners
