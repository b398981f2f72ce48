"""Suggest layouts of blocks and buffers from layouts of a tensor function's outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....diagnostics import ShapeError, TiraxError
from ....dialects import tir
from ....dialects.sym import IndexMapping
from ....dialects.sym.expr import SymExpr, Var
from ....handles.tir.buffers import Buffer, Stmt
from ....handles.tir.index_map import IndexMap
from ....handles.tir.prim_func import PrimFunc
from ....ir.affine.values import sym_expr_of

Layout = list[Var | None]
"""The iterator of each index of a buffer, or None for none or several."""


def suggest_layout_transforms(
    func: PrimFunc | tir.FuncOp, write_buffer_transforms: Sequence[Any]
) -> dict[Stmt, dict[Stmt | Buffer, IndexMap]]:
    """Return, for each block of `func`, transformations of its iterators and of the buffers that it reads and writes.

    `write_buffer_transforms` are the index maps (or functions of indices) of the outputs, the last parameters.
    A block is transformed if it writes one buffer in the order of its iterators; a buffer that it reads, if its
    indices are iterators in their order. Intermediate buffers follow the blocks that read them. Raises
    `TiraxError` for more maps than parameters.
    """
    op = func.op if isinstance(func, PrimFunc) else func
    outputs = op.params[len(op.params) - len(write_buffer_transforms) :]
    if len(write_buffer_transforms) > len(op.params):
        count = len(write_buffer_transforms)
        raise TiraxError("there are more layouts than buffers", expected=f"at most {len(op.params)}", found=count)
    mappings: dict[SSAValue, IndexMapping] = {}
    for buffer, transform in zip(outputs, write_buffer_transforms, strict=True):
        mappings[buffer] = _mapping(transform, buffer)
    blocks = [b for b in op.walk() if isinstance(b, tir.BlockOp) and not _has_blocks(b)]
    suggested: dict[Stmt, dict[Stmt | Buffer, IndexMap]] = {}
    for block in reversed(blocks):
        own = _Block(block).suggest(mappings)
        if own is not None:
            suggested[Stmt(block)] = own
    return dict(reversed(list(suggested.items())))


def _mapping(transform: Any, buffer: SSAValue) -> IndexMapping:
    t = buffer.type
    dtype = t.dims[0].dtype if isinstance(t, tir.BufferType) and t.dims else IntegerType(64)
    index_map = (
        transform
        if isinstance(transform, IndexMap)
        else IndexMap.from_func(transform, index_dtype=f"int{dtype.width.data}")
    )
    if not isinstance(t, tir.BufferType) or t.rank != len(index_map.mapping.params):
        raise ShapeError("the index map does not fit the output", expected=t, found=index_map)
    return index_map.mapping


def _has_blocks(block: tir.BlockOp) -> bool:
    return any(isinstance(op, tir.BlockOp) and op is not block for op in block.walk())


@dataclass
class _Block:
    """One block, with its iterators as variables."""

    block: tir.BlockOp

    def suggest(self, mappings: dict[SSAValue, IndexMapping]) -> dict[Stmt | Buffer, IndexMap] | None:
        """Return the transformations of the block and its buffers; those of its inputs are added to `mappings`."""
        stores = self._accesses(tir.StoreOp)
        if len(stores) != 1:
            return None
        (written, layout), *_ = stores.items()
        mapping = mappings.get(written)
        if mapping is None or layout is None or not self._in_order(layout) or None in layout:
            return None
        iterators = [Var(v, cast(IntegerType, v.type)) for v in self.block.iter_vars]
        own = remapped(layout, mapping, list(iterators))
        if own is None:
            return None
        out: dict[Stmt | Buffer, IndexMap] = {Stmt(self.block): IndexMap.of(own), Buffer(written): IndexMap.of(mapping)}
        for buffer, read in self._accesses(tir.LoadOp).items():
            if buffer is written or read is None or not self._in_order(read) or None in read:
                continue
            read_mapping = remapped(layout, mapping, read)
            if read_mapping is not None:
                out[Buffer(buffer)] = IndexMap.of(read_mapping)
                mappings.setdefault(buffer, read_mapping)
        return out

    def _accesses(self, kind: type[tir.LoadOp] | type[tir.StoreOp]) -> dict[SSAValue, Layout | None]:
        """Return the layout in which each buffer is accessed, or None for several layouts."""
        layouts: dict[SSAValue, Layout | None] = {}
        for op in self.block.walk():
            if isinstance(op, kind):
                layout = [self._iterator(sym_expr_of(i)) for i in op.indices]
                same = op.buffer not in layouts or layouts[op.buffer] == layout
                layouts[op.buffer] = layout if same else None
        return layouts

    def _iterator(self, index: SymExpr) -> Var | None:
        """Return the only iterator of an index with step 1, or None."""
        own = set(self.block.iter_vars)
        iterators = [v for v in index.free_vars() if v.value in own]
        if len(iterators) != 1:
            return None
        rest = (index - iterators[0]).free_vars(), (index + iterators[0]).free_vars()
        return iterators[0] if iterators[0] not in rest[0] or iterators[0] not in rest[1] else None

    def _in_order(self, layout: Layout) -> bool:
        """Return whether each iterator occurs once, and spatial iterators are in the block's order."""
        rows = enumerate(zip(self.block.iter_vars, self.block.kinds, strict=True))
        order = {v: i for i, (v, kind) in rows if kind is tir.IterKind.SPATIAL}
        values = [v.value for v in layout if v is not None and v.value is not None]
        places = [order[v] for v in values if v in order]
        return len(set(values)) == len(values) and places == sorted(places)


def remapped(source: Layout, mapping: IndexMapping, target: Layout) -> IndexMapping | None:
    """Transfer the index map of a buffer with the layout `source` to one with the layout `target`.

    Dimensions that only the source has are dropped, with the results that depend on them alone; those that only
    the target has are inserted at their positions. Returns None if a result depends on both kinds of
    dimensions.
    """
    params, results = list(mapping.params), list(mapping.results)
    gone = {p for p, v in zip(mapping.params, source, strict=True) if v not in target}
    for result in list(results):
        used = set(result.free_vars())
        if used & gone and not used <= gone:
            return None
        if used & gone:
            results.remove(result)
    params = [p for p in params if p not in gone]
    taken = {str(p.name) for p in mapping.params}
    for i, var in enumerate(target):
        if var not in source:
            name = "d"
            while name in taken:
                name += "_1"
            taken.add(name)
            fresh = Var(name, mapping.params[0].dtype)
            params.insert(i, fresh)
            results.insert(i, fresh)
    return IndexMapping(tuple(params), tuple(results))
