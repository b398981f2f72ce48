"""Insertion of replacements: detached ops become bindings before the one that they replace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.names import NameSupply, identifier, variable_names
from ...ir.rewriting.edit import insert_before
from ...ir.rewriting.infer import infer_users


def names_of(func: Operation) -> NameSupply:
    """Return a supply of names that are unused in a function."""
    return NameSupply(variable_names(func))


class Placer:
    """Inserter of detached ops into a function. `placed` are those of the current replacement."""

    def __init__(self, names: NameSupply):
        self.names = names
        self.placed: set[Operation] = set()

    def place(self, value: SSAValue, anchor: Operation, reused: Iterable[SSAValue] = ()) -> SSAValue:
        """Insert the detached ops of `value` before `anchor`, operands first, and return the value.

        `reused` are bound values that the rewriter got as expressions: TVM binds a copy of each one that is used again,
        and removes it later; its name is not used here either.
        """
        if not isinstance(value, OpResult) or (value.op.parent is not None and not relax.is_inline(value.op)):
            return value
        if value.op.parent is not None:
            return self._copy_inline(value.op, anchor)
        self._place_operands(value.op, anchor, set(reused))
        return value

    def _place_operands(self, root: Operation, anchor: Operation, reused: set[SSAValue]) -> None:
        """Insert `root` and the detached ops that it uses before `anchor`, in order of use, without recursion."""
        stack: list[tuple[Operation, int]] = [(root, 0)]
        while stack:
            op, i = stack.pop()
            if i == len(op.operands):
                if op.parent is None:
                    self._insert(op, anchor, is_root=op is root)
                continue
            stack.append((op, i + 1))
            operand = op.operands[i]
            if operand in reused:
                reused.discard(operand)
                self._fresh(anchor)
            elif isinstance(operand, OpResult) and operand.op.parent is None and not relax.is_inline(operand.op):
                stack.append((operand.op, 0))

    def _insert(self, op: Operation, anchor: Operation, is_root: bool) -> None:
        for i, operand in enumerate(op.operands):
            if isinstance(operand, OpResult) and relax.is_inline(operand.op):
                op.operands[i] = self._copy_inline(operand.op, anchor)
        self.placed.add(insert_before(anchor, op))
        name = name_of(op.results[0])
        if name is not None or not is_root:
            set_name(op.results[0], self._fresh(anchor) if name is None else identifier(name))

    def _copy_inline(self, op: Operation, anchor: Operation) -> SSAValue:
        """Copy an unnamed leaf or tuple for one more user."""
        new = op.clone() if op.parent is not None or op.results[0].first_use is not None else op
        self._place_parts(new, anchor)
        self.placed.add(insert_before(anchor, new))
        return new.results[0]

    def _place_parts(self, op: Operation, anchor: Operation) -> None:
        for i, operand in enumerate(op.operands):
            if not isinstance(operand, OpResult):
                continue
            if relax.is_inline(operand.op):
                op.operands[i] = self._copy_inline(operand.op, anchor)
            elif operand.op.parent is None:
                self._place_operands(operand.op, anchor, set())
                set_name(operand, self._fresh(anchor))

    def _fresh(self, anchor: Operation) -> str:
        return self.names.fresh("lv" if isinstance(anchor.parent_op(), relax.DataflowOp) else "gv")

    def replace(self, old: Operation, new: SSAValue) -> None:
        """Replace uses of `old` by `new`, which precedes it, except in the inserted ops.

        Inserted ops without their own names take that of `old`. If the new ops use `old` itself, it stays, under a new
        name.
        """
        result = old.results[0]
        name, was_placed = name_of(result), isinstance(new, OpResult) and new.op in self.placed
        uses = [use for use in result.uses if use.operation not in self.placed]
        if was_placed and result.first_use is not None and len(uses) != len(list(result.uses)):
            self._move_after(old)
            set_name(result, self._fresh(old))
        users = [use.operation for use in uses]
        for use in uses:
            use.operation.operands[use.index] = self._for_user(new, use.operation, name)
        if was_placed and not isinstance(cast(OpResult, new).op, relax.LEAVES):
            inline = isinstance(cast(OpResult, new).op, relax.INLINE_OPS)
            own = name_of(new) or name
            set_name(new, own if own is not None or inline else self._fresh(old))
        if new.type != result.type:
            infer_users(users)

    def _move_after(self, old: Operation) -> None:
        """Move inserted ops that use `old` after it, in order."""
        block = cast(Block, old.parent)
        moved: list[Operation] = []
        known: set[Operation] = {old}
        op = old.prev_op
        before: list[Operation] = []
        while op is not None and op in self.placed:
            before.append(op)
            op = op.prev_op
        for op in reversed(before):
            if any(isinstance(v, OpResult) and v.op in known for v in op.operands):
                known.add(op)
                moved.append(op)
        for op in reversed(moved):
            op.detach()
            block.insert_op_after(op, old)

    def _for_user(self, new: SSAValue, user: Operation, name: str | None) -> SSAValue:
        """Return the new value for one user: an unnamed leaf is copied for each, but a block's output has a name."""
        if not (isinstance(new, OpResult) and isinstance(new.op, relax.LEAVES) and name_of(new) is None):
            return new
        if isinstance(user, relax.OutputOp | relax.YieldOp):
            bound = insert_before(user, new.op.clone())
            set_name(bound.results[0], name)
            return bound.results[0]
        return self._copy_inline(new.op, user)
