"""Vectors in kernels: each is a buffer of its extents, whose elements are computed one by one.

LLVM makes registers of these buffers and vectors of the loops; tirax's own vectors come from its schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import is_float
from ....dialects.sym.expr import Const, SymExpr
from ....ir.locations import location_of
from ..blocks import direct
from ..payload import affine_index
from ..structured import attribute, element_of, integers
from .core import Kernel
from .loops import reduction
from .tensors import from_elements
from .values import is_array


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the extents of a vector; none for a scalar."""
    return cast("VectorType[Attribute]", value.type).get_shape() if isinstance(value.type, VectorType) else ()


def read_element(k: Kernel, value: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """Return an element of a vector, or a scalar."""
    return k.read(k.places[value], indices) if is_array(value) else k.value(value)


def make_vector(k: Kernel, op: Operation, compute: Callable[[list[SSAValue]], SSAValue]) -> None:
    """Compute each element of the result, a vector, at its indices."""
    result = op.results[0]
    k.array(result, k.static(result), compute)


def set_result(k: Kernel, op: Operation, place: SSAValue) -> None:
    """Set the result, a scalar, to the number in a cell."""
    k.known[op.results[0]] = k.get(place)


def add_indices(k: Kernel, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return the sum of two indices."""
    return k.e.binary("add", a, b)


def fix_values(k: Kernel, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Return expressions as they are at this point, whatever is stored after it."""
    return [k.e.add(tir.LetOp(v)) for v in values]


# -- shapes ------------------------------------------------------------------------------------------------------------


def _broadcast(k: Kernel, op: Operation) -> None:
    """To more dimensions ahead, and along those of extent 1."""
    source = op.operands[0]
    own = shape_of(source)

    def compute(i: list[SSAValue]) -> SSAValue:
        last = i[len(i) - len(own) :]
        return read_element(
            k, source, [k.e.const(0, i64) if extent == 1 else at for extent, at in zip(own, last, strict=True)]
        )

    make_vector(k, op, compute)


def _unrolled(k: Kernel, flat: SSAValue, shape: Sequence[int]) -> list[SSAValue]:
    found: list[SSAValue] = []
    for extent in reversed(shape):
        found.insert(0, k.e.binary("floormod", flat, k.e.const(extent, i64)))
        flat = k.e.binary("floordiv", flat, k.e.const(extent, i64))
    return found


def _flat(k: Kernel, indices: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
    total = k.e.const(0, i64)
    for index, extent in zip(indices, shape, strict=True):
        total = add_indices(k, k.e.binary("mul", total, k.e.const(extent, i64)), index)
    return total


def _shape_cast(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    make_vector(
        k, op, lambda i: read_element(k, source, _unrolled(k, _flat(k, i, shape_of(op.results[0])), shape_of(source)))
    )


def _transpose(k: Kernel, op: Operation) -> None:
    source, order = op.operands[0], integers(attribute(op, "permutation"))
    make_vector(k, op, lambda i: read_element(k, source, [i[order.index(axis)] for axis in range(len(order))]))


def _position(k: Kernel, op: Operation, first: int) -> list[SSAValue]:
    rest = iter(op.operands[first:])
    static = integers(attribute(op, "static_position"))
    return fix_values(k, [k.value(next(rest)) if n == DYNAMIC_INDEX else k.e.const(n, i64) for n in static])


def _extract(k: Kernel, op: Operation) -> None:
    source, position = op.operands[0], _position(k, op, 1)
    if is_array(op.results[0]):
        make_vector(k, op, lambda i: read_element(k, source, [*position, *i]))
    else:
        k.known[op.results[0]] = k.element(source, position)


def _insert(k: Kernel, op: Operation) -> None:
    value, target = op.operands[:2]
    position = _position(k, op, 2)
    new = None if is_array(value) else k.e.add(tir.LetOp(k.value(value)))
    buffer = k.updated(target, op, op.results[0])
    if new is not None:
        k.write(new, direct(buffer), position)
        return
    k.each(k.static(value), lambda i: k.write(read_element(k, value, i), direct(buffer), [*position, *i]))


def _numbers(op: Operation, name: str) -> list[int]:
    found = attribute(op, name)
    if isinstance(found, ArrayAttr):
        return [cast(IntegerAttr, n).value.data for n in cast("ArrayAttr[Attribute]", found)]
    return integers(found)


def _strided(k: Kernel, op: Operation, i: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the place of an element of a strided slice."""
    offsets, strides = _numbers(op, "offsets"), _numbers(op, "strides")
    missing = len(offsets) - len(i)
    if missing > 0:  # of `insert_strided_slice`: the first offsets are those of one element
        strides = [0] * missing + strides
        i = [k.e.const(0, i64)] * missing + list(i)
    found = list(i)
    for axis, offset in enumerate(offsets):
        stride = strides[axis] if axis < len(strides) else 1
        found[axis] = add_indices(k, k.e.const(offset, i64), k.e.binary("mul", i[axis], k.e.const(stride, i64)))
    return found


def _extract_strided(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    make_vector(k, op, lambda i: read_element(k, source, _strided(k, op, i)))


def _insert_strided(k: Kernel, op: Operation) -> None:
    value, target = op.operands
    buffer = k.updated(target, op, op.results[0])
    k.each(k.static(value), lambda i: k.write(read_element(k, value, i), direct(buffer), _strided(k, op, i)))


def _shuffle(k: Kernel, op: Operation) -> None:
    """The rows of both operands, by number; of those that are vectors without dimensions, the values."""
    a, b = op.operands
    result = op.results[0]
    first = shape_of(a)[0] if shape_of(a) else 1
    buffer = k.alloc(k.static(result), element_of(result))
    inner = [Const(d) for d in shape_of(result)[1:]]
    for row, number in enumerate(integers(attribute(op, "mask"))):
        source, at = (a, number) if number < first else (b, number - first)

        def move(i: list[SSAValue], row: int = row, source: SSAValue = source, at: int = max(at, 0)) -> None:
            here = [k.e.const(at, i64), *i] if shape_of(source) else []
            k.write(read_element(k, source, here), direct(buffer), [k.e.const(row, i64), *i])

        k.each(inner, move)
    k.new_buffer(result, buffer, owned=True)


def _interleave(k: Kernel, op: Operation) -> None:
    a, b = op.operands

    def compute(i: list[SSAValue]) -> SSAValue:
        two = k.e.const(2, i64)
        at = [*i[:-1], k.e.binary("floordiv", i[-1], two)]
        even = k.e.binary("eq", k.e.binary("floormod", i[-1], two), k.e.const(0, i64))
        return k.e.select(even, read_element(k, a, at), read_element(k, b, at))

    make_vector(k, op, compute)


def _deinterleave(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    for number, result in enumerate(op.results):

        def compute(i: list[SSAValue], number: int = number) -> SSAValue:
            twice = k.e.binary("mul", i[-1], k.e.const(2, i64))
            return read_element(k, source, [*i[:-1], add_indices(k, twice, k.e.const(number, i64))])

        k.array(result, k.static(result), compute)


def _bitcast(k: Kernel, op: Operation) -> None:
    source, kind = op.operands[0], element_of(op.results[0])
    if shape_of(source) != shape_of(op.results[0]):
        raise UnsupportedError(
            "'vector.bitcast' to elements of another width", location=location_of(op), expected="the same width"
        )

    def compute(i: list[SSAValue]) -> SSAValue:
        value = read_element(k, source, i)
        return value if value.type == kind else k.e.add(tir.ReinterpretOp(value, kind))

    make_vector(k, op, compute)


def _step(k: Kernel, op: Operation) -> None:
    make_vector(k, op, lambda i: i[0])


def _to_elements(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    for flat, result in enumerate(op.results):
        indices: list[SSAValue] = []
        for extent in reversed(shape_of(source)):
            flat, index = divmod(flat, extent)
            indices.insert(0, k.e.const(index, i64))
        k.known[result] = k.element(source, indices)


def _mask(k: Kernel, op: Operation) -> None:
    """True at the first elements of each dimension."""
    if op.name == "vector.create_mask":
        counts = fix_values(k, k.values(op.operands))
    else:
        counts = [k.e.const(n, i64) for n in integers(attribute(op, "mask_dim_sizes"))]

    def compute(i: list[SSAValue]) -> SSAValue:
        inside = k.e.const(1, i1)
        for index, count in zip(i, counts, strict=True):
            inside = k.e.binary("and", inside, k.e.binary("lt", index, count))
        return inside

    make_vector(k, op, compute)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _fma(k: Kernel, op: Operation) -> None:
    make_vector(k, op, lambda i: k.e.call("fma", *(read_element(k, v, i) for v in op.operands)))


_WORDS = {"and": "andi", "or": "ori", "xor": "xori"}


def _kind(op: Operation, dtype: Attribute) -> str:
    """Return the name of a reduction: of `add` and `mul` that of its type."""
    found = attribute(op, "kind")
    word = "add" if found is None else str(cast(Any, found).data)
    if word in ("add", "mul"):
        return word + ("f" if is_float(dtype) else "i")
    return _WORDS.get(word, word)


def _reduction(k: Kernel, op: Operation) -> None:
    source, dtype = op.operands[0], element_of(op.results[0])
    kind, total = _kind(op, dtype), k.cell(dtype)
    (extent,) = k.static(source) or [Const(1)]
    zero = k.e.const(0, i64)
    start = 0 if len(op.operands) > 1 else 1
    k.set(total, k.value(op.operands[1]) if start == 0 else read_element(k, source, [zero]))

    def body(index: SSAValue) -> None:
        k.set(total, reduction(k, kind, k.get(total), read_element(k, source, [index]), op))

    k.loop(Const(start), extent, Const(1), body)
    set_result(k, op, total)


def _combined(
    k: Kernel,
    op: Operation,
    start: SSAValue,
    extents: Sequence[SymExpr],
    step: Callable[[Sequence[SSAValue]], tuple[Sequence[SSAValue], SSAValue]],
) -> None:
    """Combine elements into a copy of `start`: `step` gives the place in the result, and the element."""
    result = op.results[0]
    dtype = element_of(result)
    kind = _kind(op, dtype)
    if is_array(result):
        buffer = k.updated(start, op, result)
    else:
        buffer = k.alloc((), dtype)
        k.write(k.value(start), direct(buffer), [])

    def body(i: list[SSAValue]) -> None:
        place, value = step(i)
        old = k.e.add(tir.LetOp(k.read(direct(buffer), place)))
        new = reduction(k, kind, old, k.e.cast(value, dtype), op)
        shown = k.mask and k.read(k.places[k.mask], i)
        k.write(new if shown is None else k.e.select(shown, new, old), direct(buffer), place)

    k.each(extents, body)
    if not is_array(result):
        k.known[result] = k.e.add(tir.LetOp(k.read(direct(buffer), [])))


def _multi_reduction(k: Kernel, op: Operation) -> None:
    source, start = op.operands
    gone = set(_numbers(op, "reduction_dims"))
    kept = [axis for axis in range(len(shape_of(source))) if axis not in gone]
    _combined(k, op, start, k.static(source), lambda i: ([i[a] for a in kept], read_element(k, source, i)))


def _contract(k: Kernel, op: Operation) -> None:
    a, b, start = op.operands[:3]
    maps = [cast(AffineMapAttr, m).data for m in cast("ArrayAttr[Attribute]", attribute(op, "indexing_maps"))]
    extents: dict[int, int] = {}
    for value, data in zip((a, b), maps, strict=False):
        for extent, result in zip(shape_of(value), data.results, strict=True):
            extents[cast(AffineDimExpr, result).position] = extent
    dtype = element_of(op.results[0])

    def step(i: Sequence[SSAValue]) -> tuple[Sequence[SSAValue], SSAValue]:
        left, right, out = ([affine_index(k.e, r, i) for r in data.results] for data in maps)
        factors = [k.e.cast(read_element(k, v, at), dtype) for v, at in ((a, left), (b, right))]
        return out, k.e.binary("and" if dtype == i1 else "mul", *factors)

    _combined(k, op, start, [Const(extents[d]) for d in range(maps[0].num_dims)], step)


def _outer_product(k: Kernel, op: Operation) -> None:
    a, b, *start = op.operands

    def product(i: Sequence[SSAValue]) -> SSAValue:
        left, right = read_element(k, a, i[:1]), read_element(k, b, i[1:])
        return k.e.binary("and" if left.type == i1 else "mul", left, right)

    if not start:
        make_vector(k, op, product)
        return
    _combined(k, op, start[0], k.static(op.results[0]), lambda i: (i, product(i)))


def _scan(k: Kernel, op: Operation) -> None:
    """The results of a reduction after each element; of an exclusive one, before it."""
    source, start = op.operands
    axis = cast(IntegerAttr, attribute(op, "reduction_dim")).value.data
    inclusive = bool(cast(Any, attribute(op, "inclusive")).value.data)
    out, last = op.results
    dtype = element_of(source)
    kind = _kind(op, dtype)
    buffer = k.alloc(k.static(source), dtype)
    totals = k.updated(start, op, last)
    extents = k.static(source)
    rest = [d for a, d in enumerate(extents) if a != axis]

    def along(index: SSAValue) -> None:
        def one(i: list[SSAValue]) -> None:
            place = [*i[:axis], index, *i[axis:]]
            old = k.e.add(tir.LetOp(k.read(direct(totals), i)))
            new = k.e.add(tir.LetOp(reduction(k, kind, old, read_element(k, source, place), op)))
            k.write(new if inclusive else old, direct(buffer), place)
            k.write(new, direct(totals), i)

        k.each(rest, one)

    if inclusive:  # the first element is the first result: the start does not count

        def first(i: list[SSAValue]) -> None:
            place = [*i[:axis], k.e.const(0, i64), *i[axis:]]
            value = k.e.add(tir.LetOp(read_element(k, source, place)))
            k.write(value, direct(buffer), place)
            k.write(value, direct(totals), i)

        k.each(rest, first)
    k.loop(Const(int(inclusive)), extents[axis], Const(1), along)
    k.new_buffer(out, buffer, owned=True)


def _splat(k: Kernel, op: Operation) -> None:
    value = k.e.add(tir.LetOp(k.value(op.operands[0])))
    make_vector(k, op, lambda i: value)


STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    "vector.broadcast": _broadcast,
    "vector.splat": _splat,
    "vector.shape_cast": _shape_cast,
    "vector.transpose": _transpose,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.extract_strided_slice": _extract_strided,
    "vector.insert_strided_slice": _insert_strided,
    "vector.shuffle": _shuffle,
    "vector.interleave": _interleave,
    "vector.deinterleave": _deinterleave,
    "vector.bitcast": _bitcast,
    "vector.step": _step,
    "vector.from_elements": from_elements,
    "vector.to_elements": _to_elements,
    "vector.create_mask": _mask,
    "vector.constant_mask": _mask,
    "vector.fma": _fma,
    "vector.reduction": _reduction,
    "vector.multi_reduction": _multi_reduction,
    "vector.contract": _contract,
    "vector.outerproduct": _outer_product,
    "vector.scan": _scan,
}
"""operation -> its translation."""
