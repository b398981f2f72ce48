"""Analysis of loop nests whose iterations can run at once: the static part of the proof that they are independent.

A nest consists of loops around straight-line code: expressions, stores, blocks, branches. The loops that the indices
of its stores depend on are its lanes; iterations that differ in a lane write different elements if the indices are
injective, which is decided when the extents are known. The other loops are steps: they run in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..dialects import tir
from ..dialects.sym import ValueOp
from ..ir.affine.values import sym_expr_of
from .scalars import INTRINSICS

_EXPRESSIONS: frozenset[type[Operation]] = frozenset(
    {
        *tir.BINARY.values(),
        ValueOp,
        tir.ConstOp,
        tir.NotOp,
        tir.CastOp,
        tir.ReinterpretOp,
        tir.SelectOp,
        tir.IfThenElseOp,
        tir.YieldOp,
        tir.LoadOp,
        tir.CallIntrinOp,
        tir.LetOp,
    }
)
_STATEMENTS: frozenset[type[Operation]] = frozenset(
    {tir.StoreOp, tir.BlockOp, tir.InitOp, tir.IfOp, tir.ReadsOp, tir.WritesOp, tir.EvaluateOp}
)


@dataclass(frozen=True)
class Meeting:
    """A buffer that the nest accesses besides the buffer `target`, which it writes.

    The two must not share memory; if all accesses are `aligned`, at the target's own indices, they may be the same.
    """

    buffer: SSAValue
    target: SSAValue
    aligned: bool


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first; `prologue` are the expressions between them, `body` the operations of the innermost one.

    `lanes` are the positions of the loops that run at once, `targets` a store to each written buffer, and
    `outside` the values from other regions that the nest uses.
    """

    loops: tuple[tir.ForOp, ...]
    lanes: tuple[int, ...]
    prologue: tuple[Operation, ...]
    body: Block
    targets: tuple[tir.StoreOp, ...]
    meetings: tuple[Meeting, ...]
    outside: tuple[SSAValue, ...]


def plan_nest(root: tir.ForOp) -> Nest | None:
    """Return the nest that starts at `root`, or None if running its lanes at once could be observed."""
    chain = _loops_of(root)
    if chain is None:
        return None
    loops, prologue = chain
    body = loops[-1].body.block
    ops = [op for op in body.walk() if not isinstance(op, tir.YieldOp)]
    if not all(map(_is_straight, ops)):
        return None
    targets = _targets(ops)
    if targets is None:
        return None
    lanes = _Dependence(loops).of_targets(targets.values())
    meetings = _meetings(prologue, ops, targets)
    outside = _outside(root, [*prologue, *ops], loops)
    if not lanes or meetings is None or outside is None:
        return None
    return Nest(tuple(loops), lanes, tuple(prologue), body, tuple(targets.values()), meetings, outside)


def _loops_of(root: tir.ForOp) -> tuple[list[tir.ForOp], list[Operation]] | None:
    """Return the loops of a perfect nest, and the expressions between them."""
    loops, prologue = [root], list[Operation]()
    while isinstance(inner := loops[-1].body.block.last_op, tir.ForOp):
        before = list(loops[-1].body.block.ops)[:-1]
        nested = [inside for op in before for inside in op.walk()]
        if not all(type(op) in _EXPRESSIONS and _is_straight(op) for op in nested):
            return None
        prologue += before
        loops.append(inner)
    return loops, prologue


def _is_straight(op: Operation) -> bool:
    """Return whether an op works on all lanes as on one, unlike TIR's vectors and calls with side effects."""
    if isinstance(op, tir.CallIntrinOp) and op.func.data not in INTRINSICS:
        return False
    if type(op) not in _EXPRESSIONS and type(op) not in _STATEMENTS:
        return False
    return not any(isinstance(v.type, VectorType) for v in (*op.operands, *op.results))


def _targets(ops: Sequence[Operation]) -> dict[SSAValue, tir.StoreOp] | None:
    """Return one store for each written buffer, or None if a buffer is written at two places."""
    targets: dict[SSAValue, tir.StoreOp] = {}
    for op in ops:
        if isinstance(op, tir.StoreOp) and not _same_place(targets.setdefault(op.buffer, op), op):
            return None
    return targets


def _same_place(a: tir.StoreOp, b: tir.StoreOp | tir.LoadOp) -> bool:
    return [sym_expr_of(i) for i in a.indices] == [sym_expr_of(i) for i in b.indices]


def _meetings(
    prologue: Sequence[Operation], ops: Sequence[Operation], targets: dict[SSAValue, tir.StoreOp]
) -> tuple[Meeting, ...] | None:
    """Return the pairs of buffers that must be disjoint; None if a target is read at other indices than it is written.

    Buffers that the prologue reads must not change while inner loops run, so they are never aligned.
    """
    early = [inside for op in prologue for inside in op.walk()]
    aligned: dict[tuple[SSAValue, SSAValue], bool] = {}
    for loads, may_align in ((early, False), (ops, True)):
        for load in loads:
            if isinstance(load, tir.LoadOp):
                for buffer, store in targets.items():
                    key = (load.buffer, buffer)
                    aligned[key] = aligned.get(key, True) and may_align and _same_place(store, load)
    aligned.update(((a, b), False) for a in targets for b in targets if a is not b)
    if any(a is b and not ok for (a, b), ok in aligned.items()):
        return None
    return tuple(Meeting(a, b, ok) for (a, b), ok in aligned.items() if a is not b)


def _outside(root: tir.ForOp, ops: Iterable[Operation], loops: Iterable[tir.ForOp]) -> tuple[SSAValue, ...] | None:
    """Return the values used from outside the nest; None if a loop's bound is computed inside it."""
    used = dict.fromkeys(v for op in ops for inside in op.walk() for v in inside.operands)
    outside = tuple(v for v in used if not _is_inside(root, v))
    bounds = (v for loop in loops for v in loop.operands)
    return None if any(_is_inside(root, v) for v in bounds) else outside


def _is_inside(root: tir.ForOp, value: SSAValue) -> bool:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None:
        parent = block.parent_op()
        if parent is root:
            return True
        block = None if parent is None else parent.parent
    return False


class _Dependence:
    """The loops of a nest, by position, that a value depends on."""

    def __init__(self, loops: Sequence[tir.ForOp]):
        self._known: dict[SSAValue, frozenset[int]] = {loop.loop_var: frozenset((i,)) for i, loop in enumerate(loops)}

    def of_targets(self, stores: Iterable[tir.StoreOp]) -> tuple[int, ...]:
        """Return the loops that the indices of all stores depend on; empty if two stores depend on different loops."""
        dependences = {self._of(store.indices) for store in stores}
        return tuple(sorted(dependences.pop())) if len(dependences) == 1 else ()

    def _of(self, values: Iterable[SSAValue]) -> frozenset[int]:
        return frozenset[int]().union(*map(self._of_value, values))

    def _of_value(self, value: SSAValue) -> frozenset[int]:
        loops = self._known.get(value)
        if loops is None:
            loops = self._known[value] = self._of(_sources(value))
        return loops


def _sources(value: SSAValue) -> list[SSAValue]:
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        return [parent.bindings[value.index]] if isinstance(parent, tir.BlockOp) else []
    if isinstance(value.owner, Block):
        return []
    return [v for op in value.owner.walk() for v in op.operands]
