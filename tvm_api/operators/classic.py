"""Further operators of convolutional networks: response normalization, scale and shift, queues, products."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from ...dialects.sym.expr import Const, product
from ...handles.tir import math_functions
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.broadcast import Indices, over_axes
from ...te.create import LAYOUT_FREE
from ...te.tensor import Tensor, compute
from ...topi import broadcast as bc
from ...topi import elementwise as ew
from ...topi.fast_math import fast_exp
from ...topi.nn import dense
from ...topi.reduction import max as reduce_max
from ...topi.util import divisor, normalize_axis
from ...topi.windows import pad_constant


def lrn(data: Tensor, size: int, axis: int, alpha: float, beta: float, bias: float) -> Tensor:
    """Return data / (bias + alpha / size * the sum of squares of `size` neighbours along `axis`) ** beta."""
    place, half = normalize_axis(axis, data.ndim), size // 2
    widths = [half if n == place else 0 for n in range(data.ndim)]
    padded = pad_constant(data, widths, widths, 0, "pad_data", "ax")
    k = IterVar("rxs", Const(0, data.dims[place].dtype), Const(size, data.dims[place].dtype), is_reduction=True)

    def square(i: Indices) -> Any:
        value = padded(*i[:place], i[place] + k, *i[place + 1 :])
        return red.sum(value * value, axis=k)

    total = over_axes(data.dims, square, "tensor")
    a, b, c, n = (tx.const(v, data.type) for v in (alpha, beta, bias, float(size)))
    factor = over_axes(data.dims, lambda i: math_functions.power(c + tx.div(a * total(*i), n), b), "tensor")
    return bc.divide(data, factor)


def scale_shift(data: Tensor, scale: Tensor, shift: Tensor, channel: tuple[int, ...]) -> Tensor:
    """Return data * scale + shift, both indexed by the dimensions `channel`."""
    names = ["b", "c", "i", "j", "cc"] if channel[0] == 1 else ["b", "i", "j", "c"]

    def element(*i: PrimExpr) -> PrimExpr:
        own = [i[n] for n in channel]
        return data(*i) * scale(*own) + shift(*own)

    return compute(data.dims, element, "ScaleShift", "broadcast", None, names[: data.ndim])


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """Shift `buffer` along `axis`, with `data` appended at its end."""
    place = normalize_axis(axis, buffer.ndim)
    old, new = from_sym(buffer.dims[place]), from_sym(data.dims[place])

    def element(*i: PrimExpr) -> PrimExpr:
        at = i[place]
        kept = buffer(*i[:place], at + new, *i[place + 1 :])
        added = data(*i[:place], at - (old - new), *i[place + 1 :])
        return tx.if_then_else(at < old - new, kept, added)

    return compute(buffer.dims, element, "new_buffer", "", None, list("ijklmnop"[: buffer.ndim]))


def batch_flatten(data: Tensor) -> Tensor:
    """Flatten all dimensions but the first."""
    rest = data.dims[1:]

    def element(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        own: list[PrimExpr] = []
        for d in reversed(rest):
            own.insert(0, tx.floormod(j, divisor(d)))
            j = tx.floordiv(j, divisor(d))
        return data(i, *own)

    return compute([data.dims[0], product(rest, data.dims[0].dtype)], element, "compute", "injective")


def fast_softmax(x: Tensor, axis: int) -> Tensor:
    """Return softmax computed with `fast_exp`."""
    place = normalize_axis(axis, x.ndim)
    top = reduce_max(x, place, keepdims=True)
    powers = fast_exp(bc.subtract(x, top))
    k = IterVar("k", Const(0, x.dims[place].dtype), x.dims[place], is_reduction=True)
    rest = [d for n, d in enumerate(x.dims) if n != place]
    total = compute(rest, lambda *i: red.sum(powers(*i[:place], k, *i[place:]), axis=k), "T_softmax_expsum")

    def element(*i: PrimExpr) -> PrimExpr:
        return tx.div(powers(*i), total(*i[:place], *i[place + 1 :]))

    return compute(x.dims, element, "T_softmax_norm", "softmax_output", {"axis": place})


def matmul(
    a: Tensor, b: Tensor, bias: Tensor | None, out_dtype: str | Attribute | None, transposed: tuple[bool, bool]
) -> Tensor:
    """Return the product of one or several (not transposed) matrices `a` and a matrix `b`, plus an optional bias."""
    if transposed == (False, True):
        return dense(a, b, bias, out_dtype)
    dtype = a.type if out_dtype in (None, "") else out_dtype
    rows = a.ndim - (1 if transposed[0] else 2)
    extent = a.dims[a.ndim - 2 if transposed[0] else a.ndim - 1]
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> Any:
        left = a(*i[:-2], k, i[-2]) if transposed[0] else a(*i[:-1], k)
        right = b(i[-1], k) if transposed[1] else b(k, i[-1])
        return red.sum(left.astype(dtype) * right.astype(dtype), axis=k)

    dims = [*a.dims[:-2], a.dims[rows], b.dims[0 if transposed[1] else 1]]
    name = f"T_matmul_{'T' if transposed[0] else 'N'}{'T' if transposed[1] else 'N'}"
    out = compute(dims, element, name, "matmul", {LAYOUT_FREE: [b]})
    return out if bias is None else bc.add(out, ew.cast(bias, dtype))
