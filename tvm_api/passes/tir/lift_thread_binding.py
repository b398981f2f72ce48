"""`lift-thread-binding`: one loop for the threads of each tag, around all the loops that they ran.

for i: {for t in thread 8 "threadIdx.x": S; for u in thread 8 "threadIdx.x": T}
  ->  for i: for threadIdx_x in thread 8: {S; T}
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.names import set_name
from ....dialects.tir import ForKind
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import Copier
from ....transforms.tir.walk import functions
from .rebuilt import rebuild


@dataclass(frozen=True)
class LiftThreadBinding(Pass):
    """Move the loops over threads of each tag out to the innermost loop around all of them, as one loop.

    Annotations of all the loops are on the new one.
    """

    name = "lift-thread-binding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            rebuild(func, _Lifter())


@dataclass
class _Thread:
    """The threads of one tag: the loop that was seen first, the loops around all of them, all annotations."""

    loop: tir.ForOp
    path: list[tir.ForOp]
    notes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


class _Lifter(Copier):
    def __init__(self) -> None:
        self.lifted: dict[tir.ForOp, list[_Thread]] | None = None
        self.indices: dict[str, SSAValue] = {}

    def statement(self, op: Operation, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        if not isinstance(op, tir.ForOp) or (self.lifted is None and op.thread is None):
            super().statement(op, block, mapping)
            return
        starts = self.lifted is None
        if self.lifted is None:
            self.lifted = _lifted(op)
        opened = self.lifted.get(op, [])
        bodies: list[tuple[_Thread, Block]] = []
        for thread in opened:
            inside = Block(arg_types=[thread.loop.loop_var.type])
            tag = _tag(thread.loop)
            set_name(inside.args[0], tag.replace(".", "_"))
            self.indices[tag] = inside.args[0]
            bodies.append((thread, inside))
        if op.thread is None:
            self._around(op, bodies, block, mapping)
        else:
            self._inside(op, bodies, block, {**mapping, op.loop_var: self.indices[_tag(op)]})
        if starts:
            self.lifted, self.indices = None, {}

    def _around(
        self, op: tir.ForOp, bodies: list[tuple[_Thread, Block]], block: Block, mapping: dict[SSAValue, SSAValue]
    ) -> None:
        """Copy a loop, with loops over threads around its body."""
        operands = [self.value(v, block, mapping) for v in op.operands]
        body, inner = self._open(op.body, mapping)
        self._inside(op, bodies, body, inner)
        copy = tir.ForOp.create(operands=operands, properties=op.properties, regions=[Region(body)])
        block.add_op(copy)

    def _inside(
        self, op: tir.ForOp, bodies: list[tuple[_Thread, Block]], block: Block, mapping: dict[SSAValue, SSAValue]
    ) -> None:
        """Copy the body of a loop into loops over threads, the first of which is the innermost."""
        inside = Block()
        self.statements(op.body.block.ops, inside, mapping)
        for thread, body in bodies:
            _move(inside, body)
            inside = Block()
            old = thread.loop
            low, extent = (
                self.value(b, inside, mapping) if isinstance(b, SSAValue) else b for b in (old.min, old.extent)
            )
            notes = DictionaryAttr(thread.notes) if thread.notes else None
            loop = tir.ForOp(low, extent, Region(body), ForKind.THREAD_BINDING, thread=_tag(old), annotations=notes)
            inside.add_op(loop)
        _move(inside, block)


def _move(source: Block, target: Block) -> None:
    for op in list(source.ops):
        op.detach()
        target.add_op(op)


def _tag(loop: tir.ForOp) -> str:
    assert loop.thread is not None
    return loop.thread.data


def _lifted(kernel: tir.ForOp) -> dict[tir.ForOp, list[_Thread]]:
    """Return the threads that are to be launched inside of each loop, inner ones first."""
    threads: dict[str, _Thread] = {}
    _collect(kernel, [], threads)
    lifted: dict[tir.ForOp, list[_Thread]] = {}
    for tag in sorted(threads, key=len, reverse=True):
        lifted.setdefault(threads[tag].path[-1], []).append(threads[tag])
    return lifted


def _collect(op: Operation, around: list[tir.ForOp], threads: dict[str, _Thread]) -> None:
    path = [*around, op] if isinstance(op, tir.ForOp) else around
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                _collect(inner, path, threads)
    if not isinstance(op, tir.ForOp) or op.thread is None:
        return
    thread = threads.setdefault(_tag(op), _Thread(op, path))
    thread.notes |= {} if op.annotations is None else dict(op.annotations.data)
    shared = [a for a, b in zip(thread.path, path, strict=False) if a is b]
    thread.path = shared
