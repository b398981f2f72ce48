"""An analytical estimate of a scheduled function's efficiency from its loops, used before there are measurements.

For each store it estimates the cycles on a core with 512-bit vectors: arithmetic and loads of the innermost
tile, whose results stay in registers or go through memory, and the cache lines moved between cache levels.
The numbers are rough; only the ranking of candidates matters.
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
"""The size of a vector register, in bytes."""
_REGISTERS = 28
"""The vector registers available for results; the others hold operands."""
_LATENCY = 4
"""The latency of a floating-point addition, in cycles."""
_THROUGH_MEMORY = 3.0
"""The slowdown of a result that is loaded and stored in each step."""
_SPILLED = 1.5
"""The slowdown of a tile that does not fit into registers."""
_LINE_CYCLES = (2.0, 4.0, 12.0)
"""Cycles to bring a cache line into L1, L2 and the last-level cache."""
_NO_ALIAS = "tir.noalias"
_LOOP_CYCLES = 0.5
_WRITTEN_OUT = 0.06
"""The cost of each doubling of the unrolled tiles: operands are loaded too early and spilled."""


def efficiency(nests: Sequence[Nest], traffic: Sequence[Sequence[float]]) -> float:
    """Return log2 of the estimated fraction of peak arithmetic speed, from -12 to 0.

    `traffic` holds, for each nest, the lines brought into each cache level.
    """
    ideal = sum(n.work / 2 / _lanes(n.accesses[0].element) for n in nests)
    cycles = sum(_compute(n) + _memory(lines) for n, lines in zip(nests, traffic, strict=True))
    return max(-12.0, min(0.0, math.log2(max(ideal, 1.0) / max(cycles, 1.0))))


def _lanes(element: int) -> int:
    return _VECTOR // element


def _memory(lines: Sequence[float]) -> float:
    return sum(count * cost for count, cost in zip(lines, _LINE_CYCLES, strict=True))


def _compute(nest: Nest) -> float:
    """Estimate the cycles of all tiles; a tile is one step of the innermost reduction or of the vector loop."""
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
    """Return whether a buffer may alias another: a parameter may, unless the function has `tir.noalias`."""
    func = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else None
    if not isinstance(func, tir.FuncOp):
        return False
    attrs = {} if func.func_attrs is None else func.func_attrs.data
    return not from_attr(attrs.get(_NO_ALIAS, BoolAttr.from_bool(False)))


def _steps(nest: Nest, depth: int) -> float:
    """Return the number of steps of the `depth` inner loops, counting a vector as one."""
    rows = zip(nest.loops[:depth], nest.extents[:depth], strict=True)
    return float(math.prod(extent for lp, extent in rows if lp.kind is not ForKind.VECTORIZED))


def _tile(nest: Nest) -> int:
    """Return the number of inner loops that form a tile: those inside the innermost reduction, else the vectorized
    ones.
    """
    store = nest.accesses[0]
    for k, (lp, extent) in enumerate(zip(nest.loops, nest.extents, strict=True)):
        if extent > 1 and lp.kind is not ForKind.VECTORIZED and not store.moves(k):
            return k
    return next((k + 1 for k, lp in enumerate(nest.loops) if lp.kind is ForKind.VECTORIZED), 0)


def _vectors(nest: Nest, access: Access, tile: int) -> float:
    """Return the number of vectors that a tile accesses in a buffer, or of elements where they are not contiguous."""
    count = float(math.prod(access.elements(tile))) if access.dims else 1.0
    vector = next((k for k, lp in enumerate(nest.loops) if lp.kind is ForKind.VECTORIZED), None)
    if vector is None or vector >= tile or access.step(vector) != 1:
        return count
    together = min(nest.extents[vector], _lanes(access.element))
    return math.ceil(count / together)
