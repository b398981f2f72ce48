"""Distribute matrix products over sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects import relax
from ....dialects.relax.operator import Operator
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_rules
from ....transforms.operators.rules import producer
from ....transforms.params.weights import is_of_weights


@dataclass(frozen=True)
class ExpandMatmulOfSum(Pass):
    """Distributes a matrix product over a sum on its right (for low-rank updates of weights).

    y = matmul(x, a + b)  ->  y = matmul(x, a) + matmul(x, b)
    y = matmul(x, permute_dims(a + b))  ->  y = matmul(x, permute_dims(a)) + matmul(x, permute_dims(b))

    Sums of several terms are supported. A sum remains if it broadcasts, or if both of its terms are constants
    or weights (the parameters after the first `num_input`).
    """

    name = "expand-matmul-of-sum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.matmul": _matmul})


def _matmul(op: Operator, emit: Emit) -> SSAValue | None:
    x, weights = op.operands
    transpose = producer(weights, "permute_dims")
    total = _sum_of(weights if transpose is None else transpose.operands[0])
    if total is None:
        return None
    dtype = op.attr("out_dtype")

    def product(term: SSAValue) -> SSAValue:
        factor = term if transpose is None else emit("permute_dims", term, axes=transpose.attr("axes"))
        return emit("matmul", x, factor, out_dtype=dtype)

    first, *others = _terms(total)
    return reduce(lambda sum_, term: emit("add", sum_, product(term)), others, product(first))


def _terms(total: Operator) -> list[SSAValue]:
    """Return the terms of nested sums, in order."""
    terms: list[SSAValue] = []
    stack = list(total.operands)[::-1]
    while stack:
        term = stack.pop()
        inner = _sum_of(term)
        if inner is None:
            terms.append(term)
        else:
            stack += list(inner.operands)[::-1]
    return terms


def _sum_of(value: SSAValue) -> Operator | None:
    """Return the addition that computes a value if it may be expanded, or None."""
    total = producer(value, "add")
    if total is None or total.tensor("x1").dims is None or any(t.type != value.type for t in total.operands):
        return None
    if is_of_weights(value):
        return None
    return None if all(isinstance(t.owner, relax.ConstantOp) for t in total.operands) else total
