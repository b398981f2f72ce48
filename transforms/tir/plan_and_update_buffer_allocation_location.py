"""`plan-and-update-buffer-allocation-location`: sink allocations to where the buffers are used.

    %B = alloc_buffer                     for %i {
    for %i {                        ->      tir.block "" () {
      … uses %B …                             %B = alloc_buffer
    }                                         … uses %B …

The new location is the innermost loop or block around all accesses. A loop gets a block around its body that holds the
buffer. Unlike TVM's pass, this one checks whether iterations communicate through the buffer: then it stays outside the
loop.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, Op, SymExpr, Var
from ...dialects.sym.operators import OPS
from ...ir.affine.values import sym_expr_of
from ...ir.buffers.regions import Accessed, accessed, infer_regions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inserter
from .walk import bind_loop, blocks_inside_out, erase_with_tree, functions, remove_dead

_CARRYING = (tir.IterKind.SCAN, tir.IterKind.OPAQUE)
_ABOVE: dict[str, tuple[str, ...]] = {
    "shared": ("threadIdx", "vthread"),
    "global": ("threadIdx", "vthread", "blockIdx"),
}
"""Memory scopes that threads share, which must stay outside loops over these threads."""


@dataclass(frozen=True)
class PlanAndUpdateBufferAllocationLocation(Pass):
    """Move `tir.alloc_buffer` to the innermost loop or block around all accesses of the buffer."""

    name = "plan-and-update-buffer-allocation-location"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            allocs = [inner for inner in operations(func) if isinstance(inner, tir.AllocBufferOp)]
            if allocs:
                Planner().run(func, allocs)


class Planner:
    """Planner for the buffers of one function; accesses of loops are cached."""

    def __init__(self) -> None:
        self._accessed: dict[tir.ForOp, tuple[Accessed, Accessed]] = {}
        self._blocks: dict[tir.ForOp, tir.BlockOp] = {}

    def run(self, func: tir.FuncOp, allocs: list[tir.AllocBufferOp]) -> None:
        """Move the allocations to where this pass wants them."""
        targets = [(alloc, self._target(alloc)) for alloc in allocs]
        self.move(func, [(alloc, target) for alloc, target in targets if target is not None])

    def move(self, func: tir.FuncOp, targets: Sequence[tuple[tir.AllocBufferOp, tir.ForOp | tir.BlockOp]]) -> None:
        """Move allocations to loops and blocks."""
        for alloc, target in targets:
            self._move(alloc, target)
        for block in blocks_inside_out(func):
            if block in self._blocks.values():
                infer_regions(block)
        remove_dead(func)

    def _target(self, alloc: tir.AllocBufferOp) -> tir.ForOp | tir.BlockOp | None:
        """Return the innermost valid location, or None if the buffer stays."""
        users = [use.operation for use in alloc.result.uses]
        users = [op for op in users if not isinstance(op, tir.RegionOp)]
        if not users or not all(isinstance(op, tir.LoadOp | tir.StoreOp | tir.MatchBufferOp) for op in users):
            return None
        target: tir.ForOp | tir.BlockOp | None = None
        for scope in common_scopes([scopes_of(op, alloc.parent_op()) for op in users]):
            if isinstance(scope, tir.WhileOp) or (isinstance(scope, tir.ForOp) and self._carries(scope, alloc.result)):
                break
            if isinstance(scope, tir.ForOp | tir.BlockOp):
                target = scope
        return target

    def _carries(self, loop: tir.ForOp, buffer: SSAValue) -> bool:
        """Return whether an iteration may read what an earlier one has written, or the loop's threads share it."""
        if loop.thread is not None and loop.thread.data.startswith(_ABOVE.get(_scope(buffer), ())):
            return True
        if loop not in self._accessed:
            self._accessed[loop] = accessed(loop.body.block)
        if buffer in self._accessed[loop][1]:
            return _hands_on(loop, buffer, self._accessed[loop])
        with _completed(loop) as copy:  # nested blocks contain all uses of the buffer
            return _hands_on(copy, buffer, accessed(copy.body.block))

    def _move(self, alloc: tir.AllocBufferOp, target: tir.ForOp | tir.BlockOp) -> None:
        block = self._block_in(target) if isinstance(target, tir.ForOp) else target
        alloc.detach()
        for use in list(alloc.result.uses):
            region = use.operation
            if isinstance(region, tir.RegionOp) and cast(Operation, region.parent_op()).is_ancestor(block):
                erase_with_tree(region)
        body = block.body.block
        last = next((op for op in reversed(list(body.ops)) if isinstance(op, tir.RegionOp)), None)
        anchor = body.first_op if last is None else last.next_op
        while isinstance(anchor, tir.AllocBufferOp):
            anchor = anchor.next_op
        if anchor is None:
            body.add_op(alloc)
        else:
            body.insert_op_before(alloc, anchor)

    def _block_in(self, loop: tir.ForOp) -> tir.BlockOp:
        """Return a block without iterators around the body of a loop."""
        if loop not in self._blocks:
            old, new = loop.body.block, Block()
            for op in list(old.ops):
                op.detach()
                new.add_op(op)
            self._blocks[loop] = tir.BlockOp("", [], Region(new))
            old.add_op(self._blocks[loop])
        return self._blocks[loop]


def _hands_on(loop: tir.ForOp, buffer: SSAValue, in_iteration: tuple[Accessed, Accessed]) -> bool:
    """Return whether an iteration may read what an earlier one has written.

    `in_iteration` are one iteration's accesses.
    """
    read, written = (each.get(buffer) for each in in_iteration)
    accesses = [op for op in operations(loop) if isinstance(op, tir.LoadOp | tir.StoreOp) and op.buffer is buffer]
    if written is None or (accesses and isinstance(accesses[0], tir.LoadOp)):
        return True
    if any(_is_conditional(op, loop) for op in accesses if isinstance(op, tir.StoreOp)):
        return True
    analyzer = _bounds_around(loop.body.block)
    extents = cast(tir.BufferType, buffer.type).dims
    for r, w, extent in zip(read or (), written, extents, strict=False):
        full = Const(0, extent.dtype), extent - 1
        if r is None or any(_is_data_of(v, loop) for v in (*r[0].free_vars(), *r[1].free_vars())):
            r = full
        if w is not None and not _covers(analyzer, w, r) and not _covers(analyzer, w, full):
            return True
    return _is_carried_by_iterators(accesses, loop)


@contextmanager
def _completed(loop: tir.ForOp) -> Generator[tir.ForOp]:
    """Temporarily replace a loop by a copy whose blocks have complete access regions."""
    copy = loop.clone()
    inserter(loop)(copy)
    for block in blocks_inside_out(copy):
        for region in (*block.reads, *block.writes):
            erase_with_tree(region)
        infer_regions(block)
    try:
        yield copy
    finally:
        erase_with_tree(copy)


def _scope(buffer: SSAValue) -> str:
    """Return the memory scope without its tag: `shared.dyn` is shared."""
    return cast(tir.BufferType, buffer.type).scope.data.partition(".")[0]


def scopes_of(op: Operation, outermost: Operation | None) -> list[Operation]:
    """Return the operations around an operation, outermost first, up to the scope of the allocation."""
    scopes: list[Operation] = []
    parent = op.parent_op()
    while parent is not None and parent is not outermost:
        scopes.append(parent)
        parent = parent.parent_op()
    return scopes[::-1]


def common_scopes(paths: list[list[Operation]]) -> list[Operation]:
    first, *others = paths
    for depth, scope in enumerate(first):
        if any(len(path) <= depth or path[depth] is not scope for path in others):
            return first[:depth]
    return first


def _depends(value: SSAValue, variable: SSAValue) -> bool:
    """Return whether a value depends on `variable`, also through block iterators."""
    seen: set[SSAValue] = set()
    todo = [value]
    while todo:
        current = todo.pop()
        if current is variable:
            return True
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, BlockArgument):
            block = current.block.parent_op()
            if isinstance(block, tir.BlockOp):
                todo.append(block.bindings[current.index])
        elif isinstance(current.owner, Operation):
            todo.extend(current.owner.operands)
    return False


def _is_conditional(store: tir.StoreOp, loop: tir.ForOp) -> bool:
    """Return whether the loop variable decides whether a store runs.

    This includes branches, predicates, and the init of a reduction over the loop, but not a predicate that only keeps
    the store in bounds.
    """
    op = store.parent_op()
    while op is not None and op is not loop:
        parent = op.parent_op()
        conditions: list[SSAValue] = []
        if isinstance(op, tir.IfOp):
            conditions = [op.cond]
        elif isinstance(op, tir.InitOp) and isinstance(parent, tir.BlockOp):
            conditions = [b for b, k in zip(parent.bindings, parent.kinds, strict=True) if k is tir.IterKind.REDUCE]
        elif isinstance(op, tir.BlockOp) and op.predicate is not None and not _keeps_inside(op, store):
            conditions = [op.predicate]
        if any(_depends(c, loop.loop_var) for c in conditions):
            return True
        op = parent
    return False


def _keeps_inside(block: tir.BlockOp, store: tir.StoreOp) -> bool:
    """Return whether the predicate of a block only states that a store's indices are less than the buffer's extents."""
    values: dict[Var, SymExpr] = {}
    op = store.parent_op()
    while op is not None and op is not block.parent_op():
        if isinstance(op, tir.BlockOp):
            for var, binding in zip(op.iter_vars, op.bindings, strict=True):
                values[Var(var, cast(IntegerType, var.type))] = sym_expr_of(binding)
        op = op.parent_op()
    inside: set[SymExpr] = set()
    for index, extent in zip(store.indices, cast(tir.BufferType, store.buffer.type).dims, strict=True):
        if isinstance(index.type, IntegerType):
            known = sym_expr_of(index)
            for _ in values:  # an iterator of a block inside may be bound to one of a block outside
                known = known.substitute(values)
            inside.add(OPS["lt"](known, extent))
    parts = [sym_expr_of(cast(SSAValue, block.predicate))]
    while parts:
        part = parts.pop()
        if isinstance(part, Op) and part.kind == "and":
            parts.extend(part.args)
        elif part not in inside:
            return False
    return True


def _is_carried_by_iterators(accesses: list[tir.LoadOp | tir.StoreOp], loop: tir.ForOp) -> bool:
    """Return whether a block that accesses the buffer has an iterator for the loop that requires sequential order."""
    blocks: set[tir.BlockOp] = set()
    for access in accesses:
        op = access.parent_op()
        while op is not None and op is not loop:
            if isinstance(op, tir.BlockOp):
                blocks.add(op)
            op = op.parent_op()
    rows = [row for block in blocks for row in zip(block.bindings, block.kinds, strict=True)]
    return any(kind in _CARRYING and _depends(binding, loop.loop_var) for binding, kind in rows)


def _is_data_of(variable: Var, loop: tir.ForOp) -> bool:
    """Return whether a variable represents a value computed in a loop."""
    owner = None if variable.value is None else variable.value.owner
    return isinstance(owner, Operation) and loop.is_ancestor(owner)


def _bounds_around(body: Block) -> Analyzer:
    """Return an analyzer with the bounds of the loop variables and iterators around a body."""
    analyzer = Analyzer()
    for op in [*scopes_of(cast(Operation, body.parent_op()), None), body.parent_op()]:
        if isinstance(op, tir.ForOp):
            bind_loop(analyzer, op)
        elif isinstance(op, tir.BlockOp):
            for var, low, extent in zip(op.iter_vars, op.mins, op.extents, strict=True):
                last = analyzer.bounds(low + extent - 1).high
                analyzer.bind(Var(var, cast(IntegerType, var.type)), analyzer.bounds(low).low, last)
    return analyzer


def _covers(analyzer: Analyzer, outer: tuple[SymExpr, SymExpr], inner: tuple[SymExpr, SymExpr]) -> bool:
    return analyzer.bounds(inner[0] - outer[0]).low >= 0 and analyzer.bounds(outer[1] - inner[1]).low >= 0
