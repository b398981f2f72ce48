"""Vectors in kernels: each is a buffer of its extents, whose elements are computed one by one.

LLVM makes registers of these buffers and vectors of the loops; tirax's own vectors come from its schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import is_float
from ....dialects.sym.expr import Const, SymExpr
from ....ir.locations import location_of
from ..blocks import Place, direct
from ..elements import either
from ..payload import affine_index
from ..structured import attribute, element_of, integers
from .core import Kernel, is_array
from .loops import reduction
from .memory import affine_indices
from .tensors import from_elements


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("VectorType[Attribute]", value.type).get_shape() if isinstance(value.type, VectorType) else ()


def _read(k: Kernel, value: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """Return an element of a vector, or a scalar."""
    return k.read(k.places[value], indices) if is_array(value) else k.value(value)


def _made(k: Kernel, op: Operation, compute: Callable[[list[SSAValue]], SSAValue]) -> None:
    result = op.results[0]
    k.array(result, k.static(result), compute)


def _result(k: Kernel, op: Operation, place: SSAValue) -> None:
    """Let the result be a scalar of a cell."""
    k.known[op.results[0]] = k.get(place)


# -- memory ------------------------------------------------------------------------------------------------------------


def _sum(k: Kernel, a: SSAValue, b: SSAValue) -> SSAValue:
    return k.e.binary("add", a, b)


def _trailing(k: Kernel, base: Sequence[SSAValue], indices: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the indices of an element of a vector that lies along the last dimensions."""
    first = len(base) - len(indices)
    return [b if axis < first else _sum(k, b, indices[axis - first]) for axis, b in enumerate(base)]


def _fixed(k: Kernel, values: Sequence[SSAValue]) -> list[SSAValue]:
    return [k.e.add(tir.LetOp(v)) for v in values]


def _load(k: Kernel, op: Operation) -> None:
    source, *indices = op.operands
    base = _fixed(k, affine_indices(k, op, indices))
    _made(k, op, lambda i: k.read(k.places[source], _trailing(k, base, i)))


def _store(k: Kernel, op: Operation) -> None:
    value, target, *indices = op.operands
    base = _fixed(k, affine_indices(k, op, indices))
    k.each(k.static(value), lambda i: k.write(k.read(k.places[value], i), k.places[target], _trailing(k, base, i)))


def _when(k: Kernel, cond: SSAValue, body: Callable[[], None]) -> None:
    block = Block()
    with k.inside(block):
        body()
    k.e.block.add_op(tir.IfOp(cond, Region(block), None))


def _choose(k: Kernel, cond: SSAValue, then: Callable[[], SSAValue], other: Callable[[], SSAValue]) -> SSAValue:
    def side(function: Callable[[], SSAValue]) -> Callable[[Any], SSAValue]:
        def run(e: Any) -> SSAValue:
            with k.inside(e.block):
                return function()

        return run

    return either(k.e, cond, side(then), side(other))


def _masked_load(k: Kernel, op: Operation) -> None:
    source, *indices, mask, other = op.operands
    base = _fixed(k, k.values(indices))

    def compute(i: list[SSAValue]) -> SSAValue:
        return _choose(
            k,
            k.read(k.places[mask], i),
            lambda: k.read(k.places[source], _trailing(k, base, i)),
            lambda: _read(k, other, i),
        )

    _made(k, op, compute)


def _masked_store(k: Kernel, op: Operation) -> None:
    target, *indices, mask, value = op.operands
    base = _fixed(k, k.values(indices))

    def one(i: list[SSAValue]) -> None:
        _when(
            k,
            k.read(k.places[mask], i),
            lambda: k.write(k.read(k.places[value], i), k.places[target], _trailing(k, base, i)),
        )

    k.each(k.static(value), one)


def _gathered(k: Kernel, base: Sequence[SSAValue], offsets: SSAValue, i: Sequence[SSAValue]) -> list[SSAValue]:
    """Return indices whose last one is moved by an element of a vector."""
    return [*base[:-1], _sum(k, base[-1], k.e.cast(k.read(k.places[offsets], i), i64))]


def _gather(k: Kernel, op: Operation) -> None:
    source, *indices, offsets, mask, other = op.operands
    base = _fixed(k, k.values(indices))

    def compute(i: list[SSAValue]) -> SSAValue:
        return _choose(
            k,
            k.read(k.places[mask], i),
            lambda: k.read(k.places[source], _gathered(k, base, offsets, i)),
            lambda: _read(k, other, i),
        )

    _made(k, op, compute)


def _scatter(k: Kernel, op: Operation) -> None:
    target, *indices, offsets, mask, value = op.operands
    base = _fixed(k, k.values(indices))
    if op.results:
        raise UnsupportedError(f"'{op.name}' into a tensor", location=location_of(op), expected="a memref")

    def one(i: list[SSAValue]) -> None:
        _when(
            k,
            k.read(k.places[mask], i),
            lambda: k.write(k.read(k.places[value], i), k.places[target], _gathered(k, base, offsets, i)),
        )

    k.each(k.static(value), one)


def _expand_load(k: Kernel, op: Operation) -> None:
    """The next element of memory for each one of the mask."""
    source, *indices, mask, other = op.operands
    base = _fixed(k, k.values(indices))
    result = op.results[0]
    buffer = k.alloc(k.static(result), element_of(result))
    next_one = k.cell(i64)
    k.set(next_one, k.e.const(0, i64))

    def one(i: list[SSAValue]) -> None:
        k.write(_read(k, other, i), direct(buffer), i)

        def take() -> None:
            at = k.get(next_one)
            k.write(k.read(k.places[source], [*base[:-1], _sum(k, base[-1], at)]), direct(buffer), i)
            k.set(next_one, _sum(k, at, k.e.const(1, i64)))

        _when(k, k.read(k.places[mask], i), take)

    k.each(k.static(result), one)
    k.new_buffer(result, buffer, owned=True)


def _compress_store(k: Kernel, op: Operation) -> None:
    target, *indices, mask, value = op.operands
    base = _fixed(k, k.values(indices))
    next_one = k.cell(i64)
    k.set(next_one, k.e.const(0, i64))

    def one(i: list[SSAValue]) -> None:
        def put() -> None:
            at = k.get(next_one)
            k.write(k.read(k.places[value], i), k.places[target], [*base[:-1], _sum(k, base[-1], at)])
            k.set(next_one, _sum(k, at, k.e.const(1, i64)))

        _when(k, k.read(k.places[mask], i), put)

    k.each(k.static(value), one)


class _Transfer:
    """`transfer_read` and `transfer_write`: which element of memory an element of a vector is."""

    def __init__(self, k: Kernel, op: Operation, memory: SSAValue, indices: Sequence[SSAValue], vector: SSAValue):
        self.k, self.memory = k, memory
        self.base = _fixed(k, k.values(indices))
        self.results = cast(AffineMapAttr, attribute(op, "permutation_map")).data.results
        given = attribute(op, "in_bounds")
        flags = [bool(cast(Any, f).value.data) for f in cast("ArrayAttr[Attribute]", given)] if given else []
        self.inside = flags or [False] * len(self.results)
        self.dims = k.dims[memory]

    def place(self, i: Sequence[SSAValue]) -> list[SSAValue]:
        found = list(self.base)
        for index, result in zip(i, self.results, strict=True):
            if isinstance(result, AffineDimExpr):
                found[result.position] = _sum(self.k, found[result.position], index)
        return found

    def condition(self, i: Sequence[SSAValue], mask: SSAValue | None) -> SSAValue | None:
        """Return whether an element is within bounds and not masked; None if each is."""
        e = self.k.e
        cond: SSAValue | None = None
        place = self.place(i)
        for flag, result in zip(self.inside, self.results, strict=True):
            if flag or not isinstance(result, AffineDimExpr):
                continue
            at = place[result.position]
            low = e.binary("ge", at, e.const(0, i64))
            fits = e.binary("and", low, e.binary("lt", at, self.k.number(self.dims[result.position])))
            cond = fits if cond is None else e.binary("and", cond, fits)
        if mask is not None:
            order = sorted(
                (result.position, number)
                for number, result in enumerate(self.results)
                if isinstance(result, AffineDimExpr)
            )
            shown = self.k.read(self.k.places[mask], [i[number] for _, number in order])
            cond = shown if cond is None else e.binary("and", cond, shown)
        return cond


def _transfer_read(k: Kernel, op: vector.TransferReadOp) -> None:
    transfer = _Transfer(k, op, op.source, op.indices, op.result)
    padding = k.value(op.padding)

    def compute(i: list[SSAValue]) -> SSAValue:
        cond = transfer.condition(i, op.mask)
        if cond is None:
            return k.read(k.places[op.source], transfer.place(i))
        return _choose(k, cond, lambda: k.read(k.places[op.source], transfer.place(i)), lambda: padding)

    _made(k, op, compute)


def _transfer_write(k: Kernel, op: vector.TransferWriteOp) -> None:
    value, target, rest = op.operands[0], op.operands[1], op.operands[2:]
    count = len(k.dims[target])
    mask = rest[count] if len(rest) > count else None
    transfer = _Transfer(k, op, target, rest[:count], value)
    place: Place = direct(k.updated(target, op, op.results[0])) if op.results else k.places[target]

    def one(i: list[SSAValue]) -> None:
        def put() -> None:
            k.write(k.read(k.places[value], i), place, transfer.place(i))

        cond = transfer.condition(i, mask)
        if cond is None:
            put()
        else:
            _when(k, cond, put)

    k.each(k.static(value), one)


# -- shapes ------------------------------------------------------------------------------------------------------------


def _broadcast(k: Kernel, op: Operation) -> None:
    """To more dimensions ahead, and along those of extent 1."""
    source = op.operands[0]
    own = _shape(source)

    def compute(i: list[SSAValue]) -> SSAValue:
        last = i[len(i) - len(own) :]
        return _read(
            k, source, [k.e.const(0, i64) if extent == 1 else at for extent, at in zip(own, last, strict=True)]
        )

    _made(k, op, compute)


def _unrolled(k: Kernel, flat: SSAValue, shape: Sequence[int]) -> list[SSAValue]:
    found: list[SSAValue] = []
    for extent in reversed(shape):
        found.insert(0, k.e.binary("floormod", flat, k.e.const(extent, i64)))
        flat = k.e.binary("floordiv", flat, k.e.const(extent, i64))
    return found


def _flat(k: Kernel, indices: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
    total = k.e.const(0, i64)
    for index, extent in zip(indices, shape, strict=True):
        total = _sum(k, k.e.binary("mul", total, k.e.const(extent, i64)), index)
    return total


def _shape_cast(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    _made(k, op, lambda i: _read(k, source, _unrolled(k, _flat(k, i, _shape(op.results[0])), _shape(source))))


def _transpose(k: Kernel, op: Operation) -> None:
    source, order = op.operands[0], integers(attribute(op, "permutation"))
    _made(k, op, lambda i: _read(k, source, [i[order.index(axis)] for axis in range(len(order))]))


def _position(k: Kernel, op: Operation, first: int) -> list[SSAValue]:
    rest = iter(op.operands[first:])
    static = integers(attribute(op, "static_position"))
    return _fixed(k, [k.value(next(rest)) if n == DYNAMIC_INDEX else k.e.const(n, i64) for n in static])


def _extract(k: Kernel, op: Operation) -> None:
    source, position = op.operands[0], _position(k, op, 1)
    if is_array(op.results[0]):
        _made(k, op, lambda i: _read(k, source, [*position, *i]))
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
    k.each(k.static(value), lambda i: k.write(_read(k, value, i), direct(buffer), [*position, *i]))


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
        found[axis] = _sum(k, k.e.const(offset, i64), k.e.binary("mul", i[axis], k.e.const(stride, i64)))
    return found


def _extract_strided(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    _made(k, op, lambda i: _read(k, source, _strided(k, op, i)))


def _insert_strided(k: Kernel, op: Operation) -> None:
    value, target = op.operands
    buffer = k.updated(target, op, op.results[0])
    k.each(k.static(value), lambda i: k.write(_read(k, value, i), direct(buffer), _strided(k, op, i)))


def _shuffle(k: Kernel, op: Operation) -> None:
    """The rows of both operands, by number; of those that are vectors without dimensions, the values."""
    a, b = op.operands
    result = op.results[0]
    first = _shape(a)[0] if _shape(a) else 1
    buffer = k.alloc(k.static(result), element_of(result))
    inner = [Const(d) for d in _shape(result)[1:]]
    for row, number in enumerate(integers(attribute(op, "mask"))):
        source, at = (a, number) if number < first else (b, number - first)

        def move(i: list[SSAValue], row: int = row, source: SSAValue = source, at: int = max(at, 0)) -> None:
            here = [k.e.const(at, i64), *i] if _shape(source) else []
            k.write(_read(k, source, here), direct(buffer), [k.e.const(row, i64), *i])

        k.each(inner, move)
    k.new_buffer(result, buffer, owned=True)


def _interleave(k: Kernel, op: Operation) -> None:
    a, b = op.operands

    def compute(i: list[SSAValue]) -> SSAValue:
        two = k.e.const(2, i64)
        at = [*i[:-1], k.e.binary("floordiv", i[-1], two)]
        even = k.e.binary("eq", k.e.binary("floormod", i[-1], two), k.e.const(0, i64))
        return k.e.select(even, _read(k, a, at), _read(k, b, at))

    _made(k, op, compute)


def _deinterleave(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    for number, result in enumerate(op.results):

        def compute(i: list[SSAValue], number: int = number) -> SSAValue:
            twice = k.e.binary("mul", i[-1], k.e.const(2, i64))
            return _read(k, source, [*i[:-1], _sum(k, twice, k.e.const(number, i64))])

        k.array(result, k.static(result), compute)


def _bitcast(k: Kernel, op: Operation) -> None:
    source, kind = op.operands[0], element_of(op.results[0])
    if _shape(source) != _shape(op.results[0]):
        raise UnsupportedError(
            "'vector.bitcast' to elements of another width", location=location_of(op), expected="the same width"
        )

    def compute(i: list[SSAValue]) -> SSAValue:
        value = _read(k, source, i)
        return value if value.type == kind else k.e.add(tir.ReinterpretOp(value, kind))

    _made(k, op, compute)


def _step(k: Kernel, op: Operation) -> None:
    _made(k, op, lambda i: i[0])


def _to_elements(k: Kernel, op: Operation) -> None:
    source = op.operands[0]
    for flat, result in enumerate(op.results):
        indices: list[SSAValue] = []
        for extent in reversed(_shape(source)):
            flat, index = divmod(flat, extent)
            indices.insert(0, k.e.const(index, i64))
        k.known[result] = k.element(source, indices)


def _mask(k: Kernel, op: Operation) -> None:
    """True at the first elements of each dimension."""
    if op.name == "vector.create_mask":
        counts = _fixed(k, k.values(op.operands))
    else:
        counts = [k.e.const(n, i64) for n in integers(attribute(op, "mask_dim_sizes"))]

    def compute(i: list[SSAValue]) -> SSAValue:
        inside = k.e.const(1, i1)
        for index, count in zip(i, counts, strict=True):
            inside = k.e.binary("and", inside, k.e.binary("lt", index, count))
        return inside

    _made(k, op, compute)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _fma(k: Kernel, op: Operation) -> None:
    _made(k, op, lambda i: k.e.call("fma", *(_read(k, v, i) for v in op.operands)))


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
    k.set(total, k.value(op.operands[1]) if start == 0 else _read(k, source, [zero]))

    def body(index: SSAValue) -> None:
        k.set(total, reduction(k, kind, k.get(total), _read(k, source, [index]), op))

    k.loop(Const(start), extent, Const(1), body)
    _result(k, op, total)


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
        k.write(reduction(k, kind, old, k.e.cast(value, dtype), op), direct(buffer), place)

    k.each(extents, body)
    if not is_array(result):
        k.known[result] = k.e.add(tir.LetOp(k.read(direct(buffer), [])))


def _multi_reduction(k: Kernel, op: Operation) -> None:
    source, start = op.operands
    gone = set(_numbers(op, "reduction_dims"))
    kept = [axis for axis in range(len(_shape(source))) if axis not in gone]
    _combined(k, op, start, k.static(source), lambda i: ([i[a] for a in kept], _read(k, source, i)))


def _contract(k: Kernel, op: Operation) -> None:
    a, b, start = op.operands[:3]
    maps = [cast(AffineMapAttr, m).data for m in cast("ArrayAttr[Attribute]", attribute(op, "indexing_maps"))]
    extents: dict[int, int] = {}
    for value, data in zip((a, b), maps, strict=False):
        for extent, result in zip(_shape(value), data.results, strict=True):
            extents[cast(AffineDimExpr, result).position] = extent
    dtype = element_of(op.results[0])

    def step(i: Sequence[SSAValue]) -> tuple[Sequence[SSAValue], SSAValue]:
        left, right, out = ([affine_index(k.e, r, i) for r in data.results] for data in maps)
        factors = [k.e.cast(_read(k, v, at), dtype) for v, at in ((a, left), (b, right))]
        return out, k.e.binary("and" if dtype == i1 else "mul", *factors)

    _combined(k, op, start, [Const(extents[d]) for d in range(maps[0].num_dims)], step)


def _outer_product(k: Kernel, op: Operation) -> None:
    a, b, *start = op.operands

    def product(i: Sequence[SSAValue]) -> SSAValue:
        left, right = _read(k, a, i[:1]), _read(k, b, i[1:])
        return k.e.binary("and" if left.type == i1 else "mul", left, right)

    if not start:
        _made(k, op, product)
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
            new = k.e.add(tir.LetOp(reduction(k, kind, old, _read(k, source, place), op)))
            k.write(new if inclusive else old, direct(buffer), place)
            k.write(new, direct(totals), i)

        k.each(rest, one)

    if inclusive:  # the first element is the first result: the start does not count

        def first(i: list[SSAValue]) -> None:
            place = [*i[:axis], k.e.const(0, i64), *i[axis:]]
            value = k.e.add(tir.LetOp(_read(k, source, place)))
            k.write(value, direct(buffer), place)
            k.write(value, direct(totals), i)

        k.each(rest, first)
    k.loop(Const(int(inclusive)), extents[axis], Const(1), along)
    k.new_buffer(out, buffer, owned=True)


def _splat(k: Kernel, op: Operation) -> None:
    value = k.e.add(tir.LetOp(k.value(op.operands[0])))
    _made(k, op, lambda i: value)


def _reasoned(reason: str) -> Callable[[Kernel, Any], None]:
    def refuse(k: Kernel, op: Operation) -> None:
        raise UnsupportedError(f"'{op.name}': {reason}", location=location_of(op))

    return refuse


REFUSED = {
    "vector.mask": "lower it to masked loads and stores first",
    "vector.print": "a function has no output but its results",
    "vector.vscale": "vectors have fixed extents here",
    "vector.scalable.insert": "vectors have fixed extents here",
    "vector.scalable.extract": "vectors have fixed extents here",
    "vector.type_cast": "memrefs hold numbers, not vectors",
}
"""What is not read, and why."""

STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    **{name: _reasoned(reason) for name, reason in REFUSED.items()},
    "affine.vector_load": _load,
    "affine.vector_store": _store,
    "vector.load": _load,
    "vector.store": _store,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.gather": _gather,
    "vector.scatter": _scatter,
    "vector.expandload": _expand_load,
    "vector.compressstore": _compress_store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
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
