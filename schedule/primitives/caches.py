"""Copies of buffers: what a block reads comes from, or what it writes goes through, another buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.tir import BufferType, IterKind
from ...ir.affine import Materializer
from ...ir.regions import Interval, accessed_by
from .. import state as st
from ..registry import primitive
from ..rewrite import Insert, before, empty_block, nested, new_loop, refresh_regions
from ..state import BlockLike, State, fail


@primitive
def cache_read(
    state: State,
    block: tir.BlockOp,
    read_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[tir.BlockOp] | None = None,
) -> tir.BlockOp:
    """Copy a buffer that `block` reads into one of `storage_scope`, and let its readers read that.

    C[i] = A[i] + 1  ->  A_local[i] = A[i];  C[i] = A_local[i] + 1

    The copy stands after what writes the buffer, or first. All readers in the scope read the copy, or `consumer_blocks`
    only. Gives the block that copies. Refused where the block reads fewer buffers.
    """
    buffer = nth(block, st.buffers_read(block), read_buffer_index, "reads")
    scope = st.scope_of(block)
    statements = st.children(st.body_of(scope))
    writers = [op for op in statements if _touches(op, buffer, tir.WritesOp)]
    if any(_touches(op, buffer, tir.ReadsOp) for op in writers):
        fail("a statement both writes and reads the buffer", block, *writers)
    readers = [b for b in _blocks(scope) if buffer in st.buffers_read(b)]
    if consumer_blocks:
        readers = [b for b in readers if any(c is b or c.is_ancestor(b) for c in consumer_blocks)]
    region = _union(statements, readers, buffer, writes=False)
    place = _after(writers[-1]) if writers else statements[0]
    new = allocate(scope, buffer, storage_scope)
    made = copy_stage(scope, buffer, new, region, _insert_at(scope, place))
    for reader in readers:
        replace_buffer(reader, buffer, new)
    return made


@primitive
def cache_write(
    state: State,
    block: tir.BlockOp,
    write_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[tir.BlockOp] | None = None,
) -> tir.BlockOp:
    """Let `block` write a buffer of `storage_scope`, and copy that into the buffer that it wrote.

    C[i] = A[i] + 1  ->  C_local[i] = A[i] + 1;  C[i] = C_local[i]

    `consumer_blocks` read the new buffer, all others the old one. Gives the block that copies. Refused where the block
    writes fewer buffers, and where another block writes the buffer, too.
    """
    buffer = nth(block, st.buffers_written(block), write_buffer_index, "writes")
    scope = st.scope_of(block)
    statements = st.children(st.body_of(scope))
    others = [b for b in st.blocks_below(scope) if b is not block and buffer in st.buffers_written(b)]
    if others:
        fail("another block writes the buffer, too", block, *others)
    (own,) = [op for op in statements if op.is_ancestor(block)]
    region = _union(statements, [block], buffer, writes=True)
    new = allocate(scope, buffer, storage_scope)
    replace_buffer(block, buffer, new)
    for consumer in consumer_blocks or ():
        replace_buffer(consumer, buffer, new)
    return copy_stage(scope, new, buffer, region, _insert_at(scope, _after(own)), str(name_of(new)))


def nth(block: tir.BlockOp, buffers: Sequence[SSAValue], index: int, what: str) -> SSAValue:
    """The buffer at `index`. Refused where there are fewer."""
    if not 0 <= index < len(buffers):
        fail(f"the block {what} {len(buffers)} buffers", block, expected=f"an index below {len(buffers)}", found=index)
    return buffers[index]


def _touches(op: Operation, buffer: SSAValue, kind: type[tir.RegionOp]) -> bool:
    return any(isinstance(r, kind) and r.buffer is buffer for r in op.walk())


def _blocks(scope: BlockLike) -> list[tir.BlockOp]:
    """All blocks in a scope, those inside of others too."""
    return [op for op in scope.walk() if isinstance(op, tir.BlockOp) and op is not scope]


def _after(op: Operation) -> Operation | None:
    return op.next_op


def _insert_at(scope: BlockLike, place: Operation | None) -> Insert:
    return st.body_of(scope).add_op if place is None else before(place)


def _union(
    statements: Sequence[Operation], blocks: Sequence[tir.BlockOp], buffer: SSAValue, *, writes: bool
) -> list[Interval | None]:
    """What `blocks` access of the buffer, in terms of what is outside of their scope."""
    touched = [op for op in statements if any(op.is_ancestor(b) or op is b for b in blocks)]
    return accessed_by(touched)[1 if writes else 0][buffer]


def allocate(scope: BlockLike, like: SSAValue, storage_scope: str, name: str | None = None) -> SSAValue:
    """A new buffer of the shape and dtype of another one, called `<name>_<storage_scope>`, allocated in `scope`."""
    old = cast(BufferType, like.type)
    suffix = storage_scope.replace(".", "_") or "global"
    op = tir.AllocBufferOp(BufferType.of(old.dims, old.dtype, scope=storage_scope or "global"))
    set_name(op.results[0], name or f"{name_of(like) or 'buffer'}_{suffix}")
    body = st.body_of(scope)
    allocations = [o for o in body.ops if isinstance(o, tir.AllocBufferOp)]
    anchor = allocations[-1].next_op if allocations else body.first_op
    if anchor is None:
        body.add_op(op)
    else:
        body.insert_op_before(op, anchor)
    return op.results[0]


def copy_stage(
    scope: BlockLike,
    source: SSAValue,
    target: SSAValue,
    region: Sequence[Interval | None],
    insert: Insert,
    name: str | None = None,
) -> tir.BlockOp:
    """Loops that copy a region from one buffer to the other, in a block called like the target."""
    shape = cast(BufferType, source.type).dims
    rows: list[tuple[SymExpr, SymExpr]] = []
    for whole, interval in zip(shape, region, strict=True):
        known = interval is not None and not any(v.value is not None for e in interval for v in e.free_vars())
        found = (interval[0], interval[1] - interval[0] + 1) if interval and known else None
        rows.append(found or (Const(0, whole.dtype), whole))
    loops = [new_loop(f"ax{k}", extent, extent.dtype) for k, (_, extent) in enumerate(rows)]
    if loops:
        insert(loops[0])
    place: Insert = nested(loops).add_op if loops else insert
    build = Materializer(place)
    iters = [
        (IterKind.SPATIAL, build(first + st.loop_expr(lp), whole.dtype), (Const(0, whole.dtype), whole))
        for lp, (first, _), whole in zip(loops, rows, shape, strict=True)
    ]
    out = empty_block(name or str(name_of(target)), iters, [f"v{k}" for k in range(len(iters))])
    body = out.body.block
    body.add_op(load := tir.LoadOp(source, list(out.iter_vars)))
    body.add_op(tir.StoreOp(load.result, target, list(out.iter_vars)))
    place(out)
    refresh_regions(out)
    return out


def replace_buffer(block: tir.BlockOp, old: SSAValue, new: SSAValue) -> None:
    """Let a block, and what is in it, use another buffer."""
    for op in block.walk():
        for k, operand in enumerate(op.operands):
            if operand is old:
                op.operands[k] = new


@primitive
def set_scope(state: State, block: tir.BlockOp, buffer_index: int, storage_scope: str) -> None:
    """Put the buffer that `block` writes at `buffer_index` into another storage scope.

    Refused where the buffer is a parameter.
    """
    buffer = nth(block, st.buffers_written(block), buffer_index, "writes")
    owner = buffer.owner
    if not isinstance(owner, tir.AllocBufferOp):
        fail("the buffer is a parameter of the function", block)
    old = cast(BufferType, buffer.type)
    changed = list(old.parameters)
    changed[old.parameters.index(old.scope)] = StringAttr(storage_scope)
    buffer._type = BufferType(*changed)  # pyright: ignore[reportPrivateUsage, reportArgumentType]
