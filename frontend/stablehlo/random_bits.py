"""`rng_bit_generator`: the bits of Threefry and Philox, as XLA generates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import bit_width, ui32, ui64
from ...dialects.sym.expr import Const
from ...handles.relax.expr import Expr
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr
from ...te.tensor import Tensor, compute
from ..importing.relax_operators import R
from .graph import Graph, rule
from .scalars import number
from .values import element_of, tensor_type, word

Block = Callable[[Tensor, PrimExpr], Sequence[PrimExpr]]
"""(state, number of the block) -> words of 32 bits"""


def _shift(x: PrimExpr, by: int, right: bool) -> PrimExpr:
    return tx.call_intrin(x.type, "shift_right" if right else "shift_left", x, number(by, x))


def _xor(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tx.call_intrin(a.type, "bitwise_xor", a, b)


def _low(x: PrimExpr) -> PrimExpr:
    return x.astype(ui32)


def _high(x: PrimExpr) -> PrimExpr:
    return _shift(x, 32, True).astype(ui32)


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: Sequence[PrimExpr], words: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return a block of Threefry-2x32 of 20 rounds."""
    keys = [*key, _xor(_xor(key[0], key[1]), number(0x1BD11BDA, ui32))]
    x, y = words[0] + keys[0], words[1] + keys[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = x + y
            turned = tx.call_intrin(ui32, "bitwise_or", _shift(y, rotation, False), _shift(y, 32 - rotation, True))
            y = _xor(x, turned)
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + number(group + 1, ui32)
    return [x, y]


def philox(key: Sequence[PrimExpr], words: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return a block of Philox-4x32 of 10 rounds."""
    x = list(words)
    k = list(key)
    for step in range(10):
        if step:
            k = [k[0] + number(0x9E3779B9, ui32), k[1] + number(0xBB67AE85, ui32)]
        first = x[0].astype(ui64) * number(0xD2511F53, ui64)
        second = x[2].astype(ui64) * number(0xCD9E8D57, ui64)
        x = [_xor(_xor(_high(second), x[1]), k[0]), _low(second), _xor(_xor(_high(first), x[3]), k[1]), _low(first)]
    return x


def _wide(low: PrimExpr, high: PrimExpr) -> PrimExpr:
    return tx.call_intrin(ui64, "bitwise_or", low.astype(ui64), _shift(high.astype(ui64), 32, False))


@rule("stablehlo.rng_bit_generator")
def rng_bit_generator(graph: Graph, op: Operation) -> None:
    """Return the next state, and bits."""
    algorithm = word(op, "rng_algorithm")
    state = graph.tensor(op.operands[0])
    if element_of(op.operands[0]) != ui64:
        raise UnsupportedError("a state of random numbers", expected="64-bit integers", found=op.operands[0].type)
    shape = list(tensor_type(op.results[1]).get_shape())
    dtype = element_of(op.results[1])
    count = 1
    for size in shape:
        count *= size
    generate = _threefry_bits if algorithm == "THREE_FRY" else _philox_bits
    bits, blocks = generate(graph, state, shape, count, bit_width(dtype))
    bits = graph.emit(R.astype(bits, dtype=f"uint{bit_width(dtype)}")) if bit_width(dtype) < 32 else bits
    graph.set(op, _advanced(graph, state, blocks, algorithm), graph.cast(bits, dtype))


def _advanced(graph: Graph, state: Expr, blocks: int, algorithm: str) -> Expr:
    """Return the state after so many blocks; Philox has a counter of 128 bits, whose upper half may be the key."""

    def element(s: Tensor, i: PrimExpr) -> PrimExpr:
        low = s(tx.const(1, i64)) + number(blocks, ui64)
        carry = tx.select(tx.less(low, number(blocks, ui64)), number(1, ui64), number(0, ui64))
        last = s(i) + carry if algorithm != "THREE_FRY" else s(i)
        return tx.select(tx.equal(i, 0), s(i), tx.select(tx.equal(i, 1), low, last))

    dims = [Const(n) for n in _sizes(state)]
    return graph.one("advance", lambda s: compute(dims, lambda i: element(s, i.astype(i64)), "advance"), state)


def _sizes(x: Expr) -> list[int]:
    return [d.constant or 0 for d in x.ssa.type.dims]  # type: ignore[attr-defined]


def _flat(i: Sequence[PrimExpr], shape: Sequence[int]) -> PrimExpr:
    at = tx.const(0, i64)
    for index, size in zip(i, shape, strict=True):
        at = at * size + index.astype(i64)
    return at


def _threefry_bits(graph: Graph, state: Expr, shape: Sequence[int], count: int, width: int) -> tuple[Expr, int]:
    def block(s: Tensor, at: PrimExpr) -> list[PrimExpr]:
        key, counter = s(tx.const(0, i64)), s(tx.const(1, i64)) + at.astype(ui64)
        return threefry([_low(key), _high(key)], [_low(counter), _high(counter)])

    dims = [Const(n) for n in shape]
    if width == 64:

        def wide(s: Tensor, *i: PrimExpr) -> PrimExpr:
            return _wide(*block(s, _flat(i, shape)))

        return graph.one("threefry", lambda s: compute(dims, lambda *i: wide(s, *i), "threefry"), state), count
    axis = _halved(shape)
    half = [(-(-n // 2) if a == axis else n) for a, n in enumerate(shape)]

    def element(s: Tensor, *i: PrimExpr) -> PrimExpr:
        if not shape:
            return block(s, tx.const(0, i64))[0]
        part = tx.floormod(i[axis].astype(i64), tx.const(2, i64))
        place = [tx.floordiv(k.astype(i64), tx.const(2, i64)) if a == axis else k for a, k in enumerate(i)]
        first, second = block(s, _flat(place, half))
        return tx.select(tx.equal(part, tx.const(0, i64)), first, second)

    result = graph.one("threefry", lambda s: compute(dims, lambda *i: element(s, *i), "threefry"), state)
    blocks = 1
    for size in half:
        blocks *= size
    return result, blocks


def _halved(shape: Sequence[int]) -> int:
    """Return the dimension whose elements are those of pairs: the first even one, or the largest."""
    even = [a for a, n in enumerate(shape) if n % 2 == 0]
    if even:
        return even[0]
    return max(range(len(shape)), key=lambda a: (shape[a], -a)) if shape else 0


def _philox_bits(graph: Graph, state: Expr, shape: Sequence[int], count: int, width: int) -> tuple[Expr, int]:
    each = 128 // max(width, 32)
    blocks = -(-count // each)

    def words(s: Tensor, at: PrimExpr) -> list[PrimExpr]:
        key, low = s(tx.const(0, i64)), s(tx.const(1, i64)) + at.astype(ui64)
        carry = tx.select(tx.less(low, at.astype(ui64)), number(1, ui64), number(0, ui64))
        high = s(tx.const(2 if _is_long(s) else 0, i64)) + carry
        return philox([_low(key), _high(key)], [_low(low), _high(low), _low(high), _high(high)])

    def element(s: Tensor, *i: PrimExpr) -> PrimExpr:
        at = _flat(i, shape)
        result = words(s, tx.floordiv(at, tx.const(each, i64)))
        values = result if width <= 32 else [_wide(*result[:2]), _wide(*result[2:])]
        place = tx.floormod(at, tx.const(each, i64))
        chosen = values[-1]
        for k, value in reversed(list(enumerate(values[:-1]))):
            chosen = tx.select(tx.equal(place, tx.const(k, i64)), value, chosen)
        return chosen

    dims = [Const(n) for n in shape]
    return graph.one("philox", lambda s: compute(dims, lambda *i: element(s, *i), "philox"), state), blocks


def _is_long(s: Tensor) -> bool:
    return s.dims[0].constant == 3


@rule("stablehlo.rng")
def rng(graph: Graph, op: Operation) -> None:
    """Refuse numbers without a seed: they differ in every run."""
    raise UnsupportedError(
        "'stablehlo.rng', whose numbers have no seed", hint="rng_bit_generator, as jax.random makes it"
    )
