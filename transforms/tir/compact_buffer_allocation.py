"""`compact-buffer-allocation`: shrink buffers to the part that is accessed.

    for %i {                                          for %i {
      %B = alloc_buffer : [128, 128]                    %B = alloc_buffer : [1, 16]
      for %j to 16 {store %x, %B[%i, %j]}       ->      for %j to 16 {store %x, %B[%i - %i, %j]}
    }                                                 }

The part is an interval in each dimension, of constant or symbolic length, that starts at the first access within an
iteration of the loops around the allocation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.relax.types import dims_attr
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, add, floormod, mul
from ...dialects.sym.operators import maximum, minimum
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import Ends, relaxed
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inserter, set_type
from .walk import bind_loop, bound_expr, functions, remove_dead

ALIGN = "buffer_dim_align"
_Alignments = dict[int, tuple[int, int]]


def align_strides(func: tir.FuncOp) -> None:
    """Give the buffers that a function allocates the strides that its blocks request.

    Buffers with strides or an offset are kept. Raises `UnsupportedError` for an entry with an invalid buffer or
    dimension.
    """
    for buffer, axes in _alignments_of(func).items():
        t = cast(tir.BufferType, buffer.type)
        if isinstance(buffer.owner, tir.AllocBufferOp) and t.explicit_strides is None and t.elem_offset is None:
            set_type(buffer, t.replaced(strides=dims_attr(_strides(t.dims, axes))))


def _alignments_of(func: tir.FuncOp) -> dict[SSAValue, _Alignments]:
    """Return the requested strides by buffer: (factor, offset) by dimension."""
    alignments: dict[SSAValue, _Alignments] = {}
    for block in operations(func):
        if not isinstance(block, tir.BlockOp) or block.annotations is None or ALIGN not in block.annotations.data:
            continue
        for row in _rows(block.annotations.data[ALIGN]):
            number, axis, factor, offset = row if len(row) == 4 else (-1, 0, 0, 0)
            buffers = [region.buffer for region in block.writes]
            rank = cast(tir.BufferType, buffers[number].type).rank if 0 <= number < len(buffers) else 0
            if not 0 <= axis < rank or factor <= 0:
                raise UnsupportedError(
                    f'{ALIGN} of block "{block.block_name.data}"',
                    location=location_of(block),
                    expected="[number of a buffer that the block writes, dimension, factor, offset]",
                    found=row,
                )
            alignments.setdefault(buffers[number], {})[axis] = (factor, offset)
    return alignments


def _rows(attr: Attribute) -> list[list[int]]:
    """Return a list of lists of integers as Python values, dropping other entries."""
    rows = cast("Iterable[Attribute]", attr) if isinstance(attr, ArrayAttr) else ()
    lists = [cast("Iterable[Attribute]", r) for r in rows if isinstance(r, ArrayAttr)]
    return [[cast("IntegerAttr[IntegerType]", v).value.data for v in r if isinstance(v, IntegerAttr)] for r in lists]


def _strides(dims: Iterable[SymExpr], axes: Mapping[int, tuple[int, int]]) -> list[SymExpr]:
    """Return the strides, each rounded up to the next requested one."""
    extents = list(dims)
    stride: SymExpr = Const(1, extents[0].dtype)
    strides: list[SymExpr] = []
    for axis in range(len(extents) - 1, -1, -1):
        if axis in axes:
            factor, offset = axes[axis]
            stride = add(stride, floormod(add(mul(floormod(stride, factor), -1), offset + factor), factor))
        strides.append(stride)
        stride = mul(stride, extents[axis])
    return strides[::-1]


_Access = tir.LoadOp | tir.StoreOp | tir.MatchBufferOp | tir.RegionOp


@dataclass(frozen=True)
class CompactBufferAllocation(Pass):
    """Shrink `tir.alloc_buffer` to the accessed part, and make indices relative to its start.

    Buffers with strides or an offset, buffers whose address is taken and those accessed by vectors are kept, and so are
    those with intentional padding, such as the tiles of the default schedule. If a block requests it
    (`buffer_dim_align`, from `storage_align`), the buffer gets strides.
    """

    name = "compact-buffer-allocation"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            allocs = [inner for inner in operations(func) if isinstance(inner, tir.AllocBufferOp)]
            changed = [_compact(alloc) for alloc in allocs if not alloc.padded]
            align_strides(func)
            if any(changed):
                remove_dead(func)


def _compact(alloc: tir.AllocBufferOp) -> bool:
    """Shrink one buffer; return whether it has changed."""
    t = alloc.result.type
    accesses = _accesses(alloc)
    if accesses is None or not t.rank or t.explicit_strides is not None or t.elem_offset is not None:
        return False
    around = _Surroundings(alloc)
    regions = [around.region(a) for a in accesses if not isinstance(a, tir.RegionOp)]
    if not regions:
        return False
    parts = [_part(list(spans), size, around.outer) for spans, size in zip(zip(*regions, strict=True), t.dims)]
    if all(part is None for part in parts):
        return False
    kept = [(Const(0, dim.dtype), dim) if part is None else part for part, dim in zip(parts, t.dims, strict=True)]
    set_type(alloc.result, t.replaced(shape=dims_attr(extent for _, extent in kept), separators=ArrayAttr([])))
    build = Materializer(inserter(alloc))
    for access in accesses:
        _shift(access, [first for first, _ in kept], build)
    return True


def _accesses(alloc: tir.AllocBufferOp) -> list[_Access] | None:
    """Return all uses of a buffer, or None if one is not a scalar access."""
    accesses: list[_Access] = []
    for use in alloc.result.uses:
        op = use.operation
        if not isinstance(op, _Access) or not all(isinstance(v.type, IntegerType) for v in _starts(op)):
            return None
        accesses.append(op)
    return accesses


def _starts(op: _Access) -> list[SSAValue]:
    return list(op.indices if isinstance(op, tir.LoadOp | tir.StoreOp) else op.starts)


class _Surroundings:
    """The ranges of the loops outside and inside an allocation."""

    def __init__(self, alloc: tir.AllocBufferOp):
        self.scope = cast(Operation, alloc.parent_op())
        self.outer = Analyzer()
        self._bounds: dict[SSAValue, Ends | None] = {}
        self._memo: dict[SSAValue, SymExpr] = {}
        above: list[tir.ForOp] = []
        op: Operation | None = self.scope
        while op is not None:
            above += [op] if isinstance(op, tir.ForOp) else []
            op = op.parent_op()
        shared = alloc.result.type.scope.data.partition(".")[0] in ("global", "shared")
        for loop in reversed(above):
            bind_loop(self.outer, loop)
            if shared and loop.thread is not None and not loop.thread.data.startswith("blockIdx"):
                self._bind(loop)  # the threads share the memory

    def region(self, access: _Access) -> list[Ends | None]:
        """Return the interval of each index over all loops inside the scope of the allocation."""
        inner: list[Operation] = []
        op = access.parent_op()
        while op is not None and op is not self.scope:
            inner.append(op)
            op = op.parent_op()
        for op in reversed(inner):
            self._bind(op)
        extents = access.extents if isinstance(access, tir.MatchBufferOp) else None
        region: list[Ends | None] = []
        for d, start in enumerate(_starts(access)):
            span = self._outside(self._expr(start))
            region.append(span if span is None or extents is None else (span[0], span[1] + extents[d] - 1))
        return region

    def _bind(self, op: Operation) -> None:
        if isinstance(op, tir.ForOp) and op.loop_var not in self._bounds:
            least = bound_expr(op.min)
            first, last = self._outside(least), self._outside(least + bound_expr(op.extent) - 1)
            self._bounds[op.loop_var] = None if first is None or last is None else (first[0], last[1])
        elif isinstance(op, tir.BlockOp):
            for var, binding in zip(op.iter_vars, op.bindings, strict=True):
                self._bounds[var] = self._outside(self._expr(binding))

    def _expr(self, value: SSAValue) -> SymExpr:
        return sym_expr_of(value, self._memo)

    def _outside(self, e: SymExpr) -> Ends | None:
        """Return the range of an expression in terms of values available at the allocation."""
        span = relaxed(e, self._bounds)
        return None if span is None or any(self._is_inside(v) for end in span for v in end.free_vars()) else span

    def _is_inside(self, variable: Var) -> bool:
        value = variable.value
        if value is None:
            return False
        owner = value.owner
        if not isinstance(value, BlockArgument) or not isinstance(owner, Block):
            return self.scope.is_ancestor(cast(Operation, owner))
        parent = owner.parent_op()
        return parent is not None and parent is not self.scope and self.scope.is_ancestor(parent)


def _part(spans: list[Ends | None], size: SymExpr, outer: Analyzer) -> Ends | None:
    """Return (first, extent) of the accessed part of a dimension, or None for all of it."""
    known = [s for s in spans if s is not None]
    if len(known) < len(spans):
        return None
    first, last = known[0]
    for low, high in known[1:]:
        first, last = _least(first, low), _greatest(last, high)
    extent = outer.simplify(last - first + 1)
    if extent == size or any(v.value is not None for v in extent.free_vars()):
        return None
    if outer.bounds(size - extent).low < 0 and (extent.constant is None or size.constant is not None):
        return None
    return first, Const(extent.constant, size.dtype) if extent.constant is not None else extent


def _least(a: SymExpr, b: SymExpr) -> SymExpr:
    difference = (a - b).constant
    return minimum(a, b) if difference is None else a if difference <= 0 else b


def _greatest(a: SymExpr, b: SymExpr) -> SymExpr:
    difference = (a - b).constant
    return maximum(a, b) if difference is None else a if difference >= 0 else b


def _shift(op: _Access, firsts: list[SymExpr], build: Materializer) -> None:
    insert = inserter(op)
    offset = 2 if isinstance(op, tir.StoreOp) else 1
    for d, (start, first) in enumerate(zip(_starts(op), firsts, strict=True)):
        if first.constant == 0:
            continue
        moved = tir.SubOp(start, build(first, cast(IntegerType, start.type)))
        insert(moved)
        op.operands[offset + d] = moved.result
