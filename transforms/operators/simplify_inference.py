"""Normalizations that are known when a program is built cost nothing, or one multiplication and one addition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.operator import Operator
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase
from ..bindings.normalize import name_bindings
from .fold_batchnorm_to_conv2d import by_channel, factor_of, has_constants, scaled_convolution, shift_of
from .rules import emitter

CONVOLUTIONS = ("nn.conv2d", "nn.conv1d", "nn.conv3d")


@dataclass(frozen=True)
class SimplifyInference(Pass):
    """`nn.batch_norm` that is not in training, its parameters constant, becomes a product and a sum.

    y = batch_norm(conv2d(x, w), gamma, beta, mean, var, training=False)[0]
    ->  s = gamma / sqrt(var + epsilon); y = conv2d(x, w * s) + (beta - mean * s)
    y = batch_norm(x, …)[0]  ->  y = x * s + (beta - mean * s)

    The first where the weights are constant and nothing else uses the convolution; `fold-constant` computes the rest.
    """

    name = "simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            norms = [o for o in ops_of_type(func, relax.OPERATORS["relax.nn.batch_norm"]) if _is_known(o)]
            for norm in norms:
                _simplify(norm)
            if norms:
                remove_dead_bindings(func)
                name_bindings(func)


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
        if name_of(value) is None:
            set_name(value, name_of(item.result))
        item.result.replace_all_uses_with(value)
        erase(item)


def _normalized(norm: Operator) -> SSAValue:
    found = scaled_convolution(norm, norm, CONVOLUTIONS)
    if found is not None:
        return found
    emit, rank = emitter(norm), norm.tensor("data").rank or 0
    axis, factor = norm.attr("axis") % rank, factor_of(norm, norm)
    scaled = emit("multiply", norm.operands[0], by_channel(norm, factor, rank, axis))
    return emit("add", scaled, by_channel(norm, shift_of(norm, factor, norm), rank, axis))
