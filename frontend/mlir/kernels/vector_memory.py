"""Loads and stores of vectors in kernels: plain, masked, gathered, compressed, and transfers with padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....ir.locations import location_of
from ..blocks import Place, direct
from ..elements import either
from ..structured import attribute, element_of
from .core import Kernel
from .memory import affine_indices
from .vectors import add_indices, fix_values, make_vector, read_element


def _trailing(k: Kernel, base: Sequence[SSAValue], indices: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the indices of an element of a vector that lies along the last dimensions."""
    first = len(base) - len(indices)
    return [b if axis < first else add_indices(k, b, indices[axis - first]) for axis, b in enumerate(base)]


def _load(k: Kernel, op: Operation) -> None:
    source, *indices = op.operands
    base = fix_values(k, affine_indices(k, op, indices))
    make_vector(k, op, lambda i: k.read(k.places[source], _trailing(k, base, i)))


def _store(k: Kernel, op: Operation) -> None:
    value, target, *indices = op.operands
    base = fix_values(k, affine_indices(k, op, indices))
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
    base = fix_values(k, k.values(indices))

    def compute(i: list[SSAValue]) -> SSAValue:
        return _choose(
            k,
            k.read(k.places[mask], i),
            lambda: k.read(k.places[source], _trailing(k, base, i)),
            lambda: read_element(k, other, i),
        )

    make_vector(k, op, compute)


def _masked_store(k: Kernel, op: Operation) -> None:
    target, *indices, mask, value = op.operands
    base = fix_values(k, k.values(indices))

    def one(i: list[SSAValue]) -> None:
        _when(
            k,
            k.read(k.places[mask], i),
            lambda: k.write(k.read(k.places[value], i), k.places[target], _trailing(k, base, i)),
        )

    k.each(k.static(value), one)


def _gathered(k: Kernel, base: Sequence[SSAValue], offsets: SSAValue, i: Sequence[SSAValue]) -> list[SSAValue]:
    """Return indices whose last one is moved by an element of a vector."""
    return [*base[:-1], add_indices(k, base[-1], k.e.cast(k.read(k.places[offsets], i), i64))]


def _gather(k: Kernel, op: Operation) -> None:
    source, *indices, offsets, mask, other = op.operands
    base = fix_values(k, k.values(indices))

    def compute(i: list[SSAValue]) -> SSAValue:
        return _choose(
            k,
            k.read(k.places[mask], i),
            lambda: k.read(k.places[source], _gathered(k, base, offsets, i)),
            lambda: read_element(k, other, i),
        )

    make_vector(k, op, compute)


def _scatter(k: Kernel, op: Operation) -> None:
    target, *indices, offsets, mask, value = op.operands
    base = fix_values(k, k.values(indices))
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
    base = fix_values(k, k.values(indices))
    result = op.results[0]
    buffer = k.alloc(k.static(result), element_of(result))
    next_one = k.cell(i64)
    k.set(next_one, k.e.const(0, i64))

    def one(i: list[SSAValue]) -> None:
        k.write(read_element(k, other, i), direct(buffer), i)

        def take() -> None:
            at = k.get(next_one)
            k.write(k.read(k.places[source], [*base[:-1], add_indices(k, base[-1], at)]), direct(buffer), i)
            k.set(next_one, add_indices(k, at, k.e.const(1, i64)))

        _when(k, k.read(k.places[mask], i), take)

    k.each(k.static(result), one)
    k.new_buffer(result, buffer, owned=True)


def _compress_store(k: Kernel, op: Operation) -> None:
    target, *indices, mask, value = op.operands
    base = fix_values(k, k.values(indices))
    next_one = k.cell(i64)
    k.set(next_one, k.e.const(0, i64))

    def one(i: list[SSAValue]) -> None:
        def put() -> None:
            at = k.get(next_one)
            k.write(k.read(k.places[value], i), k.places[target], [*base[:-1], add_indices(k, base[-1], at)])
            k.set(next_one, add_indices(k, at, k.e.const(1, i64)))

        _when(k, k.read(k.places[mask], i), put)

    k.each(k.static(value), one)


class _Transfer:
    """`transfer_read` and `transfer_write`: which element of memory an element of a vector is."""

    def __init__(self, k: Kernel, op: Operation, memory: SSAValue, indices: Sequence[SSAValue], vector: SSAValue):
        self.k, self.memory = k, memory
        self.base = fix_values(k, k.values(indices))
        self.results = cast(AffineMapAttr, attribute(op, "permutation_map")).data.results
        given = attribute(op, "in_bounds")
        flags = [bool(cast(Any, f).value.data) for f in cast("ArrayAttr[Attribute]", given)] if given else []
        self.inside = flags or [False] * len(self.results)
        self.dims = k.dims[memory]

    def place(self, i: Sequence[SSAValue]) -> list[SSAValue]:
        found = list(self.base)
        for index, result in zip(i, self.results, strict=True):
            if isinstance(result, AffineDimExpr):
                found[result.position] = add_indices(self.k, found[result.position], index)
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
        cond = transfer.condition(i, op.mask or k.mask)
        if cond is None:
            return k.read(k.places[op.source], transfer.place(i))
        return _choose(k, cond, lambda: k.read(k.places[op.source], transfer.place(i)), lambda: padding)

    make_vector(k, op, compute)


def _transfer_write(k: Kernel, op: vector.TransferWriteOp) -> None:
    value, target, rest = op.operands[0], op.operands[1], op.operands[2:]
    count = len(k.dims[target])
    mask = rest[count] if len(rest) > count else k.mask
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


_MASKED = ("vector.transfer_read", "vector.transfer_write", "vector.multi_reduction", "vector.contract")


def _masked(k: Kernel, op: Operation) -> None:
    """Run the operation in `vector.mask` on the lanes that the mask shows."""
    inner = op.regions[0].block.first_op
    if inner is None or inner.name not in _MASKED or len(op.operands) > 1:
        name = "nothing" if inner is None else f"'{inner.name}'"
        expected = f"{', '.join(_MASKED)}, without lanes to pass through"
        raise UnsupportedError(f"'vector.mask' of {name}", location=location_of(op), expected=expected)
    k.mask = op.operands[0]
    k.statement(inner)
    k.mask = None
    for result, value in zip(op.results, inner.results, strict=True):
        k.same(result, value)


STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    "affine.vector_load": _load,
    "affine.vector_store": _store,
    "vector.load": _load,
    "vector.store": _store,
    "vector.mask": _masked,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.gather": _gather,
    "vector.scatter": _scatter,
    "vector.expandload": _expand_load,
    "vector.compressstore": _compress_store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
}
"""operation -> its translation."""
