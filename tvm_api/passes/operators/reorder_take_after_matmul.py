"""Multiply before taking columns or matrices."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects import relax
from ....dialects.relax.operator import Operator
from ....dialects.relax.types import TensorType
from ....dialects.sym.expr import SymExpr
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_rules
from ....transforms.operators.rules import producer


@dataclass(frozen=True)
class ReorderTakeAfterMatmul(Pass):
    """Takes columns of a product instead of columns of its right matrix.

    y = matmul(x, take(w, i, axis=1))  ->  y = take(matmul(x, w), i, axis=-1)

    `i` is a vector; x and w are of known rank, and w is a matrix, or has the batch of x. If one of the matrices
    w is taken for each matrix in the batch x, `take(w, i, axis=0)`, x is multiplied by all matrices
    concatenated:

    y = einsum("ijik->ijk", take(reshape(matmul(x, w'), …), i, axis=2)), w' of shape [K, E * N] for w of [E, K, N]
    """

    name = "reorder-take-after-matmul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.matmul": _matmul})


def _matmul(op: Operator, emit: Emit) -> SSAValue | None:
    taken = producer(op.operands[1], "take")
    if taken is None:
        return None
    axis, rank = taken.attr("axis"), _rank(taken.operands[0])
    if axis is None or rank is None or _rank(taken.operands[1]) != 1:
        return None
    if axis % rank == rank - 1:
        return _columns(op, taken, rank, emit)
    return _matrices(op, taken, emit) if axis % rank == 0 and rank == 3 else None


def _columns(op: Operator, taken: Operator, rank: int, emit: Emit) -> SSAValue | None:
    x, (table, indices) = op.operands[0], taken.operands
    left, batch = op.tensor("x1"), _dims(table)
    if left.rank is None or (rank != 2 and (rank < 3 or batch is None or left.dims is None)):
        return None
    if rank > 2 and (left.dims or ())[:-2] != (batch or ())[:-2]:
        return None
    product = emit("matmul", x, table, out_dtype=op.attr("out_dtype"))
    return emit("take", product, indices, axis=left.rank - 1, **_mode(taken))


def _matrices(op: Operator, taken: Operator, emit: Emit) -> SSAValue | None:
    x, (table, indices) = op.operands[0], taken.operands
    left_dims, dims, chosen = _dims(x), _dims(table), _dims(indices)
    if left_dims is None or len(left_dims) != 3 or dims is None or chosen is None or left_dims[0] != chosen[0]:
        return None
    count, rows, columns = dims

    def reshape(value: SSAValue, shape: list[SymExpr]) -> SSAValue:
        return emit("reshape", value, relax.ShapeOp(shape).result)

    beside = reshape(emit("permute_dims", table, axes=[1, 0, 2]), [rows, count * columns])
    product = emit("matmul", x, beside, out_dtype=op.attr("out_dtype"))
    parts = reshape(product, [left_dims[0], left_dims[1], count, columns])
    return emit("einsum", [emit("take", parts, indices, axis=2, **_mode(taken))], subscripts="ijik->ijk")


def _rank(value: SSAValue) -> int | None:
    return value.type.rank if isinstance(value.type, TensorType) else None


def _dims(value: SSAValue) -> tuple[SymExpr, ...] | None:
    return value.type.dims if isinstance(value.type, TensorType) else None


def _mode(taken: Operator) -> dict[str, str]:
    """Return the attributes of the take other than its axis."""
    return {n: taken.attr(n) for n in taken.ATTR_SPECS if n != "axis"}
