"""Programs displayed in notebooks and terminals: highlighted, and in notebooks with foldable functions."""

from __future__ import annotations

import importlib
import re
from html import escape
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import relax, tir
from ...dialects.relax.data import elided_contents
from .module import print_script

if TYPE_CHECKING:
    from rich.syntax import Syntax

DEFAULT_STYLE = "default"
_STYLES = {"light": "default", "dark": "monokai", "ansi": "ansi_dark"}
_FUNCTION = r"@[\w.]+\.(?:function|prim_func)\b"
_DEFINITION = re.compile(r"\s*def (.*)")
_OPEN = 60
"""The number of lines up to which a program's functions are initially unfolded."""
_SHOWN = 1024
"""The number of bytes up to which MLIR text includes the contents of constants."""


def show(op: Operation, style: str | None = None, black_format: bool = False, **options: Any) -> None:
    """Print `print_script(op, **options)`: highlighted in a terminal, as `html_text` in a notebook.

    `style` is a pygments style or one of light, dark and ansi. `black_format` formats the text with black; raises
    `TiraxError` if black is not installed.
    """
    text = print_script(op, **options)
    if black_format:
        text = _formatted(text)
    from rich.console import Console

    console = Console(soft_wrap=True)
    name = _STYLES.get(style or DEFAULT_STYLE, style or DEFAULT_STYLE)
    if console.is_jupyter:
        display: Any = importlib.import_module("IPython.display")
        display.display(display.HTML(_page(text, "python", isinstance(op, ModuleOp), name)))
    elif console.is_terminal:
        console.print(_syntax(text, "python", name))
    else:
        print(text)


def _formatted(text: str) -> str:
    try:
        black: Any = importlib.import_module("black")
    except ImportError as error:
        raise TiraxError("black_format=True needs black", hint="pip install black") from error
    return black.format_str(text, mode=black.Mode(line_length=120))


def highlighted(op: Operation) -> Syntax:
    """Return the program for a terminal: TVMScript, or MLIR if it has no form in TVMScript."""
    return _syntax(*_text(op), DEFAULT_STYLE)


def _syntax(text: str, language: str, style: str) -> Syntax:
    from rich.syntax import Syntax

    return Syntax(text, language, theme=style, background_color="default", word_wrap=True)


def html_text(op: Operation) -> str:
    """Return the program as self-contained HTML in which each function can be folded."""
    return _page(*_text(op), isinstance(op, ModuleOp), DEFAULT_STYLE)


def _page(text: str, language: str, is_module: bool, style: str) -> str:
    starts = re.compile((" " * 4 if is_module else "") + _FUNCTION)
    pieces = _pieces(text.split("\n"), starts)
    folded = "" if text.count("\n") > _OPEN and len(pieces) > 1 else " open"
    parts = [_piece(p, starts, folded, _Colours(language, style)) for p in pieces if any(line.strip() for line in p)]
    colours = "background:#272822;color:#f8f8f2" if style == _STYLES["dark"] else "background:#fff;color:#000"
    return f'<div style="{colours};overflow-x:auto">{"".join(parts)}</div>'


def _text(op: Operation) -> tuple[str, str]:
    functions = op.body.ops if isinstance(op, ModuleOp) else (op,)
    try:
        if all(isinstance(f, relax.FuncOp | relax.ClosureOp | tir.FuncOp) for f in functions):
            return print_script(op), "python"
    except UnsupportedError:
        pass  # shown as MLIR instead
    with elided_contents(_SHOWN):
        return str(op), "text"


def _pieces(lines: list[str], function: re.Pattern[str]) -> list[list[str]]:
    """Return the lines before the first function, and the lines of each function."""
    starts = [i for i, line in enumerate(lines) if function.match(line)]
    bounds = [0, *starts, len(lines)]
    return [lines[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def _piece(lines: list[str], function: re.Pattern[str], folded: str, colours: _Colours) -> str:
    code = colours.code("\n".join(lines).rstrip())
    heads = (m[1] for line in lines if (m := _DEFINITION.match(line)) is not None)
    head = next(heads, None) if function.match(lines[0]) else None
    if head is None:
        return code
    summary = f'<summary style="cursor:pointer;font-family:monospace">{escape(head.rstrip(":"))}</summary>'
    return f"<details{folded}>{summary}{code}</details>"


class _Colours:
    """Highlights code in the colours of a style, with inline styles."""

    def __init__(self, language: str, style: str):
        self._language, self._style = language, style

    def code(self, text: str) -> str:
        """Return a text as HTML."""
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name

        lexer = get_lexer_by_name(self._language, stripnl=False, ensurenl=False)
        return highlight(text, lexer, HtmlFormatter(style=_known(self._style), noclasses=True, nobackground=True))


def _known(style: str) -> str:
    """Return a pygments style; the default style for names that are terminal-only or unknown."""
    from pygments.styles import get_style_by_name
    from pygments.util import ClassNotFound

    try:
        get_style_by_name(style)
    except ClassNotFound:
        return DEFAULT_STYLE
    return style
