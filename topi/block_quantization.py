"""Block-quantized rows (`dialects/block_formats.py`): dequantization, lookup of rows, and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import f16, f32, i8, i32
from xdsl.ir import Attribute

from ..dialects.block_formats import BlockFormat, block_format
from ..dialects.dtypes import ui16, ui32
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.intrinsics import copysign, reinterpret
from ..handles.tir.prim_expr import PrimExpr
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, over_axes
from ..te.tensor import Tensor, compute

PRODUCT = "tirax.block_product"
"""The annotation of a sum of products with quantized blocks: their format. The byte operands are never -128."""


@dataclass(frozen=True)
class Rows:
    """The numbers of block-quantized rows in `packed`, where the words of `interleaved` rows alternate."""

    packed: Tensor
    format: BlockFormat
    interleaved: int = 1

    @property
    def dims(self) -> list[SymExpr]:
        """The shape of the decoded numbers."""
        *outer, width = self.packed.dims
        k = width // (self.format.block_bytes * self.interleaved) * self.format.size
        return [*(d * self.interleaved for d in outer), k] if self.interleaved > 1 else [*outer, k]

    def __call__(self, *i: PrimExpr) -> PrimExpr:
        """Return a number as float32."""
        *row, k = i
        block, place = tx.floordiv(k, self.format.size), tx.floormod(k, self.format.size)
        return _NUMBERS[self.format.name.partition("_g")[0]](_Block(self, tuple(row), block), place)


@dataclass(frozen=True)
class _Block:
    """A block of a row, for reading its fields."""

    rows: Rows
    row: Indices
    number: PrimExpr

    def byte(self, field: str, at: PrimExpr | int) -> PrimExpr:
        """Return an unsigned byte of a field as int32."""
        return self._stored(field, at).astype(i32)

    def signed(self, field: str, at: PrimExpr | int) -> PrimExpr:
        """Return a signed byte of a field as float32."""
        return reinterpret(i8, self._stored(field, at)).astype(f32)

    def half(self, field: str) -> PrimExpr:
        """Return a float16 field as float32."""
        low, high = (self._stored(field, n).astype(ui16) for n in range(2))
        return reinterpret(f16, low | high << tx.const(8, ui16)).astype(f32)

    def single(self, field: str) -> PrimExpr:
        """Return a float32 field."""
        parts = [self._stored(field, n).astype(ui32) << tx.const(8 * n, ui32) for n in range(4)]
        return reinterpret(f32, parts[0] | parts[1] | parts[2] | parts[3])

    def _stored(self, name: str, at: PrimExpr | int) -> PrimExpr:
        rows, field = self.rows, self.rows.format.field(name)
        count = rows.interleaved
        begin = self.number * (rows.format.block_bytes * count) + field.offset * count
        if count == 1:
            return rows.packed(*self.row, begin + at)
        (row,) = self.row
        place = tx.const(at, self.number.type) if isinstance(at, int) else at
        word, within = tx.floordiv(place, field.width), tx.floormod(place, field.width)
        lane = tx.floormod(row, count) * field.width
        return rows.packed(tx.floordiv(row, count), begin + word * (field.width * count) + lane + within)


def _nibble(block: _Block, field: str, i: PrimExpr, size: int, begin: PrimExpr | int = 0) -> PrimExpr:
    """Return number i of `size` numbers in half as many bytes: the low nibbles come first, then the high ones."""
    byte = block.byte(field, begin + tx.floormod(i, size // 2))
    return byte >> tx.floordiv(i, size // 2).astype(i32) * 4 & 15


def _q4_0(block: _Block, i: PrimExpr) -> PrimExpr:
    return (_nibble(block, "q", i, 32) - 8).astype(f32) * block.half("d")


def _q4_1(block: _Block, i: PrimExpr) -> PrimExpr:
    return _nibble(block, "q", i, 32).astype(f32) * block.half("d") + block.half("m")


def _q8_0(block: _Block, i: PrimExpr) -> PrimExpr:
    return block.signed("q", i) * block.half("d")


def _six_bits(block: _Block, part: PrimExpr, shift: int) -> PrimExpr:
    """Return the scale (`shift` 0) or the minimum (4) of a part of `q4_k`; see `_six_bit_scales` of the formats."""
    first = 4 if shift else 0
    early = block.byte("scales", first + part) & 63
    later = tx.maximum(part, 4)
    high = block.byte("scales", later - 4 + first) >> 6 << 4
    late = (block.byte("scales", later + 4) >> shift & 15) | high
    return tx.select(part < 4, early, late).astype(f32)


def _q4_k(block: _Block, i: PrimExpr) -> PrimExpr:
    part = tx.floordiv(i, 32)
    q = _nibble(block, "q", tx.floormod(i, 64), 64, tx.floordiv(i, 64) * 32).astype(f32)
    return q * (block.half("d") * _six_bits(block, part, 0)) - block.half("dmin") * _six_bits(block, part, 4)


def _q6_k(block: _Block, i: PrimExpr) -> PrimExpr:
    half, within = tx.floordiv(i, 128), tx.floormod(i, 128)
    low = _nibble(block, "ql", within, 128, half * 64)
    shift = tx.floordiv(within, 32).astype(i32) * 2
    high = block.byte("qh", half * 32 + tx.floormod(within, 32)) >> shift & 3
    q = (low | high << 4) - 32
    return q.astype(f32) * (block.half("d") * block.signed("scales", tx.floordiv(i, 16)))


def _int4(block: _Block, i: PrimExpr) -> PrimExpr:
    q = _nibble(block, "q", i, block.rows.format.size)
    return (q - block.byte("zero", 0)).astype(f32) * block.single("scale")


def _int8(block: _Block, i: PrimExpr) -> PrimExpr:
    return (block.byte("q", i) - block.byte("zero", 0)).astype(f32) * block.single("scale")


_NUMBERS: dict[str, Callable[[_Block, PrimExpr], PrimExpr]] = {
    "q4_0": _q4_0, "q4_1": _q4_1, "q8_0": _q8_0, "q4_k": _q4_k, "q6_k": _q6_k, "int4": _int4, "int8": _int8,
}  # fmt: skip
"""The function that decodes a number of a block, by format without the group size."""


def dequantize_blocks(packed: Tensor, format_name: str, dtype: Attribute, interleaved: int = 1) -> Tensor:
    """Return the numbers of block-quantized rows, shape (…, k)."""
    rows = Rows(packed, block_format(format_name), interleaved)
    return over_axes(rows.dims, lambda i: rows(*i).astype(dtype), "dequantized", "injective")


def take_blocks(packed: Tensor, indices: Tensor, format_name: str, dtype: Attribute, interleaved: int = 1) -> Tensor:
    """Return the numbers of rows by index, shape (*indices.shape, k)."""
    rows = Rows(packed, block_format(format_name), interleaved)

    def element(i: Indices) -> PrimExpr:
        *where, k = i
        return rows(indices(*where).astype(k.type), k).astype(dtype)

    return over_axes([*indices.dims, rows.dims[-1]], element, "taken", "injective")


def rounded_to_bytes(x: Tensor, together: int) -> tuple[Tensor, Tensor]:
    """Quantize x (…, k) to int8 (…, k), with float32 scales (…, k / together) for `together` adjacent elements each.

    A scale is the largest magnitude divided by 127, or NaN if an element is not finite.
    """
    *outer, k = x.dims
    i = IterVar("i", Const(0, k.dtype), Const(together, k.dtype), is_reduction=True)

    def largest(*at: PrimExpr) -> PrimExpr:
        return red.max(math_functions.abs_(x(*at[:-1], at[-1] * together + i).astype(f32)), axis=i)

    most = compute([*outer, k // together], largest, "largest")
    scale = over_axes(most.dims, lambda at: most(*at) / tx.const(127, f32) + most(*at) * tx.const(0, f32), "scale")

    def byte(at: Indices) -> PrimExpr:
        step = scale(*at[:-1], tx.floordiv(at[-1], together))
        one, zero, half = (tx.const(v, f32) for v in (1, 0, 0.5))
        ratio = x(*at).astype(f32) * tx.select(tx.equal(step, zero), zero, tx.div(one, step))
        return math_functions.trunc(ratio + copysign(half, ratio)).astype(i8)

    return over_axes(x.dims, byte, "bytes"), scale


def matmul_blocks(
    x: Tensor, packed: Tensor, format_name: str, dtype: Attribute, activation: str = "float32", interleaved: int = 1
) -> Tensor:
    """Return x (…, k) times the transpose of block-quantized rows, shape (…, n), accumulated in float32."""
    rows = Rows(packed, block_format(format_name), interleaved)
    n, extent = rows.dims
    together = rows.format.rounded_together
    bytes_, scale = rounded_to_bytes(x, together) if activation == "int8" else (x, None)
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> PrimExpr:
        *where, j = i
        factor = bytes_(*where, k).astype(f32)
        if scale is not None:
            factor = factor * scale(*where, tx.floordiv(k, together))
        return red.sum(factor * rows(j, k), axis=k)

    product = compute([*x.dims[:-1], n], element, "matmul_blocks", attrs={PRODUCT: format_name})
    return product if dtype == f32 else over_axes(product.dims, lambda i: product(*i).astype(dtype), "converted")
