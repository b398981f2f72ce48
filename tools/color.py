"""Colours of diagnostics on a terminal: `--color auto|always|never`, and NO_COLOR in the environment."""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import Any

_CHOICES = ("auto", "always", "never")
_choice = "auto"

_STYLES = (
    (r"(?m)^\S.*?:\d+:\d+:(?= (?:internal )?(?:error|warning):)", "bold"),
    (r"(?m)(?:^|(?<=\d: ))(?:internal )?error:", "bold red"),
    (r"(?m)(?:^|(?<=\d: ))warning:", "bold yellow"),
    (r"(?m)^ *note:", "cyan"),
    (r"(?m)^  (?:expected|found):", "bold"),
    (r"(?m)^  hint:", "bold green"),
    (r"(?m)^ *\d* +\|(?= |$)", "blue"),
    (r"(?m)(?<=\| )[ \t]*\^+$", "bold red"),
)
"""The parts of a diagnostic, as `TiraxError` writes it."""


def choose_color(choice: str) -> None:
    """Choose when output has colours: `auto` (on a terminal), `always` or `never`."""
    global _choice
    _choice = choice


class _Choose(argparse.Action):
    """Takes effect at once, so that errors in the rest of the command line follow it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        choose_color(values)


def add_color_option(parser: argparse.ArgumentParser) -> None:
    """Add `--color` to a command line."""
    text = "colours in diagnostics (default: auto, on a terminal unless NO_COLOR is set)"
    parser.add_argument("--color", choices=_CHOICES, action=_Choose, default=argparse.SUPPRESS, help=text)


def is_colored(stream: Any = None) -> bool:
    """Return whether what is written to a stream (by default stderr) has colours."""
    stream = sys.stderr if stream is None else stream
    if _choice != "auto":
        return _choice == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def painted(message: str) -> str:
    """Return a diagnostic with terminal colours."""
    from rich.console import Console
    from rich.text import Text

    text = Text(message)
    for pattern, style in _STYLES:
        text.highlight_regex(pattern, style)
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", no_color=False)
    console.print(text, soft_wrap=True, end="")
    return console.file.getvalue()  # type: ignore[attr-defined]
