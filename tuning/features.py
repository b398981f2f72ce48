"""Features of a scheduled function, from which a cost model predicts its run time.

Each store with the loops around it yields a row: its loop structure, its arithmetic and, for the buffers
that it accesses, the traffic between memory levels and the access strides. The features of a candidate are
the rows of the stores with the most arithmetic, followed by totals over all stores. Counts are encoded as
log2(1 + n). The last feature (`ESTIMATE`) is the result of `estimate.efficiency`.
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
"""The capacities of the memory levels, in bytes: vector registers, L1, L2 and the last-level cache."""
ESTIMATE = -1
STORES, BUFFERS = 3, 4
"""The number of stores with a row of their own, and of buffers per store."""

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
    """Return the features of a module's only function, `feature_count()` float32 values. Raises `TiraxError`."""
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
    """Return the number of features."""
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
    """Count the operations and collect the loads of an expression, except those in indices."""
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
"""The number of values an index has at once, and the terms whose sum it is."""


def _resolve_regions(buffer: SSAValue, accesses: Sequence[SSAValue]) -> tuple[SSAValue, list[_Index]]:
    """Return the underlying buffer of a matched region, and the indices into it."""
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


# a row of features


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
    """Return the features of the loops: iterations by kind, and properties of the innermost loops."""
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
    """Return the features of the loops' access pattern to one buffer."""
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
    """Return the number of inner loops whose accesses fit into `capacity` bytes."""
    depth = 0
    while depth < len(nest.loops) and sum(a.lines(depth + 1) for a in nest.accesses) * LINE <= capacity:
        depth += 1
    return depth


def _traffic(nest: Nest, depth: int) -> dict[SSAValue, float]:
    """Return the lines moved, by buffer, into a memory level that holds what `depth` inner loops access.

    Elements that the next loop accesses again stay in that level.
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
"""The columns of a row that are summed over all stores: iterations, arithmetic, memory traffic."""
