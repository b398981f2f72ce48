"""Methods that TVM's nodes have for TVM's programs alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..diagnostics import NameLookupError, TiraxError
from ..handles.module import IRModule
from ..handles.relax.expr import GlobalVar
from ..handles.relax.function import Function
from ..ir.passes.options import OPTIONS
from ..ir.passes.transform import PassContext

if TYPE_CHECKING:
    from ..dialects import relax

_MOST_CALLS = 1 << 10
"""Inlined calls, above which functions are taken to call each other for ever."""


def _name(key: str | GlobalVar) -> str:
    return key if isinstance(key, str) else key.name_hint


def _inline_functions(self: Function, function_map: Mapping[str | GlobalVar, Function]) -> Function:
    """Return a copy in which calls of functions, named or by variable, are replaced by their bodies, also in these.

    Raises `NameLookupError` if a function is named twice, `TiraxError` if functions call each other.
    """
    from ..transforms.functions.private import clean_up

    functions = {_name(key): func for key, func in function_map.items()}
    if len(functions) != len(function_map):
        raise NameLookupError("a function to inline is named twice", found=[_name(key) for key in function_map])
    new = self.copy()
    changed = _inlined(new.op, {name: func.op for name, func in functions.items()})
    clean_up(changed)
    return new


def _inlined(caller: relax.FuncOp, functions: Mapping[str, relax.FuncOp]) -> list[relax.FuncOp]:
    from ..dialects.relax import CallOp
    from ..ir.names import make_unique
    from .passes.functions.inline_private_functions import Inliner

    inliner = Inliner()
    for _ in range(_MOST_CALLS):
        call = next((op for op in caller.walk() if isinstance(op, CallOp) and op.callee_name in functions), None)
        if call is None:
            make_unique(caller)
            return [caller] if inliner.changed else []
        inliner.inline(functions[call.callee_name], call)
    raise TiraxError("the functions to inline call each other", found=list(functions))


def _replace_global_vars(self: IRModule, replacements: Mapping[str | GlobalVar, str | GlobalVar]) -> IRModule:
    """Return a copy in which functions have other names, also where they are used. Raises `NameLookupError`."""
    from ..transforms.functions.global_symbols import rename_functions

    names = {_name(old): _name(new) for old, new in replacements.items()}
    unknown = [name for name in names if name not in self.names]
    if unknown:
        raise NameLookupError("no such function", expected=f"one of {list(self.names)}", found=unknown)
    kept = [names.get(name, name) for name in self.names]
    if len(set(kept)) != len(kept):
        raise NameLookupError("two functions would have one name", found=kept)
    new = self.clone()
    rename_functions(new.op, names)
    return new


def _list_configs() -> dict[str, dict[str, str]]:
    """Return the type of each option of a context, by name."""
    return {name: {"type": kind.__name__} for name, kind in OPTIONS.items()}


def attach() -> None:
    """Attach the methods."""
    PassContext.list_configs = staticmethod(_list_configs)  # pyright: ignore[reportAttributeAccessIssue]
    Function.inline_functions = _inline_functions  # pyright: ignore[reportAttributeAccessIssue]
    IRModule.replace_global_vars = _replace_global_vars  # pyright: ignore[reportAttributeAccessIssue]


__all__ = ["attach"]
