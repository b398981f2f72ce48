"""Trees of scalar expressions: the operands of one, whether two are the same, and whether one is closed."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.sym import ValueOp
from ...ir.affine.values import sym_expr_of
from ...ir.origins import origin


def children(value: SSAValue) -> list[SSAValue]:
    """Return the operands that define a value, in evaluation order; the sides of a branch follow its condition."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return []
    out = list(owner.operands)
    for region in owner.regions:
        out += [v for op in region.block.ops for v in op.operands]
    return out


_EXPRESSIONS = frozenset((*tir.EXPRESSION_OPS, ValueOp))


def same_tree(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two values are the same expression tree; buffers and lets only equal themselves."""
    a, b = origin(a), origin(b)
    if a is b:
        return True
    if isinstance(a.type, IntegerType) and a.type == b.type and sym_expr_of(a) == sym_expr_of(b):
        return True
    x, y = a.owner, b.owner
    if not isinstance(x, Operation) or not isinstance(y, Operation) or type(x) is not type(y):
        return False
    if type(x) not in _EXPRESSIONS or x.properties != y.properties or a.type != b.type:
        return False
    left, right = children(a), children(b)
    return len(left) == len(right) and all(map(same_tree, left, right))


def is_closed(value: SSAValue) -> bool:
    """Return whether an expression consists of detached operations only and has no variables."""
    op = value.owner
    if not isinstance(op, Operation) or op.parent is not None or isinstance(op, ValueOp):
        return False
    return all(map(is_closed, op.operands))
