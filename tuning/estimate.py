"""How well a scheduled function can run, told from its loops alone: what a search goes by before it has measured.

For each store the cycles are estimated that a core with 512-bit vectors needs: arithmetic and loads of the innermost
tile, whose results stay in registers or go through memory, and the lines that move between the caches. The numbers
are rough; only the order of candidates is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, SSAValue

from ..dialects import tir
from ..dialects.attributes import from_attr
from ..dialects.tir import ForKind
from .movement import Access, Nest

_VECTOR = 64
"""Bytes of a vector."""
_REGISTERS = 28
"""Vectors that may hold results: the others are needed for operands."""
_LATENCY = 4
"""Cycles until a result can be added to again."""
_THROUGH_MEMORY = 3.0
"""How many times as long a result takes that is loaded and stored for each step."""
_SPILLED = 1.5
"""How many times as long a tile takes that does not fit into registers."""
_LINE_CYCLES = (2.0, 4.0, 12.0)
"""Cycles to bring a line into the first cache, the second one, the last one."""
_NO_ALIAS = "tir.noalias"
_LOOP_CYCLES = 0.5
_WRITTEN_OUT = 0.06
"""What each doubling of the tiles that are written out costs: operands are loaded too early, and kept in memory."""


def efficiency(nests: Sequence[Nest], traffic: Sequence[Sequence[float]]) -> float:
    """log2 of the part of the time that arithmetic at full speed would take; 0 at best, at least -12.

    `traffic` has for each nest the lines that are brought into each level of the caches.
    """
    ideal = sum(n.work / 2 / _lanes(n.accesses[0].element) for n in nests)
    cycles = sum(_compute(n) + _memory(lines) for n, lines in zip(nests, traffic, strict=True))
    return max(-12.0, min(0.0, math.log2(max(ideal, 1.0) / max(cycles, 1.0))))


def _lanes(element: int) -> int:
    return _VECTOR // element


def _memory(lines: Sequence[float]) -> float:
    return sum(count * cost for count, cost in zip(lines, _LINE_CYCLES, strict=True))


def _compute(nest: Nest) -> float:
    """Cycles of the tiles: a tile is what is done in one step of the innermost reduction, or of the vectors."""
    store, tile = nest.accesses[0], _tile(nest)
    results = _vectors(nest, store, tile)
    operands = sum(_vectors(nest, a, tile) for a in nest.accesses if not a.is_store)
    every, in_tile = _steps(nest, len(nest.loops)), _steps(nest, tile)
    written_out = nest.written_out()
    reduces = any(not store.moves(k) for k, extent in enumerate(nest.extents) if extent > 1)
    cycles = max(results, operands)
    if not reduces:
        cycles += results
    elif written_out < in_tile or _may_overlap(store.buffer):
        cycles *= _THROUGH_MEMORY
    else:
        cycles = max(cycles, _LATENCY) * (_SPILLED if results > _REGISTERS else 1.0)
    cycles *= 1.0 + _WRITTEN_OUT * math.log2(max(1.0, written_out / in_tile))
    return every / in_tile * cycles + every / max(1.0, written_out) * _LOOP_CYCLES


def _may_overlap(buffer: SSAValue) -> bool:
    """Whether a buffer may be one of the others, too: a parameter, unless the function says `tir.noalias`."""
    func = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else None
    if not isinstance(func, tir.FuncOp):
        return False
    attrs = {} if func.func_attrs is None else func.func_attrs.data
    return not from_attr(attrs.get(_NO_ALIAS, BoolAttr.from_bool(False)))


def _steps(nest: Nest, depth: int) -> float:
    """The steps of the `depth` inner loops; a vector is one."""
    rows = zip(nest.loops[:depth], nest.extents[:depth], strict=True)
    return float(math.prod(extent for lp, extent in rows if lp.kind is not ForKind.VECTORIZED))


def _tile(nest: Nest) -> int:
    """How many of the inner loops make a tile: those inside the innermost reduction, else the vectorized ones."""
    store = nest.accesses[0]
    for k, (lp, extent) in enumerate(zip(nest.loops, nest.extents, strict=True)):
        if extent > 1 and lp.kind is not ForKind.VECTORIZED and not store.moves(k):
            return k
    return next((k + 1 for k, lp in enumerate(nest.loops) if lp.kind is ForKind.VECTORIZED), 0)


def _vectors(nest: Nest, access: Access, tile: int) -> float:
    """The vectors that a tile has of a buffer; single elements where they do not lie side by side."""
    count = float(math.prod(access.elements(tile))) if access.dims else 1.0
    vector = next((k for k, lp in enumerate(nest.loops) if lp.kind is ForKind.VECTORIZED), None)
    if vector is None or vector >= tile or access.step(vector) != 1:
        return count
    together = min(nest.extents[vector], _lanes(access.element))
    return math.ceil(count / together)
