"""Kinds of loops, and annotations of loops and blocks."""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.sched import encode
from ...dialects.tir import ForKind
from .. import checks
from .. import state as st
from ..registry import primitive
from ..rewrite import implicit_root, move_operations
from ..state import BlockLike, State, fail

_THREAD = re.compile(r"(blockIdx|threadIdx)\.[xyz]|vthread(\.[xyz])?|cthread")


@primitive()
def parallel(state: State, loop: tir.ForOp) -> None:
    """Run the iterations of `loop` on several threads.

    for i in range(n)  ->  for i in parallel(n)

    Raises `ScheduleError` if a block below has a non-spatial iterator that depends on the loop, because steps of a
    reduction would update the same element concurrently, or if the loop repeats a reduction into a buffer that is
    not local to it.
    """
    _check_parallel(loop)
    _kind(loop, ForKind.PARALLEL)


@primitive()
def vectorize(state: State, loop: tir.ForOp) -> None:
    """Run the iterations of `loop` as the lanes of vectors.

    for i in range(8)  ->  for i in vectorized(8)

    Raises `ScheduleError` under the same conditions as `parallel`.
    """
    _check_parallel(loop)
    _kind(loop, ForKind.VECTORIZED)


@primitive()
def unroll(state: State, loop: tir.ForOp) -> None:
    """Unroll `loop`.

    for i in range(4)  ->  for i in unroll(4)
    """
    _kind(loop, ForKind.UNROLLED)


@primitive()
def bind(state: State, loop: tir.ForOp, thread_axis: str) -> None:
    """Bind `loop` to a thread axis, for instance `threadIdx.x`.

    Raises `ScheduleError` under the same conditions as `parallel`, but the threads of a block may share a reduction.
    """
    if not _THREAD.fullmatch(thread_axis):
        fail("there is no such axis of threads", loop, expected="threadIdx.x", found=thread_axis)
    _check_parallel(loop, {tir.IterKind.REDUCE} if thread_axis.startswith("threadIdx") else set())
    loop.properties["kind_attr"] = StringAttr(ForKind.THREAD_BINDING.value)
    loop.properties["thread"] = StringAttr(thread_axis)


def _kind(loop: tir.ForOp, kind: ForKind) -> None:
    loop.properties["kind_attr"] = StringAttr(kind.value)
    loop.properties.pop("thread", None)


def _check_parallel(loop: tir.ForOp, shared: set[tir.IterKind] | None = None) -> None:
    """Reject a loop whose iterations might access the same element concurrently, other than by iterators of kinds
    that are `shared`.
    """
    for block in st.blocks_below(loop):
        driven = checks.kinds_driven(block, loop)
        for kind in sorted(driven - {tir.IterKind.SPATIAL} - (shared or set()), key=lambda k: k.value):
            fail(f"an iterator of kind {kind.value} depends on the loop", loop, block)
        if driven & (shared or set()):
            continue
        if any(_is_used_outside(buffer, loop) for buffer in st.buffers_written(block)):
            around = st.loops_above(block)
            checks.require_not_repeated(block, around[around.index(loop) :])


def _is_used_outside(buffer: SSAValue, loop: tir.ForOp) -> bool:
    """Return whether a buffer is not an allocation, or is used by statements outside of `loop`."""
    return not isinstance(buffer.owner, tir.AllocBufferOp) or not all(
        loop.is_ancestor(u.operation) or _is_around(u.operation, loop) for u in buffer.uses
    )


def _is_around(op: Operation, loop: tir.ForOp) -> bool:
    """Return whether `op` is a region of a block around the loop."""
    parent = op.parent_op()
    return isinstance(op, tir.RegionOp) and parent is not None and parent.is_ancestor(loop)


Noted = tir.ForOp | tir.BlockOp | tir.FuncOp


@primitive()
def annotate(state: State, block_or_loop: Noted, ann_key: str, ann_val: Any) -> None:
    """Add the annotation `ann_key: ann_val` to a loop or a block: a string, a number, a list or a dictionary.

    An existing annotation with this key is not changed. An annotation on the root makes the root block explicit.
    """
    if isinstance(block_or_loop, tir.FuncOp):
        block_or_loop = explicit_root(block_or_loop)
    if ann_key in st.annotations_of(block_or_loop):
        return
    try:
        value = encode(ann_val, [])
    except TypeError:
        fail("a remark is a string, a number, a list or a dictionary", block_or_loop, found=type(ann_val).__name__)
    st.annotate(block_or_loop, {ann_key: value})


@primitive()
def unannotate(state: State, block_or_loop: Noted, ann_key: str) -> None:
    """Remove the annotation `ann_key` from a loop or a block. Raises `ScheduleError` if there is none.

    The root block becomes implicit again if this was its last annotation.
    """
    target = root_of(block_or_loop) if isinstance(block_or_loop, tir.FuncOp) else block_or_loop
    known = {} if isinstance(target, tir.FuncOp) else st.annotations_of(target)
    if ann_key not in known:
        fail(f"there is no annotation {ann_key}", block_or_loop, found=sorted(known))
    del known[ann_key]
    if known:
        target.properties["annotations"] = DictionaryAttr(known)
    else:
        target.properties.pop("annotations")
        if isinstance(target, tir.BlockOp) and target is root_of(st.function_around(target)):
            implicit_root(state, target)


def root_of(func: tir.FuncOp) -> BlockLike:
    """Return the root block of a function if it is explicit, otherwise the function."""
    statements = st.children(func.body.block)
    if len(statements) == 1 and isinstance(statements[0], tir.BlockOp) and not statements[0].iter_vars:
        return statements[0]
    return func


def explicit_root(func: tir.FuncOp) -> tir.BlockOp:
    """Return the root block of a function, and make it explicit if it is implicit."""
    known = root_of(func)
    if isinstance(known, tir.BlockOp):
        return known
    body = Block()
    move_operations(func.body.block, body)
    root = tir.BlockOp("root", [], Region(body))
    func.body.block.add_op(root)
    return root


@primitive()
def enter_postproc(state: State) -> None:
    """Mark the beginning of postprocessing in the trace. The module is not changed."""
