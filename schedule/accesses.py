"""Accesses of buffer elements: loads and stores, and their adaptation to a new buffer type or layout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NoReturn, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import tir
from ..dialects.names import name_of
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import Const, Sum, SymExpr, Var
from ..dialects.tir import BufferType
from ..ir.affine.iter_map import iter_map_simplify
from ..ir.affine.values import Materializer, sym_expr_of
from ..ir.buffers.regions import Ends, relaxed
from ..transforms.tir.walk import remove_dead
from . import checks
from . import state as st
from .rewrite import before, refresh_regions
from .state import fail

Access = tir.LoadOp | tir.StoreOp
Move = Callable[[Access, list[SymExpr]], Sequence[SymExpr]]
"""(access, its indices) -> its new indices."""


def ranges_inside(op: Operation) -> Analyzer:
    """Return an analyzer that knows the ranges of the loop variables and iterators around the statements in `op`."""
    return checks.analyzer_with(_around(op))


def _around(op: Operation | None) -> dict[Var, tuple[SymExpr, SymExpr]]:
    """Return the loop variables and iterators of `op` and its ancestors with their ranges, outermost first."""
    out: dict[Var, tuple[SymExpr, SymExpr]] = {}
    for around in reversed([] if op is None else [op, *st.ancestors(op)]):
        if isinstance(around, tir.ForOp):
            out[st.loop_expr(around)] = (st.min_of(around), st.extent_of(around))
        elif isinstance(around, tir.BlockOp):
            out.update(checks.iter_ranges(around))
    return out


def simplified(indices: Sequence[SymExpr], op: Operation) -> list[SymExpr]:
    """Return indices in `op`, simplified with the ranges of the enclosing loops.

    In sums, iterators with a single value are dropped and digits of one iterator are joined.
    """
    ranges = _around(op)
    known = checks.analyzer_with(ranges)
    units = {v: least for v, (least, extent) in ranges.items() if extent.constant == 1}
    out: list[SymExpr] = []
    for e in indices:
        if not isinstance(e, Var | Const):
            e = known.simplify(e.substitute(units))
            counted = {v: r for v, r in ranges.items() if v not in units}
            e = iter_map_simplify([e], counted)[0] if isinstance(e, Sum) else e
        out.append(e)
    return out


def uses_of(buffer: SSAValue) -> tuple[list[Access], list[Operation]]:
    """Return the loads and stores of elements of a buffer, and its other users except block regions."""
    users = [use.operation for use in buffer.uses]
    others = [op for op in users if not isinstance(op, Access | tir.RegionOp)]
    return [op for op in users if isinstance(op, Access)], others


def loads_of(buffer: SSAValue) -> list[tir.LoadOp]:
    """Return every load of an element of a buffer."""
    return [op for op in uses_of(buffer)[0] if isinstance(op, tir.LoadOp)]


def stored_iters(store: tir.StoreOp, iters: Collection[Var]) -> list[Var | None] | None:
    """Return the iterator that indexes each dimension of a store, each iterator once (None for index 0).

    Returns None if there is any other index.
    """
    left = set(iters)
    result: list[Var | None] = []
    for index in map(sym_expr_of, store.indices):
        if isinstance(index, Var) and index in left:
            left.remove(index)
            result.append(index)
        elif index.constant == 0:
            result.append(None)
        else:
            return None
    return result


def is_intermediate(buffer: SSAValue) -> bool:
    """Return whether a buffer is allocated by the function and used only by loads and stores of elements."""
    return isinstance(buffer.owner, tir.AllocBufferOp) and not uses_of(buffer)[1]


def accesses_of(buffer: SSAValue) -> list[Access]:
    """Return every load and store of an element of a buffer.

    Raises `ScheduleError` if there are other uses or vector accesses.
    """
    accesses, others = uses_of(buffer)
    if others:
        fail("the buffer is used by more than accesses of elements", *_statement_of(others[0]))
    for op in accesses:
        if not all(isinstance(i.type, IntegerType) for i in op.indices):
            fail("the buffer is accessed by vectors", *_statement_of(op))
    return accesses


def windows_of(buffer: SSAValue) -> list[SSAValue]:
    """Return the windows that blocks match on a buffer, and the windows of these."""
    windows = [use.operation.result for use in buffer.uses if isinstance(use.operation, tir.MatchBufferOp)]
    return [w for window in windows for w in (window, *windows_of(window))]


def accesses_with_windows(buffer: SSAValue) -> list[Access]:
    """Return every load and store of an element of a buffer or one of its windows. Raises as `accesses_of`."""
    accesses: list[Access] = []
    for place in (buffer, *windows_of(buffer)):
        of_place, others = uses_of(place)
        odd = [op for op in others if not isinstance(op, tir.MatchBufferOp)]
        if odd:
            fail("the buffer is used by more than accesses of elements", *_statement_of(odd[0]))
        accesses += of_place
    return accesses


def _statement_of(op: Operation) -> Sequence[Operation]:
    """Return the innermost loop or block around an operation, which a diagnostic can point at."""
    return [around for around in st.ancestors(op) if isinstance(around, tir.ForOp | tir.BlockOp)][:1]


def is_conditional(op: Operation, block: Operation) -> bool:
    """Return whether some iterations of `block` may skip `op`, which is inside of it."""
    inside = takewhile(lambda around: around is not block, st.ancestors(op))
    return not all(isinstance(around, tir.ForOp | tir.InitOp) for around in inside)


def sharing_threads(scope: str, loop: tir.ForOp) -> list[tir.ForOp]:
    """Return, of a loop and its enclosing loops, those bound to threads that share memory of `scope`, innermost
    first.
    """
    around = [loop, *reversed(st.loops_above(loop))]
    return [lp for lp in around if lp.thread is not None and st.share_memory(scope, lp.thread.data)]


def seen_by_threads(scope: str, dims: Sequence[Ends | None], loop: tir.ForOp) -> list[Ends | None]:
    """Return the region that all threads around a loop which share memory of `scope` need, if one of them needs
    `dims`.
    """
    bounds: dict[SSAValue, Ends | None] = {
        lp.loop_var: (st.min_of(lp), st.min_of(lp) + st.extent_of(lp) - 1) for lp in sharing_threads(scope, loop)
    }
    return [None if ends is None else _relaxed_ends(ends, bounds) for ends in dims] if bounds else list(dims)


def _relaxed_ends(ends: Ends, bounds: Mapping[SSAValue, Ends | None]) -> Ends | None:
    low, high = (relaxed(e, bounds) for e in ends)
    return None if low is None or high is None else (low[0], high[1])


def set_type(buffer: SSAValue, new: BufferType) -> None:
    """Change the type of a buffer.

    Raises `ScheduleError` if it is a window, or if a symbolic size would become undefined.
    """
    owner = buffer.owner
    if isinstance(owner, tir.MatchBufferOp | tir.DeclBufferOp | tir.AllocConstOp):
        fail("the buffer is neither a parameter nor allocated in a block", owner)
    buffer._type = new  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    retype_addresses(buffer)


def retype_addresses(buffer: SSAValue) -> None:
    """Give the addresses of a buffer the type that belongs to its dtype and scope."""
    for use in buffer.uses:
        if isinstance(use.operation, tir.BufferDataOp):
            address = use.operation.result
            address._type = tir.address_type(buffer)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def change_type(buffer: SSAValue, **changed: Attribute) -> None:
    """Change some parameters of a buffer's type. Raises as `set_type`."""
    set_type(buffer, _changed(buffer, changed))


def change_window(window: SSAValue, **changed: Attribute) -> None:
    """Change some parameters of a window's type, after those of its buffer."""
    window._type = _changed(window, changed)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    retype_addresses(window)


def _changed(buffer: SSAValue, changed: Mapping[str, Attribute]) -> BufferType:
    return cast(BufferType, buffer.type).replaced(**changed)


def require_allocated(block: tir.BlockOp, buffer: SSAValue) -> None:
    """Reject a buffer that is not allocated by a block."""
    if not isinstance(buffer.owner, tir.AllocBufferOp):
        fail("the buffer is not allocated in a block: it is a parameter of the function, or a window", block)


def move_accesses(buffer: SSAValue, move: Move) -> None:
    """Change the indices of every access of a buffer, and re-infer the regions of blocks that access it.

    The buffer must already have its new type.
    """
    for op in accesses_of(buffer):
        set_indices(op, move(op, [sym_expr_of(i) for i in op.indices]))
    refresh_around(buffer)


def set_indices(op: Access, indices: Sequence[SymExpr], buffer: SSAValue | None = None) -> None:
    """Set the simplified indices of an access, and optionally its buffer."""
    build, inside = Materializer(before(op)), op.parent_op()
    assert inside is not None
    values = [build(e, index.dtype) for e, index in zip(simplified(indices, inside), indices, strict=True)]
    head = [op.value] if isinstance(op, tir.StoreOp) else []
    op.operands = [*head, buffer or op.buffer, *values]


def refresh_around(*buffers: SSAValue) -> None:
    """Re-infer the regions of all blocks that access one of these buffers, inner blocks first."""
    regions = [u.operation for b in buffers for u in b.uses if isinstance(u.operation, tir.ReadsOp | tir.WritesOp)]
    refresh([cast(tir.BlockOp, r.parent_op()) for r in regions])


def refresh(blocks: Iterable[tir.BlockOp]) -> None:
    """Re-infer the regions of blocks, inner blocks first."""
    for block in sorted(dict.fromkeys(blocks), key=lambda block: sum(1 for _ in st.ancestors(block)), reverse=True):
        refresh_regions(block)


def substitute_iters(block: tir.BlockOp, values: Mapping[SSAValue, SymExpr]) -> None:
    """Substitute expressions for iterators of a block, simplify its indices and re-infer its regions."""
    mapping = {cast(Var, sym_expr_of(v)): e for v, e in values.items()}
    for op in list(block.walk()):
        if isinstance(op, Access) and all(isinstance(i.type, IntegerType) for i in op.indices):
            old = [sym_expr_of(i) for i in op.indices]
            if any(v in mapping for e in old for v in e.free_vars()):
                set_indices(op, [e.substitute(mapping) for e in old])
    first = block.body.block.first_op
    assert first is not None
    build = Materializer(before(first))
    for var, e in values.items():
        if var.first_use is not None:
            var.replace_all_uses_with(build(e, cast(IntegerType, var.type)))
    remove_dead(block)
    refresh([op for op in block.walk() if isinstance(op, tir.BlockOp)])


def no_inverse(block: tir.BlockOp, error: Exception) -> NoReturn:
    """Raise the error for an index map that has no inverse."""
    fail(str(getattr(error, "message", error)), block, found=getattr(error, "found", None))


def label(buffer: SSAValue) -> str:
    """Return the name of a buffer."""
    return str(name_of(buffer) or "buffer")
