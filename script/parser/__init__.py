"""The TVMScript parser: it walks Python's syntax tree and never executes the text."""

from __future__ import annotations

from .entry import in_module_class, parse_class, parse_decorated, parse_function, parse_source, read_macro
from .source import ScriptError

__all__ = [
    "ScriptError",
    "in_module_class",
    "parse_class",
    "parse_decorated",
    "parse_function",
    "parse_source",
    "read_macro",
]
