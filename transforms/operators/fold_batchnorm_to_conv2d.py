"""Scale the weights of a convolution instead of what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.functions import ops_of_type, relax_functions
from ...ir.transform import Pass
from ..bindings.dead_code_elimination import remove_dead_bindings
from ..bindings.normalize import name_bindings
from .rules import emitter, place, producer


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
        for func in relax_functions(op):
            changed = [_fold(item) for item in list(ops_of_type(func, relax.TupleGetItemOp))]
            if any(changed):
                remove_dead_bindings(func)
                name_bindings(func)


def _fold(item: relax.TupleGetItemOp) -> bool:
    norm = producer(item.tuple_, "nn.batch_norm")
    if norm is None or item.index.data != 0 or not norm.results[0].has_one_use():
        return False
    conv = producer(norm.operands[0], "nn.conv2d")
    if conv is None or not all(isinstance(v.owner, relax.ConstantOp) for v in (conv.operands[1], *norm.operands[1:])):
        return False
    channels, outputs = _axes(conv, norm)
    if channels is None or outputs is None or not conv.results[0].has_one_use():
        return False
    value = _folded(conv, norm, item, channels, outputs)
    set_name(value, name_of(item.result))
    item.result.replace_all_uses_with(value)
    item.detach()
    item.erase()
    return True


def _axes(conv: Operator, norm: Operator) -> tuple[int | None, int | None]:
    """The axis of the channels in what `conv` gives, if that is normalized, and of the outputs in its weights."""
    out, kernel = cast(str, conv.attr("out_layout") or conv.attr("data_layout")), cast(str, conv.attr("kernel_layout"))
    t = conv.results[0].type
    if not isinstance(t, TensorType) or t.rank != len(out) or norm.attr("axis") % len(out) != out.find("C"):
        return None, None
    return out.find("C"), kernel.find("O") if kernel.isupper() else None


def _folded(conv: Operator, norm: Operator, item: relax.TupleGetItemOp, channels: int, outputs: int) -> SSAValue:
    emit = emitter(item)
    (x, weights), (gamma, beta, mean, var) = conv.operands, norm.operands[1:]
    element, extents = conv.tensor("weight").element, norm.tensor("gamma").dims
    assert element is not None and extents is not None

    def spread(value: SSAValue, axis: int) -> SSAValue:
        shape = place(item, relax.ShapeOp([extents[0] if i == axis else 1 for i in range(4)]))
        return emit("reshape", value, shape)

    deviation = emit("sqrt", emit("add", var, place(item, relax.ConstantOp.of(norm.attr("epsilon"), element))))
    numerator = gamma if norm.attr("scale") else place(item, relax.ConstantOp.of(1.0, element))
    factor = emit("divide", numerator, deviation)
    scaled = emit("multiply", weights, spread(factor, outputs))
    product = emit("nn.conv2d", x, scaled, **{n: conv.attr(n) for n in conv.ATTR_SPECS})
    shift = emit("multiply", mean, factor)
    shift = emit("subtract", beta, shift) if norm.attr("center") else emit("negative", shift)
    return emit("add", product, spread(shift, channels))
