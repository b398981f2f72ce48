"""Text formats: the TVMScript parser and printer, and the MLIR parser. Each is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .mlir_text import parse_mlir
    from .parser import (
        ScriptError,
        in_module_class,
        parse_class,
        parse_decorated,
        parse_function,
        parse_source,
        read_macro,
    )
    from .printer import print_script, show

_PARSER = (
    "ScriptError", "in_module_class", "parse_class", "parse_decorated", "parse_function", "parse_source", "read_macro",
)  # fmt: skip
_PRINTER = ("print_script", "show")


def __getattr__(name: str) -> Any:
    if name in _PARSER:
        from . import parser

        return getattr(parser, name)
    if name == "parse_mlir":
        from .mlir_text import parse_mlir

        return parse_mlir
    if name in _PRINTER:
        from . import printer

        return getattr(printer, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [
    "ScriptError",
    "in_module_class",
    "parse_class",
    "parse_decorated",
    "parse_function",
    "parse_mlir",
    "parse_source",
    "print_script",
    "read_macro",
    "show",
]
