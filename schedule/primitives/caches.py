"""Copies of buffers: a block reads from, or writes to, another buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.sym.operators import OPS, minimum
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import Ends, accessed_by
from .. import checks, predicates
from .. import state as st
from ..accesses import change_type, change_window, retype_addresses, windows_of
from ..arguments import BufferIndex, nth, with_index
from ..registry import primitive
from ..rewrite import Insert, allocate, before, conjunction, empty_block, insert_nest, new_loop, refresh_regions
from ..state import BlockLike, State, fail

Row = tuple[SymExpr, SymExpr]
"""The first index and extent of a dimension."""


@primitive(adapt=with_index("read_buffer_index", "read"))
def cache_read(
    state: State,
    block: tir.BlockOp,
    read_buffer_index: BufferIndex,
    storage_scope: str,
    consumer_blocks: Sequence[tir.BlockOp] | None = None,
) -> tir.BlockOp:
    """Copy a buffer that `block` reads into a buffer of `storage_scope`, and let its readers read the copy.

    C[i] = A[i] + 1  ->  A_local[i] = A[i];  C[i] = A_local[i] + 1

    All readers in the scope use the copy, or only `consumer_blocks`. The copy is inserted before the first of them,
    in the innermost loop that also contains the block that writes the buffer, or at the beginning of the scope if
    the buffer is not written, or only after all of them. Returns the copying block. Raises `ScheduleError` if the
    index is out of range, if several blocks or `block` itself write the buffer, if a consumer does not read it, or
    if some consumers precede the write.
    """
    buffer = nth(block, st.buffers_read(block), read_buffer_index, "reads")
    scope = st.scope_of(block)
    writer = _only_writer(scope, buffer)
    if writer is block:
        fail("the block writes what it reads", block)
    outside = [b for b in _blocks(scope) if writer is None or not writer.is_ancestor(b)]
    readers = _selected_readers([b for b in outside if buffer in st.buffers_read(b)], consumer_blocks)
    if writer is None or _all_precede(scope, readers, writer):
        own, region = None, _region_of(scope, buffer)
        place: Operation | None = _first_statement(scope)
    else:
        if not _comes_before(scope, writer, readers):
            fail("a consumer stands before what is written", writer, *readers)
        own, place = _meeting(scope, writer, readers)
        region = accessed_by([own])[1][buffer]
    stage = _Stage.of(scope, own, place, buffer, region)
    new = stage.allocate(buffer, storage_scope)
    copy = stage.copy(buffer, new, from_old=True)
    for reader in readers:
        replace_buffer(reader, buffer, new, stage.offsets)
    return copy


@primitive(adapt=with_index("write_buffer_index", "write"))
def cache_write(
    state: State,
    block: tir.BlockOp,
    write_buffer_index: BufferIndex,
    storage_scope: str,
    consumer_blocks: Sequence[tir.BlockOp] | None = None,
) -> tir.BlockOp:
    """Let `block` write to a new buffer of `storage_scope`, and copy that to the original buffer.

    C[i] = A[i] + 1  ->  C_local[i] = A[i] + 1;  C[i] = C_local[i]

    `consumer_blocks` read the new buffer, all others the original one. The copy is inserted before the first of the
    others, in the innermost loop around both, or at the end of the scope if there are none. Returns the copying
    block. Raises `ScheduleError` if the index is out of range, if the block reads the buffer that it writes, if
    another block also writes the buffer, or if the block is a reduction with steps outside of its scope.
    """
    buffer = nth(block, st.buffers_written(block), write_buffer_index, "writes")
    scope = st.scope_of(block)
    _only_writer(scope, buffer)
    if buffer in st.buffers_read(block) and not _written_first(block, buffer):
        fail("the block reads what it writes", block)
    checks.require_reduced_in_scope(block)
    readers = [b for b in st.blocks_below(scope) if b is not block and buffer in st.buffers_needed(b)]
    readers = [b for b in readers if _comes_before(scope, block, [b])]
    chosen = [b for b in readers if b in (consumer_blocks or ())]
    rest = [b for b in readers if b not in chosen or buffer in predicates.buffers_of(b.operands)]
    own, place = _meeting(scope, block, rest)
    stage = _Stage.of(scope, own, place, buffer, accessed_by([own])[1][buffer])
    written = None if stage.shrunk and _is_of(scope, buffer) else _written(block, buffer, own)
    new = stage.allocate(buffer, storage_scope)
    for user in (block, *chosen):
        replace_buffer(user, buffer, new, stage.offsets)
    return stage.copy(buffer, new, from_old=False, under=written)


def _is_of(scope: BlockLike, buffer: SSAValue) -> bool:
    """Return whether each run of a scope has its own instance of a buffer, so that unwritten elements are undefined."""
    return isinstance(buffer.owner, tir.AllocBufferOp) and buffer.owner.parent_op() is scope


def _written_first(block: tir.BlockOp, buffer: SSAValue) -> bool:
    """Return whether a block reads only those elements of a buffer that a block in it has written before.

    The writer is a nest of loops of its own, without conditions, that skips no element.
    """
    users = [b for b in _blocks(block) if buffer in st.buffers_needed(b) or buffer in st.buffers_written(b)]
    writers = [b for b in users if buffer in st.buffers_written(b)]
    readers = [b for b in users if b not in writers]
    if len(writers) != 1 or buffer in st.buffers_read(writers[0]) or not _comes_before(block, writers[0], readers):
        return False
    (writer,) = writers
    nests = [_statement_in(block, b) for b in (writer, *readers)]
    if nests[0] in nests[1:] or predicates.require_stored(writer, buffer, "the block reads what it writes", nests[0]):
        return False
    _check_no_gaps(writer, buffer)
    written = accessed_by(nests[:1])[1][buffer]
    return None not in written and all(accessed_by([nest])[0][buffer] == written for nest in nests[1:])


def _statement_in(scope: BlockLike, block: tir.BlockOp) -> Operation:
    """Return the statement of a scope that contains a block."""
    return next(op for op in (block, *st.ancestors(block)) if op.parent_op() is scope)


Under = Callable[[Sequence[SymExpr], Insert], list[SSAValue]]
"""(indices of an element, where to insert) -> the conditions under which the element is copied."""


def _written(block: tir.BlockOp, buffer: SSAValue, own: Operation) -> Under | None:
    """Return the conditions under which a block writes an element; None if it writes all elements."""
    conditions = predicates.require_stored(block, buffer, "what it does not write would be copied, too", own)
    _check_no_gaps(block, buffer)
    if not conditions:
        return None
    stores = [op for op in block.body.walk() if isinstance(op, tir.StoreOp) and op.buffer is buffer]
    places = {tuple(map(sym_expr_of, op.indices)) for op in stores}
    if len(places) != 1:
        predicates.refuse(block, conditions[0], "it writes the buffer at other than one place")
    (indices,) = places
    shared = [lp for lp in st.loops_above(block) if not own.is_ancestor(lp)]

    def under(element: Sequence[SymExpr], insert: Insert) -> list[SSAValue]:
        values = predicates.iterators_at(block, indices, element)
        return predicates.copy_conditions(block, conditions, values, insert, shared)

    return under


def _check_no_gaps(block: tir.BlockOp, buffer: SSAValue) -> None:
    """Reject a block that may skip elements between those that it writes, because they would be copied, too."""
    for store in [op for op in block.body.walk() if isinstance(op, tir.StoreOp) and op.buffer is buffer]:
        for index in store.indices:
            if isinstance(index.type, IntegerType) and _has_gaps(sym_expr_of(index)):
                fail("the block may not write all of a region", block, found=sym_expr_of(index))


def _has_gaps(index: SymExpr) -> bool:
    """Return whether an index may skip values, as a loaded index or a multiple of a single iterator does."""
    variables = [v for v in index.free_vars() if v.value is not None]
    if not all(isinstance(v.value, BlockArgument) for v in variables):
        return True
    steps = [abs(step) for v in variables if (step := checks.step_of(index, v)) is not None]
    return len(steps) == len(variables) > 0 and min(steps) > 1


def _only_writer(scope: BlockLike, buffer: SSAValue) -> tir.BlockOp | None:
    """Return the only block of the scope that writes a buffer, or None. Raises `ScheduleError` if there are several."""
    writers = [b for b in st.blocks_below(scope) if buffer in st.buffers_written(b)]
    if len(writers) > 1:
        fail("several blocks write the buffer", *writers)
    return writers[0] if writers else None


def _blocks(scope: BlockLike) -> list[tir.BlockOp]:
    """Return all blocks in a scope, including nested ones."""
    return [op for op in scope.walk() if isinstance(op, tir.BlockOp) and op is not scope]


def _selected_readers(readers: list[tir.BlockOp], consumers: Sequence[tir.BlockOp] | None) -> list[tir.BlockOp]:
    """Return the readers that are consumers, or inside of one; all readers if there are no consumers."""
    if not consumers:
        return readers
    idle = [c for c in consumers if not any(c.is_ancestor(b) for b in readers)]
    if idle:
        fail("a consumer does not read the buffer", *idle)
    return [b for b in readers if any(c.is_ancestor(b) for c in consumers)]


def _comes_before(scope: BlockLike, block: tir.BlockOp, others: Sequence[tir.BlockOp]) -> bool:
    every = _blocks(scope)
    return all(every.index(b) > every.index(block) for b in others)


def _all_precede(scope: BlockLike, readers: Sequence[tir.BlockOp], writer: tir.BlockOp) -> bool:
    """Return whether all readers run before the writer, and not again after it."""
    if not readers or not all(_comes_before(scope, reader, [writer]) for reader in readers):
        return False
    repeating = [
        lp
        for lp in takewhile(lambda op: op is not scope, st.ancestors(writer))
        if isinstance(lp, tir.ForOp) and st.constant_extent(lp) != 1
    ]
    return not any(lp.is_ancestor(reader) for lp in repeating for reader in readers)


def _first_statement(scope: BlockLike) -> Operation:
    """Return the first statement of a scope that is no declaration of a buffer."""
    statements = st.children(st.body_of(scope))
    return next((op for op in statements if not isinstance(op, tir.DeclBufferOp)), statements[0])


def _meeting(scope: BlockLike, block: tir.BlockOp, others: Sequence[tir.BlockOp]) -> tuple[Operation, Operation | None]:
    """Return the innermost statement around `block` followed by a statement with some of `others`, and the first
    such one.

    Returns the outermost statement and None if there are no others.
    """
    own: Operation = block
    while True:
        following = own.next_op
        while following is not None and not any(following.is_ancestor(b) for b in others):
            following = following.next_op
        parent = own.parent_op()
        if following is not None or parent is scope or parent is None:
            return own, following
        own = parent


def _region_of(scope: BlockLike, buffer: SSAValue) -> list[Ends | None]:
    """Return the region of a buffer that a scope reads according to its declaration."""
    region = None if isinstance(scope, tir.FuncOp) else next((r for r in scope.reads if r.buffer is buffer), None)
    if region is None:
        return [None] * cast(BufferType, buffer.type).rank
    starts = [sym_expr_of(s) for s in region.starts]
    return [(first, first + extent - 1) for first, extent in zip(starts, region.extents, strict=True)]


@dataclass(frozen=True)
class _Stage:
    """A copy to be inserted: its location, and the region of the buffer that it copies.

    Directly in the scope, the cache is as large as the copied region; in a loop it is as large as the buffer.
    """

    scope: BlockLike
    insert: Insert
    loops: list[tir.ForOp]
    rows: list[Row]
    shrunk: bool

    @staticmethod
    def of(
        scope: BlockLike,
        own: Operation | None,
        place: Operation | None,
        buffer: SSAValue,
        region: Sequence[Ends | None],
    ) -> _Stage:
        """Return the copy of `region` before `place`, or at the end of the scope if that is None.

        `own` is the writer.
        """
        direct = own is None or own.parent_op() is scope
        insert = st.body_of(scope).add_op if place is None else before(place)
        loops = [] if own is None else st.loops_above(own)
        return _Stage(scope, insert, loops, rows_of(buffer, region), direct)

    @property
    def offsets(self) -> list[SymExpr]:
        """The offsets that are subtracted from the indices of accesses."""
        return [first if self.shrunk else Const(0, extent.dtype) for first, extent in self.rows]

    def allocate(self, like: SSAValue, storage_scope: str) -> SSAValue:
        return allocate_like(self.scope, like, storage_scope, dims=[e for _, e in self.rows] if self.shrunk else None)

    def copy(self, old: SSAValue, new: SSAValue, *, from_old: bool, under: Under | None = None) -> tir.BlockOp:
        source, target = (old, new) if from_old else (new, old)
        rows = [(Const(0, e.dtype), e) for _, e in self.rows] if self.shrunk else self.rows
        return copy_loops(source, target, rows, self.insert, str(name_of(new)), old, self.offsets, self.loops, under)


def rows_of(buffer: SSAValue, region: Sequence[Ends | None]) -> list[Row]:
    """Return a region as first index and extent of each dimension, within the buffer; an unknown dimension is
    copied fully.
    """
    out: list[Row] = []
    for size, interval in zip(cast(BufferType, buffer.type).dims, region, strict=True):
        first, extent = Const(0, size.dtype), size
        if interval is not None and checks.is_of_loops(interval):
            first, extent = _row(interval)
        if any(v.value is not None for v in extent.free_vars()):
            first, extent = Const(0, size.dtype), size
        if first.constant is not None and size.constant is not None and extent.constant is not None:
            start, end = max(first.constant, 0), min(first.constant + extent.constant, size.constant)
            first, extent = Const(start, size.dtype), Const(end - start, size.dtype)
        elif first.constant is not None and not Analyzer().can_prove(OPS["le"](first + extent, size)):
            extent = minimum(first + extent, size) - first  # a split with a remainder exceeds the dimension
        out.append((first, extent))
    return out


def _row(interval: Ends) -> Row:
    return interval[0], interval[1] - interval[0] + 1


def allocate_like(
    scope: BlockLike,
    like: SSAValue,
    storage_scope: str,
    name: str | None = None,
    dims: Sequence[SymExpr] | None = None,
) -> SSAValue:
    """Allocate a buffer `<name>_<storage_scope>` in `scope`, with the dtype and shape (or `dims`) of another one."""
    old = cast(BufferType, like.type)
    suffix = storage_scope.replace(".", "_") or "global"
    shape = old.dims if dims is None else dims
    new = BufferType.of(shape, old.dtype, scope=storage_scope or "global")
    return allocate(scope, new, name or f"{name_of(like) or 'buffer'}_{suffix}")


def copy_loops(
    source: SSAValue,
    target: SSAValue,
    rows: Sequence[Row],
    insert: Insert,
    name: str,
    moved: SSAValue | None = None,
    offsets: Sequence[SymExpr] = (),
    around: Sequence[tir.ForOp] = (),
    under: Under | None = None,
) -> tir.BlockOp:
    """Emit loops over `rows` that copy from one buffer to the other, in a block `name`.

    If `moved` is one of the two, its indices are greater by `offsets`. `around` are the loops that will enclose
    these; if they could lead outside of the buffer, the block has a predicate. It also has one if elements are only
    copied `under` conditions.
    """
    sizes = [e for _, e in rows] if any(o.constant != 0 for o in offsets) else cast(BufferType, source.type).dims
    loops = [new_loop(f"ax{k}", extent, extent.dtype) for k, (_, extent) in enumerate(rows)]
    place = insert_nest(loops, insert)
    build = Materializer(place)
    values = [first + st.loop_expr(lp) for lp, (first, _) in zip(loops, rows, strict=True)]
    iters = [
        (IterKind.SPATIAL, build(value, extent.dtype), (Const(0, extent.dtype), extent))
        for value, extent in zip(values, sizes, strict=True)
    ]
    ends = zip(values, sizes, rows, strict=True)
    moving = [c for value, end, (first, _) in ends if first.constant is None for c in checks.within(value, end)]
    if moved is not None:
        far_ends = zip(offsets, values, cast(BufferType, moved.type).dims, strict=False)
        far_ends = [(o + value, end) for o, value, end in far_ends if o.constant is None]
        moving += [c for index, end in far_ends for c in checks.within(index, end)]
    nest, outside = [*around, *loops], _iterators_in(offsets)
    known = checks.analyzer_with(outside, checks.analyzer_of(nest))
    bounds = [build(c) for c in moving if not checks.holds(c, nest, known, outside)]
    element = [value + offset for value, offset in zip(values, offsets, strict=True)] if offsets else values
    out = empty_block(name, iters, [f"v{k}" for k in range(len(iters))], conjunction(bounds, place))
    conditions = [] if under is None else under(element, place)
    body = out.body.block
    shifted = [o + checks.iter_expr(v) for v, o in zip(out.iter_vars, offsets, strict=False)]
    inner = Materializer(body.add_op)
    far = [inner(e, cast(IntegerType, v.type)) for e, v in zip(shifted, out.iter_vars, strict=False)]
    body.add_op(load := tir.LoadOp(source, far if source is moved else list(out.iter_vars)))
    body.add_op(tir.StoreOp(load.result, target, far if target is moved else list(out.iter_vars)))
    place(out)
    predicates.add_conditions(out, conditions)
    refresh_regions(out)
    return out


def _iterators_in(exprs: Sequence[SymExpr]) -> checks.Ranges:
    """Return the iterators of blocks in expressions, with their domains."""
    out: checks.Ranges = {}
    for var in (v for e in exprs for v in e.free_vars()):
        owner = var.value.owner.parent_op() if isinstance(var.value, BlockArgument) else None
        if isinstance(owner, tir.BlockOp):
            out[var] = checks.iter_ranges(owner)[var]
    return out


def replace_buffer(block: Operation, old: SSAValue, new: SSAValue, offsets: Sequence[SymExpr] = ()) -> None:
    """Replace a buffer in a statement and its regions, with `offsets` subtracted from indices."""
    shifting = any(o.constant != 0 for o in offsets)
    for op in list(block.walk()):
        for k, operand in enumerate(op.operands):
            if operand is old:
                op.operands[k] = new
                if shifting:
                    _shift(op, k + 1, offsets)
    retype_addresses(new)


def _shift(op: Operation, first: int, offsets: Sequence[SymExpr]) -> None:
    """Subtract `offsets` from the indices of an access, its operands from `first` on."""
    if not isinstance(op, tir.LoadOp | tir.StoreOp | tir.RegionOp | tir.MatchBufferOp):
        fail("the buffer is used by more than accesses of elements", op)
    build = Materializer(before(op))
    for k, offset in enumerate(offsets, first):
        if offset.constant != 0:
            dtype = op.operands[k].type
            if not isinstance(dtype, IntegerType):
                fail("the buffer is accessed by vectors", op)
            op.operands[k] = build(sym_expr_of(op.operands[k]) - offset, dtype)


@primitive(adapt=with_index("buffer_index", "write"))
def set_scope(state: State, block: tir.BlockOp, buffer_index: BufferIndex, storage_scope: str) -> None:
    """Change the storage scope of the buffer that `block` writes at `buffer_index`.

    A -> A_local: the buffer and its windows are renamed after their scope. Raises `ScheduleError` if it is a parameter.
    """
    buffer = nth(block, st.buffers_written(block), buffer_index, "writes")
    if cast(BufferType, buffer.type).scope.data == storage_scope:
        return
    if not isinstance(buffer.owner, tir.AllocBufferOp):
        fail("the buffer is a parameter of the function", block)
    windows = windows_of(buffer)
    change_type(buffer, scope=StringAttr(storage_scope))
    for window in windows:
        change_window(window, scope=StringAttr(storage_scope))
    for renamed in (buffer, *windows):
        set_name(renamed, f"{name_of(renamed)}_{storage_scope.replace('.', '_')}")
