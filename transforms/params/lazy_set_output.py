"""Hand results over when they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.relax.types import OBJECT, PrimType, tuple_type
from ...ir.functions.lookup import relax_functions
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase
from ..bindings.to_non_dataflow import flatten_dataflow
from .lazy import hand_over, inline_fields
from .weights import add_param, num_input, set_num_input

NOTHING = tuple_type(())
SETTER = relax.CallableType.of([PrimType.of(i64), OBJECT], NOTHING, pure=False)
"""`fset_output(index, value)` takes a result."""


@dataclass(frozen=True)
class LazySetOutput(Pass):
    """Public functions give what they return to a function that the caller passes, each part as soon as it is there.

    f(x) {y = exp(x); return (y, x)}
    ->  f(x, fset_output) {fset_output(1, x); y = exp(x); fset_output(0, y); return ()}

    `fset_output` returns the empty tuple. It is the last parameter, or with the attribute `num_input` the last of the
    inputs, which are one more then. Dataflow blocks become plain bindings, since its calls have effects.
    """

    name = "lazy-set-output"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if not func.private:
                _give_lazily(func)


def _give_lazily(func: relax.FuncOp) -> None:
    flatten_dataflow(func)
    inputs = num_input(func)
    setter = add_param(func.body.block, SETTER, NameSupply(variable_names(func)).fresh("fset_output"), inputs)
    if inputs is not None:
        set_num_input(func, inputs + 1)

    def give(index: int, value: SSAValue) -> Sequence[Operation]:
        number = relax.PrimValueOp(index)
        return number, relax.CallValueOp(setter, [number.result, value], NOTHING)

    returned = func.return_op.value
    outputs = inline_fields(returned)
    hand_over(func, outputs, give)
    if outputs != [returned]:
        whole = returned.owner
        assert isinstance(whole, relax.TupleOp)
        erase(whole)
