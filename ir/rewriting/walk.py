"""Queries on all operations of a function."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...dialects import tir
from ...dialects.quick import operations
from .copy import is_expression


def has_root_block(ops: Sequence[Operation]) -> bool:
    """Return whether TVM wraps the body in a root block: if it contains blocks, unless it is a single block itself."""
    if any(isinstance(op, tir.AllocBufferOp) and not op.declared for op in ops):
        return True
    statements = [op for op in ops if not is_expression(op)]
    if len(statements) == 1 and isinstance(statements[0], tir.BlockOp) and not statements[0].iter_vars:
        return False
    return any(isinstance(inner, tir.BlockOp) for op in statements for inner in operations(op))
