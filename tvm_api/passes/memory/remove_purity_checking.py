"""Disable purity tracking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i1

from ....diagnostics import TiraxError
from ....dialects import relax
from ....ir.functions.lookup import relax_functions
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import replace_op

FORCE_PURE = "relax.force_pure"
"""The attribute of a function that counts as pure, whatever it contains."""
_TRUE = IntegerAttr(1, i1)
_OVERRIDES = (relax.CallPurePackedOp, relax.CallInplacePackedOp)


@dataclass(frozen=True)
class RemovePurityChecking(Pass):
    """Gives pure functions the attribute `relax.force_pure`, and replaces calls declared as pure by plain ones.

    y = call_pure_packed("f", x)  ->  y = call_packed("f", x)
    y = call_inplace_packed("f", x, inplace_indices=[0])  ->  y = call_packed("f", x)

    Use it after `to-non-dataflow`: raises `TiraxError` if such a call is in a dataflow block.
    """

    name = "remove-purity-checking"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        overrides = [inner for func in relax_functions(op) for inner in func.walk() if isinstance(inner, _OVERRIDES)]
        _check_places(overrides)
        for call in overrides:
            _unwrap(call)
        for func in relax_functions(op):
            for inner in func.walk():
                if isinstance(inner, relax.FuncOp | relax.ClosureOp) and inner.impure is None:
                    known = {} if inner.func_attrs is None else dict(inner.func_attrs.data)
                    inner.func_attrs = DictionaryAttr({**known, FORCE_PURE: _TRUE})


def _check_places(calls: list[Any]) -> None:
    inside = [call for call in calls if isinstance(call.parent_op(), relax.DataflowOp)]
    if inside:
        raise TiraxError(
            f"{len(inside)} calls of dataflow blocks would have effects",
            location=location_of(inside[0]),
            found=", ".join(dict.fromkeys(call.func.data for call in inside)),
            hint="run to-non-dataflow before",
        )


def _unwrap(call: Any) -> None:
    known = {} if call.call_attrs is None else dict(call.call_attrs.data)
    known.pop("inplace_indices", None)
    attrs = DictionaryAttr(known) if known else None
    replace_op(call, relax.CallPackedOp(call.func.data, call.args, call.result.type, attrs))
