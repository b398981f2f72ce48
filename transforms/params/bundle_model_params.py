"""Pass weights as one tuple."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import relax
from ...dialects.relax.types import tuple_type
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from .weights import add_param, load_at_uses, num_input, remove_params


@dataclass(frozen=True)
class BundleModelParams(Pass):
    """Replace the parameters after the first `num_input` by fields of a tuple, `param_tuple_name` (`model_params`).

    f(x, w, b) {num_input = 1} {… w …}  ->  f(x, model_params: tuple<…>) {… w = model_params[0]; w …}

    Functions without the attribute `num_input` are unchanged.
    """

    name = "bundle-model-params"
    param_tuple_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            inputs = num_input(func)
            if inputs is not None:
                bundle_params(func, inputs, self.param_tuple_name)


def bundle_params(func: relax.FuncOp, first: int, name: str | None = None) -> None:
    """Replace the parameters from position `first` on by fields of one parameter, in place."""
    block = func.body.block
    params = list(block.args)[first:]
    bundle = add_param(block, tuple_type(p.type for p in params), name or "model_params")
    load_at_uses(func, params, lambda i: relax.TupleGetItemOp(bundle, i))
    remove_params(block, params)
