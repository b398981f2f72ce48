"""Inlining: a stage whose elements are computed where they are read, so that its buffer vanishes.

An expression that uses a value twice has it twice: `b = a + a; c = b + b; …` doubles with every step, and so do indices
that are divided again and again. What would be larger than the limit `inline.size` is stored instead.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import Var
from ...ir.affine.values import sym_expr_of
from ...ir.passes.limits import limit
from ...transforms.tir.walk import erase_with_tree
from ..accesses import is_intermediate, loads_of, uses_of
from ..loop_builder import block_around
from ..rewrite import erase_if_unread, inline_value
from .stages import Iter, Stage, loads_below, slope, tree

_HEAVY = (tir.CallIntrinOp, tir.DivOp, tir.FloorDivOp, tir.FloorModOp, tir.TruncModOp, tir.IfThenElseOp)
_MAX_COPIES = 3
Pays = Callable[[Stage, list[tuple[Stage, tir.LoadOp]]], bool]
"""Whether a stage is inlined, given what reads it: (stage, load) each."""


def inline_stages(stages: list[Stage], pays: Pays) -> list[Stage]:
    """Inline what pays, in order; the stages that are left."""
    kept: list[Stage] = []
    for at, stage in enumerate(stages):
        readers = _readers(stage, stages[at + 1 :])
        if readers is not None and pays(stage, readers):
            _inline(stage, readers)
        else:
            kept.append(stage)
    return kept


def dimension_iters(stage: Stage) -> list[Iter | None] | None:
    """The iterator that indexes each dimension of what a stage writes (None: always 0); None where it is otherwise."""
    by_var = {it.expr: it for it in stage.spatial}
    out: list[Iter | None] = []
    for index in stage.store.indices:
        expr = sym_expr_of(index)
        it = by_var.pop(expr, None) if isinstance(expr, Var) else None
        if it is None and expr.constant != 0:
            return None
        out.append(it)
    return out


def written_elsewhere(stage: Stage) -> bool:
    """Whether anything but `stage` stores into the buffer that it writes."""
    stores = [op for op in uses_of(stage.buffer)[0] if isinstance(op, tir.StoreOp)]
    return any(store is not stage.store and store is not stage.init for store in stores)


def unchanged_after(stage: Stage, later: list[Stage]) -> bool:
    """Whether nothing that `stage` reads is written by the stages after it."""
    inputs = stage.inputs()
    return not any(s.buffer in inputs for s in later)


def _readers(stage: Stage, later: list[Stage]) -> list[tuple[Stage, tir.LoadOp]] | None:
    """(stage, load) of every load of what `stage` writes; None where the stage cannot be inlined."""
    if stage.reduce or stage.init is not None or not is_intermediate(stage.buffer):
        return None
    if written_elsewhere(stage) or dimension_iters(stage) is None or not unchanged_after(stage, later):
        return None
    loads, blocks = loads_of(stage.buffer), dict[Operation | None, Stage]({s.block: s for s in later})
    owners = [blocks.get(block_around(load)) for load in loads]
    readers = [(owner, load) for owner, load in zip(owners, loads, strict=True) if owner is not None]
    return readers if loads and len(readers) == len(loads) else None


def pays_inlined(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> bool:
    """Cheap elements may be computed several times, but not again and again in a contraction; dear ones only once."""
    if _is_copy(stage):
        return True
    if _size_inlined(stage, readers) > limit("inline.size"):
        return False
    heavy = any(type(op) in _HEAVY or _gathers(op) for op in stage.block.body.walk())
    if heavy and len(readers) > 1 or len(readers) > _MAX_COPIES:
        return False
    if _pads_rows(stage) and any(reader.reduce for reader, _ in readers):
        return False
    for reader, load in readers:
        names = {v.name for i in load.indices for v in sym_expr_of(i).free_vars()}
        again = [it for it in reader.iters if it.extent.constant != 1 and (it.var not in names or _stays(load, it))]
        if again and (heavy or any(it.reduce for it in reader.iters)):
            return False
    return True


def _size_inlined(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> int:
    """How large the largest expression is that has the elements of a stage in the place of their loads."""
    dims = dimension_iters(stage) or []
    largest = 0
    for reader in {reader.block: reader for reader, _ in readers}.values():
        loads = [load for other, load in readers if other is reader]
        sizes, elements = _sizes(reader.block.body.block, {}), dict[SSAValue, int]()
        for load in loads:
            at = {it.var: sizes.get(index, 1) for it, index in zip(dims, load.indices, strict=True) if it is not None}
            elements[load.result] = _sizes(stage.block.body.block, at)[stage.store.value]
        largest = max(largest, _sizes(reader.block.body.block, elements)[reader.store.value])
    return largest


def _sizes(block: Block, known: dict[SSAValue, int]) -> dict[SSAValue, int]:
    """How many operations compute each value, where one that is used twice counts twice; `known` are some sizes."""
    sizes = dict(known)

    def add(block: Block) -> None:
        for op in block.ops:
            size = 1 + sum(sizes.get(operand, 1) for operand in op.operands)
            for region in op.regions:
                add(region.block)
                last = region.block.last_op
                size += 0 if last is None else sum(sizes.get(operand, 1) for operand in last.operands)
            for result in op.results:
                sizes.setdefault(result, size)

    add(block)
    return sizes


def _stays(load: tir.LoadOp, it: Iter) -> bool:
    """Whether a load is the same for several values of an iterator, as for the channels of a group: `i // n`."""
    step = slope(load, it)
    return step.constant is None and it.expr in step.free_vars()


def _gathers(op: Operation) -> bool:
    """Whether an operation reads elements, not rows, at places that are read themselves."""
    if not isinstance(op, tir.LoadOp) or not op.indices:
        return False
    return bool(loads_below(op.indices[-1]))


def _is_copy(stage: Stage) -> bool:
    """Whether elements are those of another buffer at the same place."""
    load = stage.store.value.owner
    if not isinstance(load, tir.LoadOp):
        return False
    return [sym_expr_of(i) for i in load.indices] == [sym_expr_of(i) for i in stage.store.indices]


def _pads_rows(stage: Stage) -> bool:
    """Whether a choice is made anew along the last dimension: in a window it were made for each vector again."""
    dims = dimension_iters(stage)
    last = dims[-1] if dims else None
    choices = [op for op in stage.block.body.walk() if isinstance(op, tir.IfThenElseOp)]
    return last is not None and any(last.var in o.operands for c in choices for o in tree(c.cond))


def _inline(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> None:
    dims = dimension_iters(stage)
    assert dims is not None
    variables = [None if it is None else it.var for it in dims]
    zeros = [it.var for it in stage.spatial if it not in dims]
    inline_value(stage.store.value, variables, [load for _, load in readers], zeros=zeros)
    buffer = stage.buffer
    erase_with_tree(stage.root)
    erase_if_unread(buffer)
