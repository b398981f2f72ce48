"""Strides requested by blocks: `buffer_dim_align = [[0, 1, 32, 8]]` of a block that writes `%B`.

The stride of dimension 1 of the first buffer that the block writes is 8 modulo 32, in elements: for example to avoid
bank conflicts between rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.relax.types import dims_attr
from ...dialects.sym.expr import Const, SymExpr, add, floormod, mul
from ...ir.locations import location_of
from ...ir.rewriting.edit import set_type

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
