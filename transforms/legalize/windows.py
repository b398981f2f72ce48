"""Rules of padding, convolutions, pooling and resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ...dialects import relax
from ...dialects.relax.convolution import CONVOLUTIONS, TRANSPOSED, Convolution
from ...dialects.relax.image import Resize2d
from ...dialects.relax.layout import Windowed
from ...dialects.relax.nn import Pad
from ...dialects.relax.operator import Operator
from ...dialects.relax.pooling import ADAPTIVE, POOLS, AdaptivePool, Pool
from ...dialects.sym.data_layout import DataLayout
from ...dialects.sym.expr import SymExpr
from ...handles.tir.prim_expr import PrimExpr, as_sym, from_sym
from ...te.tensor import Tensor, compute
from ...topi import image, sampling, windows
from .legalize_rules import RULES, Emit, operand, result_dims, result_tensor, rule


def _pairs(padding: Sequence[int]) -> list[tuple[int, int]]:
    """Return [before..., after...] as pairs."""
    half = len(padding) // 2
    return list(zip(padding[:half], padding[half:], strict=True))


def convolution(op: Operator) -> Emit:
    """relax.nn.conv2d(data, weight) -> conv2d(data, weight)"""
    conv = cast(Convolution, op)
    if conv.is_blocked():
        return unblocked(conv, convolution)
    rank, groups, layout = conv.RANK, op.attr("groups"), op.attr("data_layout").lower()
    places = (conv.data_places(), conv.kernel_places(), conv.out_places())
    attrs = (_pairs(op.attr("padding")), op.attr("strides"), op.attr("dilation"), groups, result_tensor(op).element)
    name = f"{'group_' if groups > 1 else ''}conv{rank}d_{layout}"
    args = (operand(op, "data"), operand(op, "weight"), result_dims(op), places, *attrs, name)
    return Emit(windows.convolution, args, f"conv{rank}d")


def transposed(op: Operator) -> Emit:
    """relax.nn.conv2d_transpose(data, weight) -> conv2d_transpose(data, weight)"""
    conv = cast(Convolution, op)
    if conv.is_blocked():
        return unblocked(conv, transposed)
    places = (conv.data_places(), conv.kernel_places(), conv.out_places())
    attrs = (_pairs(op.attr("padding")), op.attr("strides"), op.attr("dilation"), op.attr("groups"))
    args = (operand(op, "data"), operand(op, "weight"), result_dims(op), places, *attrs, result_tensor(op).element)
    return Emit(windows.transposed_convolution, args, f"conv{conv.RANK}d_transpose")


def unblocked(op: Windowed, rule: Callable[[Operator], Emit]) -> Emit:
    """Wrap a rule to support blocked layouts: the elements are loaded from and stored to blocked tensors."""
    plain = op.unblocked()
    emit = rule(plain)
    layouts = [DataLayout.parse(op.attr(n)) for n, _ in op.LAYOUTS]
    letters = [DataLayout.parse(plain.attr(n)) for n, _ in op.LAYOUTS]
    dims, count = result_dims(op), len(op.operands)

    def compute_blocked(*tensors: Tensor) -> Tensor:
        operands = zip(tensors, plain.operands, letters, layouts, strict=False)
        fetched = [_moved(t, cast(relax.TensorType, v.type).dims or (), a, b) for t, v, a, b in operands]
        return _moved(emit.function(*fetched, *emit.args[count:], **emit.options), dims, layouts[-1], letters[-1])

    return Emit(compute_blocked, tuple(op.operands), f"{emit.name}_{layouts[0]}".lower())


def _moved(x: Tensor, dims: Sequence[SymExpr], new: DataLayout, old: DataLayout) -> Tensor:
    """Return x, in the layout `old`, as a tensor of shape `dims` in the layout `new`."""
    if new == old:
        return x

    def element(*i: PrimExpr) -> PrimExpr:
        return x(*(from_sym(e) for e in new.map_to(old).apply([as_sym(v) for v in i])))

    return compute(dims, element, "T_layout_trans", "injective")


def pool(op: Operator) -> Emit:
    """relax.nn.max_pool2d(data) -> max_pool2d(data)"""
    p, name = cast(Pool, op), op.name.removeprefix("relax.nn.")
    if p.is_blocked():
        return unblocked(p, pool)
    window = (op.attr("pool_size"), op.attr("strides"), op.attr("dilation"), p.widths())
    counted = _pairs(op.attr("padding")) if op.attr("count_include_pad") else None
    args = (operand(op, "data"), result_dims(op), p.places(), *window, name[:3], counted)
    return Emit(windows.pool, args, name)


def adaptive(op: Operator) -> Emit:
    """relax.nn.adaptive_avg_pool2d(data) -> adaptive_avg_pool2d(data)"""
    p = cast(AdaptivePool, op)
    if p.is_blocked():
        return unblocked(p, adaptive)
    args = (operand(op, "data"), result_dims(op), p.places())
    return Emit(windows.adaptive_avg_pool, args, op.name.removeprefix("relax.nn."))


RULES.update({cls.name: convolution for cls in CONVOLUTIONS.values()})
RULES.update({cls.name: transposed for cls in TRANSPOSED.values()})
RULES.update({cls.name: pool for cls in POOLS.values()})
RULES.update({cls.name: adaptive for cls in ADAPTIVE.values()})


@rule("relax.nn.pad")
def pad(op: Operator) -> Emit:
    """relax.nn.pad(data) -> pad(data), reflect_pad(data), replicate_pad(data), circular_pad(data)"""
    widths, mode = cast(Pad, op).widths(), op.attr("pad_mode")
    if mode == "constant":
        before, after = [b for b, _ in widths], [a for _, a in widths]
        return Emit(windows.pad_constant, (operand(op, "data"), before, after, op.attr("pad_value")), "pad")
    return Emit(windows.pad_by, (operand(op, "data"), widths, mode), f"{mode}_pad")


@rule("relax.image.resize2d")
def resize2d(op: Operator) -> Emit:
    """relax.image.resize2d(data, size) -> resize2d(data)"""
    how = image.Resizing(
        op.attr("method"),
        op.attr("coordinate_transformation_mode"),
        op.attr("rounding_method"),
        op.attr("cubic_alpha"),
        bool(op.attr("cubic_exclude")),
        [float(v) for v in op.attr("roi") or (0, 0, 0, 0)],
        op.attr("extrapolation_value"),
    )
    places = cast(Resize2d, op).places()
    args = (operand(op, "data"), result_dims(op), places, how, result_tensor(op).element)
    return Emit(image.resize, args, "resize2d")


@rule("relax.image.affine_grid")
def affine_grid(op: Operator) -> Emit:
    """relax.image.affine_grid(data, size) -> affine_grid(data)"""
    args = (operand(op, "data"), result_dims(op)[2:], op.attr("align_corners"))
    return Emit(sampling.affine_grid, args, "affine_grid")
