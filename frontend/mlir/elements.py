"""Operations on tensors whose elements are computed at their indices: for graphs and for kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.sym.expr import Const, SymExpr
from ...ir.locations import location_of
from .blocks import Dims
from .scalars import Expressions
from .structured import attribute, element_of, integers

Read = Callable[[Expressions, SSAValue, Sequence[SSAValue]], SSAValue]
"""(expressions, tensor, indices) -> the element."""


@dataclass
class Access:
    """How elements, scalars and sizes are read where an operation is translated."""

    read: Read
    scalar: Callable[[Expressions, SSAValue], SSAValue]
    size: Callable[[Expressions, SymExpr], SSAValue]
    dims: Callable[[SSAValue], Dims]
    number: Callable[[SSAValue], SymExpr]
    """The size that an index is."""


Element = Callable[[Expressions, Sequence[SSAValue]], SSAValue]
Elements = Callable[[Access, Any], "tuple[Dims, Element]"]
"""(access, operation) -> the sizes of its result, and its elements."""


def either(e: Expressions, cond: SSAValue, then: Callable[[Expressions], SSAValue], other: Any) -> SSAValue:
    """Return the value of one of two sides; the other one is not evaluated."""
    sides: list[Region] = []
    for side in (then, other):
        block = Block()
        block.add_op(tir.YieldOp(side(Expressions(block))))
        sides.append(Region(block))
    return e.add(tir.IfThenElseOp(cond, *sides))


def _bitcast(access: Access, op: Operation) -> tuple[Dims, Element]:
    source, kind = op.operands[0], element_of(op.results[0])

    def element(e: Expressions, indices: Sequence[SSAValue]) -> SSAValue:
        value = access.read(e, source, indices)
        return value if value.type == kind else e.add(tir.ReinterpretOp(value, kind))

    return access.dims(source), element


def _insert(access: Access, op: Operation) -> tuple[Dims, Element]:
    scalar, target, *places = op.operands

    def element(e: Expressions, indices: Sequence[SSAValue]) -> SSAValue:
        here = e.const(1, i1)
        for index, place in zip(indices, places, strict=True):
            here = e.binary("and", here, e.binary("eq", index, access.scalar(e, place)))
        return either(e, here, lambda f: access.scalar(f, scalar), lambda f: access.read(f, target, indices))

    return access.dims(target), element


def _gather(access: Access, op: Operation) -> tuple[Dims, Element]:
    """Slices of a tensor: `indices` has the coordinates of `gather_dims` last, of which slices have extent 1."""
    source, indices = op.operands
    axes = integers(attribute(op, "gather_dims"))
    batch, sizes = list(access.dims(indices))[:-1], access.dims(source)
    result = cast("TensorType[Attribute]", op.results[0].type)
    reduced = len(result.get_shape()) < len(batch) + len(sizes)
    kept = [a for a in range(len(sizes)) if not reduced or a not in axes]

    def element(e: Expressions, iters: Sequence[SSAValue]) -> SSAValue:
        rest = iters[len(batch) :]
        places: list[SSAValue] = []
        for axis in range(len(sizes)):
            if axis in axes:
                at = [*iters[: len(batch)], e.const(axes.index(axis), i64)]
                places.append(e.cast(access.read(e, indices, at), i64))
            else:
                places.append(rest[kept.index(axis)])
        return access.read(e, source, places)

    dims = [*batch, *(Const(1) if a in axes else sizes[a] for a in kept)]
    return dims, element


def _tiles(access: Access, op: Operation, first: int) -> list[SymExpr]:
    rest = iter(op.operands[first:])
    static = integers(attribute(op, "static_inner_tiles"))
    return [access.number(next(rest)) if n == DYNAMIC_INDEX else Const(n) for n in static]


def _pack(access: Access, op: Operation) -> tuple[Dims, Element]:
    """Tiles of some dimensions become the last ones; what is beyond the source is padding."""
    source, target = op.operands[:2]
    counts = integers(attribute(op, "operandSegmentSizes"))
    padding = op.operands[2] if counts and counts[2] else None
    tiles = _tiles(access, op, 3 if padding is not None else 2)
    tiled = integers(attribute(op, "inner_dims_pos"))
    sizes = access.dims(source)
    order = integers(attribute(op, "outer_dims_perm")) or list(range(len(sizes)))

    def element(e: Expressions, iters: Sequence[SSAValue]) -> SSAValue:
        places: list[SSAValue] = []
        inside = e.const(1, i1)
        for axis, size in enumerate(sizes):
            place = iters[order.index(axis)]
            if axis in tiled:
                number = tiled.index(axis)
                tile = access.size(e, tiles[number])
                place = e.binary("add", e.binary("mul", place, tile), iters[len(sizes) + number])
                if padding is not None:
                    inside = e.binary("and", inside, e.binary("lt", place, access.size(e, size)))
            places.append(place)
        if padding is None:
            return access.read(e, source, places)
        around = padding
        return either(e, inside, lambda f: access.read(f, source, places), lambda f: access.scalar(f, around))

    return access.dims(target), element


def _unpack(access: Access, op: Operation) -> tuple[Dims, Element]:
    source, target = op.operands[:2]
    tiles = _tiles(access, op, 2)
    tiled = integers(attribute(op, "inner_dims_pos"))
    sizes = access.dims(target)
    order = integers(attribute(op, "outer_dims_perm")) or list(range(len(sizes)))

    def element(e: Expressions, iters: Sequence[SSAValue]) -> SSAValue:
        outer: list[SSAValue] = []
        inner: dict[int, SSAValue] = {}
        for axis, index in enumerate(iters):
            if axis in tiled:
                tile = access.size(e, tiles[tiled.index(axis)])
                inner[tiled.index(axis)] = e.binary("floormod", index, tile)
                index = e.binary("floordiv", index, tile)
            outer.append(index)
        places = [*(outer[axis] for axis in order), *(inner[n] for n in range(len(tiled)))]
        return access.read(e, source, places)

    return sizes, element


def _reshape(access: Access, op: Operation) -> tuple[Dims, Element]:
    """To a static shape: the numbers of elements are the same in the order of memory."""
    source, result = op.operands[0], cast("TensorType[Attribute]", op.results[0].type)
    if DYNAMIC_INDEX in result.get_shape():
        raise UnsupportedError(f"'{op.name}' to a computed shape", location=location_of(op), expected="a static one")
    sizes = access.dims(source)

    def element(e: Expressions, iters: Sequence[SSAValue]) -> SSAValue:
        flat = e.const(0, i64)
        for index, extent in zip(iters, result.get_shape(), strict=True):
            flat = e.binary("add", e.binary("mul", flat, e.const(extent, i64)), index)
        places: list[SSAValue] = []
        for size in reversed(sizes):
            extent = access.size(e, size)
            places.insert(0, e.binary("floormod", flat, extent))
            flat = e.binary("floordiv", flat, extent)
        return access.read(e, source, places)

    return [Const(d) for d in result.get_shape()], element


ELEMENTS: dict[str, Elements] = {
    "tensor.bitcast": _bitcast,
    "tensor.insert": _insert,
    "tensor.gather": _gather,
    "tensor.reshape": _reshape,
    "linalg.pack": _pack,
    "linalg.unpack": _unpack,
    "tensor.pack": _pack,
    "tensor.unpack": _unpack,
}
"""operation -> its result."""
