"""What the passes on tir share: functions of a module, moving operations, removing what nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from ...dialects import tir


def functions(module: ModuleOp) -> list[tir.FuncOp]:
    """The tir functions of a module."""
    return [op for op in module.body.block.ops if isinstance(op, tir.FuncOp)]


def inline_before(source: Block, anchor: Operation) -> None:
    """Move all operations of the block `source` to before `anchor`."""
    target = anchor.parent
    assert target is not None
    for op in list(source.ops):
        op.detach()
        target.insert_op_before(op, anchor)


def erase_with_tree(op: Operation) -> None:
    """Erase an operation that nothing uses."""
    op.detach()
    op.erase(safe_erase=False)


def _removable(op: Operation) -> bool:
    if any(r.first_use is not None for r in op.results) or not op.results:
        return False
    return isinstance(op, tir.LoadOp | tir.AllocConstOp) or is_side_effect_free(op)


def remove_dead(root: Operation) -> None:
    """Remove expressions below `root` whose values nothing uses (loads too: reading has no effect)."""
    todo = list(root.walk())[1:]
    while todo:
        op = todo.pop()
        if op.parent is None or not _removable(op):
            continue
        owners = [o.owner for o in op.operands]
        erase_with_tree(op)
        todo.extend(o for o in owners if isinstance(o, Operation))


def blocks_inside_out(root: Operation) -> Iterator[tir.BlockOp]:
    """The tir blocks below `root`, inner ones first."""
    found = [op for op in root.walk() if isinstance(op, tir.BlockOp)]
    yield from reversed(found)
