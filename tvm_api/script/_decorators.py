"""The decorators of TVMScript: they hand the decorated source to the parser, which reads and never runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ... import script
from ...diagnostics import TiraxError
from ...ir.module import IRModule, func_of


def parsed_class(cls: type) -> IRModule:
    """The module that a class is."""
    return IRModule(script.parse_class(cls, sys._getframe(2)))


def is_method(func: FunctionType) -> bool:
    """Whether a function stands in the body of a class: then the class's decorator reads it."""
    around, _, _ = func.__qualname__.rpartition(".")
    return bool(around) and not around.endswith("<locals>")


def function_decorator(kind: str) -> Callable[..., Any]:
    """The decorator of functions of one dialect, with or without options such as `private=True`."""

    def decorate(func: Any = None, **options: Any) -> Any:
        if func is None:
            return decorate
        if not isinstance(func, FunctionType):
            raise TiraxError(f"the decorator of {kind} takes a function", found=type(func).__name__)
        return func if is_method(func) else func_of(script.parse_decorated(func))

    return decorate


def from_source(text: str, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True) -> Any:
    """What TVMScript text is: a module, or a function where the text is that of one function without a module.

    Raises `ScriptError`, which shows the line and place, for text that is not TVMScript.
    """
    op = script.parse_source(text, extra_vars=extra_vars)
    if isinstance(op, ModuleOp):
        functions = list(op.body.block.ops)
        if len(functions) == 1 and "ir_module" not in text:
            functions[0].detach()
            return func_of(functions[0])
        return IRModule(op)
    return func_of(op)
