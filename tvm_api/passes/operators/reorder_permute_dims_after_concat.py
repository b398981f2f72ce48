"""Transpose the concatenation of transposed tensors once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import SSAValue

from ....dialects import relax
from ....dialects.relax.operator import Operator
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_rules
from ....transforms.operators.rules import producer


@dataclass(frozen=True)
class ReorderPermuteDimsAfterConcat(Pass):
    """Concatenates before transposing, if all parts are transposed in the same way.

    y = concat((permute_dims(a), permute_dims(b)), axis=1)  ->  y = permute_dims(concat((a, b), axis=0))
    """

    name = "reorder-permute-dims-after-concat"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.concat": _concat})


def _concat(op: Operator, emit: Emit) -> SSAValue | None:
    parts = _parts(op)
    transposes = [producer(p, "permute_dims") for p in parts]
    present = [t for t in transposes if t is not None]
    axis, rank = cast("int | None", op.attr("axis")), op.tensors("xs")[0].rank
    if len(present) < 2 or len(present) < len(parts) or axis is None or rank is None:
        return None
    orders = {_order(t, rank) for t in present}
    if len(orders) > 1:
        return None
    joined = emit("concat", [t.operands[0] for t in present], axis=orders.pop()[axis % rank])
    return emit("permute_dims", joined, axes=present[0].attr("axes"))


def _parts(op: Operator) -> list[SSAValue]:
    """Return the concatenated tensors; none if they are fields of a tuple built elsewhere."""
    values = list(op.operands)
    if len(values) == 1 and isinstance(values[0].type, TupleType):
        producer_op = values[0].owner
        return list(producer_op.fields_) if isinstance(producer_op, relax.TupleOp) else []
    return values


def _order(op: Operator, rank: int) -> tuple[int, ...]:
    axes = cast("list[int] | None", op.attr("axes"))
    return tuple(range(rank))[::-1] if axes is None else tuple(a % rank for a in axes)
