"""Tensors in kernels: each result is a buffer: a new one, or that of an operand that has no further use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import is_float
from ....dialects.sym.expr import Const, SymExpr
from ....ir.locations import location_of
from ..blocks import direct
from ..elements import ELEMENTS, Access
from ..scalars import Expressions
from ..sizes import kept_dimensions
from ..structured import attribute, element_of, integers
from .core import Kernel
from .memory import collapsed, expanded, groups, part, slices
from .values import is_array


def access_of(k: Kernel) -> Access:
    """Return how the operations of `elements.py` read what a kernel knows."""

    def inside(function: Callable[..., SSAValue]) -> Callable[..., SSAValue]:
        def call(e: Expressions, *args: Any) -> SSAValue:
            with k.inside(e.block):
                return function(*args)

        return call

    return Access(
        inside(lambda value, indices: k.read(k.places[value], indices)),
        inside(k.value),
        inside(k.number),
        lambda value: k.dims[value],
        lambda value: k.size(value, "a tensor"),
    )


def _element_by_element(k: Kernel, op: Operation) -> None:
    dims, element = ELEMENTS[op.name](access_of(k), op)
    if not op.results:
        raise UnsupportedError(f"'{op.name}' of memrefs", location=location_of(op), expected="tensors")
    k.array(op.results[0], dims, lambda indices: element(k.e, indices))


def _empty(k: Kernel, op: Operation) -> None:
    result = op.results[0]
    counts = integers(attribute(op, "operandSegmentSizes"))
    dynamic = op.operands[: counts[0]] if counts else op.operands
    if counts and counts[1]:
        k.updated(op.operands[counts[0]], op, result)
        return
    k.new_buffer(result, k.alloc(k.shape(result.type, dynamic, "a tensor"), element_of(result)), owned=True)


def _splat(k: Kernel, op: Operation) -> None:
    result, value = op.results[0], op.operands[0]
    dims = k.shape(result.type, op.operands[1:], "a tensor")
    k.array(result, dims, lambda indices: k.value(value))


def _cast(k: Kernel, op: Operation) -> None:
    """A type that says more is checked at run time."""
    source, result = op.operands[0], op.results[0]
    shape = cast("TensorType[Attribute]", result.type).get_shape()
    if len(shape) != len(k.dims[source]):
        raise UnsupportedError("a cast from a tensor of unknown rank", location=location_of(op))
    for extent, size in zip(shape, k.dims[source], strict=True):
        if extent != DYNAMIC_INDEX and size.constant != extent:
            holds = k.e.binary("eq", k.number(size), k.e.const(extent, i64))
            k.e.block.add_op(tir.AssertOp(holds, f"a dimension of {extent} elements"))
    k.same(result, source)


def _extract(k: Kernel, op: Operation) -> None:
    source, *indices = op.operands
    k.known[op.results[0]] = k.element(source, k.values(indices))


def _insert(k: Kernel, op: Operation) -> None:
    scalar, target, *places = op.operands
    value = k.e.add(tir.LetOp(k.value(scalar)))
    indices = [k.e.add(tir.LetOp(v)) for v in k.values(places)]
    buffer = k.updated(target, op, op.results[0])
    k.write(value, direct(buffer), indices)


def _extract_slice(k: Kernel, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    offsets, sizes, strides = slices(k, op, 1)
    kept = kept_dimensions(op, result.type)
    place = part(k, k.places[source], kept, offsets, strides)
    k.array(result, [sizes[a] for a in kept], lambda indices: k.read(place, indices))


def _insert_slice(k: Kernel, op: Operation) -> None:
    source, target = op.operands[:2]
    offsets, _, strides = slices(k, op, 2)
    kept = kept_dimensions(op, source.type)
    if op.results:
        buffer = k.updated(target, op, op.results[0])
    else:  # of `scf.forall`, whose variables are the buffers
        buffer = k.buffers[target]
    k.copy(k.dims[source], k.places[source], part(k, direct(buffer), kept, offsets, strides))


def _pad(k: Kernel, op: Any) -> None:
    source, result = op.source, op.result
    rest = iter((*op.low, *op.high))
    low, high = (
        [
            k.size(next(rest), "a tensor") if n == DYNAMIC_INDEX else Const(n)
            for n in integers(attribute(op, f"static_{side}"))
        ]
        for side in ("low", "high")
    )
    dims = [a + n + b for a, n, b in zip(low, k.dims[source], high, strict=True)]
    block = op.region.block
    _generated(k, result, dims, block)
    k.copy(
        k.dims[source],
        k.places[source],
        part(k, k.places[result], range(len(dims)), low, [Const(1)] * len(dims)),
    )


def _generated(k: Kernel, result: SSAValue, dims: Sequence[SymExpr], block: Any) -> None:
    def compute(indices: list[SSAValue]) -> SSAValue:
        k.known |= dict(zip(block.args, indices, strict=True))
        for arg in block.args:
            k.sizes.pop(arg, None)
        for op in block.ops:
            if op is block.last_op:
                return k.value(op.operands[0])
            k.statement(op)
        raise UnsupportedError("a body without a value")

    k.array(result, dims, compute)


def _generate(k: Kernel, op: Operation) -> None:
    dims = k.shape(op.results[0].type, op.operands, "a tensor")
    _generated(k, op.results[0], dims, op.regions[0].block)


def from_elements(k: Kernel, op: Operation) -> None:
    """Store one value after another."""
    result = op.results[0]
    dims = k.static(result)
    values = [k.e.add(tir.LetOp(v)) for v in k.values(op.operands)]
    buffer = k.alloc(dims, element_of(result))
    for flat, value in enumerate(values):
        indices: list[SSAValue] = []
        for extent in reversed(dims):
            flat, index = divmod(flat, cast(int, extent.constant))
            indices.insert(0, k.e.const(index, i64))
        k.write(value, direct(buffer), indices)
    k.new_buffer(result, buffer, owned=True)


def _concat(k: Kernel, op: Operation) -> None:
    axis = cast("IntegerAttr", attribute(op, "dim")).value.data
    parts = [k.dims[v] for v in op.operands]
    total = sum((dims[axis] for dims in parts[1:]), start=parts[0][axis])
    dims = [total if a == axis else d for a, d in enumerate(parts[0])]
    buffer = k.alloc(dims, element_of(op.results[0]))
    offset: SymExpr = Const(0)
    for value, sizes in zip(op.operands, parts, strict=True):
        offsets = [offset if a == axis else Const(0) for a in range(len(dims))]
        target = part(k, direct(buffer), range(len(dims)), offsets, [Const(1)] * len(dims))
        k.copy(sizes, k.places[value], target)
        offset = offset + sizes[axis]
    k.new_buffer(op.results[0], buffer, owned=True)


def _reshaped(k: Kernel, op: Operation, dims: Sequence[SymExpr], groups: Sequence[Sequence[int]], wide: bool) -> None:
    """Copy elements to a buffer in which groups of dimensions are one, or to one in which one is a group."""
    source, result = op.operands[0], op.results[0]
    outer = dims if wide else k.dims[source]

    def narrow(indices: Sequence[SSAValue]) -> list[SSAValue]:
        found: list[SSAValue] = []
        for group in groups:
            total = k.e.const(0, i64)
            for axis in group:
                total = k.e.binary("add", k.e.binary("mul", total, k.number(outer[axis])), indices[axis])
            found.append(total)
        return found

    buffer = k.alloc(dims, element_of(result))

    def move(indices: list[SSAValue]) -> None:
        here, there = (narrow(indices), indices) if wide else (indices, narrow(indices))
        k.write(k.read(k.places[source], here), direct(buffer), there)

    k.each(outer, move)
    k.new_buffer(result, buffer, owned=True)


def _collapse(k: Kernel, op: Operation) -> None:
    _reshaped(k, op, collapsed(k, op), groups(op), wide=False)


def _expand(k: Kernel, op: Operation) -> None:
    _reshaped(k, op, expanded(k, op), groups(op), wide=True)


def _scatter(k: Kernel, op: Operation) -> None:
    """Write slices at the coordinates that `indices` has last, which are unique."""
    source, target, indices = op.operands
    axes = integers(attribute(op, "scatter_dims"))
    buffer = k.updated(target, op, op.results[0])
    batch, sizes = len(k.dims[indices]) - 1, k.dims[target]
    reduced = len(k.dims[source]) < batch + len(sizes)
    kept = [a for a in range(len(sizes)) if not reduced or a not in axes]

    def move(iters: list[SSAValue]) -> None:
        places: list[SSAValue] = []
        for axis in range(len(sizes)):
            if axis in axes:
                at = [*iters[:batch], k.e.const(axes.index(axis), i64)]
                places.append(k.e.cast(k.read(k.places[indices], at), i64))
            else:
                places.append(iters[batch + kept.index(axis)])
        k.write(k.read(k.places[source], iters), direct(buffer), places)

    k.each(k.dims[source], move)


def _tosa_scatter(k: Kernel, op: Operation) -> None:
    """Write rows at indices, which are unique in each batch."""
    target, indices, source = op.operands
    buffer = k.updated(target, op, op.results[0])

    def move(i: list[SSAValue]) -> None:
        batch, row, channel = i
        place = k.e.cast(k.read(k.places[indices], [batch, row]), i64)
        k.write(k.read(k.places[source], i), direct(buffer), [batch, place, channel])

    k.each(k.dims[source], move)


def _softmax(k: Kernel, op: Operation) -> None:
    """The exponentials of the distances to the maximum, divided by their sum."""
    source, target = op.operands
    axis = cast(IntegerAttr, attribute(op, "dimension")).value.data
    dims, kind = k.dims[source], element_of(source)
    if not is_float(kind):
        raise UnsupportedError(f"'{op.name}' of {kind}", location=location_of(op), expected="floats")
    if op.results:
        buffer = k.alloc(dims, kind)
        k.new_buffer(op.results[0], buffer, owned=True)
        out = direct(buffer)
    else:
        out = k.places[target]
    rest = [d for a, d in enumerate(dims) if a != axis]

    def row(indices: list[SSAValue]) -> None:
        def at(i: SSAValue) -> list[SSAValue]:
            return [*indices[:axis], i, *indices[axis:]]

        def along(body: Callable[[SSAValue], None]) -> None:
            k.loop(Const(0), dims[axis], Const(1), body)

        top, total = k.cell(kind), k.cell(kind)
        k.set(top, k.e.const(float("-inf"), kind))
        k.set(total, k.e.const(0.0, kind))
        along(lambda i: k.set(top, k.e.binary("max", k.get(top), k.read(k.places[source], at(i)))))

        def exponential(i: SSAValue) -> None:
            distance = k.e.binary("sub", k.read(k.places[source], at(i)), k.get(top))
            value = k.e.add(tir.LetOp(k.e.call("exp", distance)))
            k.write(value, out, at(i))
            k.set(total, k.e.binary("add", k.get(total), value))

        along(exponential)
        along(lambda i: k.write(k.e.binary("div", k.read(out, at(i)), k.get(total)), out, at(i)))

    k.each(rest, row)


# -- bufferization -----------------------------------------------------------------------------------------------------


def _to_tensor(k: Kernel, op: Operation) -> None:
    """The elements of a memref at this point."""
    source, result = op.operands[0], op.results[0]
    buffer = k.alloc(k.dims[source], element_of(source))
    k.copy(k.dims[source], k.places[source], direct(buffer))
    k.new_buffer(result, buffer, owned=True)


def _to_buffer(k: Kernel, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    k.updated(source, op, result)
    k.owned.discard(result)


def _clone(k: Kernel, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    buffer = k.alloc(k.dims[source], element_of(source))
    k.copy(k.dims[source], k.places[source], direct(buffer))
    k.new_buffer(result, buffer)


def _materialize(k: Kernel, op: Operation) -> None:
    source, target = op.operands
    if not is_array(target):
        k.copy(k.dims[source], k.places[source], k.places[target])
        return
    k.updated(source, op, op.results[0])


def _nothing(k: Kernel, op: Operation) -> None:
    """What has no effect here."""


STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    **dict.fromkeys(ELEMENTS, cast(Callable[[Kernel, Any], None], _element_by_element)),
    "tensor.empty": _empty,
    "tensor.splat": _splat,
    "tensor.cast": _cast,
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.parallel_insert_slice": _insert_slice,
    "tensor.pad": _pad,
    "tensor.generate": _generate,
    "tensor.from_elements": from_elements,
    "tensor.concat": _concat,
    "tensor.collapse_shape": _collapse,
    "tensor.expand_shape": _expand,
    "tensor.scatter": _scatter,
    "linalg.softmax": _softmax,
    "tosa.scatter": _tosa_scatter,
    "bufferization.alloc_tensor": _empty,
    "bufferization.to_tensor": _to_tensor,
    "bufferization.to_buffer": _to_buffer,
    "bufferization.to_memref": _to_buffer,
    "bufferization.clone": _clone,
    "bufferization.materialize_in_destination": _materialize,
    "bufferization.dealloc_tensor": _nothing,
}
"""operation -> its translation."""
