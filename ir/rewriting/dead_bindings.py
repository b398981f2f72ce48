"""Removal of unused bindings and unused outputs of dataflow blocks from a Relax function."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation, Region

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ..functions.lookup import binding_blocks
from .edit import erase, erase_unused


def remove_dead_bindings(func: Operation, keep: Collection[Operation] = ()) -> None:
    """Remove unused bindings of a function but those in `keep`, in place; linear, since uses come after definitions."""
    for block in reversed(list(binding_blocks(func))):
        for op in reversed(list(block.ops)):
            if isinstance(op, relax.DataflowOp):
                _shrink_outputs(op, keep)
            elif op not in keep:
                erase_unused([op])


def _shrink_outputs(op: relax.DataflowOp, keep: Collection[Operation]) -> None:
    """Drop unused results, then the bindings that only they needed."""
    used = [r.first_use is not None for r in op.outputs]
    if not all(used):
        op = _with_outputs(op, used)
    erase_unused([each for each in op.body.block.ops if each not in keep])
    # A match_cast binds symbolic variables: it stays, and the block with it.
    if not op.outputs and op.body.block.first_op is op.output_op:
        erase(op)


def _with_outputs(op: relax.DataflowOp, keep: list[bool]) -> relax.DataflowOp:
    output = op.output_op
    kept = [v for v, k in zip(output.values_, keep, strict=True) if k]
    erase(output)
    block = op.body.block
    block.add_op(relax.OutputOp(kept))
    op.body.detach_block(block)
    new = relax.DataflowOp(Region(block))
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(new, op)
    old_results = [r for r, k in zip(op.outputs, keep, strict=True) if k]
    for old, result in zip(old_results, new.outputs, strict=True):
        set_name(result, name_of(old))
        old.replace_all_uses_with(result)
    erase(op)
    return new
