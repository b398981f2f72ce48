"""Unknown sizes of the parameters of a function that its operations require to be equal: they are one variable.

Then calls check them: an operation of linalg that runs over a larger memref would write beyond the end of a smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects import arith, cf, func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....diagnostics import UnsupportedError
from ..structured import rank, structured

Axis = tuple[SSAValue, int]
"""A parameter, and one of its dimensions."""
_CONDITIONAL = ("scf.if", "scf.index_switch", "scf.while", "affine.if")


def equal_sizes(function: func.FuncOp) -> dict[Axis, Axis]:
    """Return for each dimension of each parameter the one that stands for all that are equal, a static one if any is.

    Operations that run only on a condition, or between branches, require nothing.
    """
    roots: dict[Axis, Axis] = {}

    def root(axis: Axis) -> Axis:
        while roots.get(axis, axis) != axis:
            axis = roots[axis]
        return axis

    for group in _groups(function):
        first, *others = (root(axis) for axis in group)
        for other in others:
            kept, joined = (other, first) if _is_static(other) and not _is_static(first) else (first, other)
            roots[joined], first = kept, kept
    every = [(arg, axis) for arg in function.args for axis in range(rank(arg))]
    return {axis: root(axis) for axis in every}


def _is_static(axis: Axis) -> bool:
    return cast(Any, axis[0].type).get_shape()[axis[1]] >= 0


def _groups(function: func.FuncOp) -> Iterator[list[Axis]]:
    if len(function.body.blocks) > 1:
        return
    parameters = {arg for arg in function.args if isinstance(arg.type, MemRefType | TensorType)}
    for op in _unconditional(function):
        groups: dict[int, list[Axis]] = {}
        for value, positions in _accesses(op):
            for axis, position in enumerate(positions):
                if value in parameters and position is not None:
                    groups.setdefault(position, []).append((value, axis))
        yield from (group for group in groups.values() if len(group) > 1)


def _unconditional(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                if inner.name not in _CONDITIONAL and not inner.name.startswith("linalg."):
                    yield from _unconditional(inner)


def _accesses(op: Operation) -> list[tuple[SSAValue, list[int | None]]]:
    """Return the operands of an operation, with the iterator that runs over each dimension."""
    if isinstance(op, cf.AssertOp):
        return _asserted(op)
    if isinstance(op, memref.CopyOp):
        return [(value, list(range(rank(value)))) for value in op.operands]
    if not op.name.startswith("linalg."):
        return []
    try:
        s = structured(op)
    except UnsupportedError:  # the translation of the operation says so
        return []
    if s is None:
        return []
    rows = zip((*s.inputs, *s.outputs), s.maps, strict=False)
    return [(v, [i.position if isinstance(i, AffineDimExpr) else None for i in indices]) for v, indices in rows]


def _asserted(op: cf.AssertOp) -> list[tuple[SSAValue, list[int | None]]]:
    """Dimensions that an assertion compares have one iterator."""
    test = op.arg.owner
    if not isinstance(test, arith.CmpiOp) or cast("IntegerAttr[Any]", test.predicate).value.data != 0:
        return []
    rows: list[tuple[SSAValue, list[int | None]]] = []
    for value in test.operands:
        dim = value.owner
        index = dim.index.owner if isinstance(dim, memref.DimOp) else None
        if not isinstance(dim, memref.DimOp) or not isinstance(index, arith.ConstantOp):
            return []
        axis = cast("IntegerAttr[Any]", index.value).value.data
        rows.append((dim.source, [0 if number == axis else None for number in range(rank(dim.source))]))
    return rows
