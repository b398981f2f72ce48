"""Pack constant matrices in the order in which products read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.dtypes import bit_width, byte_size, is_float
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const
from ...handles.tir.prim_expr import PrimExpr
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before
from ...target import Target, tile_vectors
from ...te import reduction
from ...te.axis import IterVar
from ...te.tensor import Tensor, compute
from .pack_dots import packed_product
from .rules import bytes_of, constant_array
from .te_calls import call_tensor_functions

_FEWEST_PANELS = 4
"""The minimum number of panels if the last one is padded, so that the padding is a small part."""

_CACHE_LINE = 64
_AT_ONCE = 1 << 24
"""Bytes copied by one numpy call, so that the compiler's threads can continue in between."""


@dataclass(frozen=True)
class PackWeights(Pass):
    """Pack large constant matrices of products in panels, in the order in which a register tile reads them.

    y = matmul(x, w)  ->  y = reshape(call_tir(packed_matmul, (x, p)), …)    p[j // n, k, j % n] = w[k, j]

    n is the width of a tile for `target`. The result is in panels, too, y[…, i, j // n, j % n], which is the same order
    in memory. If n does not divide the columns, the last panel is padded with zeros, and the result is not in panels:
    y = call_tir(padded_matmul, (x, p)). Matrices of less than four panels are not padded.

    Matrices that are transposed first are packed from their sources. Those smaller than `min_bytes` fit the caches in
    any order, and are kept. Bytes converted to floating point are packed as bytes, whatever their size, and converted
    when loaded. For bfloat16 and byte products with suitable instructions, matrices of all sizes are packed in steps of
    these (`pack_dots`).
    """

    name = "pack-weights"
    target: str = "llvm"
    min_bytes: int = 1 << 20

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        call_tensor_functions(op, {"relax.matmul": partial(_matmul, target, self.min_bytes)})


def _matmul(target: Target, min_bytes: int, op: Operator) -> tuple[Callable[..., Any], list[SSAValue], str] | None:
    for_dots = packed_product(target, op)
    if for_dots is not None:
        return for_dots
    x, weights = op.operands
    matrix, out = constant_array(weights), op.results[0].type
    assert isinstance(out, TensorType) and out.element is not None
    t = cast(TensorType, weights.type)
    if matrix is None or matrix.ndim != 2 or t.element is None or t.element != out.element or not is_float(t.element):
        return None
    rows, columns = matrix.shape
    width = _width(target, t.element)
    kept = bytes_of(weights)
    small = rows * columns * byte_size(t.element) < min_bytes and kept is None
    if small or (columns % width and columns < _FEWEST_PANELS * width):
        return None
    if kept is not None:
        contents = _packed(kept.value.numpy(), width, kept.value.data.dtype)
    else:
        contents = _packed(matrix, width, t.element)
    packed = insert_before(op, relax.ConstantOp(contents).named_after(kept.result if kept else weights)).result
    if columns % width:
        return partial(padded_matmul, columns=columns), [x, packed], "padded_matmul"
    return packed_matmul, [x, packed], "packed_matmul"


def _width(target: Target, element: Attribute) -> int:
    """Return the width of a panel, which is that of a register tile."""
    return max(1, target.vector_bits // bit_width(element)) * tile_vectors(target.vector_registers)[0]


def _packed(matrix: np.ndarray[Any, Any], width: int, element: Attribute) -> TensorDataAttr:
    """Reorder [K, N] to [N / width, K, width], padded with zero columns."""
    rows, columns = matrix.shape
    full = columns // width

    def write(panels: np.ndarray[Any, Any], meanwhile: bool) -> None:
        at_once = max(1, _AT_ONCE // max(1, rows * width * matrix.itemsize)) if meanwhile else 1
        for first in range(0, full, at_once):
            last = min(first + at_once, full)
            part = _spaced(matrix[:, first * width : last * width])
            panels[first:last] = part.reshape(rows, last - first, width).swapaxes(0, 1)
        if columns % width:
            panels[-1, :, : columns % width] = matrix[:, full * width :]
            panels[-1, :, columns % width :] = 0

    return TensorDataAttr.written((-(-columns // width), rows, width), element, write)


def _spaced(columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return columns of a matrix in a form whose rows can be read efficiently.

    Contiguous columns are often a multiple of many cache lines apart, so that the lines of a row conflict in the cache:
    they are copied to another distance.
    """
    rows, count = columns.shape
    if columns.strides[0] != columns.itemsize:
        return columns
    copy = np.empty((count, rows + _CACHE_LINE // columns.itemsize), columns.dtype)[:, :rows]
    copy[...] = columns.T
    return copy.T


def packed_matmul(a: Tensor, panels: Tensor) -> Tensor:
    """Return the product of `a`, [..., K], and a matrix in panels, [N / n, K, n]: [..., N / n, n]."""
    extent, count, width = a.dims[-1], panels.dims[0], panels.dims[2]
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> Any:
        *left, panel, j = i
        return reduction.sum(a(*left, k) * panels(panel, k, j).astype(a.type), axis=k)

    return compute([*a.dims[:-1], count, width], element, "matmul")


def padded_matmul(a: Tensor, panels: Tensor, columns: int) -> Tensor:
    """Return the product of `a`, [..., K], and a matrix of `columns` in panels, [P, K, n] with n * P >= N: [..., N]."""
    extent, width = a.dims[-1], panels.dims[2].constant
    assert width is not None
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> Any:
        *left, j = i
        return reduction.sum(a(*left, k) * panels(j // width, k, j % width).astype(a.type), axis=k)

    return compute([*a.dims[:-1], Const(columns)], element, "matmul")
