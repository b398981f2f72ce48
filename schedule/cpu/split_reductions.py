"""Reductions of several results at once (a sum and a sum of squares) that do not depend on each other, taken apart."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...transforms.tir.walk import erase_with_tree, remove_dead
from .stages import perfect_nest, tree


def split_reductions(func: tir.FuncOp) -> None:
    """`C = C + a; D = D + b` in one block -> two nests, where neither result is read for the other."""
    for root in list(func.body.block.ops):
        nest = perfect_nest(root)
        if nest is None or nest[1].init is None:
            continue
        block = nest[1]
        stores = [op for op in block.body.block.ops if isinstance(op, tir.StoreOp)]
        if stores and _independent(block, stores):
            _forget_lets(block)
            if len(stores) > 1:
                _split(root, stores)


def _independent(block: tir.BlockOp, stores: list[tir.StoreOp]) -> bool:
    """Whether each store's value reads, of what the block writes, its own buffer only."""
    written = [s.buffer for s in stores]
    begun = {s.buffer for s in _init_stores(block)}
    if len(set(written)) != len(written) or begun != set(written):
        return False
    for store in stores:
        read = {op.buffer for v in (store.value, *store.indices) for op in tree(v) if isinstance(op, tir.LoadOp)}
        if any(b in read for b in written if b is not store.buffer):
            return False
    return not any(op.regions and not isinstance(op, tir.InitOp) for op in block.body.block.ops)


def _init_stores(block: tir.BlockOp) -> list[tir.StoreOp]:
    init = block.init
    return [] if init is None else [op for op in init.body.block.ops if isinstance(op, tir.StoreOp)]


def _forget_lets(block: tir.BlockOp) -> None:
    """A name given to an expression stands for the expression."""
    for op in list(block.body.block.ops):
        if isinstance(op, tir.LetOp):
            op.result.replace_all_uses_with(op.value)
            erase_with_tree(op)


def _split(root: Operation, stores: list[tir.StoreOp]) -> None:
    parent = cast(Block, root.parent)
    for store in stores:
        copy = root.clone()
        _keep_only(copy, store.buffer)
        parent.insert_op_before(copy, root)
    erase_with_tree(root)


def _keep_only(root: Operation, buffer: SSAValue) -> None:
    """Remove what a nest stores into other buffers than `buffer`, and what only these stores need."""
    for op in list(root.walk()):
        if isinstance(op, tir.StoreOp | tir.WritesOp) and op.buffer is not buffer:
            erase_with_tree(op)
    remove_dead(root)
