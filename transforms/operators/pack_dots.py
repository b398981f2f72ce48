"""Pack constant weights of bfloat16 and byte products in the order in which the dot-product instructions read them.

If the only such instructions are those for byte pairs, the rows of weights are ordered such that all pairs fit
(`byte_pairs`). The order is another argument: 16 rows of a panel are read through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.dtypes import ui8
from ...dialects.relax.convolution import Convolution
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir.prim_expr import PrimExpr
from ...ir.rewriting.edit import insert_before
from ...target import Target
from ...te import reduction
from ...te.axis import IterVar
from ...te.tensor import Tensor, compute
from ...topi import windows
from .byte_pairs import ROWS, order_of
from .dot_products import PAIRED, PAIRS_FIT, Dot, dot_of, has_pairs
from .rules import constant_array

Packed = tuple[Callable[..., Any], list[SSAValue], str]


def packed_product(target: Target, op: Operator) -> Packed | None:
    """Return matmul(x, w) with a constant w in panels, P[j // n, k // g, j % n * g + k % g]; None if not supported.

    An element of the instructions holds g steps of k, a tile has n columns; both are padded with zeros.
    """
    x, weights = op.operands
    matrix = constant_array(weights)
    dot = None if matrix is None else _dot(target, x, weights, op)
    if matrix is None or dot is None or matrix.ndim != 2:
        return None
    _, columns = matrix.shape
    constants = _constants(op, matrix, panel_width(target, columns, dot), dot)
    if constants is None:
        return None
    function = partial(dot_product, columns=columns, group=dot.group, dtype=_element(op.results[0]))
    return function, [x, *constants], "dot_matmul"


def _constants(op: Operator, matrix: np.ndarray[Any, Any], width: int, dot: Dot) -> list[SSAValue] | None:
    """Return the panels of weights […, K, N], and their row order if pairs must fit; None if there is no order."""
    order = order_of(matrix, width) if dot is PAIRED else None
    if dot is PAIRED and order is None:
        return None
    weights = op.operands[1]
    panels = relax.ConstantOp.of(in_panels(matrix, width, dot.group, order), _element(weights)).named_after(weights)
    orders = [] if order is None else [relax.ConstantOp.of(order, ui8)]
    return [insert_before(op, constant).result for constant in (panels, *orders)]


def packed_convolution(target: Target, op: Operator) -> Packed | None:
    """Return conv2d(x, w) with a constant w ordered for the instructions; None if not supported.

    With adjacent channels of the data (NHWC), in panels P[o // n, …, c // g, o % n * g + c % g], like those of a
    product for each tap of the window; with an image dimension last (NCHW), w[o, …, c]. Groups are supported in NHWC
    for integers only: several groups are merged if a panel is as wide, with zeros between them. Depthwise convolutions
    are kept.
    """
    conv, (x, weights) = cast(Convolution, op), op.operands
    array = constant_array(weights)
    if array is None or conv.is_blocked() or len(op.attr("data_layout")) != 4:
        return None
    by_output, groups = array.transpose([conv.kernel_places()[i] for i in (0, 2, 3, 1)]), op.attr("groups")
    if conv.data_places()[1] != 3:
        if groups != 1 or conv.out_places()[1] == 3:
            return None
        words = has_pairs(_element(x), _element(weights), _element(op.results[0]), target)
        if not words and _dot(target, weights, x, op) is None:
            return None
        array, element = (by_output.astype(np.int16), i16) if words else (by_output, _element(weights))
        constant = relax.ConstantOp.of(array, element).named_after(weights)
        return _convolution(conv, [insert_before(conv, constant).result], _identity, (0, 3, 1, 2), words=words)
    dot = _dot(target, x, weights, op)
    if dot is None or conv.out_places()[1] != 3 or (groups > 1 and (dot.sums != i32 or conv.is_depthwise())):
        return None
    by_output, groups = _in_wide_groups(by_output, groups, dot.bits // 32)
    outputs, *_, channels = by_output.shape
    width = panel_width(target, outputs // groups, dot, groups)
    constants = None if dot is PAIRED and groups > 1 else _constants(conv, by_output.transpose(1, 2, 3, 0), width, dot)
    read = partial(Panels, extents=(outputs, channels), group=dot.group)
    return None if constants is None else _convolution(conv, constants, read, (0, 1, 2, 3), groups)


def _in_wide_groups(weights: np.ndarray[Any, Any], groups: int, lanes: int) -> tuple[np.ndarray[Any, Any], int]:
    """Merge groups of weights [O, …, I], with zeros between them, to fill vectors of outputs.

    Return also the group count.
    """
    outputs, *window, channels = weights.shape
    each = outputs // groups
    fewer = (n for n in range(groups, 0, -1) if groups % n == 0)
    count = next((n for n in fewer if outputs // n % lanes == 0), 1)
    wide = np.zeros((count, groups // count, each, *window, groups // count, channels), weights.dtype)
    grouped = weights.reshape(count, groups // count, each, *window, channels)
    for n in range(groups // count):
        wide[:, n, ..., n, :] = grouped[:, n]
    return wide.reshape(outputs, *window, groups // count * channels), count


def _identity(weights: Tensor) -> Tensor:
    return weights


def _convolution(
    conv: Convolution,
    constants: list[SSAValue],
    read: Callable[..., Any],
    places: windows.Places,
    groups: int = 1,
    words: bool = False,
) -> Packed:
    """Return the convolution with `read(weights)`, whose output channels, input channels and taps are at `places`.

    With `words`, bytes of the data are widened to 16 bits first.
    """
    x = conv.operands[0]
    padding, out = conv.attr("padding"), cast(TensorType, conv.results[0].type)
    pairs = list(zip(padding[:2], padding[2:], strict=True))
    attrs = (pairs, conv.attr("strides"), conv.attr("dilation"), groups, _element(conv.results[0]), "dot_conv2d")
    every = (conv.data_places(), places, conv.out_places())

    def function(data: Tensor, *packed: Tensor) -> Tensor:
        image = compute(data.dims, lambda *i: data(*i).astype(i16), "words") if words else data
        return windows.convolution(image, read(*packed), out.dims or (), every, *attrs, notes=_notes(packed))

    return function, [x, *constants], "dot_conv2d"


def _notes(packed: Sequence[Tensor]) -> dict[str, Any]:
    """Return the annotations of a product with panels, which have an order if pairs must fit."""
    return {PAIRS_FIT: 1} if len(packed) > 1 else {}


def in_panels(
    matrix: np.ndarray[Any, Any], width: int, group: int, among: np.ndarray[Any, Any] | None = None
) -> np.ndarray[Any, Any]:
    """Reorder […, K, N] to [N / width, …, K / group, width * group], padded with zeros.

    `among`, [N / width, …, K], is the order of the rows within each 16.
    """
    *outer, rows, columns = matrix.shape
    count, steps = -(-columns // width), -(-rows // group)
    padded = np.zeros((*outer, steps * group, count * width), matrix.dtype)
    padded[..., :rows, :columns] = matrix
    if among is not None:
        first: np.ndarray[Any, Any] = np.array([row // ROWS * ROWS for row in range(steps * group)])
        blocks = np.moveaxis(padded.reshape(*outer, steps * group, count, width), -2, 0)
        padded = np.moveaxis(np.take_along_axis(blocks, np.add(first, among)[..., None], axis=-2), 0, -2)
    blocks = padded.reshape(*outer, steps, group, count, width)
    rank = len(outer)
    order = [rank + 2, *range(rank), rank, rank + 3, rank + 1]
    return np.ascontiguousarray(blocks.transpose(order)).reshape(count, *outer, steps, width * group)


def _dot(target: Target, a: SSAValue, b: SSAValue, op: Operator) -> Dot | None:
    """Return the instruction for products of a and b, or None."""
    dtypes = _element(a), _element(b), _element(op.results[0])
    return PAIRED if has_pairs(*dtypes, target) else dot_of(*dtypes, target)


def _element(value: SSAValue) -> Attribute:
    element = cast(TensorType, value.type).element
    assert element is not None
    return element


def panel_width(target: Target, columns: int, dot: Dot, groups: int = 1) -> int:
    """Return the width of panels: the columns if a tile can be as wide, else a divisor of them, or the maximum width.

    With `groups` of this many columns, always a divisor.
    """
    lanes, widest = dot.bits // 32, dot.vectors(target.vector_registers)
    needed = -(-columns // lanes)
    if needed > widest:
        least, otherwise = (1, widest) if groups == 1 else (0, 1)
        needed = next((v for v in range(widest, least, -1) if needed % v == 0), otherwise)
    return needed * lanes


def dot_product(a: Tensor, *panels: Tensor, columns: int, group: int, dtype: Attribute) -> Tensor:
    """Return the product of `a`, […, K], and a matrix of `columns` in panels of steps of `group`: […, N]."""
    extent = a.dims[-1]
    weights = Panels(*panels, extents=(columns, extent.constant or 0), group=group)
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> Any:
        *left, j = i
        return reduction.sum(a(*left, k).astype(dtype) * weights(j, k).astype(dtype), axis=k)

    return compute([*a.dims[:-1], Const(columns)], element, "matmul", attrs=_notes(panels))


@dataclass(frozen=True)
class Panels:
    """Weights [N, K, …], with the first two `extents`, read from panels [N / n, …, K / group, n * group].

    `order`, [N / n, …, K], gives the position of a row among its 16.
    """

    tensor: Tensor
    order: Tensor | None = None
    extents: tuple[int, int] = (0, 0)
    group: int = 1

    @property
    def dims(self) -> list[SymExpr]:
        """The extents of the weights."""
        return [*map(Const, self.extents), *self.tensor.dims[1:-2]]

    def __call__(self, j: PrimExpr, k: PrimExpr, *others: PrimExpr) -> PrimExpr:
        width, at = (self.tensor.dims[-1].constant or 0) // self.group, k
        if self.order is not None:
            at = k // ROWS * ROWS + self.order(j // width, *others, k).astype(k.type)
        return self.tensor(j // width, *others, at // self.group, j % width * self.group + at % self.group)
