"""The syntax tree of Python text while it is edited; statements that cannot be parsed are skipped."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from ...ir.python_text import python_tree
from .reading import Place, Problem

UNREADABLE = "_unreadable_"
"""The placeholder for the value of a statement that could not be parsed."""
_MOST = 6
"""Limit on skipped places, above which the file is given up."""
_BINDING = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=(?!=)")
_DEFINITION = re.compile(r"\s*(?:async\s+)?def\b\s*(\w*)")


@dataclass
class Tree:
    """The parsed part of a text, the names of functions that could not be parsed at all, and the problems."""

    tree: ast.Module | None = None
    functions: set[str] = field(default_factory=set[str])
    problems: list[Problem] = field(default_factory=list[Problem])


def tree_of(lines: list[str], filename: str) -> Tree:
    """Parse lines; a statement that cannot be parsed, or else the function around it, is left out."""
    lines, result, tried = list(lines), Tree(), set[int]()
    while result.tree is None and len(result.problems) < _MOST:
        try:
            result.tree = python_tree("\n".join(lines), filename)
        except SyntaxError as error:
            line = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
            column = min(max((error.offset or 1) - 1, 0), len(lines[line]))
            if line not in tried:  # else it is a consequence of what was left out
                problem = Problem(Place(line, column, len(lines[line])), f"this is not Python: {error.msg}")
                result.problems.append(problem)
            if not _leave_out(lines, line, line in tried, result.functions):
                return result
            tried.add(line)
        except (ValueError, RecursionError, MemoryError) as error:
            result.problems.append(Problem(Place(0, 0, 0), f"this cannot be read as Python: {error}"))
            return result
    return result


def _leave_out(lines: list[str], line: int, again: bool, functions: set[str]) -> bool:
    """Replace a line, or the function around it, with valid text; return whether that changed anything."""
    text, indent = lines[line], _indent(lines[line])
    if not again and text.strip() and not _DEFINITION.match(text) and not text.lstrip().startswith("@"):
        below = next((other for other in lines[line + 1 :] if other.strip()), "")
        if _indent(below) <= indent:
            bound = _BINDING.match(text)
            lines[line] = " " * indent + (f"{bound[1]} = {UNREADABLE}" if bound else UNREADABLE)
            return lines[line] != text
    return _leave_out_function(lines, line, functions)


def _leave_out_function(lines: list[str], line: int, functions: set[str]) -> bool:
    start = next((i for i in range(line, -1, -1) if _DEFINITION.match(lines[i])), None)
    if lines[line].lstrip().startswith("@"):  # the decorator of what follows
        start = next((i for i in range(line, len(lines)) if _DEFINITION.match(lines[i])), line)
    if start is None:
        before, lines[line] = lines[line], ""
        return bool(before)
    indent = _indent(lines[start])
    end = next((i for i in range(start + 1, len(lines)) if _ends(lines[i], indent)), len(lines))
    while start > 0 and lines[start - 1].lstrip().startswith("@"):
        start -= 1
    functions |= {m[1] for text in lines[start:end] if (m := _DEFINITION.match(text)) and m[1]}
    left = [" " * indent + "pass", *[""] * (end - start - 1)]
    changed = lines[start:end] != left
    lines[start:end] = left
    return changed


def _ends(text: str, indent: int) -> bool:
    """Return whether a line lies outside of a definition with this indentation."""
    return bool(text.strip()) and _indent(text) <= indent and text.lstrip()[0] not in ")]}#"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
