"""Load parameters when they are first used."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import OBJECT, PrimType
from ...ir.functions.lookup import relax_functions
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before
from .lazy import LazyLoader
from .weights import add_param, num_input, remove_params, set_num_input

GETTER = relax.CallableType.of([PrimType.of(i64), OBJECT], OBJECT)
"""`fget_param(index, name)` gives a parameter."""


@dataclass(frozen=True)
class LazyGetInput(Pass):
    """The weights of public functions, those after the first `num_input` parameters, are asked for where they are used.

    f(x, w) {… w …}  ->  f(x, fget_param) {… w = match_cast(fget_param(0, "w")); w …}

    `fget_param(index, name)` is a pure function that the caller passes; weights that are not used are never asked for.
    They are asked for once, or once in each branch that is the first to use them.
    Without the attribute `num_input` all parameters are weights; with it, it counts `fget_param`, too.
    """

    name = "lazy-get-input"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if not func.private:
                _load_lazily(func, num_input(func) or 0)


def _load_lazily(func: relax.FuncOp, inputs: int) -> None:
    block = func.body.block
    weights: list[SSAValue] = list(block.args[inputs:])
    index = {w: i for i, w in enumerate(weights)}
    names = NameSupply(variable_names(func, weights))
    getter = add_param(block, GETTER, names.fresh("fget_param"), inputs)

    def load(weight: SSAValue, before: Operation) -> SSAValue:
        name = name_of(weight) or "param"
        number, label = relax.PrimValueOp(index[weight]), relax.StringOp(name)
        call = relax.CallValueOp(getter, [number.result, label.result], OBJECT)
        cast = relax.MatchCastOp(call.result, weight.type)
        set_name(call.result, names.fresh(f"{name}_untyped"))
        set_name(cast.result, names.fresh(name))
        return insert_before(before, number, label, call, cast).results[0]

    LazyLoader(func, weights, load).run()
    remove_params(block, weights)
    set_num_input(func, inputs + 1)
