"""`annotate-entry-func`: the one function that is called from outside says so."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from .walk import functions, with_attr

ENTRY = "tir.is_entry_func"


@dataclass(frozen=True)
class AnnotateEntryFunc(Pass):
    """Give the attribute `tir.is_entry_func` to the tensor function, or to the only one that is not private.

    Where several are public nothing changes.
    """

    name = "annotate-entry-func"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = functions(op)
        public = found if len(found) == 1 else [f for f in found if not f.private]
        if len(public) == 1:
            with_attr(public[0], ENTRY, True)
