"""Programs as notebooks and terminals show them: highlighted; in notebooks with functions that can be folded."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...diagnostics import UnsupportedError
from ...dialects import relax, tir
from ...dialects.relax.data import elided_contents
from .module import DEFAULT_STYLE, print_script

if TYPE_CHECKING:
    from rich.syntax import Syntax

_FUNCTION = r"@[\w.]+\.(?:function|prim_func)\b"
_DEFINITION = re.compile(r"\s*def (.*)")
_OPEN = 60
"""Lines of a program whose functions are not folded at first."""
_SHOWN = 1024
"""Bytes of constants that MLIR text shows."""


def highlighted(op: Operation) -> Syntax:
    """The program for a terminal: TVMScript, or MLIR where it has no form in TVMScript."""
    from rich.syntax import Syntax

    text, language = _text(op)
    return Syntax(text, language, theme=DEFAULT_STYLE, background_color="default", word_wrap=True)


def html_text(op: Operation) -> str:
    """The program as a piece of HTML that needs nothing else; each function can be folded."""
    text, language = _text(op)
    starts = re.compile((" " * 4 if isinstance(op, ModuleOp) else "") + _FUNCTION)
    pieces = _pieces(text.split("\n"), starts)
    folded = "" if text.count("\n") > _OPEN and len(pieces) > 1 else " open"
    parts = [_piece(lines, language, starts, folded) for lines in pieces if any(line.strip() for line in lines)]
    return f'<div style="background:#fff;color:#000;overflow-x:auto">{"".join(parts)}</div>'


def _text(op: Operation) -> tuple[str, str]:
    functions = op.body.ops if isinstance(op, ModuleOp) else (op,)
    try:
        if all(isinstance(f, relax.FuncOp | relax.ClosureOp | tir.FuncOp) for f in functions):
            return print_script(op), "python"
    except UnsupportedError:
        pass  # it is shown as MLIR
    with elided_contents(_SHOWN):
        return str(op), "text"


def _pieces(lines: list[str], function: re.Pattern[str]) -> list[list[str]]:
    """The lines in front of the first function, and those of each function."""
    starts = [i for i, line in enumerate(lines) if function.match(line)]
    bounds = [0, *starts, len(lines)]
    return [lines[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def _piece(lines: list[str], language: str, function: re.Pattern[str], folded: str) -> str:
    code = _code("\n".join(lines).rstrip(), language)
    heads = (m[1] for line in lines if (m := _DEFINITION.match(line)) is not None)
    head = next(heads, None) if function.match(lines[0]) else None
    if head is None:
        return code
    summary = f'<summary style="cursor:pointer;font-family:monospace">{escape(head.rstrip(":"))}</summary>'
    return f"<details{folded}>{summary}{code}</details>"


def _code(text: str, language: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    return highlight(text, lexer, HtmlFormatter(noclasses=True, nobackground=True))
