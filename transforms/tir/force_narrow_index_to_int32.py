"""`force-narrow-index-to-int32`: loop variables, indices and extents of int64 become int32."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.names import name_of
from ...ir.passes.transform import Pass
from ...ir.verification.verify import location_of
from .narrow_index import is_wide, narrow_operation
from .walk import erase_with_tree, functions, values_of


@dataclass(frozen=True)
class ForceNarrowIndexToInt32(Pass):
    """Make all int64 int32. It is for the caller to know that nothing is as large as 2**31.

    Raises `UnsupportedError` where int64 is what a function computes with: for buffers and parameters of int64.
    """

    name = "force-narrow-index-to-int32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _check(func)
            for inner in list(func.walk()):
                narrow_operation(inner, buffers=True)
            for inner in list(func.walk()):
                if isinstance(inner, tir.CastOp) and inner.value.type == inner.result.type:
                    inner.result.replace_all_uses_with(inner.value)
                    erase_with_tree(inner)


def _check(func: tir.FuncOp) -> None:
    for op in func.walk():
        for value in values_of(op):
            data = isinstance(value.type, tir.BufferType) and is_wide(value.type.dtype)
            if data or (isinstance(value, BlockArgument) and op is func and is_wide(value.type)):
                raise UnsupportedError(
                    f"'{name_of(value)}' of @{func.sym_name.data} holds int64, not only indices are",
                    location=location_of(op),
                    expected="int64 in indices only",
                    found=value.type,
                )
