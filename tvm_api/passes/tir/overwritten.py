"""Removal of stores that are overwritten before they are read (dead stores)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....dialects.quick import operations
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Const, Var
from ....dialects.sym.operators import OPS
from ....handles.tir.domains import Range
from ....handles.tir.prim_expr import PrimExpr, const, from_sym, logical_and
from ....transforms.tir.walk import bound_expr, erase_with_tree, is_pure
from ...handles.arith import analyzer as arith
from ...handles.arith.ranges import to_sym, variable

Box = list[arith.IntervalSet]
_MOST_PLACES = 4096


@dataclass
class Sweep:
    """Nested loops around a single store, where a condition may skip iterations."""

    store: tir.StoreOp
    domain: dict[PrimExpr, Range]
    condition: PrimExpr

    @property
    def indices(self) -> list[Range]:
        """The indices stored to in one iteration."""
        return [Range.from_min_extent(PrimExpr(i), const(1, i.type)) for i in self.store.indices]

    def at_most(self) -> Box:
        """Return a box that contains all stored elements."""
        return arith.estimate_region_upper_bound(self.indices, self.domain, self.condition)

    def exactly(self) -> Box | None:
        """Return the stored elements if they are a box, or None; a loop that they do not depend on must run."""
        named = {v for i in self.store.indices for v in bound_expr(i).free_vars()}
        others = [r for v, r in self.domain.items() if to_sym(v) not in named]
        if not all(Analyzer().can_prove(OPS["ge"](to_sym(r.extent), Const(1))) for r in others):
            return None
        return arith.estimate_region_strict_bound(self.indices, self.domain, self.condition)

    def places(self) -> set[tuple[int, ...]] | None:
        """Return the stored elements one by one, or None if they are many or depend on other variables."""
        ranges: dict[Var, range] = {}
        for v, r in self.domain.items():
            first, extent = to_sym(r.min).constant, to_sym(r.extent).constant
            if first is None or extent is None:
                return None
            ranges[variable(v)] = range(first, first + extent)
        if prod(map(len, ranges.values())) > _MOST_PLACES:
            return None
        condition, indices = to_sym(self.condition), [bound_expr(i) for i in self.store.indices]
        found: set[tuple[int, ...]] = set()
        for point in product(*ranges.values()):
            values = {v: Const(n, v.dtype) for v, n in zip(ranges, point, strict=True)}
            holds = condition.substitute(values).constant
            place = [n for i in indices if (n := i.substitute(values).constant) is not None]
            if holds is None or len(place) < len(indices):
                return None
            if holds:
                found.add(tuple(place))
        return found

    def covers(self, earlier: Sweep) -> bool:
        """Return whether this later store covers all elements of the earlier one."""
        if self.store.buffer is not earlier.store.buffer:
            return False
        outer, inner, known = self.exactly(), earlier.at_most(), Analyzer()
        if outer is None:
            mine, others = self.places(), earlier.places()
            return mine is not None and others is not None and others <= mine
        for a, b in zip(outer, inner, strict=True):
            ends = a.interval.low, b.interval.low, b.interval.high, a.interval.high
            if any(e is None for e in ends):
                return False
            first, low, high, last = ends
            if not known.can_prove(OPS["le"](first, low)) or not known.can_prove(OPS["le"](high, last)):
                return False
        return True


def remove_overwritten(root: Operation) -> None:
    """Remove stores below `root`, with the loops around them, that a later statement of their block overwrites
    completely.

    No statement in between may read the buffer or return, and the buffer's address must not be taken.
    """
    for block in [b for op in operations(root) for region in op.regions for b in region.blocks]:
        sweeps = [(op, covered) for op in block.ops if (covered := sweep_of(op)) is not None]
        for number, (op, sweep) in enumerate(sweeps):
            if any(later.covers(sweep) and is_unread(op, last, sweep) for last, later in sweeps[number + 1 :]):
                _remove(op, sweep.store)


def sweep_of(op: Operation) -> Sweep | None:
    domain: dict[PrimExpr, Range] = {}
    condition = const(True, "bool")
    while not isinstance(op, tir.StoreOp):
        if isinstance(op, tir.ForOp):
            least, extent = bound_expr(op.min), bound_expr(op.extent)
            domain[PrimExpr(op.loop_var)] = Range.from_min_extent(from_sym(least), from_sym(extent))
            inside = _only_statement(op.body.block)
        elif isinstance(op, tir.IfOp) and not list(_statements(op.else_region.blocks)):
            condition = logical_and(condition, arith.Analyzer().rewrite_simplify(PrimExpr(op.cond)))
            inside = _only_statement(op.then_region.block)
        else:
            return None
        if inside is None:
            return None
        op = inside
    scalars = op.indices and all(isinstance(i.type, IntegerType) for i in op.indices)
    return Sweep(op, domain, condition) if scalars else None


def _only_statement(block: Block) -> Operation | None:
    statements = list(_statements([block]))
    return statements[0] if len(statements) == 1 else None


def _statements(blocks: Iterable[Block]) -> Iterator[Operation]:
    return (op for block in blocks for op in block.ops if not is_pure(op))


def is_unread(first: Operation, last: Operation, sweep: Sweep) -> bool:
    """Return whether no statement between two others reads the buffer, whose address is not taken."""
    buffer: SSAValue = sweep.store.buffer
    if any(not isinstance(use.operation, tir.LoadOp | tir.StoreOp) for use in buffer.uses):
        return False
    op: Operation | None = first
    while op is not None:
        if any(_reads(inner, buffer) or isinstance(inner, tir.ReturnOp | tir.AssertOp) for inner in op.walk()):
            return False
        if op is last:
            return True
        op = op.next_op
    return False


def _reads(op: Operation, buffer: SSAValue) -> bool:
    return isinstance(op, tir.LoadOp) and op.buffer is buffer


def _remove(op: Operation, store: tir.StoreOp) -> None:
    """Remove a store, but keep other effects of its value."""
    if is_pure(store.value.owner):
        erase_with_tree(op)
        return
    block = store.parent
    assert block is not None
    block.insert_op_before(tir.EvaluateOp(store.value), store)
    erase_with_tree(store)
