"""The decorators of TVMScript: they hand the decorated source to the parser, which reads and never runs it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ... import script
from ...diagnostics import TiraxError
from ...ir.module import IRModule
from ...ir.relax_function import BaseFunc


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
        return func if is_method(func) else _function_of(script.parse_decorated(func), func.__name__)

    return decorate


def _function_of(module: ModuleOp, name: str) -> BaseFunc:
    return IRModule(module)[name]


def from_source(text: str, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True) -> Any:
    """What TVMScript text is: a module, or the function where the text is one function without a module around it.

    Raises `ScriptError`, which shows the line and place, for text that is not TVMScript.
    """
    module = IRModule(script.parse_source(text, extra_vars=extra_vars))
    alone = len(module) == 1 and not any(isinstance(s, ast.ClassDef) for s in ast.parse(text).body)
    return module[module.names[0]] if alone else module
