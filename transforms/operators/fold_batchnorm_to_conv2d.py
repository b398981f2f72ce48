"""Fold the scale of a batch normalization into the weights of a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import producer


@dataclass(frozen=True)
class FoldBatchnormToConv2D(Pass):
    """Fold `nn.batch_norm` as at inference, whatever its `training` attribute, into the preceding `nn.conv2d`.

    y = batch_norm(conv2d(x, w), gamma, beta, mean, var)[0]
    ->  s = gamma / sqrt(var + epsilon); y = conv2d(x, w * s) + (beta - mean * s)

    The weights and parameters must be constants (run `BindParams` before, and `FoldConstant` after), the convolution
    and the other fields must have no other use, and `axis` must be that of the channels.
    """

    name = "fold-batchnorm-to-conv2d"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.tuple_get_item": _fold})


def _fold(item: relax.TupleGetItemOp, emit: Emit) -> SSAValue | None:
    norm = producer(item.tuple_, "nn.batch_norm")
    if norm is None or item.index.data != 0 or not norm.results[0].has_one_use():
        return None
    return scaled_convolution(norm, emit, ("nn.conv2d",))


def scaled_convolution(norm: Operator, emit: Emit, kinds: Sequence[str]) -> SSAValue | None:
    """Return the result of a norm as a convolution with scaled weights.

    None if the input is not a convolution in `kinds` with constant weights and no other uses.
    """
    conv = next((c for kind in kinds if (c := producer(norm.operands[0], kind))), None)
    if conv is None or not conv.results[0].has_one_use() or not has_constants(norm):
        return None
    channels, outputs = _axes(conv, norm)
    if channels is None or outputs is None or not isinstance(conv.operands[1].owner, relax.ConstantOp):
        return None
    x, weights = conv.operands
    rank = len(cast(str, conv.attr("data_layout")))
    factor = factor_of(norm, emit)
    scaled = emit("multiply", weights, by_channel(emit, factor, rank, outputs))
    product = emit(conv.name.removeprefix("relax."), x, scaled, **{n: conv.attr(n) for n in conv.ATTR_SPECS})
    return emit("add", product, by_channel(emit, shift_of(norm, factor, emit), rank, channels))


def has_constants(norm: Operator) -> bool:
    """Return whether all parameters of a norm are constants."""
    return all(isinstance(v.owner, relax.ConstantOp) for v in norm.operands[1:])


def _axes(conv: Operator, norm: Operator) -> tuple[int | None, int | None]:
    """Return the channel axis of the result of `conv`, if that is normalized, and the output axis of its weights."""
    out, kernel = cast(str, conv.attr("out_layout") or conv.attr("data_layout")), cast(str, conv.attr("kernel_layout"))
    t = conv.results[0].type
    if not isinstance(t, TensorType) or t.rank != len(out) or norm.attr("axis") % len(out) != out.find("C"):
        return None, None
    return out.find("C"), kernel.find("O") if kernel.isupper() else None


def factor_of(norm: Operator, emit: Emit) -> SSAValue:
    """Return the vector by which a norm multiplies at inference."""
    gamma, _, _, var = norm.operands[1:]
    element = norm.tensor("gamma").element
    assert element is not None
    deviation = emit("sqrt", emit("add", var, emit.constant(norm.attr("epsilon"), element)))
    numerator = gamma if norm.attr("scale") else emit.constant(1.0, element)
    return emit("divide", numerator, deviation)


def shift_of(norm: Operator, factor: SSAValue, emit: Emit) -> SSAValue:
    """Return the vector that a norm adds at inference, after multiplying by `factor`."""
    _, beta, mean, _ = norm.operands[1:]
    shift = emit("multiply", mean, factor)
    return emit("subtract", beta, shift) if norm.attr("center") else emit("negative", shift)


def by_channel(emit: Emit, vector: SSAValue, rank: int, axis: int) -> SSAValue:
    """Reshape a vector to `axis` of tensors of `rank` dimensions, with other extents 1."""
    t = vector.type
    assert isinstance(t, TensorType) and t.dims is not None
    shape = emit.put(relax.ShapeOp([t.dims[0] if i == axis else 1 for i in range(rank)]))
    return emit("reshape", vector, shape)
