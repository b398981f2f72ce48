"""Inits of empty reductions: which points are initialized if there is nothing to reduce, and where.

for k_0, i, k_1: C[i] += A[i, k_0 * 4 + k_1] where it is < m  ->  before the loop k_0: if m <= 0: for i: C[i] = 0

The reduction loops then have no iterations, or none in which the predicate of the block holds, so the block's init
does not run inside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.sym.expr import SymExpr
from ..rewriting.copy import is_expression
from .values import conjuncts


@dataclass(frozen=True)
class InitNest:
    """The init of a block, hoisted before `path[0]`, for an empty reduction.

    Of the loops of `path`, which lead to the block, the `kept` ones surround the hoisted init. A spatial iterator that
    is bound to reduction loops, too, is `free`: it takes all values of its domain. `conditions` are the parts of the
    predicate that are still checked. `bounded` is set if another part may restrict the points, so that iterators may
    leave their domains, where nothing is initialized.
    """

    block: tir.BlockOp
    init: tir.InitOp
    path: tuple[tir.ForOp, ...]
    kept: frozenset[tir.ForOp]
    free: tuple[int, ...]
    conditions: tuple[SSAValue, ...]
    bounded: bool

    @property
    def bound_iterators(self) -> list[int]:
        """The positions of the spatial iterators that are not free."""
        return [i for i, kind in enumerate(self.block.kinds) if kind is not tir.IterKind.REDUCE and i not in self.free]

    @property
    def counts(self) -> list[SymExpr | SSAValue]:
        """The reduction is empty if one of these extents is not positive; positive constants are left out."""
        block, bound = self.block, self.path[0].extent
        extents = [e for e, kind in zip(block.extents, block.kinds, strict=True) if kind is tir.IterKind.REDUCE]
        counts: list[SymExpr | SSAValue] = [e for e in dict.fromkeys(extents) if (e.constant or 0) <= 0]
        return [*counts, bound] if isinstance(bound, SSAValue) and not self.free else counts

    @property
    def needed(self) -> list[SSAValue]:
        """The values that the init is computed from."""
        block = self.block
        used = (v for op in self.init.body.walk() for v in op.operands)
        return [
            *(block.bindings[i] for i in self.bound_iterators),
            *self.conditions,
            *(bound for loop in self.path if loop in self.kept for bound in loop.operands),
            *(v for v in used if not _is_inside(v, self.init)),
        ]


def init_nests(root: Operation) -> Iterator[InitNest]:
    """Yield the nests of the reductions below `root` that may be empty, inner blocks first."""
    for op in reversed(operations(root)):
        if isinstance(op, tir.BlockOp) and (init := op.init) is not None:
            nest = _nest(op, init)
            if nest is not None and nest.counts and _is_self_contained(nest):
                yield nest


def _nest(block: tir.BlockOp, init: tir.InitOp) -> InitNest | None:
    """Return the nest of a block's init; None if no loop directly around the block is a reduction loop."""
    around = _loops_around(block)
    used_by = [sources([binding]) for binding in block.bindings]
    points = [i for i, kind in enumerate(block.kinds) if kind is not tir.IterKind.REDUCE]

    def driving(iterators: Iterable[int]) -> set[tir.ForOp]:
        return {loop for i in iterators for loop in around if loop.loop_var in used_by[i]}

    reducing = driving(i for i in range(len(used_by)) if i not in points)
    free = [i for i in points if driving([i]) & reducing]
    dropped = reducing | driving(free)
    if not dropped:
        return None
    path = around[min(map(around.index, dropped)) :]
    variables = {loop.loop_var for loop in dropped}
    parts = [] if block.predicate is None else conjuncts(block.predicate)
    checks = [c for c in parts if variables.isdisjoint(sources([c]))]
    others = sources(c for c in parts if c not in checks)
    bounded = any(loop.loop_var in others for loop in around if loop not in dropped)
    return InitNest(block, init, tuple(path), frozenset(path) - dropped, tuple(free), tuple(checks), bounded)


def _loops_around(block: tir.BlockOp) -> list[tir.ForOp]:
    """Return the perfectly nested loops around a block, outermost first."""
    loops = list[tir.ForOp]()
    parent = block.parent_op()
    while isinstance(parent, tir.ForOp):
        loops.append(parent)
        parent = parent.parent_op()
    return loops[::-1]


def sources(values: Iterable[SSAValue]) -> set[SSAValue]:
    """Return the values that these are computed from, including themselves."""
    known, todo = set[SSAValue](), list(values)
    while todo:
        value = todo.pop()
        if value not in known:
            known.add(value)
            ops = value.op.walk() if isinstance(value, OpResult) else ()
            todo.extend(v for op in ops for v in op.operands)
    return known


def _is_self_contained(nest: InitNest) -> bool:
    """Return whether the init needs no values defined inside the first loop."""
    own = {*nest.block.iter_vars, *(loop.loop_var for loop in nest.kept)}
    return all(v in own or _is_copied(v) or not _is_inside(v, nest.path[0]) for v in sources(nest.needed))


def _is_copied(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and is_expression(value.op)


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Return whether a value is defined in the regions of `op`."""
    parent = value.owner.parent_op()
    return parent is not None and op.is_ancestor(parent)
