"""Asynchronous stages of a software pipeline: which copies are committed together, and how many may be in flight.

A stage that copies asynchronously puts its copies into a queue; a stage that reads what they write waits until at
most some of the queue's groups are under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....handles.tir import prim_expr as tx
from ....handles.tir.block_views import BLOCK_HEAD
from ....handles.tir.prim_expr import PrimExpr
from ....handles.tir.stmt import planted_in
from ....ir.locations import location_of
from ....schedule.rewrite import set_predicate
from ...handles.arith.analyzer import Analyzer
from .inferred_regions import infer_simplified


@dataclass
class AsyncStage:
    """What an asynchronous stage has written so far: buffers, and the index of the last group (None if unknown)."""

    written: set[SSAValue] = field(default_factory=set[SSAValue])
    head: PrimExpr | None = field(default_factory=lambda: tx.const(-1, "int32"))


@dataclass
class Placed:
    """A statement of a phase, for the iteration `index`; it runs if the condition `runs` holds."""

    stage: int
    runs: PrimExpr
    block: tir.BlockOp
    index: PrimExpr
    is_async: bool


@dataclass
class _Queue:
    """The copies of an asynchronous stage in a phase."""

    groups: list[list[int]] = field(default_factory=list[list[int]])
    seen: set[SSAValue] = field(default_factory=set[SSAValue])
    head: PrimExpr | None = None
    runs: PrimExpr | None = None
    consumed: bool = False
    wait: tuple[int, PrimExpr] | None = None
    """The statement that waits, and how many groups may be in flight then."""


class Waits:
    """The statements of one phase, with the queues of its asynchronous stages.

    `known` is what holds in the phase, `normal` what holds with iterations counted from that of the loop.
    """

    def __init__(self, stages: dict[int, AsyncStage], known: Analyzer, normal: Analyzer):
        self.stages, self.known, self.normal = stages, known, normal
        self.placed: list[Placed] = []
        self.queues: dict[int, _Queue] = {}
        self.group: dict[SSAValue, int] = {}

    def _queue(self, stage: int) -> _Queue:
        return self.queues.setdefault(stage, _Queue())

    def add(self, placed: Placed) -> None:
        """Add a statement in its order."""
        if placed.is_async:
            self._enqueue(placed)
        self.placed.append(placed)
        for stage in self._sources(placed):
            self._queue(stage).consumed = True

    def _sources(self, placed: Placed) -> list[int]:
        """Return the asynchronous stages that write what a statement reads."""
        read = [r.buffer for r in placed.block.reads]
        return [n for n, s in sorted(self.stages.items()) if n <= placed.stage and not s.written.isdisjoint(read)]

    def _enqueue(self, placed: Placed) -> None:
        queue = self._queue(placed.stage)
        if not queue.groups or queue.consumed:
            queue.groups.append([])
        queue.groups[-1].append(len(self.placed))
        stage = self.stages.setdefault(placed.stage, AsyncStage())
        for write in placed.block.writes:
            stage.written.add(write.buffer)
            self.group[write.buffer] = len(queue.groups) - 1
        queue.head = placed.index
        if queue.runs is None or self.normal.can_prove(queue.runs):
            queue.runs = placed.runs
        else:
            queue.runs = self.normal.simplify(tx.logical_and(queue.runs, placed.runs))
        _wrap(placed.block, "async_scope", tx.const(1, "int32"))

    def statements(self, to: Block) -> list[Operation]:
        """Insert waits and commits, and return the statements of the phase, which are in the block `to`."""
        for number, placed in enumerate(self.placed):
            self._wait(number, placed)
        queue_of = self._committed()
        for stage, queue in sorted(self.queues.items()):
            if queue.wait is not None:
                self._insert_wait(stage, queue)
        statements: list[Operation] = []
        number = 0
        while number < len(self.placed):
            stage = queue_of.get(number)
            together = [number]
            while stage is not None and queue_of.get(together[-1] + 1) == stage:
                together.append(together[-1] + 1)
            blocks = [self.placed[k].block for k in together]
            statements.append(blocks[0] if stage is None else _commit(stage, blocks, to))
            runs = self.placed[number].runs
            if runs.constant not in (True, 1):
                _restrict(statements[-1], runs)
            number = together[-1] + 1
        return statements

    def _committed(self) -> dict[int, int]:
        """Return the stage by the number of a statement that is committed to its queue."""
        out: dict[int, int] = {}
        for stage, queue in sorted(self.queues.items()):
            for group in queue.groups:
                out |= {group[0] + k: stage for k in range(len(group))}
        return out

    def _wait(self, number: int, placed: Placed) -> None:
        if placed.is_async:
            self._queue(placed.stage).seen |= {w.buffer for w in placed.block.writes}
        sources = self._sources(placed)
        if len(sources) > 1:
            raise UnsupportedError(
                "A dependency on multiple async stages is not supported", location=location_of(placed.block)
            )
        for stage in sources:
            queue = self._queue(stage)
            count = self._in_flight(stage, queue, placed)
            if queue.wait is None:
                queue.wait = (number, count)
            elif self.known.can_prove(count < queue.wait[1]):
                queue.wait = (queue.wait[0], count)

    def _in_flight(self, stage: int, queue: _Queue, placed: Placed) -> PrimExpr:
        """Return how many groups may be in flight when a statement reads."""
        total: PrimExpr = tx.const(0, "int32")
        for head in self._heads(stage, queue, placed):
            if head is None or not self.normal.can_prove(head >= 0):
                return tx.const(0, "int32")
            total = total + self.known.simplify(head - placed.index)
        return total

    def _heads(self, stage: int, queue: _Queue, placed: Placed) -> list[PrimExpr | None]:
        """Return the index of the last copy of each group that a statement reads."""
        if not queue.groups or queue.head is None:
            return [self.stages[stage].head]
        heads: dict[int, PrimExpr | None] = {}
        for read in placed.block.reads:
            if read.buffer in self.stages[stage].written:
                late = read.buffer not in queue.seen
                heads.setdefault(self.group[read.buffer], queue.head - 1 if late else queue.head)
        return list(heads.values())

    def _insert_wait(self, stage: int, queue: _Queue) -> None:
        assert queue.wait is not None
        number, count = queue.wait
        if queue.runs is not None and not self.normal.can_prove(queue.runs):
            count = tx.if_then_else(queue.runs, count, 0)
        block = self.placed[number].block
        _wrap(block, "async_wait_inflight_count", count)
        _wrap(block, "async_wait_queue_scope", tx.const(stage, "int32"))

    def advance(self, extent: PrimExpr) -> None:
        """Note how far the copies of each stage are after the phase."""
        for number, queue in self.queues.items():
            stage = self.stages.setdefault(number, AsyncStage())
            exact = queue.runs is not None and self.normal.can_prove(queue.runs) and stage.head is not None
            stage.head = stage.head + extent if exact and stage.head is not None else None


def _wrap(block: tir.BlockOp, key: str, value: PrimExpr) -> None:
    """Put the body of a block into a statement with an attribute."""
    body, inside = block.body.block, Block()
    regions = {v.owner for op in body.ops if isinstance(op, tir.RegionOp) for v in op.starts}
    for op in list(body.ops):
        if not isinstance(op, BLOCK_HEAD) and not _defines(op, regions):
            op.detach()
            inside.add_op(op)
    number = planted_in(value, body)
    body.add_op(tir.AttrOp(key, number, Region(inside)))


def _defines(op: Operation, owners: set[Operation | Block]) -> bool:
    """Return whether an operation is part of the expressions that define regions."""
    return op in owners or any(_defines(use.operation, owners) for r in op.results for use in r.uses) and not op.regions


def _commit(stage: int, blocks: Sequence[tir.BlockOp], to: Block) -> tir.BlockOp:
    """Return a block in place of others that puts what these copy into the queue of a stage."""
    inside = Block()
    for block in blocks:
        for op in list(block.body.block.ops):
            op.detach()
            if isinstance(op, tir.RegionOp):
                op.erase(safe_erase=False)
            else:
                inside.add_op(op)
    around = Block([number := tir.ConstOp(stage, i32)])
    around.add_op(tir.AttrOp("async_commit_queue_scope", number.result, Region(inside)))
    new = tir.BlockOp("", [], Region(around))
    to.insert_op_before(new, blocks[-1])
    for block in blocks:
        block.detach()
        block.erase(safe_erase=False)
    infer_simplified(new)
    return new


def _restrict(block: Operation, condition: PrimExpr) -> None:
    """Let a block run only if a condition holds."""
    assert isinstance(block, tir.BlockOp) and isinstance(block.parent, Block)
    before = Block()
    value = planted_in(condition, before)
    for op in list(before.ops):
        op.detach()
        block.parent.insert_op_before(op, block)
    set_predicate(block, value)
