"""Broadcasts whose operands have extents that may or may not be 1, which is only known at run time.

%y = relax.add %a, %b : ndim 1   ->  %c = relax.broadcast_to %a, shape<[s]>      where a is [n], b is [m], and s is
                                     %d = relax.broadcast_to %b, shape<[s]>      m where n is 1, else n
                                     %y = relax.add %c, %d : [s]

A check before the kernels ensures that the operands broadcast (`requirements`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.relax.elementwise import BinaryOp
from ...dialects.relax.indexing import broadcast_indices
from ...dialects.relax.operator import OPERATORS, Operator
from ...dialects.relax.scatter import IndexPut
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.sym.operators import eq, select
from ...ir.rewriting.edit import insert_before
from ...ir.rewriting.infer import infer_users
from .legalize_rules import known_shape

Dims = tuple[SymExpr, ...]


def repeated(extent: SymExpr, to: SymExpr) -> SymExpr:
    """Return the broadcast extent of a dimension: `to` if `extent` is 1, possibly at run time, else `extent`."""
    return select(eq(extent, 1), to, extent)


def fill_operands(op: Operator) -> Sequence[Operation]:
    """Broadcast operands whose common shape is unknown; return the new operations."""
    group = _GROUPS.get(op.name, _ALL if isinstance(op, BinaryOp) else None)
    if group is None:
        return ()
    if _fits(op):
        return _fill_values(op) if isinstance(op, IndexPut) else ()
    first, skipped = group.first, group.skipped
    types = [v.type for v in op.operands[first : group.last]]
    if not types or not all(isinstance(t, relax.TensorType) and t.dims is not None for t in types):
        return ()
    shapes = [cast(Dims, cast(relax.TensorType, t).dims) for t in types]
    rows = [shape[: max(0, len(shape) - skipped)] for shape in shapes]
    out = _joined(rows)
    new_ops: list[Operation] = []
    for i, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
        if row and row != out[len(out) - len(row) :]:
            new_ops += _repeat(op, first + i, (*out, *shape[len(row) :]))
    if new_ops:
        infer_users([op])
    return new_ops


class _Group(NamedTuple):
    """The operands of an operator that broadcast together, and the number of their last dimensions that do not."""

    first: int = 0
    last: int | None = None
    skipped: int = 0


_ALL = _Group()
_GROUPS = {
    "relax.where": _ALL,
    "relax.matmul": _Group(skipped=2),
    "relax.index_tensor": _Group(first=1),
    "relax.index_put": _Group(first=1, last=-1),
}


def _fits(op: Operator) -> bool:
    """Return whether the common shape of the operands is known."""
    if isinstance(op, IndexPut):
        return broadcast_indices(op, op.tensors("indices")) is not None
    return known_shape(op.result_type)


def _fill_values(op: IndexPut) -> Sequence[Operation]:
    """Broadcast the values of a write along the written dimensions, where they may be 1."""
    data, values, indices = op.tensor("data"), op.tensor("values"), op.tensors("indices")
    together = broadcast_indices(op, indices)
    if together is None or data.dims is None or not values.dims:
        return ()
    written = (*together, *data.dims[len(indices) :])[-len(values.dims) :]
    certain = all(v.constant == 1 or (v - w).constant == 0 for v, w in zip(values.dims, written, strict=True))
    return () if certain else _repeat(op, len(op.operands) - 1, written)


def _joined(shapes: Sequence[Dims]) -> Dims:
    rank = max(map(len, shapes))
    out: list[SymExpr] = [Const(1)] * rank
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            out[i] = out[i] if extent.constant == 1 else repeated(out[i], extent)
    return tuple(out)


def _repeat(op: Operator, operand: int, dims: Dims) -> list[Operation]:
    value: SSAValue = op.operands[operand]
    shape = relax.ShapeOp(dims)
    full = OPERATORS["relax.broadcast_to"].make(value, shape.result)
    for each in (shape, full):
        each.location = op.location
        insert_before(op, each)
    op.operands[operand] = full.results[0]
    return [full]
