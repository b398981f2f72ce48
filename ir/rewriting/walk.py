"""Going through operations, where it is done often."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...dialects import tir
from .copy import is_expression


def operations(root: Operation) -> list[Operation]:
    """`root` and all operations inside of it as they are now, each before those inside of it: `list(root.walk())`.

    Without generators inside of generators, which cost xDSL most of the time of a pass that looks for something.
    """
    found = [root]
    if root.regions:
        _collect(root, found)
    return found


def _collect(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _collect(inner, found)
                inner = inner.next_op
            block = block.next_block


def has_root_block(ops: Sequence[Operation]) -> bool:
    """Whether TVM has a block around the body: it has, where there are blocks in it, unless it is one itself."""
    if any(isinstance(op, tir.AllocBufferOp) and not op.declared for op in ops):
        return True
    statements = [op for op in ops if not is_expression(op)]
    if len(statements) == 1 and isinstance(statements[0], tir.BlockOp) and not statements[0].iter_vars:
        return False
    return any(isinstance(inner, tir.BlockOp) for op in statements for inner in op.walk())
