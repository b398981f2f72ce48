"""Simplify normalizations with known statistics to at most one multiplication and one addition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.relax.operator import Operator
from ...ir.functions.lookup import ops_of_type
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, rewrite_functions
from ...ir.rewriting.edit import replace_op
from .fold_batchnorm_to_conv2d import by_channel, factor_of, has_constants, scaled_convolution, shift_of

CONVOLUTIONS = ("nn.conv2d", "nn.conv1d", "nn.conv3d")


@dataclass(frozen=True)
class SimplifyInference(Pass):
    """Replace `nn.batch_norm` that is not in training and has constant parameters by a product and a sum.

    y = batch_norm(conv2d(x, w), gamma, beta, mean, var, training=False)[0]
    ->  s = gamma / sqrt(var + epsilon); y = conv2d(x, w * s) + (beta - mean * s)
    y = batch_norm(x, …)[0]  ->  y = x * s + (beta - mean * s)

    The first form needs constant weights, and a convolution without other uses; `fold-constant` computes the rest.
    """

    name = "simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_functions(op, _simplify_function)


def _simplify_function(func: relax.FuncOp) -> bool:
    norms = [o for o in ops_of_type(func, relax.OPERATORS["relax.nn.batch_norm"]) if _is_known(o)]
    for norm in norms:
        _simplify(norm)
    return bool(norms)


def _is_known(norm: Operator) -> bool:
    uses = norm.results[0].uses
    fields_only = all(isinstance(use.operation, relax.TupleGetItemOp) for use in uses)
    data = norm.tensor("data")
    known = data.rank is not None and data.element is not None and data.element == norm.tensor("gamma").element
    return not norm.attr("training") and fields_only and known and has_constants(norm)


def _simplify(norm: Operator) -> None:
    values: Sequence[SSAValue] = (_normalized(norm), *norm.operands[3:])
    for use in list(norm.results[0].uses):
        item = use.operation
        assert isinstance(item, relax.TupleGetItemOp)
        value = values[item.index.data]
        replace_op(item, value, renamed=name_of(value) is None)


def _normalized(norm: Operator) -> SSAValue:
    emit = Emit(norm)
    convolution = scaled_convolution(norm, emit, CONVOLUTIONS)
    if convolution is not None:
        return convolution
    rank = norm.tensor("data").rank or 0
    axis, factor = norm.attr("axis") % rank, factor_of(norm, emit)
    scaled = emit("multiply", norm.operands[0], by_channel(emit, factor, rank, axis))
    return emit("add", scaled, by_channel(emit, shift_of(norm, factor, emit), rank, axis))
