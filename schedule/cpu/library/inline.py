"""Inlining: the elements of a stage are computed where they are read, so that its buffer disappears.

An expression that uses a value twice duplicates it: `b = a + a; c = b + b; …` doubles with every step, and so do
indices with repeated divisions. A stage is stored instead if the expression would exceed the limit `inline.size`,
or the depth that Python's stack allows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import tir
from ....ir.affine.values import sym_expr_of
from ....ir.passes.limits import limit
from ....transforms.tir.walk import erase_with_tree
from ...accesses import is_intermediate, loads_of, stored_iters, uses_of
from ...loop_builder import block_around
from ...rewrite import erase_if_unread, inline_value
from ..analysis.stages import EXPRESSIONS, Iter, Stage, loads_below, slope, tree
from ..policy.limits import MANY_OPERATIONS, MAX_INLINED_COPIES, MAX_INLINED_DEPTH

_HEAVY = (tir.CallIntrinOp, tir.DivOp, tir.FloorDivOp, tir.FloorModOp, tir.TruncModOp, tir.IfThenElseOp)
_LIGHT = frozenset((*tir.CLASSIFYING, *tir.ROUNDING, "fabs", "copysign", "fma", "strict_multiply"))
"""Intrinsics of an instruction or two."""
_Size = tuple[int, int]
_LEAF = (1, 0)
Pays = Callable[[Stage, list[tuple[Stage, tir.LoadOp]]], bool]
"""Decides whether a stage is inlined, given its readers: (stage, load) each."""


def inline_stages(stages: list[Stage], pays: Pays) -> list[Stage]:
    """Inline the stages for which that pays off, in order, and return the remaining stages."""
    kept: list[Stage] = []
    places: dict[Operation | None, int] = {stage.block: at for at, stage in enumerate(stages)}
    written_last = {stage.buffer: at for at, stage in enumerate(stages)}
    for at, stage in enumerate(stages):
        unchanged = all(written_last.get(buffer, -1) <= at for buffer in stage.inputs())
        readers = [(stages[place], load) for place, load in _readers(stage, at, places)] if unchanged else []
        if readers and pays(stage, readers):
            _inline(stage, readers)
        else:
            kept.append(stage)
    return kept


def dimension_iters(stage: Stage) -> list[Iter | None] | None:
    """Return the iterator that indexes each dimension of the written buffer (None for index 0); None if there are
    others.
    """
    by_var = {it.expr: it for it in stage.spatial}
    variables = stored_iters(stage.store, by_var)
    return None if variables is None else [None if v is None else by_var[v] for v in variables]


def written_elsewhere(stage: Stage) -> bool:
    """Return whether any operation other than `stage` stores to its buffer."""
    stores = [op for op in uses_of(stage.buffer)[0] if isinstance(op, tir.StoreOp)]
    return any(store is not stage.store and store is not stage.init for store in stores)


def unchanged_after(stage: Stage, later: list[Stage]) -> bool:
    """Return whether the stages after `stage` write nothing that it reads."""
    inputs = stage.inputs()
    return not any(s.buffer in inputs for s in later)


def _readers(stage: Stage, at: int, places: Mapping[Operation | None, int]) -> list[tuple[int, tir.LoadOp]]:
    """Return (position of the stage, load) for every load of the stage's buffer; empty if the stage cannot be
    inlined.
    """
    if stage.reduce or stage.init is not None or not is_intermediate(stage.buffer):
        return []
    if written_elsewhere(stage) or dimension_iters(stage) is None:
        return []
    readers = [(places.get(block_around(load), -1), load) for load in loads_of(stage.buffer)]
    return readers if all(place > at for place, _ in readers) else []


def is_profitable(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> bool:
    """Return whether inlining pays off: cheap elements may be recomputed, but not in a contraction; expensive ones
    never.
    """
    if _is_copy(stage):
        return True
    heavy = any(_is_heavy(op) for op in stage.block.body.walk())
    copies = _copies(stage, readers)
    if heavy and copies > 1 or copies > MAX_INLINED_COPIES:
        return False
    if _pads_rows(stage) and any(reader.reduce for reader, _ in readers):
        return False
    for reader, load in readers:
        names = {v.name for i in load.indices for v in sym_expr_of(i).free_vars()}
        again = [it for it in reader.iters if it.extent.constant != 1 and (it.var not in names or _stays(load, it))]
        if again and (heavy or any(it.reduce for it in reader.iters)):
            return False
    return not _is_too_large(stage, readers)


def _is_heavy(op: Operation) -> bool:
    """Return whether an operation takes many instructions, or reads scattered elements."""
    if isinstance(op, tir.CallIntrinOp):
        return op.func.data not in _LIGHT
    return isinstance(op, _HEAVY) or _gathers(op)


def _copies(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> int:
    """Return how often inlined elements are computed: once for all loads of a block from the same place.

    Choices are not merged (`_merge_alike`).
    """
    if any(op.regions for op in stage.block.body.walk()):
        return len(readers)
    return len({(reader.block, *map(sym_expr_of, load.indices)) for reader, load in readers})


def _is_too_large(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> bool:
    """Return whether an expression would become too large with the stage's elements in place of their loads."""
    dims = dimension_iters(stage) or []
    most = limit("inline.size")
    for reader in {reader.block: reader for reader, _ in readers}.values():
        loads = [load for other, load in readers if other is reader]
        sizes, elements = _sizes(reader.block.body.block, {}), dict[SSAValue, _Size]()
        for load in loads:
            at = {
                it.var: sizes.get(index, _LEAF) for it, index in zip(dims, load.indices, strict=True) if it is not None
            }
            elements[load.result] = _sizes(stage.block.body.block, at)[stage.store.value]
        operations, depth = _sizes(reader.block.body.block, elements)[reader.store.value]
        if operations > most or depth > MAX_INLINED_DEPTH:
            return True
    return False


def _sizes(block: Block, known: dict[SSAValue, _Size]) -> dict[SSAValue, _Size]:
    """Return the size and depth of the expression of each value.

    The size counts an operation once per use; the depth is the length of the longest chain. `known` are sizes of
    outer values.
    """
    sizes = dict(known)

    def add(block: Block) -> None:
        for op in block.ops:
            used = [sizes.get(operand, _LEAF) for operand in op.operands]
            for region in op.regions:
                add(region.block)
                last = region.block.last_op
                used += [] if last is None else [sizes.get(operand, _LEAF) for operand in last.operands]
            size = 1 + sum(count for count, _ in used), 1 + max((depth for _, depth in used), default=0)
            for result in op.results:
                sizes.setdefault(result, size)

    add(block)
    return sizes


def _stays(load: tir.LoadOp, it: Iter) -> bool:
    """Return whether a load is the same for several values of an iterator, as for the channels of a group: `i // n`."""
    step = slope(load, it)
    return step.constant is None and it.expr in step.free_vars()


def _gathers(op: Operation) -> bool:
    """Return whether an operation reads single elements at indices that are loaded themselves."""
    if not isinstance(op, tir.LoadOp) or not op.indices:
        return False
    return bool(loads_below(op.indices[-1]))


def _is_copy(stage: Stage) -> bool:
    """Return whether elements are copied from the same position of another buffer."""
    load = stage.store.value.owner
    if not isinstance(load, tir.LoadOp):
        return False
    return [sym_expr_of(i) for i in load.indices] == [sym_expr_of(i) for i in stage.store.indices]


def _pads_rows(stage: Stage) -> bool:
    """Return whether a choice depends on the last dimension: inlined in a window it would be repeated for each
    vector.
    """
    dims = dimension_iters(stage)
    last = dims[-1] if dims else None
    choices = [op for op in stage.block.body.walk() if isinstance(op, tir.IfThenElseOp)]
    return last is not None and any(last.var in o.operands for c in choices for o in tree(c.cond))


def _merge_alike(block: Block, known: Mapping[Hashable, Operation]) -> None:
    """Merge operations that compute the same value, in regions also with `known` operations from outside.

    No store comes between them, because a stage has its only store at the end.
    """
    known = dict(known)
    for op in list(block.ops):
        for region in op.regions:
            _merge_alike(region.block, known)
        if type(op) in EXPRESSIONS and not op.regions and op.results:
            key = (type(op), *op.operands, *op.properties.items(), *op.attributes.items(), *op.result_types)
            first = known.setdefault(key, op)
            if first is not op:
                op.results[0].replace_all_uses_with(first.results[0])
                erase_with_tree(op)


def _inline(stage: Stage, readers: list[tuple[Stage, tir.LoadOp]]) -> None:
    dims = dimension_iters(stage)
    assert dims is not None
    variables = [None if it is None else it.var for it in dims]
    zeros = [it.var for it in stage.spatial if it not in dims]
    repeated = len(readers) > _copies(stage, readers)
    inline_value(stage.store.value, variables, [load for _, load in readers], zeros=zeros)
    for block in {reader.block: reader.block.body.block for reader, _ in readers}.values():
        if repeated or sum(1 for _ in block.walk()) > MANY_OPERATIONS:
            _merge_alike(block, {})
    buffer = stage.buffer
    erase_with_tree(stage.root)
    erase_if_unread(buffer)
