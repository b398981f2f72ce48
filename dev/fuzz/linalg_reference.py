"""What functions of `linalg.generic` compute, by numpy: points of reductions one after another, all others at once."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, SSAValue

from .linalg_scalars import DIGITS, Array, Known, dtype_of, result_of, sure

Values = dict[SSAValue, Known]
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0)


def arguments(text: str, function: func.FuncOp) -> list[Any]:
    """Return random arguments of the sizes that the first line of a text lists."""
    draw = np.random.default_rng(zlib.crc32(text.encode()))
    results: list[Any] = []
    for sizes, arg in zip(json.loads(text.splitlines()[0][3:]), function.args, strict=True):
        kind = cast(Any, arg.type)
        if isinstance(kind, IndexType):
            results.append(int(draw.integers(0, 5)))
        else:
            results.append(_elements(draw, str(getattr(kind, "element_type", kind)), sizes))
    return results


def _elements(draw: Any, kind: str, sizes: Sequence[int]) -> Array:
    dtype, mode = dtype_of(kind), draw.integers(0, 6)
    if kind == "i1":
        return draw.integers(0, 2, sizes).astype(bool)
    array = draw.integers(-3, 4, sizes)
    if kind in DIGITS:
        array = array / (2 if mode == 1 else 1)
        special = draw.choice(_SPECIAL, sizes)
        return np.asarray(np.where((mode == 0) & (draw.integers(0, 5, sizes) == 0), special, array)).astype(dtype)
    limits = np.iinfo(dtype)
    if mode == 0 and kind != "index":
        array = draw.integers(limits.min, limits.max, sizes, dtype, endpoint=True)
    elif mode == 1 and kind != "index":
        array = np.where(draw.integers(0, 3, sizes) == 0, draw.choice([limits.min, limits.max], sizes), array)
    return np.asarray(array).astype(dtype)


# -- a function --------------------------------------------------------------------------------------------------------


def run_function(function: func.FuncOp, args: Sequence[Any]) -> list[Known]:
    """Return what a function returns; of one without results, its arguments after the call."""
    known: Values = {v: sure(np.array(a)) for v, a in zip(function.args, args, strict=True)}
    with np.errstate(all="ignore"):
        for op in function.body.block.ops:
            if isinstance(op, linalg.GenericOp):
                results = reference(op, known)
                known |= dict(zip(op.results or op.outputs, results, strict=True))
            elif not isinstance(op, func.ReturnOp):
                known[op.results[0]] = _created(op, known)
    last = cast(Operation, function.body.block.last_op)
    return [known[v] for v in last.operands or function.args]


def _created(op: Operation, known: Mapping[SSAValue, Known]) -> Known:
    if op.name == "tensor.dim":
        return sure(np.array(known[op.operands[0]].data.shape[int(known[op.operands[1]].data)]))
    if op.name == "tensor.empty":
        kind = cast(Any, op.results[0].type)
        open_sizes = iter(int(known[v].data) for v in op.operands)
        shape = [n if n >= 0 else next(open_sizes) for n in kind.get_shape()]
        return Known(np.zeros(shape, dtype_of(kind.element_type)), np.zeros(shape, bool))
    if op.name == "linalg.fill":
        shape = known[op.operands[1]].data.shape
        return Known(np.broadcast_to(known[op.operands[0]].data, shape), np.ones(shape, bool))
    return result_of(op, [known[v] for v in op.operands])


# -- an operation ------------------------------------------------------------------------------------------------------


def reference(op: linalg.GenericOp, known: Mapping[SSAValue, Known]) -> list[Known]:
    """Return the new outputs of an operation."""
    maps = [cast(AffineMapAttr, m).data for m in op.indexing_maps]
    ins = [known[v] for v in op.inputs]
    outs = [Known(known[v].data.copy(), known[v].sure.copy()) for v in op.outputs]
    extents = _extents(maps, [*ins, *outs])
    parallel = [str(cast(Any, kind).data).endswith("parallel") for kind in op.iterator_types]
    grid = [np.arange(n) if p else None for n, p in zip(extents, parallel, strict=True)]
    folds = _Folds(op, outs)
    for point in np.ndindex(*(1 if p else n for n, p in zip(extents, parallel, strict=True))):
        indices = np.broadcast_arrays(*_open_grid(grid, point)) if extents else []
        if indices and not indices[0].size:
            break
        places = [tuple(_evaluated(r, indices) for r in data.results) for data in maps]
        values = dict(known)
        elements = [array.at(place) for array, place in zip([*ins, *outs], places, strict=True)]
        values |= dict(zip(op.body.block.args, elements, strict=True))
        result = run_block(op.body.block, values, indices)
        for number, (out, place, value) in enumerate(zip(outs, places[len(ins) :], result, strict=True)):
            shape = place[0].shape if place else (1,) * len(extents)
            for into, elements in ((out.data, value.data), (out.sure, value.sure)):
                spread = np.broadcast_to(elements, shape)
                into[place] = spread if place else spread.reshape(())
            folds.count(number, place, values)
    if not all(parallel):
        outs = [Known(out.data, np.asarray(out.sure & ok)) for out, ok in zip(outs, folds.exact(), strict=True)]
    return outs


def _extents(maps: Sequence[Any], operands: Sequence[Known]) -> list[int]:
    extents = [0] * maps[0].num_dims
    for data, array in zip(maps, operands, strict=True):
        for result, size in zip(data.results, array.data.shape, strict=True):
            if str(result).startswith("d") and str(result)[1:].isdigit():
                extents[int(str(result)[1:])] = size
    return extents


class _Folds:
    """How large sums and products may become on the way, whatever their order is."""

    def __init__(self, op: linalg.GenericOp, outs: Sequence[Known]):
        args = op.body.block.args[len(op.inputs) :]
        self.kinds = [str(arg.type) for arg in args]
        self.folding: list[tuple[str, SSAValue] | None] = []
        for arg in args:
            uses = [u for u in arg.uses if u.operation.name in ("arith.addf", "arith.subf", "arith.mulf")]
            term = next((u.operation.operands[1 - u.index] for u in uses), None)
            self.folding.append(None if term is None else (uses[0].operation.name, term))
        self.bounds = [
            np.abs(out.data).astype(np.longdouble) if fold else np.zeros(out.data.shape)
            for out, fold in zip(outs, self.folding, strict=True)
        ]
        self.bounds = [np.where(np.isfinite(b), b, 0) for b in self.bounds]

    def count(self, number: int, place: Any, values: Mapping[SSAValue, Known]) -> None:
        """Take the terms of a point into account."""
        fold = self.folding[number]
        if fold is None:
            return
        name, term = fold
        size = np.abs(values[term].data.astype(np.longdouble))
        size = np.where(np.isfinite(size), size, 0)
        size = size if place else size.reshape(())
        bound = self.bounds[number]
        if name == "arith.mulf":
            bound[place] = np.maximum(bound[place], 1) * np.maximum(size, 1)
        else:
            bound[place] += size

    def exact(self) -> list[Array]:
        """Return where an output is exact in any order."""
        return [
            np.asarray(bound * 4 < 2.0 ** DIGITS[kind]) if fold else np.ones(bound.shape, bool)
            for bound, fold, kind in zip(self.bounds, self.folding, self.kinds, strict=True)
        ]


def run_block(block: Block, values: Values, indices: Sequence[Any]) -> list[Known]:
    """Return what a block yields, of values that are added to."""
    for op in block.ops:
        if op.name.endswith(".yield"):
            return [values[v] for v in op.operands]
        if isinstance(op, scf.IfOp):
            sides = [run_block(region.block, values, indices) for region in op.regions]
            cond = values[op.cond]
            for result, a, b in zip(op.results, *sides, strict=True):
                chosen = np.where(cond.data, a.sure, b.sure) & cond.sure
                values[result] = Known(np.where(cond.data, a.data, b.data), chosen)
        elif op.name == "linalg.index":
            values[op.results[0]] = sure(indices[cast("IntegerAttr[Any]", op.properties["dim"]).value.data])
        elif op.name in ("tensor.extract", "memref.load"):
            values[op.results[0]] = _extracted([values[v] for v in op.operands])
        else:
            values[op.results[0]] = result_of(op, [values[v] for v in op.operands])
    return []


def _extracted(operands: Sequence[Known]) -> Known:
    array, *indices = operands
    place = tuple(np.clip(i.data, 0, n - 1) for i, n in zip(indices, array.data.shape, strict=True))
    result = array.at(place)
    return Known(result.data, np.logical_and.reduce(np.broadcast_arrays(result.sure, *(i.sure for i in indices))))


def _open_grid(grid: Sequence[Any], point: Sequence[int]) -> list[Any]:
    rank = len(grid)
    return [
        np.full([1] * rank, point[d]) if axis is None else axis.reshape([-1 if a == d else 1 for a in range(rank)])
        for d, axis in enumerate(grid)
    ]


def _evaluated(expression: Any, indices: Sequence[Any]) -> Any:
    shape = indices[0].shape if indices else ()
    return np.broadcast_to(np.asarray(expression.eval(list(indices), [])), shape)
