"""`lower-opaque-block`: replace blocks by their bodies.

A predicate becomes `tir.if`; regions are dropped; buffers are allocated at the block. A loop that runs once is replaced
by its body, a loop on threads becomes a launch. Annotations of a loop or block that begin with `pragma_` become a
`tir.attr` around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, IntegerType, ModuleOp, StringAttr, f32, i32
from xdsl.ir import Attribute, Block, Operation, Region

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr
from ...ir.affine.values import Materializer
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inline_before, inserter, replace_value
from .walk import bound_expr, erase_with_tree, functions

PRAGMA = "pragma_"


@dataclass(frozen=True)
class LowerOpaqueBlock(Pass):
    """`tir.block "C" () where %p {S}` -> `tir.if %p {S}`.

    Run `convert-blocks-to-opaque` before. Raises `UnsupportedError` for a block with iterators.
    """

    name = "lower-opaque-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in reversed(operations(func)):
                if isinstance(inner, tir.BlockOp):
                    _lower_block(inner)
                elif isinstance(inner, tir.ForOp):
                    _lower_loop(inner)
                elif isinstance(inner, tir.AllocBufferOp):
                    _allocate(inner)


def _lower_block(block: tir.BlockOp) -> None:
    if block.bindings or block.init is not None:
        what = "iterators" if block.bindings else "an init region"
        raise UnsupportedError(
            f'block "{block.block_name.data}" has {what}',
            location=location_of(block),
            hint="run lower-init-block and convert-blocks-to-opaque before",
        )
    _note(block, block.annotations)
    for region in (*block.reads, *block.writes):
        erase_with_tree(region)
    if block.predicate is None:
        inline_before(block.body.block, block)
    else:
        inserter(block)(tir.IfOp(block.predicate, Region(block.body.detach_block(block.body.block))))
    erase_with_tree(block)


def _allocate(alloc: tir.AllocBufferOp) -> None:
    """Pad the allocation of a buffer with strides to them: `alloc [4, 16], strides [17, 1] -> allocate [4, 17]`."""
    alloc.declared = True
    t = alloc.result.type
    strides = t.explicit_strides
    if not strides or t.elem_offset is not None or not _are_multiples(strides):
        return
    extents = [t.dims[0], *(step // inner for step, inner in pairwise(strides))]
    insert = inserter(alloc)
    insert(memory := tir.AllocateOp(extents, t.dtype, t.scope.data))
    set_name(memory.result, name_of(alloc.result))
    insert(buffer := tir.DeclBufferOp(memory.result, t))
    replace_value(alloc.result, buffer.result)
    erase_with_tree(alloc)


def _are_multiples(strides: Sequence[SymExpr]) -> bool:
    """Return whether each stride is a multiple of the next, and the last one is 1."""
    known = Analyzer()
    divisible = (known.simplify(step % inner).constant == 0 for step, inner in pairwise(strides))
    return strides[-1].constant == 1 and all(divisible)


def _lower_loop(loop: tir.ForOp) -> None:
    if loop.annotations is not None and loop.annotations.data:
        rest = _note(loop, loop.annotations)
        loop.properties.pop("annotations")
        if rest:
            loop.properties["annotations"] = DictionaryAttr(rest)
    elif loop.thread is not None and bound_expr(loop.min).constant == 0:
        _launch(loop, loop.thread.data)
    elif loop.thread is None and bound_expr(loop.extent).constant == 1:
        build = Materializer(inserter(loop))
        first = build(bound_expr(loop.min), cast(IntegerType, loop.loop_var.type))
        loop.loop_var.replace_all_uses_with(first)
        inline_before(loop.body.block, loop)
        erase_with_tree(loop)


def _launch(loop: tir.ForOp, tag: str) -> None:
    """`for %x on the thread {S}` -> `launch_thread … {S}`; the thread index is named after the tag."""
    extent = Materializer(inserter(loop))(bound_expr(loop.extent), cast(IntegerType, loop.loop_var.type))
    launched = tir.LaunchThreadOp(tag, extent, loop.detach_region(loop.body))
    set_name(launched.index, tag.replace(".", "_"))
    inserter(loop)(launched)
    loop.detach()
    loop.erase()


def _note(op: Operation, annotations: DictionaryAttr | None) -> dict[str, Attribute]:
    """Wrap `op` in the pragmas among its annotations, the first one outermost, and return the other annotations."""
    entries = {} if annotations is None else dict(annotations.data)
    pragmas = {k: entries.pop(k) for k in list(entries) if k.startswith(PRAGMA)}
    inner = op
    for key, value in reversed(pragmas.items()):
        body, constant = Block(), _note_value(value)
        around = tir.AttrOp(key, constant.results[0], Region(body))
        insert = inserter(inner)
        insert(constant)
        insert(around)
        inner.detach()
        body.add_op(inner)
        inner = around
    return entries


def _note_value(value: Attribute) -> Operation:
    if isinstance(value, StringAttr):
        return tir.StringImmOp(value.data)
    if isinstance(value, IntegerAttr):
        return tir.ConstOp(value.value.data, i32)
    if isinstance(value, FloatAttr):
        return tir.ConstOp(value.value.data, f32)
    raise UnsupportedError("a pragma is a number or a text", found=str(value))
