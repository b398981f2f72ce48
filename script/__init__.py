"""TVMScript: the parser, the printer and what they share. Both are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .parser import (
        ScriptError,
        is_class_body,
        parse_class,
        parse_decorated,
        parse_function,
        parse_source,
        read_macro,
    )
    from .printer import print_script, show

_PARSER = (
    "ScriptError", "is_class_body", "parse_class", "parse_decorated", "parse_function", "parse_source", "read_macro",
)  # fmt: skip
_PRINTER = ("print_script", "show")


def __getattr__(name: str) -> Any:
    if name in _PARSER:
        from . import parser

        return getattr(parser, name)
    if name in _PRINTER:
        from . import printer

        return getattr(printer, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [
    "ScriptError",
    "is_class_body",
    "parse_class",
    "parse_decorated",
    "parse_function",
    "parse_source",
    "print_script",
    "read_macro",
    "show",
]
