"""Branches between blocks: they become loops and branches with regions.

Control flow is reducible if each cycle has one block by which it is entered. Such a cycle becomes a loop that goes on
while a variable says so; what its blocks define and later ones use is in variables, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import cf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....ir.locations import location_of
from ..structured import attribute, integers
from .core import Kernel, Variable

STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {}
"""Terminators with successors are no statements: `run_region` reads them."""


def run_region(k: Kernel, region: Region) -> list[SSAValue]:
    """Translate a region; return the values that its end takes. Raises `UnsupportedError` for irreducible cycles."""
    blocks = list(region.blocks)
    if len(blocks) == 1:
        return k.run(blocks[0])
    return _Flow(k, region).run()


@dataclass
class _Loop:
    """A loop around the blocks that are translated at present."""

    header: Block
    members: set[Block]
    state: SSAValue
    """0 while it goes on, else the number of the exit, from 1 on."""
    exits: list[Block]
    variables: dict[SSAValue, Variable] = field(default_factory=dict[SSAValue, Variable])
    """What its blocks define and others use."""


class _Flow:
    def __init__(self, k: Kernel, region: Region):
        self.k = k
        self.region = region
        self.ends = [b for b in region.blocks if b.last_op is not None and not b.last_op.successors]
        self.args: dict[Block, list[Variable]] = {}
        self.loops: list[_Loop] = []
        self.results: list[Variable] = []
        self.budget = 4 * len(list(region.blocks)) + 64

    def run(self) -> list[SSAValue]:
        if len(self.ends) != 1:
            raise UnsupportedError(
                f"a function with {len(self.ends)} blocks that return",
                location=location_of(self.region.parent) if self.region.parent is not None else None,
                expected="one block that returns, to which others branch",
            )
        (end,) = self.ends
        for block in list(self.region.blocks)[1:]:
            self._declare(block)
        self._sequence(self.region.blocks[0], {end}, set())
        return self._plain(end)

    # -- acyclic parts -----------------------------------------------------------------------------------------------

    def _sequence(self, block: Block, stops: set[Block], inside: set[Block]) -> None:
        """Translate from a block on until a block of `stops` is reached; `inside` are headers of loops around."""
        current: Block | None = block
        while current is not None and current not in stops:
            self._spend(current)
            members = self._cycle(current, inside)
            if members:
                current = self._loop(current, members, stops, inside)
                continue
            self._plain(current)
            current = self._branch(current, stops, inside)

    def _plain(self, block: Block) -> list[SSAValue]:
        """Translate the operations of a block, without where it goes."""
        if block in self.args:
            self.k.enter(self.args[block], block.args)
        last = block.last_op
        for op in block.ops:
            if op is not last:
                self.k.statement(op)
        for loop in self.loops:
            for value, variable in loop.variables.items():
                if (value.owner if isinstance(value.owner, Block) else value.owner.parent_block()) is block:
                    self.k.leave([variable], [value])
        return list(last.operands) if last is not None and not last.successors else []

    def _branch(self, block: Block, stops: set[Block], inside: set[Block]) -> Block | None:
        """Translate the branch at the end of a block; return where all of its sides meet."""
        targets = _targets(self.k, block)
        if len(targets) == 1:
            _, target, values = targets[0]
            self._pass(target, values)
            return self._arrive(target, stops)
        meeting = self._meeting([t for _, t, _ in targets], stops, inside)
        last: Block | None = None
        for condition, target, values in reversed(targets):
            side = Block()
            with self.k.inside(side):
                self._pass(target, values)
                if self._arrive(target, stops) is not None:
                    self._sequence(target, stops | ({meeting} if meeting is not None else set()), inside)
            if last is None:
                last = side
                continue
            around = Block()
            with self.k.inside(around):
                otherwise = Region(last) if last.first_op is not None else None
                around.add_op(tir.IfOp(condition(), Region(side), otherwise))
            last = around
        for op in list(last.ops) if last is not None else ():
            op.detach()
            self.k.e.block.add_op(op)
        return meeting

    def _arrive(self, target: Block, stops: set[Block]) -> Block | None:
        """Note where a loop goes on; return the target unless it ends this part."""
        if not self.loops:
            return target
        loop = self.loops[-1]
        if target is loop.header:
            return None
        if target not in loop.members:
            self.k.set(loop.state, self.k.e.const(loop.exits.index(target) + 1, i64))
            return None
        return target

    def _declare(self, target: Block) -> None:
        """Make the variables of a block's arguments, ahead of all branches that set them."""
        for arg in target.args:
            _no_array(arg, target, "that is passed to a block")
        if target.args:
            self.args[target] = [self.k.variable(arg) for arg in target.args]

    def _pass(self, target: Block, values: Sequence[SSAValue]) -> None:
        if values:
            self.k.leave(self.args[target], values)

    def _meeting(self, targets: Sequence[Block], stops: set[Block], inside: set[Block]) -> Block | None:
        """Return the first block that every path from each target reaches."""
        order: list[set[Block]] = []
        for target in targets:
            order.append(self._surely(target, stops, inside))
        common = set[Block].intersection(*order)
        return next((b for b in self._reached(targets[0]) if b in common), None)

    def _surely(self, start: Block, stops: set[Block], inside: set[Block]) -> set[Block]:
        """Return the blocks that lie on every path from `start`; none of those out of the loop around."""
        members = self.loops[-1].members if self.loops else None
        header = self.loops[-1].header if self.loops else None
        leaves = members is not None

        def after(block: Block) -> list[Block]:
            found = [] if block in stops else _successors(block)
            return [b for b in found if b is not header and (members is None or b in members)]

        found: set[Block] = set()
        reached = self._reached(start)
        if leaves and (start is header or start not in (members or ())):
            return set()
        for candidate in reached:
            if self._avoidable(start, candidate, after, stops, leaves):
                continue
            found.add(candidate)
        return found

    def _avoidable(
        self, start: Block, block: Block, after: Callable[[Block], list[Block]], stops: set[Block], leaves: bool
    ) -> bool:
        """Return whether a path from `start` ends without this block."""
        seen: set[Block] = set()
        open_ones = [start]
        while open_ones:
            current = open_ones.pop()
            if current is block or current in seen:
                continue
            seen.add(current)
            following = after(current)
            whole = _successors(current)
            if current in stops or not whole or (leaves and len(following) < len(whole)):
                return True
            open_ones += following
        return block not in self._reached(start)

    def _reached(self, start: Block) -> list[Block]:
        """Return the blocks that can be reached, nearest first."""
        order = [start]
        for block in order:
            order += [b for b in _successors(block) if b not in order]
        return order

    def _spend(self, block: Block) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise UnsupportedError(
                "branches between blocks that share too much",
                location=location_of(block.last_op),
                expected="loops of scf",
            )

    # -- loops -------------------------------------------------------------------------------------------------------

    def _cycle(self, header: Block, inside: set[Block]) -> set[Block]:
        """Return the blocks of the cycles through a block; none if it is in none, or the loop around it is its own."""
        if header in inside:
            return set()
        allowed = self.loops[-1].members - {self.loops[-1].header} if self.loops else set(self.region.blocks)
        forward = _closure(header, allowed, _successors)
        backward = _closure(header, allowed, lambda b: [o for o in allowed if b in _successors(o)])
        return forward & backward

    def _loop(self, header: Block, members: set[Block], stops: set[Block], inside: set[Block]) -> Block | None:
        """Translate a loop; return the block at its only exit, or None after a branch on which of them it was."""
        k = self.k
        for block in members - {header}:
            entered = [b for b in self.region.blocks if block in _successors(b) and b not in members]
            if entered:
                raise UnsupportedError(
                    "a cycle of blocks with two entries", location=location_of(block.first_op), expected="one entry"
                )
        following = [b for m in self.region.blocks if m in members for b in _successors(m)]
        exits = [b for b in dict.fromkeys(following) if b not in members]
        loop = _Loop(header, members, k.cell(i64), exits)
        self._keep(loop)
        k.set(loop.state, k.e.const(0, i64))
        condition, body = Block(), Block()
        with k.inside(condition):
            going = k.e.binary("eq", k.e.add(tir.LoadOp(loop.state, [k.e.const(0, i64)])), k.e.const(0, i64))
            condition.add_op(tir.YieldOp(going))
        self.loops.append(loop)
        with k.inside(body):
            self._sequence(header, set(), inside | {header})
        self.loops.pop()
        k.e.block.add_op(tir.WhileOp(Region(condition), Region(body)))
        for value, variable in loop.variables.items():
            k.enter([variable], [value])
        if len(exits) == 1:
            return self._arrive(exits[0], stops)
        return self._choose(loop, exits, stops, inside)

    def _choose(self, loop: _Loop, exits: Sequence[Block], stops: set[Block], inside: set[Block]) -> Block | None:
        k = self.k
        state = k.get(loop.state)
        meeting = self._meeting(exits, stops, inside)
        last: Block | None = None
        for number, target in reversed(list(enumerate(exits))):
            side = Block()
            with k.inside(side):
                if self._arrive(target, stops) is not None:
                    self._sequence(target, stops | ({meeting} if meeting is not None else set()), inside)
            if last is None:
                last = side
                continue
            around = Block()
            with k.inside(around):
                hit = k.e.binary("eq", state, k.e.const(number + 1, i64))
                around.add_op(tir.IfOp(hit, Region(side), Region(last) if last.first_op is not None else None))
            last = around
        for op in list(last.ops) if last is not None else ():
            op.detach()
            k.e.block.add_op(op)
        return meeting

    def _keep(self, loop: _Loop) -> None:
        """Make variables for what blocks of a loop define and others use."""
        for block in loop.members:
            values = [*block.args, *(r for op in block.ops for r in op.results)]
            for value in values:
                if all(self._block_of(use.operation) in loop.members for use in value.uses):
                    continue
                _no_array(value, block, "of a cycle of blocks that is used after it")
                loop.variables[value] = self.k.variable(value)

    def _block_of(self, op: Operation) -> Block | None:
        """Return the block of this region in which an operation is."""
        block = op.parent_block()
        while block is not None and block.parent is not self.region:
            parent = block.parent_op()
            block = None if parent is None else parent.parent_block()
        return block


def _no_array(value: SSAValue, block: Block, what: str) -> None:
    if hasattr(value.type, "get_shape"):
        raise UnsupportedError(
            f"a {value.type} {what}", location=location_of(block.first_op), expected="scalars, or a loop of scf"
        )


def _successors(block: Block) -> list[Block]:
    return list(block.last_op.successors) if block.last_op is not None else []


def _closure(start: Block, allowed: set[Block], after: Callable[[Block], Sequence[Block]]) -> set[Block]:
    """Return the blocks that are reached from those after `start`."""
    found: set[Block] = set()
    open_ones = [b for b in after(start) if b in allowed]
    while open_ones:
        block = open_ones.pop()
        if block not in found:
            found.add(block)
            open_ones += [b for b in after(block) if b in allowed]
    return found


_Target = tuple[Callable[[], SSAValue], Block, Sequence[SSAValue]]


def _targets(k: Kernel, block: Block) -> list[_Target]:
    """Return where a block goes: (condition, block, values of its arguments); the last one without a condition."""
    op = block.last_op
    if isinstance(op, cf.BranchOp):
        return [(lambda: k.e.const(1, i64), op.successor, list(op.arguments))]
    if isinstance(op, cf.ConditionalBranchOp):
        cond = k.e.add(tir.LetOp(k.value(op.cond)))
        return [
            (lambda: cond, op.then_block, list(op.then_arguments)),
            (lambda: cond, op.else_block, list(op.else_arguments)),
        ]
    if op is not None and op.name == "cf.switch":
        return _switch(k, op)
    raise UnsupportedError(
        f"'{op.name if op is not None else 'no operation'}' at the end of a block",
        location=location_of(op),
        expected="cf.br, cf.cond_br or cf.switch",
    )


def _switch(k: Kernel, op: Operation) -> list[_Target]:
    flag = k.e.add(tir.LetOp(k.value(op.operands[0])))
    counts = integers(attribute(op, "case_operand_segments"))
    default = op.operands[1 : len(op.operands) - sum(counts)]
    rest = iter(op.operands[1 + len(default) :])
    targets: list[_Target] = []
    for case, target, count in zip(integers(attribute(op, "case_values")), op.successors[1:], counts, strict=True):
        values = [next(rest) for _ in range(count)]
        targets.append((lambda case=case: k.e.binary("eq", flag, k.e.const(case, flag.type)), target, values))
    return [*targets, (lambda: k.e.const(1, i64), op.successors[0], list(default))]
