"""`lift-closures`: local functions that are only called become functions of the module, as `lambda-lift` makes them.

    %f = relax.closure(%a: T) -> T {… %x …}            relax.func private @main_f(%a: T, %x: U, %s: !relax.shape<[n]>)
    %r = relax.call_value %f(%y) : T            ->     %r = relax.call @main_f(%y, %x, %s) : T

A closure that is used in another way stays; code generation names it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from ...transforms.functions.lambda_lift import lift_local_functions


@dataclass(frozen=True)
class LiftClosures(Pass):
    """Turn closures that are only called into private functions of the module."""

    name = "lift-closures"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lift_local_functions(op, values=False)
