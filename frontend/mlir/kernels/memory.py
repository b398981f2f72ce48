"""Memrefs: allocations, elements, copies, parts and other views of buffers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import affine, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr
from ....ir.locations import location_of
from ..blocks import Place, direct
from ..payload import affine_index
from ..scalars import RULES, Expressions
from ..sizes import kept_dimensions
from ..structured import attribute, element_of, integers
from .core import Kernel
from .loops import ATOMIC_KINDS
from .values import Bound


def _load(k: Kernel, op: memref.LoadOp) -> None:
    k.known[op.res] = k.element(op.memref, k.values(op.indices))


def _store(k: Kernel, op: memref.StoreOp) -> None:
    indices = k.values(op.indices)
    k.write(k.value(op.value), k.places[op.memref], indices)


def affine_indices(k: Kernel, op: Operation, indices: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the indices of an access with a map of its operands."""
    numbers = k.values(indices)
    data = attribute(op, "map")
    if not isinstance(data, AffineMapAttr):
        return numbers
    dims, symbols = numbers[: data.data.num_dims], numbers[data.data.num_dims :]
    return [affine_index(k.e, result, dims, symbols) for result in data.data.results]


def _affine_load(k: Kernel, op: affine.LoadOp) -> None:
    k.known[op.result] = k.element(op.memref, affine_indices(k, op, op.indices))


def _affine_store(k: Kernel, op: affine.StoreOp) -> None:
    indices = affine_indices(k, op, op.indices)
    k.write(k.value(op.value), k.places[op.memref], indices)


def _alloc(k: Kernel, op: Operation) -> None:
    counts = integers(attribute(op, "operandSegmentSizes"))
    dynamic = op.operands[: counts[0]] if counts else op.operands
    result = op.results[0]
    k.new_memref(result, k.alloc(k.shape(result.type, dynamic, "an allocation"), element_of(result)))


def _dim(k: Kernel, op: Operation) -> None:
    source, index = op.operands
    axis = k.sizes[index].constant if index in k.sizes else None
    if axis is None:
        raise UnsupportedError("a dimension by a computed number", location=location_of(op))
    k.sizes[op.results[0]] = k.dims[source][axis]


def _rank(k: Kernel, op: Operation) -> None:
    k.sizes[op.results[0]] = Const(len(k.dims[op.operands[0]]))


def _copy(k: Kernel, op: Operation) -> None:
    source, target = op.operands
    k.copy(k.dims[source], k.places[source], k.places[target])


def _same(k: Kernel, op: Operation) -> None:
    for result, source in zip(op.results, op.operands, strict=False):
        k.same(result, source)


def slices(k: Kernel, op: Operation, first: int) -> tuple[list[Bound], list[SymExpr], list[Bound]]:
    """Return the offsets, sizes and strides of a part; operands from `first` on are those that are not static."""
    rest = iter(op.operands[first:])

    def numbers(name: str) -> list[tuple[SSAValue | None, Bound]]:
        static = integers(attribute(op, f"static_{name}"))
        values = [next(rest) if n == DYNAMIC_INDEX else None for n in static]
        return [(v, k.bound(v) if v is not None else Const(n)) for v, n in zip(values, static, strict=True)]

    offsets = [bound for _, bound in numbers("offsets")]
    sizes = [bound if value is None else k.part_size(value) for value, bound in numbers("sizes")]
    strides = [bound for _, bound in numbers("strides")]
    return offsets, cast("list[SymExpr]", sizes), strides


def part(k: Kernel, source: Place, kept: Sequence[int], offsets: Sequence[Bound], strides: Sequence[Bound]) -> Place:
    """Return the places of a part."""

    def place(e: Expressions, indices: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        with k.inside(e.block):
            places: list[SSAValue] = []
            for axis, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
                at = k.number(offset, i64)
                if axis in kept:
                    step = k.e.binary("mul", indices[kept.index(axis)], k.number(stride, i64))
                    at = k.e.binary("add", at, step)
                places.append(at)
            return source(e, places)

    return place


def _subview(k: Kernel, op: memref.SubviewOp) -> None:
    offsets, sizes, strides = slices(k, op, 1)
    kept = kept_dimensions(op, op.result.type)
    k.places[op.result] = part(k, k.places[op.source], kept, offsets, strides)
    k.dims[op.result] = [sizes[a] for a in kept]


def flat_place(k: Kernel, op: Operation, source: SSAValue) -> Callable[[Expressions, SSAValue], Any]:
    """Return where the element of a buffer with this number is, in the order of memory."""
    buffer, dims = k.buffers.get(source), k.dims[source]
    if buffer is None:
        raise UnsupportedError(
            f"'{op.name}' of a part of a memref", location=location_of(op), expected="a whole memref"
        )

    def place(e: Expressions, position: SSAValue) -> tuple[SSAValue, Sequence[SSAValue]]:
        with k.inside(e.block):
            indices: list[SSAValue] = []
            for extent in reversed(dims[1:]):
                size = k.number(extent)
                indices.insert(0, k.e.binary("floormod", position, size))
                position = k.e.binary("floordiv", position, size)
            return buffer, [position, *indices][: len(dims)]

    return place


def linear(k: Kernel, indices: Sequence[SSAValue], strides: Sequence[Bound], offset: Bound) -> SSAValue:
    """Return the number of an element in the order of memory."""
    total = k.number(offset)
    for index, stride in zip(indices, strides, strict=True):
        total = k.e.binary("add", total, k.e.binary("mul", index, k.number(stride)))
    return total


def row_major(dims: Sequence[SymExpr]) -> list[Bound]:
    """Return the strides of dimensions in the order of memory."""
    return [math.prod(dims[axis + 1 :], start=Const(1)) for axis in range(len(dims))]


def _viewed(k: Kernel, op: Operation, dims: Sequence[SymExpr], strides: Sequence[Bound], offset: Bound) -> None:
    result = op.results[0]
    source = k.bases.get(op.operands[0], op.operands[0])
    flat = flat_place(k, op, source)

    def place(e: Expressions, indices: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        with k.inside(e.block):
            return flat(e, linear(k, indices, strides, offset))

    k.places[result], k.dims[result] = place, list(dims)


def _reinterpret(k: Kernel, op: Operation) -> None:
    """A view with other sizes and strides, of a memref or of the base of one."""
    offsets, sizes, strides = slices(k, op, 1)
    _viewed(k, op, sizes, strides, offsets[0])


def _reshape(k: Kernel, op: Operation) -> None:
    """A shape in a memref is read at run time: only those of the result's type are known."""
    shape = cast("MemRefType[Attribute]", op.results[0].type).get_shape()
    if DYNAMIC_INDEX in shape:
        raise UnsupportedError(f"'{op.name}' to a computed shape", location=location_of(op), expected="a static one")
    dims = [Const(d) for d in shape]
    _viewed(k, op, dims, row_major(dims), Const(0))


def groups(op: Operation) -> list[list[int]]:
    """Return the dimensions that belong together in a reshape."""
    listed = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", attribute(op, "reassociation"))
    return [[axis.value.data for axis in group] for group in listed]


def collapsed(k: Kernel, op: Operation) -> list[SymExpr]:
    """Return the sizes of the result of `collapse_shape`."""
    dims = k.dims[op.operands[0]]
    return [math.prod((dims[a] for a in group), start=Const(1)) for group in groups(op)]


def expanded(k: Kernel, op: Operation) -> list[SymExpr]:
    """Return the sizes of the result of `expand_shape`."""
    shape = cast("MemRefType[Attribute]", op.results[0].type).get_shape()
    static = integers(attribute(op, "static_output_shape"))
    rest = iter(op.operands[1:])
    if static:
        return [k.size(next(rest), "a tensor or memref") if n == DYNAMIC_INDEX else Const(n) for n in static]
    dims: list[SymExpr] = [Const(d) for d in shape]
    for group, whole in zip(groups(op), k.dims[op.operands[0]], strict=True):
        unknown = [a for a in group if shape[a] == DYNAMIC_INDEX]
        if len(unknown) > 1:
            raise UnsupportedError("several unknown sizes of one dimension", location=location_of(op))
        for axis in unknown:
            dims[axis] = whole // math.prod((dims[a] for a in group if a != axis), start=Const(1))
    return dims


def _collapse(k: Kernel, op: Operation) -> None:
    """Each dimension of the source is a digit of one of the result."""
    source, result = op.operands[0], op.results[0]
    dims, inner = k.dims[source], k.places[source]

    def place(e: Expressions, indices: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        with k.inside(e.block):
            found: list[SSAValue] = [k.e.const(0, i64)] * len(dims)
            for index, group in zip(indices, groups(op), strict=True):
                rest = index
                for axis in reversed(group[1:]):
                    found[axis] = k.e.binary("floormod", rest, k.number(dims[axis]))
                    rest = k.e.binary("floordiv", rest, k.number(dims[axis]))
                if group:
                    found[group[0]] = rest
            return inner(e, found)

    k.places[result], k.dims[result] = place, collapsed(k, op)


def _expand(k: Kernel, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    dims, inner = expanded(k, op), k.places[source]

    def place(e: Expressions, indices: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        with k.inside(e.block):
            found: list[SSAValue] = []
            for group in groups(op):
                own = [dims[a] for a in group]
                found.append(linear(k, [indices[a] for a in group], row_major(own), Const(0)))
            return inner(e, found)

    k.places[result], k.dims[result] = place, dims


def _transpose(k: Kernel, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    data = cast(AffineMapAttr, attribute(op, "permutation")).data
    order = [cast(Any, r).position for r in data.results]
    inner, dims = k.places[source], k.dims[source]

    def place(e: Expressions, indices: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        found = list(indices)
        for position, axis in enumerate(order):
            found[axis] = indices[position]
        return inner(e, found)

    k.places[result], k.dims[result] = place, [dims[a] for a in order]


def _view(k: Kernel, op: Operation) -> None:
    """A view of bytes as other elements: of a buffer that only views of one type at one place use."""
    source, offset, *sizes = op.operands
    kind = element_of(op.results[0])
    if kind == element_of(source):
        dims = k.shape(op.results[0].type, sizes, "a view")
        _viewed(k, op, dims, row_major(dims), k.bound(offset))
        return
    others = [use.operation for use in source.uses if use.operation.name != "memref.dealloc"]
    if others != [op] or not isinstance(source.owner, memref.AllocOp | memref.AllocaOp):
        raise UnsupportedError(
            "'memref.view' of bytes that others use, too",
            location=location_of(op),
            expected="one view of an allocation; several have allocations of their own",
        )
    k.new_buffer(op.results[0], k.alloc(k.shape(op.results[0].type, sizes, "a view"), kind))


def _get_global(k: Kernel, op: Operation) -> None:
    """A global that is constant is made where it is used; others have a value that outlives the function."""
    name = cast(SymbolRefAttr, attribute(op, "name")).string_value()
    found = k.globals.get(name)
    value = attribute(found, "initial_value") if found is not None else None
    if found is None or attribute(found, "constant") is None or not isinstance(value, DenseIntOrFPElementsAttr):
        raise UnsupportedError(
            f"the global @{name}", location=location_of(op), expected="a constant of this module, with its value"
        )
    result = op.results[0]
    shape = cast("MemRefType[Attribute]", result.type).get_shape()
    k.constant(result, value, [Const(d) for d in shape])
    k.owned.discard(result)


def _metadata(k: Kernel, op: Operation) -> None:
    """The base, offset, sizes and strides of a whole memref."""
    source = op.operands[0]
    base, offset, *rest = op.results
    dims = k.dims[source]
    flat = flat_place(k, op, source)
    k.places[base] = lambda e, indices: flat(e, e.const(0, i64))
    k.dims[base] = []
    buffer = k.buffers[source]
    if len(dims) == 0:
        k.new_buffer(base, buffer)
    k.sizes[offset] = Const(0)
    numbers = [*dims, *cast("list[SymExpr]", row_major(dims))]
    k.sizes |= dict(zip(rest, numbers, strict=True))
    k.bases[base] = source


def _atomic(k: Kernel, op: Operation) -> None:
    """A read, an operation and a write: loops with them run one iteration after another."""
    kind = ATOMIC_KINDS[cast(IntegerAttr, attribute(op, "kind")).value.data]
    value, target, *rest = op.operands
    indices = [k.e.add(tir.LetOp(v)) for v in k.values(rest)]
    old = k.element(target, indices)
    new = k.value(value)
    if kind != "assign":
        rule = {"maxs": "maxsi", "mins": "minsi", "maxu": "maxui", "minu": "minui"}.get(kind, kind)
        new = RULES[f"arith.{rule}"](k.e, (old, new), op)
    k.write(new, k.places[target], indices)
    k.known[op.results[0]] = old


def _generic_atomic(k: Kernel, op: Operation) -> None:
    target, *rest = op.operands
    indices = [k.e.add(tir.LetOp(v)) for v in k.values(rest)]
    block = op.regions[0].block
    k.known[block.args[0]] = k.element(target, indices)
    (new,) = k.run(block)
    result = k.e.add(tir.LetOp(k.value(new)))
    k.write(result, k.places[target], indices)
    k.known[op.results[0]] = result


def _realloc(k: Kernel, op: Operation) -> None:
    """A larger or smaller copy of a memref of one dimension; elements beyond it have no value."""
    source, *sizes = op.operands
    result = op.results[0]
    dims = k.shape(result.type, sizes, "an allocation")
    buffer = k.alloc(dims, element_of(result))
    count = k.e.binary("min", k.number(dims[0]), k.number(k.dims[source][0]))
    k.loop(Const(0), count, Const(1), lambda i: k.write(k.read(k.places[source], [i]), direct(buffer), [i]))
    k.new_buffer(result, buffer)


def _nothing(k: Kernel, op: Operation) -> None:
    """What has no effect here: buffers live as long as the function."""


STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    "affine.load": _affine_load,
    "affine.store": _affine_store,
    "memref.load": _load,
    "memref.store": _store,
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.realloc": _realloc,
    "memref.dealloc": _nothing,
    "memref.prefetch": _nothing,
    "memref.dim": _dim,
    "memref.rank": _rank,
    "tensor.dim": _dim,
    "tensor.rank": _rank,
    "memref.copy": _copy,
    "memref.cast": _same,
    "memref.memory_space_cast": _same,
    "memref.assume_alignment": _same,
    "memref.distinct_objects": _same,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret,
    "memref.reshape": _reshape,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.transpose": _transpose,
    "memref.view": _view,
    "memref.get_global": _get_global,
    "memref.extract_strided_metadata": _metadata,
    "memref.atomic_rmw": _atomic,
    "memref.generic_atomic_rmw": _generic_atomic,
}
"""operation -> its translation."""
