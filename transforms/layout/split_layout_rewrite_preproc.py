"""Split tensor functions that first rearrange their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import TensorType, tuple_type
from ...dialects.sym.expr import Const
from ...ir.functions.lookup import callee_names, functions, relax_functions
from ...ir.names import NameSupply, function_names, name_bindings
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_to
from ...ir.rewriting.edit import erase
from .attributes import LAYOUT_FREE, with_attrs

MARK = "meta_schedule.layout_rewrite_preproc"
"""The annotation of blocks that only change the layout of a weight."""


@dataclass(frozen=True)
class SplitLayoutRewritePreproc(Pass):
    """Split functions that first change the layouts of their weights, so that this can be done once in advance.

    y = call_tir(f, (x, w))
    w1 = call_tir(f_weight_prepack, (w,)); y = call_tir(f_prepacked, (x, w1))

    The blocks that do this have the annotation `meta_schedule.layout_rewrite_preproc`, the weights are the parameters
    that they read. A weight that is also read in its old layout stays.
    """

    name: ClassVar[str] = "split-layout-rewrite-preproc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = NameSupply(function_names(op))
        splits = {n: s for n, f in functions(op).items() if isinstance(f, tir.FuncOp) and (s := _split(f, names))}

        def replaced(call: relax.CallTIROp, emit: Emit) -> SSAValue | None:
            return _of_both(call, splits[call.callee_name], emit) if call.callee_name in splits else None

        for func in relax_functions(op):
            if apply_to(func, {relax.CallTIROp.name: replaced}):
                name_bindings(func)
        called = {n for o in op.walk() for n in callee_names(o)}
        for name, split in splits.items():
            split.insert()
            if split.original.private and name not in called:
                erase(split.original)


@dataclass(frozen=True)
class _Split:
    """The two functions; `weights` are the positions of the rearranged parameters."""

    original: tir.FuncOp
    prepack: tir.FuncOp
    compute: tir.FuncOp
    weights: list[int]
    types: list[TensorType]

    def insert(self) -> None:
        block = self.original.parent_block()
        assert block is not None
        block.insert_ops_before([self.prepack, self.compute], self.original)


def _split(func: tir.FuncOp, names: NameSupply) -> _Split | None:
    moves = _rearranged(func)
    if not moves or any(not isinstance(p.type, tir.BufferType) for p in func.params):
        return None
    weights = [func.params[i] for i in moves]
    buffers = list(moves.values())
    types = [_tensor(b.type) for b in buffers if isinstance(b.type, tir.BufferType)]
    name = func.sym_name.data
    prepack = _copy(func, names.fresh(f"{name}_weight_prepack"), buffers, keep_marked=True)
    compute = _copy(func, names.fresh(f"{name}_prepacked"), buffers, keep_marked=False)
    _drop_params(prepack, [i for i, p in enumerate(func.params) if p not in weights])
    _move_params(compute, list(moves), len(func.params))
    return _Split(func, prepack, compute, list(moves), types)


def _tensor(t: tir.BufferType) -> TensorType:
    """Return the struct info of a buffer; known extents are of int64, as in Relax."""
    return TensorType.of([d if d.constant is None else Const(d.constant) for d in t.dims], t.dtype)


def _rearranged(func: tir.FuncOp) -> dict[int, SSAValue]:
    """Return the weights that marked statements copy to buffers of the function: position -> buffer."""
    buffers: dict[int, SSAValue] = {}
    for statement in func.body.block.ops:
        if not _is_marked(statement):
            continue
        loads = {op.buffer for op in statement.walk() if isinstance(op, tir.LoadOp)}
        stores = {op.buffer for op in statement.walk() if isinstance(op, tir.StoreOp)}
        if len(loads) != 1 or len(stores) != 1:
            return {}
        (weight,), (buffer,) = loads, stores
        alone = all(_is_marked(_statement_of(use.operation, func)) for use in weight.uses)
        if not isinstance(weight, BlockArgument) or not alone:
            return {}
        if not isinstance(buffer.owner, tir.AllocBufferOp):
            return {}
        buffers[weight.index] = buffer
    return dict(sorted(buffers.items()))


def _is_marked(statement: Operation) -> bool:
    blocks = [op for op in statement.walk() if isinstance(op, tir.BlockOp)]
    return bool(blocks) and all(b.annotations is not None and MARK in b.annotations.data for b in blocks)


def _statement_of(op: Operation, func: tir.FuncOp) -> Operation:
    """Return the statement of the function's body that contains `op`."""
    while op.parent_op() is not func:
        outer = op.parent_op()
        assert outer is not None
        op = outer
    return op


def _copy(func: tir.FuncOp, name: str, buffers: Sequence[SSAValue], *, keep_marked: bool) -> tir.FuncOp:
    """Return a private copy with either the marked statements or the others; `buffers` become its last parameters."""
    places = [list(func.body.block.ops).index(b.owner) for b in buffers if isinstance(b.owner, Operation)]
    new = func.clone()
    new.sym_name, new.sym_visibility = StringAttr(name), tir.function.PRIVATE
    new.properties.pop("handle_names", None)
    with_attrs(new, {LAYOUT_FREE: None})
    body = new.body.block
    allocations = [list(body.ops)[p] for p in places]
    for op in [o for o in body.ops if o.regions and _is_marked(o) != keep_marked]:
        erase(op)
    for allocation, buffer in zip(allocations, buffers, strict=True):
        param = body.insert_arg(buffer.type, len(body.args))
        set_name(param, name_of(buffer))
        allocation.results[0].replace_all_uses_with(param)
        erase(allocation)
    for block in [o for o in new.walk() if isinstance(o, tir.BlockOp) and o.annotations is not None]:
        _unmark(block)
    _erase_unused(body)
    return new


def _unmark(block: tir.BlockOp) -> None:
    assert block.annotations is not None
    kept = {k: v for k, v in block.annotations.data.items() if k != MARK}
    block.annotations = type(block.annotations)(kept) if kept else None


def _erase_unused(body: Block) -> None:
    """Erase buffers and numbers that only removed statements needed."""
    for op in reversed(list(body.ops)):
        if op.results and not op.regions and not any(r.first_use for r in op.results):
            erase(op)


def _drop_params(func: tir.FuncOp, places: Sequence[int]) -> None:
    args = func.body.block.args
    for arg in [args[i] for i in places]:
        func.body.block.erase_arg(arg)


def _move_params(func: tir.FuncOp, places: Sequence[int], first: int) -> None:
    """Replace the parameters at `places` by those from `first` on."""
    block = func.body.block
    old = [block.args[p] for p in places]
    for arg, moved in zip(old, list(block.args[first:]), strict=True):
        param = block.insert_arg(moved.type, arg.index)
        set_name(param, name_of(moved))
        moved.replace_all_uses_with(param)
        block.erase_arg(moved)
        block.erase_arg(arg)


def _of_both(call: relax.CallTIROp, split: _Split, emit: Emit) -> SSAValue:
    """Return the result of calls of both functions, one after the other."""
    weights, types = [call.args[i] for i in split.weights], split.types
    several = len(types) > 1
    packed = emit.put(relax.CallTIROp(split.prepack.sym_name.data, weights, tuple_type(types) if several else types[0]))
    fields = [emit.put(relax.TupleGetItemOp(packed, i)) for i in range(len(types))] if several else [packed]
    args = list(call.args)
    for place, field in zip(split.weights, fields, strict=True):
        args[place] = field
    return emit.put(relax.CallTIROp(split.compute.sym_name.data, args, call.result_type))
