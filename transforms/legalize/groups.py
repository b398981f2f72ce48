"""Concatenation of many tensors in groups, each a call: with symbolic sizes, groups of equal length share a function.

%y = relax.concat %x0, …, %x99   ->   %a = relax.concat %x0, …, %x15      …
                                      %y = relax.concat %a, …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation

from ...dialects import relax
from ...dialects.relax.operator import OPERATORS, Operator
from ...dialects.sym.expr import SymExpr
from ...ir.rewriting.edit import insert_before, replace_op
from ...topi.manipulation import MOST_SYMBOLIC, begins_at_sums


def join_in_groups(op: Operator) -> Sequence[Operation]:
    """Replace a concatenation of many tensors by one of concatenated groups; return the new operations, or `op`."""
    if op.name != "relax.concat" or len(op.operands) <= MOST_SYMBOLIC:
        return ()
    axis = op.attr("axis") or 0
    if not known_sums(op, axis):
        return ()
    parts = [op.operands[n : n + MOST_SYMBOLIC] for n in range(0, len(op.operands), MOST_SYMBOLIC)]
    join = OPERATORS[op.name].make
    groups = [join(part, axis=axis) for part in parts if len(part) > 1]
    joined = iter(groups)
    outer = join([next(joined).results[0] if len(part) > 1 else part[0] for part in parts], axis=axis)
    if outer.result_type != op.result_type:  # refined: the tensor function groups them itself
        return ()
    for new in (*groups, outer):
        new.location = op.location
    for new in groups:
        insert_before(op, new)
    replace_op(op, outer)
    return [*groups, outer]


def known_sums(op: Operator, axis: int) -> bool:
    """Return whether all shapes are known, and tensors begin at sums of many sizes."""
    types = [v.type for v in op.operands]
    if not all(isinstance(t, relax.TensorType) and t.dims is not None for t in types):
        return False
    return begins_at_sums([cast("tuple[SymExpr, ...]", cast(relax.TensorType, t).dims)[axis] for t in types])
