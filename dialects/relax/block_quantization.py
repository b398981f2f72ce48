"""Block-quantized weights: rows of small integers with scales, in the formats of `dialects/block_formats.py`.

`packed` is a uint8 tensor of the bytes of rows, (n, row_bytes) for a matrix (n, k). With `interleaved` rows r above 1
it is (n / r, row_bytes * r), the words of r rows next to each other: constants are stored this way before kernels are
created.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Attribute

from ..block_formats import BlockFormat, block_format
from ..dtypes import is_float, ui8
from ..sym.expr import SymExpr
from .operator import Attr, Kind, Operator, as_dtype, operator
from .types import TensorType

ACTIVATIONS = ("float32", "int8")
"""Forms of activations in products: unchanged, or rounded to bytes with a scale per 32 adjacent ones."""

_FORMAT = Attr(Kind.STRING, "")
_OUT_DTYPE = Attr(Kind.DTYPE, f32)


class BlockOperator(Operator):
    """Base of operators on blocks: `packed` and its `format`."""

    @property
    def layout(self) -> BlockFormat:
        """Return the block format. Raises `NameLookupError` for an unknown name."""
        return block_format(self.attr("format"))

    def result_dtype(self) -> Attribute:
        """Return `out_dtype`, which must be a floating point type."""
        dtype = as_dtype(self.attr("out_dtype")) or f32
        if not is_float(dtype):
            self.fail_dtype("attribute out_dtype must be a floating point type", "float32", dtype)
        return dtype

    def unpacked(self) -> tuple[SymExpr, ...] | None:
        """Return the shape of the numbers in `packed`, or None if the shape of `packed` is unknown."""
        packed, row, rows = self.tensor("packed"), self.layout, int(self.attr("interleaved"))
        if packed.element not in (None, ui8):
            self.fail_dtype("argument packed must be of bytes", "uint8", packed.element)
        if rows < 1:
            self.fail_shape("attribute interleaved is a number of rows", "1 or more", rows)
        if packed.rank == 0 or (rows > 1 and packed.rank not in (None, 2)):
            self.fail_shape("argument packed holds rows", "rank 2" if rows > 1 else "rank 1 or more", packed.rank)
        if packed.dims is None:
            return None
        *outer, width = packed.dims
        bytes_ = row.block_bytes * rows
        self.require_equal(
            width % bytes_, width - width, f"a row of packed is no whole blocks of {row.name}", f"{bytes_} · n", width
        )
        blocks = width // bytes_ * row.size
        return (*[d * rows for d in outer], blocks) if rows > 1 else (*outer, blocks)


@operator("relax.dequantize_blocks", "packed", format=_FORMAT, out_dtype=_OUT_DTYPE, interleaved=1)
class DequantizeBlocks(BlockOperator):
    """Dequantize rows of blocks: (…, row_bytes) -> (…, k)."""

    def infer(self) -> Attribute:
        dtype, packed = self.result_dtype(), self.tensor("packed")
        return TensorType.of(self.unpacked(), dtype, packed.rank)


@operator(
    "relax.matmul_blocks",
    "x packed",
    format=_FORMAT,
    out_dtype=_OUT_DTYPE,
    activation=Attr(Kind.STRING, "float32"),
    interleaved=1,
)
class MatmulBlocks(BlockOperator):
    """x (…, k) times the transpose of the (n, k) numbers of `packed`: (…, n).

    With `activation` "int8", each 32 adjacent elements of x (16 for blocks of 16) are first rounded to bytes, with
    their largest magnitude over 127 as the scale: the product is that of the rounded numbers, exactly.
    """

    def infer(self) -> Attribute:
        x, packed, dtype = self.tensor("x"), self.tensor("packed"), self.result_dtype()
        if x.element is not None and not is_float(x.element):
            self.fail_dtype("argument x must be of a floating point type", "float32", x.element)
        if self.attr("activation") not in ACTIVATIONS:
            self.fail_dtype("attribute activation is unknown", " or ".join(ACTIVATIONS), self.attr("activation"))
        if x.rank == 0 or packed.rank not in (None, 2):
            name, t = ("x", x) if x.rank == 0 else ("packed", packed)
            self.fail_shape(f"argument {name} is of another rank", "1 or more" if name == "x" else 2, t.rank)
        weights = self.unpacked()
        if x.dims is None or weights is None:
            return TensorType.of(None, dtype, x.rank)
        n, k = weights
        self.require_equal(x.dims[-1], k, "the last dimension of x must agree with packed", k, x.dims[-1])
        return TensorType.of([*x.dims[:-1], n], dtype)


@operator("relax.take_blocks", "packed indices", format=_FORMAT, out_dtype=_OUT_DTYPE, interleaved=1)
class TakeBlocks(BlockOperator):
    """Dequantize the rows `indices` of `packed`, (n, row_bytes): (*indices.shape, k).

    As in `take`, negative indices are not supported, and an index out of bounds is reported.
    """

    def infer(self) -> Attribute:
        packed, indices, dtype = self.tensor("packed"), self.tensor("indices"), self.result_dtype()
        if indices.element is not None and not isinstance(indices.element, IntegerType):
            self.fail_dtype("argument indices must be of an integer type", "int64", indices.element)
        if packed.rank not in (None, 2):
            self.fail_shape("argument packed is of another rank", 2, packed.rank)
        weights = self.unpacked()
        if indices.dims is None or weights is None:
            return TensorType.of(None, dtype, None if indices.rank is None else indices.rank + 1)
        return TensorType.of([*indices.dims, weights[1]], dtype)
