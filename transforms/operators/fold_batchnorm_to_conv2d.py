"""Scale the weights of a convolution instead of what it gives."""

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
    """Folds `nn.batch_norm` as it is at inference, whatever its `training` says, into the `nn.conv2d` before it.

    y = batch_norm(conv2d(x, w), gamma, beta, mean, var)[0]
    ->  s = gamma / sqrt(var + epsilon); y = conv2d(x, w * s) + (beta - mean * s)

    The weights and the parameters must be constants (`BindParams` makes them so, `FoldConstant` then computes what is
    new), nothing else use the convolution or another field, and `axis` be that of the channels.
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
    """What a norm gives as a convolution of scaled weights.

    None where what is normalized is no convolution of one of `kinds` with constant weights that nothing else uses.
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
    """Whether all parameters of a norm are constants."""
    return all(isinstance(v.owner, relax.ConstantOp) for v in norm.operands[1:])


def _axes(conv: Operator, norm: Operator) -> tuple[int | None, int | None]:
    """The axis of the channels in what `conv` gives, if that is normalized, and of the outputs in its weights."""
    out, kernel = cast(str, conv.attr("out_layout") or conv.attr("data_layout")), cast(str, conv.attr("kernel_layout"))
    t = conv.results[0].type
    if not isinstance(t, TensorType) or t.rank != len(out) or norm.attr("axis") % len(out) != out.find("C"):
        return None, None
    return out.find("C"), kernel.find("O") if kernel.isupper() else None


def factor_of(norm: Operator, emit: Emit) -> SSAValue:
    """The vector by which a norm as it is at inference multiplies."""
    gamma, _, _, var = norm.operands[1:]
    element = norm.tensor("gamma").element
    assert element is not None
    deviation = emit("sqrt", emit("add", var, emit.constant(norm.attr("epsilon"), element)))
    numerator = gamma if norm.attr("scale") else emit.constant(1.0, element)
    return emit("divide", numerator, deviation)


def shift_of(norm: Operator, factor: SSAValue, emit: Emit) -> SSAValue:
    """The vector that a norm as it is at inference adds after it has multiplied by `factor`."""
    _, beta, mean, _ = norm.operands[1:]
    shift = emit("multiply", mean, factor)
    return emit("subtract", beta, shift) if norm.attr("center") else emit("negative", shift)


def by_channel(emit: Emit, vector: SSAValue, rank: int, axis: int) -> SSAValue:
    """A vector along `axis` of tensors of `rank` dimensions, its other extents 1."""
    t = vector.type
    assert isinstance(t, TensorType) and t.dims is not None
    shape = emit.put(relax.ShapeOp([t.dims[0] if i == axis else 1 for i in range(rank)]))
    return emit("reshape", vector, shape)
