"""`remove-weight-layout-rewrite-block`: weights come in the layout that a block would give them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, SSAValue

from ....diagnostics import TiraxError, UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.sym.expr import i32
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import set_type
from ....transforms.layout.split_layout_rewrite_preproc import MARK
from ....transforms.tir.walk import erase_with_tree, functions


@dataclass(frozen=True)
class RemoveWeightLayoutRewriteBlock(Pass):
    """Remove the copies of weights into other layouts: parameters are buffers of the new layouts.

    The blocks, which have the annotation `meta_schedule.layout_rewrite_preproc`, remain, but do nothing. The caller
    passes the weights rewritten. Raises `TiraxError` for an annotated block that is no copy, `UnsupportedError` for
    one of a constant.
    """

    name = "remove-weight-layout-rewrite-block"
    skip_ndarray_rewrite: bool = False
    """TVM's option for constants."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for block in [b for b in func.walk() if isinstance(b, tir.BlockOp) and _is_marked(b)]:
                _remove(block)


def _is_marked(block: tir.BlockOp) -> bool:
    mark = None if block.annotations is None else block.annotations.data.get(MARK)
    return isinstance(mark, IntegerAttr) and bool(mark.value.data)


def _remove(block: tir.BlockOp) -> None:
    weight, copy = _buffers(block)
    body = block.body.block
    for op in reversed(list(body.ops)):
        erase_with_tree(op)
    body.add_ops([zero := tir.ConstOp(0, i32), tir.EvaluateOp(zero.result)])
    if weight.first_use is not None:
        raise TiraxError(
            f"the weights '{name_of(weight)}' are used in their old layout, too", location=location_of(block)
        )
    set_type(weight, copy.type)
    set_name(weight, name_of(copy))
    allocation = copy.owner
    copy.replace_all_uses_with(weight)
    assert isinstance(allocation, tir.AllocBufferOp)
    erase_with_tree(allocation)


def _buffers(block: tir.BlockOp) -> tuple[SSAValue, SSAValue]:
    """Return the buffers that a block copies from and to."""
    statements = [
        op for op in block.body.block.ops if not op.results and not isinstance(op, tir.ReadsOp | tir.WritesOp)
    ]
    store = statements[0] if len(statements) == 1 else None
    load = store.value.owner if isinstance(store, tir.StoreOp) else None
    if not isinstance(store, tir.StoreOp) or not isinstance(load, tir.LoadOp):
        raise TiraxError("a block that rewrites a layout copies elements", location=location_of(block))
    if not isinstance(load.buffer.owner, Block) or not isinstance(store.buffer.owner, tir.AllocBufferOp):
        raise UnsupportedError("another layout of what is no parameter", location=location_of(block))
    return load.buffer, store.buffer
