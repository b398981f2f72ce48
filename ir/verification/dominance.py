"""Dominance of SSA values, which xDSL does not check: every operand is defined before its use, on every path.

One walk with a set of visible values, linear in the IR; regions with several blocks also need a dominator tree (Cooper,
Harvey and Kennedy 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from ...diagnostics import VerifyError
from ...dialects import relax, tir
from ...dialects.names import name_of
from ..locations import location_of

Free = Callable[[SSAValue, Operation], bool]
"""Predicate: whether an operation may use an undefined value."""


def check_dominance(root: Operation, *, is_free: Free | None = None) -> list[SSAValue]:
    """Raise `VerifyError` if an operand does not dominate its use; return the undefined values that are used.

    `is_free` selects the undefined values that may be used, and where; None allows none. With `is_foreign`, tensor
    functions may use values that belong to no program. Such functions can be read, printed and rewritten like TVM's;
    running or building them checks without it.
    """
    visible: set[int] = set()
    free: list[SSAValue] = []

    def allowed(value: SSAValue, user: Operation) -> bool:
        if is_free is None or not is_free(value, user):
            return False
        free.append(value)
        return True

    for region in root.regions:
        _check_region(region, visible, allowed)
    return free


def _check_region(region: Region, visible: set[int], allowed: Free) -> None:
    """Check the ops of a region; `visible` are the ids of the values defined around it."""
    first = region.first_block
    if first is None:
        return
    if first.next_block is None:
        visible.difference_update(_check_block(first, visible, allowed))
        return
    children = _dominator_tree(region)
    stack: list[tuple[Block | None, list[int]]] = [(first, [])]
    while stack:
        block, added = stack.pop()
        if block is None:
            visible.difference_update(added)
            continue
        stack.append((None, _check_block(block, visible, allowed)))
        stack.extend((child, []) for child in children.get(block, ()))


def _check_block(block: Block, visible: set[int], allowed: Free) -> list[int]:
    """Check the ops of a block; the values it defines stay visible, and their ids are returned."""
    added = list(map(id, block.args))
    visible.update(added)
    op = block.first_op
    while op is not None:
        if not visible.issuperset(map(id, op._operands)):
            for value in op._operands:
                if id(value) in visible:
                    continue
                if not allowed(value, op):
                    raise _dominance_error(op, value)
        if op.regions:
            if isinstance(op, relax.ClosureOp):  # it may call itself
                visible.add(id(op.result))
            inside = set[int]() if _is_isolated(type(op)) else visible
            for region in op.regions:
                _check_region(region, inside, allowed)
        for result in op.results:
            number = id(result)
            added.append(number)
            visible.add(number)
        op = op._next_op
    return added


@cache
def _is_isolated(cls: type[Operation]) -> bool:
    return cls.has_trait(IsolatedFromAbove)


def is_foreign(value: SSAValue, user: Operation) -> bool:
    """Return whether a value used by a tensor function belongs to no program."""
    return _is_in_tir(user) and not tir.is_defined_beside(value, user)


def _is_in_tir(op: Operation | None) -> bool:
    while op is not None and not isinstance(op, tir.FuncOp):
        op = op.parent_op()
    return op is not None


def _dominance_error(op: Operation, operand: SSAValue) -> VerifyError:
    name = name_of(operand) or f"operand {list(op.operands).index(operand)}"
    around = operand.owner.parent_op() if isinstance(operand.owner, Operation) else None
    hint = "define the value before its use, in the same region or one around it"
    if isinstance(around, relax.DataflowOp) and not around.is_ancestor(op):
        hint = f"{name} is local to its dataflow block: make it an output by emit_output, R.output or relax.output"
    return VerifyError(f"{op.name} uses {name} where it is not defined", location=location_of(op), hint=hint)


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """Map blocks to the blocks they immediately dominate; unreachable blocks are children of the entry."""
    order = list(_reverse_postorder(region))
    index = {id(block): i for i, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for i, block in enumerate(order):
        for successor in _successors(block):
            predecessors[index[id(successor)]].append(i)
    dominators = _immediate_dominators(predecessors)
    children: dict[Block, list[Block]] = {}
    for block, dominator in zip(order[1:], dominators[1:], strict=True):
        children.setdefault(order[dominator], []).append(block)
    block = order[0].next_block
    while block is not None:
        if id(block) not in index:
            children.setdefault(order[0], []).append(block)
        block = block.next_block
    return children


def _immediate_dominators(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """Return the number of each node's immediate dominator, for nodes in reverse postorder, entry first."""
    unknown = len(predecessors)
    dominators = [0] + [unknown] * (unknown - 1)
    changed = True
    while changed:
        changed = False
        for node in range(1, unknown):
            new = unknown
            for other in predecessors[node]:
                if dominators[other] != unknown:
                    new = other if new == unknown else _intersect(new, other, dominators)
            changed = changed or dominators[node] != new
            dominators[node] = new
    return dominators


def _intersect(a: int, b: int, dominators: Sequence[int]) -> int:
    while a != b:
        if a > b:
            a = dominators[a]
        else:
            b = dominators[b]
    return a


def _successors(block: Block) -> Sequence[Block]:
    last = block.last_op
    return () if last is None else last._successors


def _reverse_postorder(region: Region) -> Iterator[Block]:
    entry = region.first_block
    if entry is None:
        return
    seen = {id(entry)}
    post: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        nxt = next((s for s in rest if id(s) not in seen), None)
        if nxt is None:
            post.append(block)
            stack.pop()
        else:
            seen.add(id(nxt))
            stack.append((nxt, iter(_successors(nxt))))
    yield from reversed(post)
