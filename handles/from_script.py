"""The decorators of TVMScript: they hand the decorated source to the parser, which reads and never runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC

from .. import script
from ..diagnostics import TiraxError
from ..ir.verification.well_formed import check_well_formed
from .module import IRModule


def parsed_class(cls: type, well_formed: bool = True) -> IRModule:
    """The module that a class is. Raises `IllFormedError` for one that is not well formed, where that is asked for."""
    module = IRModule(script.parse_class(cls))
    return _checked(module) if well_formed else module


def _checked(module: IRModule) -> IRModule:
    check_well_formed(module)
    return module


def function_decorator(kind: str) -> Callable[..., Any]:
    """The decorator of functions of one dialect, with or without options such as `private=True`."""

    def decorate(func: Any = None, **options: Any) -> Any:
        if func is None:
            return decorate
        if not isinstance(func, FunctionType):
            raise TiraxError(f"the decorator of {kind} takes a function", found=type(func).__name__)
        if script.in_module_class(func):
            return func
        module = IRModule(script.parse_decorated(func))
        return (_checked(module) if options.get("check_well_formed", True) else module)[func.__name__]

    return decorate


def from_source(text: str, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True) -> Any:
    """What TVMScript text is: a module, or the function where the text is one function without a module around it.

    Raises `ScriptError`, which shows the line and place, for text that is not TVMScript, and `IllFormedError` for a
    module that is not well formed, unless `check_well_formed` is False.
    """
    module = IRModule(script.parse_source(text, extra_vars=extra_vars))
    if check_well_formed:
        _checked(module)
    alone = len(module) == 1 and module.op.location is UNKNOWN_LOC  # a class has a place
    return module[module.names[0]] if alone else module


def from_mlir(text: str, filename: str = "<string>", check_well_formed: bool = True) -> IRModule:
    """The module that a text of MLIR is. Raises `MLIRSyntaxError`, and otherwise as `from_source`."""
    module = IRModule(script.parse_mlir(text, filename))
    return _checked(module) if check_well_formed else module
