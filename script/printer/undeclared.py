"""Where what is used without a declaration gets its line: `B = T.Buffer((8,), data=A.data)`, `n = T.int32()`.

TVM writes it into the innermost scope around all uses, in front of the first statement there that has one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...ir.rewriting.walk import is_expression

Order = tuple[int, bool, int]


def undeclared(ops: Iterable[Operation], scope: Operation | None = None) -> Mapping[Operation, list[SSAValue]]:
    """Aliases in `ops`, and what these take from elsewhere, by the statement in front of which it is declared.

    What the op `scope` defines in its regions, these ops among them, does not come from elsewhere.
    """
    numbers = {op: i for i, op in enumerate(inner for outer in ops for inner in outer.walk())}
    places: dict[Operation, list[tuple[Order, SSAValue]]] = defaultdict(list)
    used = _uses(numbers, scope)
    users = {op for uses in used.values() for op in uses}
    for value, uses in used.items():
        statements = [statement_of(use) for use in uses]
        pairs = zip(statements, uses, strict=True)
        first: Order = min((numbers.get(s, 0), s is not use, numbers[use]) for s, use in pairs)
        places[_place(uses, users, numbers)].append((first, value))
    return {op: [value for _, value in sorted(rows, key=lambda row: row[0])] for op, rows in places.items()}


def _uses(numbers: Mapping[Operation, int], scope: Operation | None) -> dict[SSAValue, list[Operation]]:
    """The ops that use aliases and what is not defined by these ops."""
    uses: dict[SSAValue, list[Operation]] = defaultdict(list)
    for op in numbers:
        for value in _leaves(op, numbers):
            if _is_alias(value):
                if not isinstance(op, tir.BufferDataOp):
                    uses[value].append(op)
            elif (owner := _definer(value)) not in numbers and (owner is None or owner is not scope):
                uses[value].append(op)
    return uses


def _leaves(op: Operation, numbers: Mapping[Operation, int]) -> Iterator[SSAValue]:
    """The operands of an op, and those of expressions that lie elsewhere."""
    for value in op.operands:
        owner = value.owner
        if not isinstance(owner, Operation) or not is_expression(owner):
            yield value
        elif owner not in numbers:
            yield from _leaves(owner, numbers)


def _is_alias(value: SSAValue) -> bool:
    return isinstance(value.owner, tir.DeclBufferOp) and value.owner.alias


def _definer(value: SSAValue) -> Operation | None:
    return value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()


def statement_of(op: Operation) -> Operation:
    """The statement that an expression is part of: what a store writes to comes before what it writes."""
    while is_expression(op) and (use := _first_use(op)) is not None:
        op = use
    return op


def _first_use(op: Operation) -> Operation | None:
    """What uses an expression in its own block, alone or within a region."""
    block = op.parent_block()
    for use in op.results[0].uses:
        user: Operation | None = use.operation
        while user is not None and user.parent_block() is not block:
            user = user.parent_op()
        if user is not None:
            return user
    return None


def _place(uses: list[Operation], users: set[Operation], numbers: Mapping[Operation, int]) -> Operation:
    """Where the first statement with a use begins, of those in the innermost block around all uses."""
    chains = [_chain(op) for op in uses]
    depth = 0
    while all(len(chain) > depth + 1 for chain in chains) and len({chain[depth + 1][0] for chain in chains}) == 1:
        depth += 1
    first = min((chain[depth][1] for chain in chains), key=lambda op: numbers.get(op, 0))
    return _beginning(statement_of(first), users, numbers)


def _beginning(statement: Operation, users: set[Operation], numbers: Mapping[Operation, int]) -> Operation:
    """The first of the expressions in its block that a statement is made of and that are `users`, or the statement."""
    first, todo = statement, list(statement.operands)
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and is_expression(owner) and owner.parent_block() is statement.parent_block():
            todo += owner.operands
            first = min(first, owner, key=lambda op: numbers.get(op, 0)) if owner in users else first
    return first


def _chain(op: Operation) -> list[tuple[Block | None, Operation]]:
    """The blocks around an op, outermost first, each with the op in it that contains this one."""
    chain: list[tuple[Block | None, Operation]] = [(op.parent_block(), op)]
    while (outer := op.parent_op()) is not None:
        chain.append((outer.parent_block(), outer))
        op = outer
    return chain[::-1]
