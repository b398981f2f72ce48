"""Transposed convolutions as convolutions whose channels are spread over the pixels of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.convolution import Convolution
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const, SymExpr
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import constant_array, dims_of

_NAMES = {f"relax.nn.conv{rank}d_transpose" for rank in (1, 2, 3)}
_MOST_PADDING = 2
"""Products with the zeros that fill the last window, for each product that is needed."""


@dataclass(frozen=True)
class ExpandTransposedConvolutions(Pass):
    """Replace transposed convolutions of constant kernels by convolutions with a window for each step of the strides.

    y = conv2d_transpose(x, w, strides=(p, q))    [N, H, W, C] -> [N, (H - 1) p + k, (W - 1) q + l, O], w of k x l
    ->  t = conv2d(x, v)                          [N, H + a - 1, W + b - 1, p q O], v of a x b, a = ceil(k / p)
        y = the reshape of permute_dims of t as [N, H', W', p, q, O] to [N, H' p, W' q, O], without its padding

    Computed as usual, p q - 1 of p q products are with the zeros between data elements. Where a window is as large as
    the strides, the convolution is 1 x 1. Supports layouts with channels first and last, without dilation and groups.
    """

    name = "expand-transposed-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, dict.fromkeys(_NAMES, _expanded))


def _expanded(op: Convolution, emit: Emit) -> SSAValue | None:
    x, weight = op.operands
    dims, out, kernel = dims_of(x), dims_of(op.results[0]), constant_array(weight)
    first, last = (f"NC{op.letters}", f"N{op.letters}C")
    if dims is None or out is None or kernel is None or op.attr("data_layout") not in (first, last):
        return None
    element = cast(TensorType, x.type).element
    if element is None or element != cast(TensorType, op.results[0].type).element or not _is_plain(op):
        return None
    spread = _Spread(op, kernel.transpose(op.kernel_places()), op.attr("data_layout") == last)
    return spread.emit(emit, element, list(dims), list(out)) if spread.pays() else None


def _is_plain(op: Convolution) -> bool:
    """Return whether there is no dilation, nor groups, nor another layout of the result."""
    same_layout = op.attr("out_layout") in (None, "", op.attr("data_layout"))
    return same_layout and op.attr("groups") == 1 and set(op.attr("dilation")) == {1}


@dataclass
class _Spread:
    """The convolution of `op` with the kernel `windows`, [O, C, window…]; `is_last` is the place of the channels."""

    op: Convolution
    windows: np.ndarray[Any, Any]
    is_last: bool

    @property
    def strides(self) -> list[int]:
        return list(self.op.attr("strides"))

    @property
    def taps(self) -> list[int]:
        """The window of the convolution: a data element is read for so many steps of the strides."""
        return [-(-size // step) for size, step in zip(self.windows.shape[2:], self.strides, strict=True)]

    def pays(self) -> bool:
        """Return whether the strides skip elements, the result has all that is needed, and little of it is padding."""
        steps, size = math.prod(self.strides), math.prod(self.windows.shape[2:])
        computed = math.prod(self.taps) * steps
        padding, extra, rank = self.op.attr("padding"), self.op.attr("output_padding"), len(self.taps)
        rows = zip(self.windows.shape[2:], padding[rank:], extra, self.taps, self.strides, strict=True)
        return steps > 1 and 0 < computed <= _MOST_PADDING * size and all(k - p + e <= a * s for k, p, e, a, s in rows)

    def emit(self, emit: Emit, element: Any, dims: list[SymExpr], out: list[SymExpr]) -> SSAValue:
        """Return the result of the operator."""
        taps, steps, rank = self.taps, [Const(s) for s in self.strides], len(self.taps)
        outputs = Const(self.windows.shape[0])
        border = [a - 1 for a in taps] * 2
        layout = self.op.attr("data_layout")
        kernel = emit.constant(self._kernel(), element)
        product = emit(f"nn.conv{rank}d", self.op.operands[0], kernel, data_layout=layout, padding=border)
        begin = 1 if self.is_last else 2
        counts = [d + (a - 1) for d, a in zip(dims[begin:], taps, strict=False)]
        pairs = list(zip(counts, steps, strict=True))
        if self.is_last:
            separated, axes = [dims[0], *counts, *steps, outputs], [0, *_alternating(1, rank), 2 * rank + 1]
            whole = [dims[0], *(n * s for n, s in pairs), outputs]
        else:
            separated, axes = [dims[0], outputs, *steps, *counts], [0, 1, *_alternating(2 + rank, -rank)]
            whole = [dims[0], outputs, *(n * s for n, s in pairs)]
        spread = emit("permute_dims", _reshaped(emit, product, separated), axes=axes)
        return self._cropped(emit, _reshaped(emit, spread, whole), whole, out)

    def _kernel(self) -> np.ndarray[Any, Any]:
        """Return the kernel [p q O, C, a, b], channels last, or [O p q, C, a, b]."""
        outputs, channels, *window = self.windows.shape
        sizes = list(zip(self.taps, self.strides, strict=True))
        more = [(0, a * s - k) for (a, s), k in zip(sizes, window, strict=True)]
        padded = np.pad(self.windows, [(0, 0), (0, 0), *more]).reshape(outputs, channels, *chain(*sizes))
        places = range(2, padded.ndim)
        flipped = np.flip(padded, tuple(places[::2]))
        order = [*places[1::2], 0] if self.is_last else [0, *places[1::2]]
        return np.ascontiguousarray(flipped.transpose(*order, 1, *places[::2])).reshape(-1, channels, *self.taps)

    def _cropped(self, emit: Emit, value: SSAValue, whole: list[SymExpr], out: list[SymExpr]) -> SSAValue:
        """Return the part of the result that padding leaves."""
        places, before = self.op.data_places()[2:], self.op.attr("padding")
        cut = [(place, n) for place, n in zip(places, before, strict=False) if n or out[place] != whole[place]]
        if not cut:
            return value
        ends = [relax.PrimValueOp(out[place] + n).result for place, n in cut]
        bounds = [[emit.integer(place) for place, _ in cut], [emit.integer(n) for _, n in cut], ends]
        return emit("strided_slice", value, *bounds)


def _alternating(first: int, step: int) -> list[int]:
    """Return first, first + step, first + 1, first + 1 + step, …, the pairs of as many dimensions as the step has."""
    return list(chain.from_iterable((first + i, first + i + step) for i in range(abs(step))))


def _reshaped(emit: Emit, value: SSAValue, dims: Sequence[SymExpr]) -> SSAValue:
    return emit("reshape", value, relax.ShapeOp(list(dims)).result)
