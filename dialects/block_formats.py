"""Block formats: rows of numbers stored as blocks of small integers that share a scale.

A row of k numbers is stored as k / size consecutive blocks of bytes. GGUF's formats (`q4_0`, `q4_1`, `q8_0`, `q4_k`,
`q6_k`) are stored byte for byte as in GGUF; a number is scale * q, or scale * q + minimum. `int4_g32` and similar
formats are groups as in MatMulNBits, AWQ and GPTQ, (q - zero) * scale with a float32 scale:

    BLOCK_FORMATS["q4_0"].quantize(weights)         float32 (…, k) -> uint8 (…, row_bytes)
    BLOCK_FORMATS["q4_0"].dequantize(packed)        uint8 (…, row_bytes) -> float32 (…, k)

Kernels read the same word of several rows at once. `interleave` makes these words adjacent:

    (n, blocks * block_bytes)  ->  (n / rows, blocks * block_bytes * rows)      word w of a block: that of all rows

where the words of a block are those of its fields: two bytes of a half, four bytes of quants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..diagnostics import ShapeError, TiraxError, unknown_name

Array = Any
"""A numpy array."""

ROUNDED_TOGETHER = 32
"""Number of adjacent activations that share a scale when rounded to bytes, fewer if a block is smaller."""


@dataclass(frozen=True)
class Field:
    """A field of a block: `count` words of `width` bytes, from the byte `offset` on."""

    name: str
    width: int
    count: int
    offset: int

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.width * self.count


@dataclass(frozen=True)
class BlockFormat:
    """A format with blocks of `size` numbers. `unpack` converts blocks (count, block_bytes) to (count, size)
    floats, `pack` back.
    """

    name: str
    size: int
    fields: tuple[Field, ...]
    unpack: Callable[[Array], Array]
    pack: Callable[[Array], Array]

    @property
    def block_bytes(self) -> int:
        """Bytes per block."""
        return sum(f.bytes for f in self.fields)

    @property
    def rounded_together(self) -> int:
        """Number of adjacent activations that share a scale when they are rounded to bytes."""
        return min(self.size, ROUNDED_TOGETHER)

    def field(self, name: str) -> Field:
        """Return the field with that name."""
        return next(f for f in self.fields if f.name == name)

    def row_bytes(self, k: int) -> int:
        """Return the bytes of a row of k numbers. Raises `ShapeError` if k is not a multiple of the block size."""
        if k % self.size:
            raise ShapeError(f"a row of {self.name} is whole blocks", expected=f"a multiple of {self.size}", found=k)
        return k // self.size * self.block_bytes

    def dequantize(self, packed: Array) -> Array:
        """Convert uint8 (…, row_bytes) to float32 (…, k). Raises `ShapeError` if the rows are not whole blocks."""
        packed = np.ascontiguousarray(packed, np.uint8)
        count, rest = divmod(packed.shape[-1], self.block_bytes)
        if rest:
            multiple = f"rows of a multiple of {self.block_bytes} bytes"
            raise ShapeError(f"a row of {self.name} is whole blocks", expected=multiple, found=packed.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            numbers = self.unpack(packed.reshape(-1, self.block_bytes))
        return numbers.astype(np.float32, copy=False).reshape(*packed.shape[:-1], count * self.size)

    def quantize(self, values: Array) -> Array:
        """Convert float32 (…, k) to uint8 (…, row_bytes); for blocks of 32, bit-exact with GGUF's reference.

        Raises `ShapeError` if rows are not whole blocks, `TiraxError` for infinities and NaN.
        """
        values = np.ascontiguousarray(values, np.float32)
        if not np.isfinite(values).all():
            raise TiraxError(f"what becomes {self.name} has to be finite", found="an infinity, or no number")
        row_bytes = self.row_bytes(values.shape[-1])
        blocks = self.pack(values.reshape(-1, self.size))
        return blocks.reshape(*values.shape[:-1], row_bytes)

    def interleave(self, packed: Array, rows: int) -> Array:
        """Convert uint8 (n, row_bytes) to (n / rows, row_bytes * rows): the same words of `rows` rows become adjacent.

        Raises `ShapeError` if n is not a multiple of `rows`.
        """
        if packed.shape[0] % rows:
            raise ShapeError(
                "rows are interleaved by whole groups", expected=f"a multiple of {rows}", found=packed.shape[0]
            )
        blocks = packed.reshape(packed.shape[0] // rows, rows, -1, self.block_bytes)
        parts = [self._words(blocks[..., f.offset : f.offset + f.bytes], f, to_rows=False) for f in self.fields]
        return np.ascontiguousarray(np.concatenate(parts, -1)).reshape(packed.shape[0] // rows, -1)

    def separate(self, packed: Array, rows: int) -> Array:
        """Return the inverse of `interleave`."""
        groups = packed.reshape(packed.shape[0], -1, self.block_bytes * rows)
        parts = [
            self._words(groups[..., f.offset * rows : (f.offset + f.bytes) * rows], f, to_rows=True, rows=rows)
            for f in self.fields
        ]
        return np.ascontiguousarray(np.concatenate(parts, -1)).reshape(packed.shape[0] * rows, -1)

    @staticmethod
    def _words(part: Array, f: Field, *, to_rows: bool, rows: int = 0) -> Array:
        if to_rows:
            n, blocks, _ = part.shape
            transposed = part.reshape(n, blocks, f.count, rows, f.width).transpose(0, 3, 1, 2, 4)
            return transposed.reshape(n, rows, blocks, f.bytes)
        n, rows, blocks, _ = part.shape
        transposed = part.reshape(n, rows, blocks, f.count, f.width).transpose(0, 2, 3, 1, 4)
        return transposed.reshape(n, blocks, rows * f.bytes)


# numbers in fields


def _halves(bytes_: Array) -> Array:
    """Return the float16 (count, n) in bytes (count, 2 n), as float32."""
    return np.ascontiguousarray(bytes_).view("<f2").astype(np.float32)


def _as_halves(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, "<f2").view(np.uint8)


def _nibbles(bytes_: Array) -> Array:
    """Return the lower halves of all bytes, followed by the upper halves."""
    return np.concatenate([bytes_ & 15, bytes_ >> 4], -1)


def _as_nibbles(q: Array) -> Array:
    half = q.shape[-1] // 2
    return (q[..., :half] | q[..., half:] << 4).astype(np.uint8)


def _inverse(d: Array) -> Array:
    """Return 1 / d, or 0 if d is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(d == 0, 0, 1 / d).astype(np.float32)


def _rounded(x: Array) -> Array:
    """Round to the nearest integer, halves away from zero, like C's `roundf`."""
    return np.trunc(x + np.copysign(np.float32(0.5), x))


def _largest(x: Array) -> Array:
    """Return the element of each row that is farthest from zero, with its sign, as (count, 1)."""
    return np.take_along_axis(x, np.abs(x).argmax(-1, keepdims=True), -1)


# GGUF's blocks of 32


def _q4_0(b: Array) -> Array:
    return _halves(b[:, :2]) * (_nibbles(b[:, 2:]).astype(np.float32) - 8)


def _to_q4_0(x: Array) -> Array:
    d = _largest(x) / -8
    q = np.clip(np.trunc(x * _inverse(d) + np.float32(8.5)), 0, 15).astype(np.uint8)
    return np.concatenate([_as_halves(d), _as_nibbles(q)], -1)


def _q4_1(b: Array) -> Array:
    return _halves(b[:, :2]) * _nibbles(b[:, 4:]).astype(np.float32) + _halves(b[:, 2:4])


def _to_q4_1(x: Array) -> Array:
    low = x.min(-1, keepdims=True)
    d = (x.max(-1, keepdims=True) - low) / 15
    q = np.clip(np.trunc((x - low) * _inverse(d) + np.float32(0.5)), 0, 15).astype(np.uint8)
    return np.concatenate([_as_halves(d), _as_halves(low), _as_nibbles(q)], -1)


def _q8_0(b: Array) -> Array:
    return _halves(b[:, :2]) * b[:, 2:].view(np.int8).astype(np.float32)


def _to_q8_0(x: Array) -> Array:
    d = np.abs(x).max(-1, keepdims=True) / 127
    q = _rounded(x * _inverse(d)).astype(np.int8)
    return np.concatenate([_as_halves(d), q.view(np.uint8)], -1)


# GGUF's blocks of 256, of which parts have scales of their own


def _six_bit_scales(b: Array) -> tuple[Array, Array]:
    """Return the scales and minima (count, 8) packed in 12 bytes: those of the first four are the lower six bits
    of a byte each.
    """
    low, middle, high = b[:, :4], b[:, 4:8], b[:, 8:]
    scales = np.concatenate([low & 63, (high & 15) | (low >> 2 & 48)], -1)
    minima = np.concatenate([middle & 63, (high >> 4) | (middle >> 2 & 48)], -1)
    return scales, minima


def _as_six_bits(scales: Array, minima: Array) -> Array:
    low = (scales[:, :4] & 63) | (scales[:, 4:] & 48) << 2
    middle = (minima[:, :4] & 63) | (minima[:, 4:] & 48) << 2
    high = (scales[:, 4:] & 15) | (minima[:, 4:] & 15) << 4
    return np.concatenate([low, middle, high], -1)


def _q4_k(b: Array) -> Array:
    scales, minima = _six_bit_scales(b[:, 4:16])
    q = _nibbles(b[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    d, low = _halves(b[:, :2]) * scales, _halves(b[:, 2:4]) * minima
    return (d[..., None] * q - low[..., None]).reshape(-1, 256)


def _to_q4_k(x: Array) -> Array:
    """Return a scale and a nonpositive minimum for each 32 numbers, quantized to 63 steps of the block's largest
    ones.
    """
    parts = x.reshape(-1, 8, 32)
    low = np.maximum(-parts.min(-1), 0)
    scale = np.maximum(parts.max(-1) + low, 0) / 15
    d, step = (t.max(-1, keepdims=True).astype(np.float32) / 63 for t in (scale, low))
    scales, minima = (
        np.clip(_rounded(t * _inverse(unit)), 0, 63).astype(np.uint8) for t, unit in ((scale, d), (low, step))
    )
    halves = _as_halves(d), _as_halves(step)
    d, step = (_halves(h) for h in halves)
    shifted = (parts + (step * minima)[..., None]) * _inverse(d * scales)[..., None]
    q = np.clip(_rounded(shifted), 0, 15).astype(np.uint8).reshape(-1, 4, 64)
    return np.concatenate([*halves, _as_six_bits(scales, minima), _as_nibbles(q).reshape(-1, 128)], -1)


def _q6_k(b: Array) -> Array:
    low = _nibbles(b[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    high = (b[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)) & 3
    q = (low | high << 4).astype(np.float32) - 32
    d = _halves(b[:, 208:]) * np.ascontiguousarray(b[:, 192:208]).view(np.int8)
    return (d[..., None] * q.reshape(-1, 16, 16)).reshape(-1, 256)


def _to_q6_k(x: Array) -> Array:
    """Return a scale for each 16 numbers, quantized to 128 steps of the block's largest one."""
    parts = x.reshape(-1, 16, 16)
    scale = np.take_along_axis(parts, np.abs(parts).argmax(-1, keepdims=True), -1)[..., 0] / -32
    half = _as_halves(_largest(scale) / -128)
    d = _halves(half)
    scales = np.clip(_rounded(scale * _inverse(d)), -128, 127).astype(np.int8)
    q = np.clip(_rounded(parts * _inverse(d * scales)[..., None]) + 32, 0, 63).astype(np.uint8).reshape(-1, 2, 4, 32)
    low = _as_nibbles((q & 15).reshape(-1, 2, 128)).reshape(-1, 128)
    high = (q >> 4 << np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)).sum(2, dtype=np.uint8).reshape(-1, 64)
    return np.concatenate([low, high, scales.view(np.uint8), half], -1)


# groups with a zero point


def _from_group(bits: int) -> Callable[[Array], Array]:
    def unpack(b: Array) -> Array:
        scale = np.ascontiguousarray(b[:, :4]).view("<f4")
        q = _nibbles(b[:, 5:]) if bits == 4 else b[:, 5:]
        return (q.astype(np.float32) - b[:, 4:5]) * scale

    return unpack


def _to_group(bits: int) -> Callable[[Array], Array]:
    most = (1 << bits) - 1

    def pack(x: Array) -> Array:
        low, high = np.minimum(x.min(-1, keepdims=True), 0), np.maximum(x.max(-1, keepdims=True), 0)
        scale = ((high - low) / most).astype(np.float32)
        zero = np.clip(_rounded(-low * _inverse(scale)), 0, most)
        return group_blocks(np.clip(_rounded(x * _inverse(scale)) + zero, 0, most).astype(np.uint8), scale, zero, bits)

    return pack


def group_blocks(q: Array, scale: Array, zero: Array, bits: int) -> Array:
    """Return blocks (…, bytes) of `int4_g…` or `int8_g…` for q (…, size) as uint8, and float32 scales and zeros
    (…, 1).
    """
    bytes_ = np.ascontiguousarray(scale, "<f4").view(np.uint8)
    return np.concatenate([bytes_, zero.astype(np.uint8), _as_nibbles(q) if bits == 4 else q], -1)


# the table


def _fields(text: str) -> tuple[Field, ...]:
    """Parse consecutive fields `name:width*count …`."""
    out: list[Field] = []
    for word in text.split():
        name, _, size = word.partition(":")
        width, _, count = size.partition("*")
        out.append(Field(name, int(width), int(count or 1), sum(f.bytes for f in out)))
    return tuple(out)


GROUP_SIZES = (16, 32, 64, 128, 256)
"""Supported group sizes of `int4_g…` and `int8_g…`."""
_GROUPS = [
    BlockFormat(f"int{bits}_g{size}", size, fields, _from_group(bits), _to_group(bits))
    for bits in (4, 8)
    for size in GROUP_SIZES
    for fields in [_fields(f"scale:4 zero:1 q:4*{size * bits // 32}")]
]
_ROWS = (
    BlockFormat("q4_0", 32, _fields("d:2 q:4*4"), _q4_0, _to_q4_0),
    BlockFormat("q4_1", 32, _fields("d:2 m:2 q:4*4"), _q4_1, _to_q4_1),
    BlockFormat("q8_0", 32, _fields("d:2 q:4*8"), _q8_0, _to_q8_0),
    BlockFormat("q4_k", 256, _fields("d:2 dmin:2 scales:1*12 q:4*32"), _q4_k, _to_q4_k),
    BlockFormat("q6_k", 256, _fields("ql:4*32 qh:4*16 scales:1*16 d:2"), _q6_k, _to_q6_k),
    *_GROUPS,
)
BLOCK_FORMATS = MappingProxyType({row.name: row for row in _ROWS})
"""Name -> format."""


def block_format(name: str) -> BlockFormat:
    """Return the format with that name. Raises `NameLookupError` that lists the known ones."""
    row = BLOCK_FORMATS.get(name)
    if row is None:
        raise unknown_name("block format", name, BLOCK_FORMATS)
    return row


def rounded_to_bytes(x: Array, together: int) -> tuple[Array, Array]:
    """Return activations (…, k) as int8 (…, k / together, together) and their float32 scales (…, k / together, 1).

    A scale is the largest magnitude over 127, NaN if one is not finite; numbers are rounded to the nearest byte, halves
    away from zero. The bytes are returned as floats.
    """
    *outer, k = np.shape(x)
    parts = np.asarray(x, np.float32).reshape(*outer, k // together, together)
    most = np.abs(parts).max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        scale = most / np.float32(127) + most * np.float32(0)
        return _rounded(parts * _inverse(scale)), scale
