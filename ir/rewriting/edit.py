"""Insertion, replacement and removal of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import TupleType, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations, replace_uses
from .copy import is_expression


def has_root_block(ops: Sequence[Operation]) -> bool:
    """Return whether TVM wraps the body in a root block: if it contains blocks, unless it is a single block itself."""
    if any(isinstance(op, tir.AllocBufferOp) and not op.declared for op in ops):
        return True
    statements = [op for op in ops if not is_expression(op)]
    if len(statements) == 1 and isinstance(statements[0], tir.BlockOp) and not statements[0].iter_vars:
        return False
    return any(isinstance(inner, tir.BlockOp) for op in statements for inner in operations(op))


OpT = TypeVar("OpT", bound=Operation)


def insert_before(anchor: Operation, *ops: OpT) -> OpT:
    """Insert operations before another one, with its source location if they have none; return the last of them."""
    block = anchor.parent
    assert block is not None
    for op in ops:
        if isinstance(op.location, UnknownLoc):
            op.location = anchor.location
    block.insert_ops_before(ops, anchor)
    return ops[-1]


def inserter(anchor: Operation) -> Callable[[Operation], None]:
    """Return a function that inserts operations before `anchor`, in order."""
    block = anchor.parent
    assert block is not None
    return lambda op: block.insert_op_before(op, anchor)


def insert_all_before(anchor: Operation, ops: Sequence[Operation]) -> None:
    """Insert many operations before another one, in a region of one block.

    xDSL checks for each insertion that the block is not inside the operation, walking up all ancestors: the block is
    detached meanwhile.
    """
    block = anchor.parent
    assert block is not None
    region = block.parent
    if region is None or len(ops) == 1:
        block.insert_ops_before(ops, anchor)
        return
    region.detach_block(block)
    block.insert_ops_before(ops, anchor)
    region.add_block(block)


def inline_before(source: Block, anchor: Operation) -> None:
    """Move all operations of the block `source` before `anchor`."""
    target = anchor.parent
    assert target is not None
    for op in list(source.ops):
        op.detach()
        target.insert_op_before(op, anchor)


def set_type(value: SSAValue, new: Attribute) -> None:
    """Change the type of a value in place; its users must be consistent with the new type."""
    value._type = new  # pyright: ignore[reportPrivateUsage]


def replace_value(old: SSAValue, new: SSAValue) -> None:
    """Replace all uses of `old` by `new`, which takes its name."""
    set_name(new, name_of(old))
    replace_uses(old, new)


def replace_op(op: Operation, new: Operation | SSAValue, renamed: bool = True) -> SSAValue:
    """Replace the single result of `op` by `new` and return its value; erase `op` and the leaves that only it used.

    A detached operation is inserted at the same place. It takes the name of the result unless `renamed` is False.
    """
    if isinstance(new, Operation):
        new = (insert_before(op, new) if new.parent is None else new).results[0]
    if renamed:
        set_name(new, name_of(op.results[0]))
    replace_uses(op.results[0], new)
    erase_with_leaves(op)
    return new


def is_removable(op: Operation) -> bool:
    """Return whether a relax binding may be removed if its results are unused: it is pure.

    A callback without a result is called for its effect, whatever its type declares: callables are pure by default.
    """
    if isinstance(op, relax.CallValueOp):
        is_callback = isinstance(op.func, BlockArgument) and op.result.type == TupleType(())
        return isinstance(op.func.type, relax.CallableType) and op.func.type.pure and not is_callback
    return is_side_effect_free(op)


def erase(op: Operation) -> None:
    """Detach and erase an operation, and drop its attributes: constants may hold many megabytes.

    IR consists of cycles, which are not collected during compilation.
    """
    op.detach()
    op.erase()
    op.properties.clear()


def erase_unused(ops: Iterable[Operation]) -> bool:
    """Erase those of `ops` (in order of definition) that are removable and unused, or used only among themselves."""
    changed = False
    for op in reversed(list(ops)):
        if not _is_used(op) and is_removable(op):
            erase(op)
            changed = True
    return changed


def _is_used(op: Operation) -> bool:
    """Return whether a result is used, other than by a local function that calls itself."""
    if not op.regions:
        return any(r.first_use for r in op.results)
    return any(not op.is_ancestor(use.operation) for r in op.results for use in r.uses)


def erase_with_leaves(op: Operation) -> None:
    """Erase an unused operation, and the unnamed leaves that only it used."""
    operands = dict.fromkeys(op.operands)
    erase(op)
    for value in operands:
        leaf = value.owner
        if isinstance(leaf, relax.LEAVES) and value.first_use is None and name_of(value) is None:
            erase(leaf)
