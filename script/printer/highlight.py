"""Programs in colours, on terminals that have them."""

from __future__ import annotations

import importlib
from typing import Any

from xdsl.ir import Operation

from ...diagnostics import TiraxError
from .module import print_script

DEFAULT_STYLE = "default"
_STYLES = {"light": "default", "dark": "monokai", "ansi": "ansi_dark"}


def show(op: Operation, style: str | None = None, black_format: bool = False, **options: Any) -> None:
    """Print `print_script(op, **options)`, highlighted where the output is a terminal.

    `style` is a style of pygments or one of light, dark and ansi; `black_format` formats with black, which must
    be installed: `TiraxError` otherwise.
    """
    text = print_script(op, **options)
    if black_format:
        text = _formatted(text)
    from rich.console import Console
    from rich.syntax import Syntax

    console = Console(soft_wrap=True)
    if not console.is_terminal:
        print(text)
        return
    name = style or DEFAULT_STYLE
    console.print(Syntax(text, "python", theme=_STYLES.get(name, name), background_color="default", word_wrap=True))


def _formatted(text: str) -> str:
    try:
        black: Any = importlib.import_module("black")
    except ImportError as error:
        raise TiraxError("black_format=True needs black", hint="pip install black") from error
    return black.format_str(text, mode=black.Mode(line_length=120))
