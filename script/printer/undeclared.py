"""The placement of declarations for undeclared values: `B = T.Buffer((8,), data=A.data)`, `n = T.int32()`.

As in TVM they go into the innermost scope around all uses, before the first statement in it with a use. The header of
a loop belongs to the scope of its body: what only a loop uses is declared in its body, although it is used before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...ir.rewriting.edit import is_expression


@dataclass(frozen=True)
class Undeclared:
    """Values by the statement before which they are declared; those in `loops` are declared in the loop's body."""

    places: Mapping[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])
    loops: Mapping[SSAValue, tir.ForOp] = field(default_factory=dict[SSAValue, tir.ForOp])


def undeclared(ops: Iterable[Operation], scope: Operation | None = None) -> Undeclared:
    """Return where aliases in `ops` and free values are declared.

    Values that the op `scope` defines in its regions, which contain these ops, are not free.
    """
    numbers = {op: i for i, op in enumerate(inner for outer in ops for inner in outer.walk())}
    used = _uses(numbers, scope)
    users = {op for uses in used.values() for op in uses}
    places: dict[Operation, list[SSAValue]] = defaultdict(list)
    loops: dict[SSAValue, tir.ForOp] = {}
    for value, uses in used.items():
        statements = _statements(uses)
        first = min(statements, key=lambda op: numbers.get(op, 0))
        if isinstance(first, tir.ForOp) and len(statements) == 1 and not _is_branch(first):
            loops[value] = first
        places[_beginning(first, users, numbers)].append(value)
    return Undeclared({op: _in_order(values, statement_of(op)) for op, values in places.items()}, loops)


def _is_branch(op: Operation) -> bool:
    """Return whether a statement is all of a branch: TVM's frame of the branch has then the variables of both."""
    block = op.parent
    if block is None or not isinstance(op.parent_op(), tir.IfOp):
        return False
    return all(other is op or is_expression(other) for other in block.ops)


def _in_order(values: list[SSAValue], statement: Operation) -> list[SSAValue]:
    """Return values in the order in which a statement first mentions them, independent of evaluation order."""
    if len(values) < 2:
        return values
    ranks: dict[SSAValue, int] = {}
    for mentioned in _mentions(statement):
        ranks.setdefault(mentioned, len(ranks))
    return sorted(values, key=lambda value: ranks.get(value, len(ranks)))


def _mentions(statement: Operation) -> Iterator[SSAValue]:
    """Yield the values in a statement, its expressions and its regions; the target of a store comes first."""
    seen: set[Operation] = set()
    todo: list[Operation | SSAValue] = [statement]
    while todo:
        item = todo.pop()
        if isinstance(item, SSAValue):
            yield item
            if isinstance(item.owner, Operation) and is_expression(item.owner):
                todo.append(item.owner)
        elif item not in seen:
            seen.add(item)
            inner = [op for r in item.regions for block in r.blocks for op in block.ops if not is_expression(op)]
            operands = [item.buffer, item.value, *item.indices] if isinstance(item, tir.StoreOp) else item.operands
            todo += reversed([*operands, *inner])


def _uses(numbers: Mapping[Operation, int], scope: Operation | None) -> dict[SSAValue, list[Operation]]:
    """Return the ops that use aliases and free values."""
    uses: dict[SSAValue, list[Operation]] = defaultdict(list)
    for inner in numbers:
        op = _outermost(inner)
        for value in _leaves(inner, numbers):
            if _is_alias(value):
                if not isinstance(inner, tir.BufferDataOp):
                    uses[value].append(op)
            elif (owner := _definer(value)) not in numbers and (owner is None or owner is not scope):
                uses[value].append(op)
    return uses


def _outermost(op: Operation) -> Operation:
    """Return an op, or the outermost expression that contains it, because regions of expressions are not scopes."""
    while (outer := op.parent_op()) is not None and is_expression(outer):
        op = outer
    return op


def _leaves(op: Operation, numbers: Mapping[Operation, int]) -> Iterator[SSAValue]:
    """Yield the operands of an op, including those of expressions that are located elsewhere."""
    todo = [*op.operands]
    while todo:
        value = todo.pop()
        owner = value.owner
        if not isinstance(owner, Operation) or not is_expression(owner):
            yield value
        elif owner not in numbers:
            todo += owner.operands


def _is_alias(value: SSAValue) -> bool:
    return isinstance(value.owner, tir.DeclBufferOp) and value.owner.alias


def _definer(value: SSAValue) -> Operation | None:
    return value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()


def statement_of(op: Operation) -> Operation:
    """Return the statement that an expression belongs to; the target of a store precedes its value."""
    while is_expression(op) and (use := _first_use(op)) is not None:
        op = use
    return op


def _first_use(op: Operation) -> Operation | None:
    """Return the first op in the same block that uses an expression, directly or within a region."""
    block = op.parent_block()
    for use in op.results[0].uses:
        user: Operation | None = use.operation
        while user is not None and user.parent_block() is not block:
            user = user.parent_op()
        if user is not None:
            return user
    return None


def _statements(uses: list[Operation]) -> set[Operation]:
    """Return the statements with uses, in the innermost block around all uses."""
    chains = [_chain(op) for op in uses]
    depth = 0
    while all(len(chain) > depth + 1 for chain in chains) and len({chain[depth + 1][0] for chain in chains}) == 1:
        depth += 1
    return {statement_of(chain[depth][1]) for chain in chains}


def _beginning(statement: Operation, users: set[Operation], numbers: Mapping[Operation, int]) -> Operation:
    """Return the first expression of a statement, in its block, that is in `users`, or the statement itself."""
    first, todo = statement, list(statement.operands)
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and is_expression(owner) and owner.parent_block() is statement.parent_block():
            todo += owner.operands
            first = min(first, owner, key=lambda op: numbers.get(op, 0)) if owner in users else first
    return first


def _chain(op: Operation) -> list[tuple[Block | None, Operation]]:
    """Return the enclosing blocks of an op, outermost first, each with its op that contains this one."""
    chain: list[tuple[Block | None, Operation]] = [(op.parent_block(), op)]
    while (outer := op.parent_op()) is not None:
        chain.append((outer.parent_block(), outer))
        op = outer
    return chain[::-1]
