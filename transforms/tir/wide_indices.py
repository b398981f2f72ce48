"""Widening of narrow indices to at least 32 bits: expressions that passes build from them (`index * stride + …`,
`index < extent`) may exceed 8 or 16 bits, or bit 31 of an unsigned index.

    load %A[%i : ui8]     ->     load %A[cast %i : i32]
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_unsigned, scalar_of
from ...dialects.quick import operations
from ...ir.rewriting.edit import inserter

_INDEXED = (tir.LoadOp, tir.StoreOp, tir.MaskedLoadOp, tir.MaskedStoreOp)
_REGIONS = (tir.RegionOp, tir.MatchBufferOp)
_WIDE = frozenset[Attribute]((i32, i64))


def widen_indices(func: tir.FuncOp) -> None:
    """Convert indices of less than 32 bits, and unsigned ones of 32, to a signed type that holds all their values."""
    for op in operations(func):
        if isinstance(op, _INDEXED):
            narrow = [v for v in op.indices if _widened(v) is not None]
        elif isinstance(op, _REGIONS):
            narrow = [v for v in op.starts if _widened(v) is not None]
        else:
            continue
        for index in narrow:
            inserter(op)(cast := tir.CastOp(index, _widened(index) or index.type))
            op.operands = [cast.result if v is index else v for v in op.operands]


def _widened(index: SSAValue) -> Attribute | None:
    """Return the type to convert an index to, or None if it is wide enough."""
    element = scalar_of(index.type)
    if element in _WIDE or bit_width(element) > 32:
        return None
    return tir.with_lanes(i64 if is_unsigned(element) and bit_width(element) == 32 else i32, index.type)
