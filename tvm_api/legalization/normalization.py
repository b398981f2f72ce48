"""Norms: the sums of the elements and of their squares in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ...dialects.relax.operator import Operator
from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir import math_functions
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te import reduction as red
from ...te.axis import IterVar
from ...te.broadcast import Indices, over_axes
from ...te.tensor import Tensor
from ...topi import broadcast as bc
from ...topi import reduction as rd
from ...topi.tvm_forms import reshape
from ...topi.util import normalize_axes, normalize_axis
from ...transforms.legalize.legalize_rules import Emit, operand, result_tensor

_SUMS = red.comm_reducer(
    lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True)), lambda *types: tuple(0 for _ in types), "tuple_sum"
)


def _product(extents: Sequence[SymExpr]) -> PrimExpr:
    """Return the product of extents, each converted to float32."""
    out = tx.const(1, f32)
    for extent in extents:
        out = out * from_sym(extent).astype(f32)
    return out


def _outer(i: Indices, axes: Sequence[int]) -> list[PrimExpr]:
    return [v for n, v in enumerate(i) if n not in axes]


def _sums(data: Tensor, axes: Sequence[int], wide: bool) -> list[Tensor]:
    """Return the sums over `axes` of the elements and of their squares, of float16 in float32 if `wide`."""
    ks = [IterVar(f"k{a}", Const(0, data.dims[a].dtype), data.dims[a], is_reduction=True) for a in axes]
    inner = dict(zip(axes, ks, strict=True))

    def element(o: Indices) -> Any:
        rest = iter(o)
        value = data(*(inner[n] if n in inner else next(rest) for n in range(data.ndim)))
        value = value.astype(f32) if wide else value
        return _SUMS((value, value * value), axis=ks)

    dims = [d for n, d in enumerate(data.dims) if n not in axes]
    return list(over_axes(dims, element, f"{data.name}_red_temp", "comm_reduce"))


def _normalized(
    data: Tensor, axes: Sequence[int], epsilon: float, wide: bool, factors: Callable[[PrimExpr, Indices], PrimExpr]
) -> Callable[[Indices], PrimExpr]:
    """Return the function from indices to the normalized element, to which `factors` applies gamma and beta."""
    sums, squares = _sums(data, axes, wide)
    count = _product([data.dims[a] for a in axes])

    def element(i: Indices) -> PrimExpr:
        o = _outer(i, axes)
        mean = tx.div(sums(*o), count)
        variance = tx.div(squares(*o), count) - mean * mean
        value = data(*i).astype(f32) if wide else data(*i)
        return factors((value - mean) * math_functions.rsqrt(variance + tx.const(epsilon, f32)), i)

    return element


def _affine(value: PrimExpr, gamma: PrimExpr, beta: PrimExpr) -> PrimExpr:
    """Return value * gamma + beta in the dtype of gamma."""
    return value.astype(gamma.type) * gamma + beta


def _cast(x: Tensor, dtype: Attribute) -> Tensor:
    return over_axes(x.dims, lambda i: x(*i).astype(dtype), "T_cast", "elemwise")


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """Normalize over `axes`."""

    def factors(value: PrimExpr, i: Indices) -> PrimExpr:
        own = [v for n, v in enumerate(i) if n in axes]
        return _affine(value, gamma(*own), beta(*own))

    element = _normalized(data, axes, epsilon, data.type != f32, factors)
    return over_axes(data.dims, element, "T_layer_norm", "injective")


def group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, groups: int, channel: int, axes: Sequence[int], epsilon: float
) -> Tensor:
    """Normalize over `axes` and the channels of each group."""
    extent = data.dims[channel]
    split = [Const(groups, extent.dtype), extent // groups]
    apart = reshape(data, [*data.dims[:channel], *split, *data.dims[channel + 1 :]])
    apart = apart if data.type == f32 else _cast(apart, f32)
    gammas, betas = reshape(gamma, split), reshape(beta, split)
    inner = sorted([channel + 1, *(a + (a > channel) for a in axes)])

    def factors(value: PrimExpr, i: Indices) -> PrimExpr:
        own = i[channel : channel + 2]
        return _affine(value, gammas(*own), betas(*own))

    element = _normalized(apart, inner, epsilon, False, factors)
    return reshape(over_axes(apart.dims, element, "T_group_norm", "injective"), list(data.dims))


def rms_norm(data: Tensor, weight: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """Divide by the root of the mean of the squares over `axes`, in float32."""
    wide, weights = _cast(data, f32), _cast(weight, f32)
    sums = rd.sum(bc.multiply(wide, wide), list(axes))
    count = _product([data.dims[a] for a in axes])

    def factor(o: Indices) -> PrimExpr:
        return math_functions.rsqrt(tx.div(sums(*o), count) + tx.const(epsilon, f32))

    factors = over_axes([d for n, d in enumerate(data.dims) if n not in axes], factor, "rsqrt", "injective")

    def element(i: Indices) -> PrimExpr:
        return factors(*_outer(i, axes)) * wide(*i) * weights(*(v for n, v in enumerate(i) if n in axes))

    return _cast(over_axes(data.dims, element, "T_rms_norm", "injective"), data.type)


def _layer_norm(op: Operator) -> Emit:
    axes = normalize_axes(list(op.attr("axes")), result_tensor(op).rank or 0)
    return Emit(layer_norm, (*op.operands, axes, op.attr("epsilon")), "layer_norm")


def _group_norm(op: Operator) -> Emit:
    rank = result_tensor(op).rank or 0
    channel, axes = normalize_axis(op.attr("channel_axis"), rank), normalize_axes(list(op.attr("axes")), rank)
    return Emit(group_norm, (*op.operands, op.attr("num_groups"), channel, axes, op.attr("epsilon")), "group_norm")


def _rms_norm(op: Operator) -> Emit:
    axes = normalize_axes(list(op.attr("axes")), result_tensor(op).rank or 0)
    return Emit(rms_norm, (operand(op, "data"), operand(op, "weight"), axes, op.attr("epsilon")), "rms_norm")


RULES = {"relax.nn.layer_norm": _layer_norm, "relax.nn.group_norm": _group_norm, "relax.nn.rms_norm": _rms_norm}
