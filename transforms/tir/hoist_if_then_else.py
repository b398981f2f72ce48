"""`hoist-if-then-else`: a branch that is the same in all iterations stands around the loop.

for %i {if %c {S(%i)} else {T(%i)}}     ->     if %c {for %i {S(%i)}} else {for %i {T(%i)}}
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import unknown_name
from ...ir.passes.transform import Pass
from .hoist_expression import HoistedConditionals, HoistedLetBindings, hoist
from .options import configured

_VARIANTS = ("basic",)


@dataclass(frozen=True)
class HoistIfThenElse(Pass):
    """Move branches that are all there is in a loop out of it, as far as their conditions allow.

    The condition may read nothing: what it reads may change in the loop. The variable of a loop that is bound to
    threads is of no such condition, but with `support_block_scope_hoisting` and without the variant "basic". Raises
    `NameLookupError` for another variant.
    """

    name = "hoist-if-then-else"
    variant: str | None = None
    support_block_scope_hoisting: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.HoistIfThenElse")
        if options.variant is not None and options.variant not in _VARIANTS:
            raise unknown_name("variant of hoist-if-then-else", options.variant, _VARIANTS)
        flags = HoistedConditionals.IfElseStmt
        if options.support_block_scope_hoisting and options.variant is None:
            flags |= HoistedConditionals.UsingBlockVar
        hoist(op, flags, HoistedLetBindings.Never)
