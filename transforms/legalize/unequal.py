"""Operands whose extents are neither equal nor 1 for certain: which it is shows when the program runs.

%y = relax.add %a, %b : ndim 1   ->  %c = relax.broadcast_to %a, shape<[s]>      where a is [n], b is [m], and s is
                                     %d = relax.broadcast_to %b, shape<[s]>      m where n is 1, else n
                                     %y = relax.add %c, %d : [s]

That the operands broadcast is checked before the kernels run (`requirements`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.relax.elementwise import BinaryOp
from ...dialects.relax.operator import OPERATORS, Operator
from ...dialects.sym.expr import Const, SymExpr, eq, select
from ...ir.rewriting.edit import insert_before
from ...ir.rewriting.infer import infer_users

Dims = tuple[SymExpr, ...]


def repeated(extent: SymExpr, to: SymExpr) -> SymExpr:
    """What a dimension of an operand becomes: `to` where its extent is 1, which the run may decide, else its own."""
    return select(eq(extent, 1), to, extent)


def fill_operands(op: Operator) -> Sequence[Operation]:
    """Repeat the operands of an operator of unknown shape along the dimensions of its result; what was made."""
    skipped = _MATRIX.get(op.name, 0 if isinstance(op, BinaryOp) or op.name == "relax.where" else None)
    types = [v.type for v in op.operands]
    if skipped is None or not all(isinstance(t, relax.TensorType) and t.dims is not None for t in types):
        return ()
    shapes = [cast(Dims, cast(relax.TensorType, t).dims) for t in types]
    rows = [shape[: max(0, len(shape) - skipped)] for shape in shapes]
    out = _joined(rows)
    made: list[Operation] = []
    for i, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
        if row and row != out[len(out) - len(row) :]:
            made += _repeat(op, i, (*out, *shape[len(row) :]))
    if made:
        infer_users([op])
    return made


_MATRIX = {"relax.matmul": 2}
"""Operators of which the last dimensions do not broadcast."""


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
