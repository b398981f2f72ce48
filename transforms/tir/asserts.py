"""`remove-assume` and `skip-assert`: what a program promises, or has checked, is no longer needed, and goes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import tir
from ...ir.passes.transform import Pass
from .walk import erase_with_tree, functions, remove_dead


@dataclass(frozen=True)
class RemoveAssume(Pass):
    """Remove `T.assume(condition)` and what only its condition needs."""

    name = "remove-assume"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            notes = [inner for inner in func.walk() if isinstance(inner, tir.EvaluateOp) and _assumes(inner)]
            for note in notes:
                erase_with_tree(note)
            calls = [i for i in func.walk() if isinstance(i, tir.CallExpr) and _is_assume(i) and not i.result.uses]
            for call in calls:
                erase_with_tree(call)
            if notes or calls:
                remove_dead(func)


def _is_assume(op: object) -> bool:
    return isinstance(op, tir.CallExpr) and op.func.data == "assume"


def _assumes(op: tir.EvaluateOp) -> bool:
    return _is_assume(op.value.owner)


@dataclass(frozen=True)
class SkipAssert(Pass):
    """Remove `tir.assert`, and what only its condition needs."""

    name = "skip-assert"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            found = [inner for inner in func.walk() if isinstance(inner, tir.AssertOp)]
            for inner in found:
                erase_with_tree(inner)
            if found:
                remove_dead(func)
