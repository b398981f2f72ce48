"""Features of a scheduled function: numbers from which a cost model can tell how long it will take.

Each store with the loops around it gives a row: the structure of its loops, its arithmetic, and for the buffers that it
touches how much memory they move between the levels of the hierarchy and how they are walked through. The rows of the
stores that compute most, one after the other, and totals over all stores are the features of a candidate. Counts are
taken as log2(1 + n). The last feature (`ESTIMATE`) is what `estimate.efficiency` makes of all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from ..dialects import tir
from ..dialects.dtypes import bit_width, lanes_of
from ..dialects.tir import BufferType, ForKind
from ..handles.module import IRModule
from ..schedule import state as st
from .estimate import efficiency
from .movement import LINE, Access, Movement, Nest
from .types import entry_of

CAPACITIES = (1 << 11, 1 << 15, 1 << 20, 1 << 25)
"""What the levels of memory hold, in bytes: vector registers, the first and second cache, the last one."""
ESTIMATE = -1
STORES, BUFFERS = 3, 4
"""How many stores have a row of their own, and how many buffers a store."""

_ARITHMETIC = ("add", "mul", "div", "extremum", "special", "choice", "other", "load")
_KINDS: dict[type[Operation], str] = {
    tir.AddOp: "add",
    tir.BINARY["sub"]: "add",
    tir.MulOp: "mul",
    tir.DivOp: "div",
    tir.FloorDivOp: "div",
    tir.FloorModOp: "div",
    tir.MinOp: "extremum",
    tir.MaxOp: "extremum",
    tir.CallIntrinOp: "special",
    tir.SelectOp: "choice",
    tir.IfThenElseOp: "choice",
    tir.LoadOp: "load",
}
_FREE = (tir.ConstOp, tir.YieldOp)


def features_of(mod: IRModule) -> np.ndarray:
    """The features of a module's function, `feature_count()` float32. Raises `TiraxError` where it has not one."""
    movement = Movement()
    stores = [op for op in entry_of(mod).walk() if isinstance(op, tir.StoreOp)]
    nests = sorted((_nest(op, movement) for op in stores), key=lambda n: -n.work)
    rows = [_row(nest) for nest in nests]
    width = _row_width()
    kept = [*rows[:STORES], *([[0.0] * width] * (STORES - len(rows)))]
    totals = np.sum(2.0 ** np.asarray(rows) - 1.0, axis=0) if rows else np.zeros(width)
    summed = [math.log2(1.0 + float(totals[k])) for k in _SUMMED]
    moved = [row[-2 * len(CAPACITIES) + 1 : -len(CAPACITIES)] for row in rows]
    estimate = efficiency(nests, [[2.0**lines - 1.0 for lines in row] for row in moved])
    return np.asarray([*(x for row in kept for x in row), *summed, float(len(rows)), estimate], dtype=np.float32)


def feature_count() -> int:
    """How many features there are."""
    return _row_width() * STORES + len(_SUMMED) + 2


# the loops and accesses of a store


def _nest(store: tir.StoreOp, movement: Movement) -> Nest:
    loops: list[tir.ForOp] = []
    parent = store.parent_op()
    while parent is not None and not isinstance(parent, tir.FuncOp):
        if isinstance(parent, tir.ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    loads: list[tir.LoadOp] = []
    arithmetic: Counter[str] = Counter()
    _expression(store.value, arithmetic, loads)
    accesses: dict[SSAValue, Access] = {}
    for op in (store, *loads):
        buffer, indices = _resolve_regions(op.buffer, op.indices)
        if buffer not in accesses:
            accesses[buffer] = _access(buffer, indices, op is store, loops, movement)
    return Nest(loops, [st.constant_extent(lp) or 1 for lp in loops], list(accesses.values()), arithmetic)


def _expression(value: SSAValue, arithmetic: Counter[str], loads: list[tir.LoadOp]) -> None:
    """Count the operations of an expression; those on indices are left out."""
    if not isinstance(value, OpResult):
        return
    op = value.op
    if not isinstance(op, _FREE):
        arithmetic[_KINDS.get(type(op), "other")] += lanes_of(op.results[0].type)
    if isinstance(op, tir.LoadOp):
        loads.append(op)
        return
    inner = [o for r in op.regions for y in r.block.ops if isinstance(y, tir.YieldOp) for o in y.operands]
    for operand in (*op.operands, *inner):
        _expression(operand, arithmetic, loads)


_Index = tuple[int, list[SSAValue]]
"""How many values an index has at once, and what it is the sum of."""


def _resolve_regions(buffer: SSAValue, accesses: Sequence[SSAValue]) -> tuple[SSAValue, list[_Index]]:
    """The buffer that one may be a region of, and the indices into it."""
    indices: list[_Index] = [(lanes_of(index.type), [index]) for index in accesses]
    while isinstance(buffer, OpResult) and isinstance(buffer.op, tir.MatchBufferOp):
        op = buffer.op
        extra = len(op.starts) - len(indices)
        inner: list[_Index] = [*([(1, [])] * extra), *indices[max(0, -extra) :]]
        rows = zip(op.starts, op.extents, inner, strict=True)
        indices = [(extent.constant or 1, [start, *parts]) for start, extent, (_, parts) in rows]
        buffer = op.source
    return buffer, indices


def _access(
    buffer: SSAValue, indices: Sequence[_Index], is_store: bool, loops: list[tir.ForOp], movement: Movement
) -> Access:
    kind: Any = buffer.type
    assert isinstance(kind, BufferType)
    sizes = [d.constant or 1 for d in kind.dims]
    strides = [s.constant or 1 for s in kind.layout_strides()]
    moved = [(width, movement.of_sum(parts)) for width, parts in indices]
    dims = [(size, width, [m.get(lp) for lp in loops]) for size, (width, m) in zip(sizes, moved, strict=True)]
    return Access(buffer, is_store, dims, strides, max(1, bit_width(kind.dtype) // 8))


# a row


def _row(nest: Nest) -> list[float]:
    depths = [_fitting(nest, capacity) for capacity in CAPACITIES]
    accesses = sorted(nest.accesses, key=lambda a: (not a.is_store, -a.lines(len(nest.loops))))[:BUFFERS]
    traffic = [_traffic(nest, depth) for depth in depths]
    row = [*_structure(nest), *_arithmetic(nest)]
    for access in accesses:
        row += _walk(nest, access, [by_buffer[access.buffer] for by_buffer in traffic])
    row += [0.0] * (_WALK * (BUFFERS - len(accesses)))
    moved = [sum(by_buffer.values()) for by_buffer in traffic]
    return [*row, *map(_log, moved), *(_log(nest.work / max(1.0, m)) for m in moved)]


def _log(value: float) -> float:
    return math.log2(1.0 + value)


def _structure(nest: Nest) -> list[float]:
    """The loops: how many iterations of which kind, and what the innermost ones are like."""
    store = nest.accesses[0]
    by_kind: dict[ForKind, float] = {}
    for lp, extent in zip(nest.loops, nest.extents, strict=True):
        by_kind[lp.kind] = by_kind.get(lp.kind, 1.0) * extent
    reducing = [k for k, extent in enumerate(nest.extents) if extent > 1 and not store.moves(k)]
    inner = reducing[0] if reducing else len(nest.loops)
    tile = float(math.prod(store.elements(inner))) if inner else 1.0
    lanes = by_kind.get(ForKind.VECTORIZED, 1.0)
    steps = nest.max_steps
    serial = math.prod(nest.extents[:-1]) if nest.extents else 1
    innermost = next((extent for extent in nest.extents if extent > 1), 1)
    return [
        _log(nest.iterations),
        _log(math.prod(nest.extents[k] for k in reducing)),
        _log(by_kind.get(ForKind.PARALLEL, 1.0)),
        _log(lanes),
        _log(by_kind.get(ForKind.UNROLLED, 1.0)),
        _log(steps),
        float(serial <= steps),
        float(len(nest.loops)),
        _log(innermost),
        _log(nest.extents[reducing[0]] if reducing else 0),
        _log(tile),
        _log(tile / max(1.0, lanes)),
        float(tile / max(1.0, lanes) > 28),
        _log(nest.written_out()),
        _log(nest.iterations / min(lanes, 16.0)),
        _log(nest.iterations / innermost),
    ]


def _arithmetic(nest: Nest) -> list[float]:
    return [*(_log(nest.iterations * nest.arithmetic[kind]) for kind in _ARITHMETIC), _log(nest.work)]


_WALK = 9 + len(CAPACITIES)


def _walk(nest: Nest, access: Access, traffic: list[float]) -> list[float]:
    """How the loops walk through a buffer."""
    every = len(nest.loops)
    unique = float(math.prod(access.elements(every)))
    vector = next((k for k, lp in enumerate(nest.loops) if lp.kind is ForKind.VECTORIZED), None)
    first = next((k for k, extent in enumerate(nest.extents) if extent > 1), None)
    moving = next((k for k in range(every) if access.moves(k)), None)
    by_vector = 0.0 if vector is None else access.step(vector)
    return [
        float(access.is_store),
        _log(unique * access.element),
        _log(nest.iterations / unique),
        _log(0.0 if first is None else access.step(first)),
        _log(by_vector),
        float(vector is not None and by_vector == 1),
        float(vector is not None and by_vector > 1),
        _log(0.0 if moving is None else math.prod(nest.extents[:moving])),
        _log(0.0 if moving is None else access.step(moving)),
        *map(_log, traffic),
    ]


def _fitting(nest: Nest, capacity: int) -> int:
    """How many of the inner loops touch no more than `capacity` bytes."""
    depth = 0
    while depth < len(nest.loops) and sum(a.lines(depth + 1) for a in nest.accesses) * LINE <= capacity:
        depth += 1
    return depth


def _traffic(nest: Nest, depth: int) -> dict[SSAValue, float]:
    """Lines moved into a level of memory that holds what `depth` inner loops touch, by buffer.

    What the next loop does not lead away from stays there.
    """
    out: dict[SSAValue, float] = {}
    for access in nest.accesses:
        lines = access.lines(depth)
        if depth < len(nest.loops):
            again = nest.extents[depth] if access.moves(depth) else 1
            lines = lines * again * math.prod(nest.extents[depth + 1 :])
        out[access.buffer] = float(lines)
    return out


def _row_width() -> int:
    return _STRUCTURE + len(_ARITHMETIC) + 1 + _WALK * BUFFERS + 2 * len(CAPACITIES)


_STRUCTURE = 16
_SUMMED = (
    0,
    *range(_STRUCTURE, _STRUCTURE + len(_ARITHMETIC) + 1),
    *range(_row_width() - 2 * len(CAPACITIES), _row_width() - len(CAPACITIES)),
)
"""The columns of a row that are totalled: iterations, arithmetic, memory moved."""
