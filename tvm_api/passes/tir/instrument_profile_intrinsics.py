"""`instrument-profile-intrinsics`: calls that mark where functions and loops begin and end, for a profiler.

for i: A; B   ->   start_profile_intrinsic(n); for i: A; B; end_profile_intrinsic(n)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ....dialects import tir
from ....handles.tir.prim_expr import const
from ....handles.tir.stmt import planted_in
from ....ir.passes.transform import Pass, PassContext
from ....ir.rewriting.copy import is_expression
from ....transforms.tir.walk import functions
from .abi_writer import device_call

_NUMBERS = [count()]
"""The numbers of functions and loops; they continue from one module to the next."""


@dataclass(frozen=True)
class InstrumentProfileIntrinsics(Pass):
    """Mark functions, and loops that have others beside them or are not deep.

    The options of the context: `tir.lwp_max_depth` (0; loops down to it, without `tir.instr_siblings`),
    `tir.lwp_min_height` (1: innermost loops are not marked), `tir.instr_siblings` (True: only loops beside loops),
    `tir.lwp_disable_func_prof` (False) and `tir.reset_start_id` (False). Loops inside of parallel ones are not marked.
    """

    name = "instrument-profile-intrinsics"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        config = PassContext.current().config or {}
        if config.get("tir.reset_start_id", False):
            _NUMBERS[0] = count()
        for func in functions(op):
            _Marks(
                int(config.get("tir.lwp_max_depth", 0)),
                int(config.get("tir.lwp_min_height", 1)),
                bool(config.get("tir.instr_siblings", True)),
            ).mark(func, not config.get("tir.lwp_disable_func_prof", False))


@dataclass
class _Loop:
    number: int
    depth: int
    inside_parallel: bool
    height: int = 0
    has_siblings: bool = False


class _Marks:
    """Numbers the loops of a function, and marks some."""

    def __init__(self, most: int, least: int, siblings: bool):
        self.most, self.least, self.siblings = most, least, siblings
        self.loops: dict[tir.ForOp, _Loop] = {}

    def mark(self, func: tir.FuncOp, whole: bool) -> None:
        number = next(_NUMBERS[0])
        self._roots(func.body.block)
        for loop, found in self.loops.items():
            if self._is_marked(found):
                block = loop.parent
                assert block is not None
                following = loop.next_op
                _insert(block, loop, "start", found.number)
                _insert(block, following, "end", found.number)
        if whole:
            block = func.body.block
            _insert(block, block.first_op, "start", number)
            _insert(block, None, "end", number)

    def _is_marked(self, loop: _Loop) -> bool:
        if loop.inside_parallel or loop.height < self.least:
            return False
        return loop.has_siblings if self.siblings else loop.depth <= self.most

    def _roots(self, block: Block) -> None:
        """Number the outermost loops of a block, and those in them."""
        for op in block.ops:
            if isinstance(op, tir.ForOp):
                loop = self.loops[op] = _Loop(next(_NUMBERS[0]), 0, False)
                loop.height = self._inside(_statements(op.body.block), 0, False)
                continue
            for region in op.regions:
                for inner in region.blocks:
                    self._roots(inner)

    def _loop(self, op: tir.ForOp, depth: int, parallel: bool) -> _Loop:
        loop = self.loops[op] = _Loop(next(_NUMBERS[0]), depth + 1, parallel)
        within = parallel or op.kind is tir.ForKind.PARALLEL
        loop.height = self._inside(_statements(op.body.block), depth + 1, within)
        return loop

    def _inside(self, statements: Sequence[Operation], depth: int, parallel: bool) -> int:
        """Number the loops of statements, and return how many are inside of each other."""
        first = statements[0] if statements else None
        if isinstance(first, tir.LetOp | tir.AllocateOp):
            return self._inside(statements[1:], depth, parallel)
        if len(statements) > 1 and not isinstance(first, tir.DeclBufferOp | tir.AllocBufferOp):
            loops = [self._loop(op, depth, parallel) for op in _before_scope(statements) if isinstance(op, tir.ForOp)]
            for loop in loops:
                loop.has_siblings = len(loops) > 1
            return max((loop.height for loop in loops), default=-1) + 1
        if isinstance(first, tir.ForOp):
            return self._loop(first, depth, parallel).height + 1
        if isinstance(first, tir.IfOp | tir.AttrOp | tir.LaunchThreadOp):
            blocks = [block for region in first.regions for block in region.blocks]
            return max((self._inside(_statements(b), depth, parallel) for b in blocks), default=0)
        return 0


def _statements(block: Block) -> list[Operation]:
    return [op for op in block.ops if not is_expression(op)]


def _before_scope(statements: Sequence[Operation]) -> list[Operation]:
    """Return the statements before the first one that has the rest as its body."""
    scopes = (tir.LetOp, tir.AllocateOp, tir.DeclBufferOp, tir.AllocBufferOp)
    end = next((i for i, op in enumerate(statements) if isinstance(op, scopes)), len(statements))
    return list(statements[:end])


def _insert(block: Block, before: Operation | None, which: str, number: int) -> None:
    inside = Block()
    call = device_call(f"{which}_profile_intrinsic", [const(number, "int32")], tir.HANDLE)
    inside.add_op(tir.EvaluateOp(planted_in(call, inside)))
    for op in list(inside.ops):
        op.detach()
        if before is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, before)


__all__ = ["InstrumentProfileIntrinsics"]
