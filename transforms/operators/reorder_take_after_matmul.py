"""Multiply before columns are chosen."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.transform import Pass
from .rules import Emit, apply_rules, producer


@dataclass(frozen=True)
class ReorderTakeAfterMatmul(Pass):
    """Takes columns of a product instead of columns of the matrix on its right.

    y = matmul(x, take(w, i, axis=1))  ->  y = take(matmul(x, w), i, axis=-1)

    For matrices `w` and vectors of indices `i`, of known rank.
    """

    name = "reorder-take-after-matmul"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.matmul": _matmul})


def _matmul(op: Operator, emit: Emit) -> SSAValue | None:
    x, weights = op.operands
    taken = producer(weights, "take")
    if taken is None or (rank := op.tensor("x1").rank) is None:
        return None
    table, indices = taken.operands
    if _rank(table) != 2 or _rank(indices) != 1 or taken.attr("axis") not in (1, -1):
        return None
    product = emit("matmul", x, table, out_dtype=op.attr("out_dtype"))
    return emit("take", product, indices, axis=rank - 1, **_mode(taken))


def _rank(value: SSAValue) -> int | None:
    return value.type.rank if isinstance(value.type, TensorType) else None


def _mode(taken: Operator) -> dict[str, str]:
    """What the take says besides its axis."""
    return {n: taken.attr(n) for n in taken.ATTR_SPECS if n != "axis"}
