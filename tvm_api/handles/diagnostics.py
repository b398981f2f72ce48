"""`tvm.ir.diagnostics`: the errors of a script, which a renderer receives before they are raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ...diagnostics import SourceLocation, TiraxError


class DiagnosticLevel(IntEnum):
    """How grave a diagnostic is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@dataclass(frozen=True)
class Diagnostic:
    """An error: `span` has the `line`, from 1, and the `column`; it is None if the location is unknown."""

    level: DiagnosticLevel
    span: SourceLocation | None
    message: str


class DiagnosticRenderer:
    """What shows diagnostics: a function that receives a context."""

    def __init__(self, render_func: Callable[[DiagnosticContext], object]):
        self.render_func = render_func

    def render(self, ctx: DiagnosticContext) -> object:
        """Show the diagnostics of a context."""
        return self.render_func(ctx)


@dataclass
class DiagnosticContext:
    """The diagnostics of a module."""

    module: Any
    renderer: DiagnosticRenderer
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show the diagnostics, and raise `TiraxError` if there is an error among them."""
        self.renderer.render(self)
        errors = [d.message for d in self.diagnostics if d.level <= DiagnosticLevel.ERROR]
        if errors:
            raise TiraxError(errors[0], notes=errors[1:])


def _print(ctx: DiagnosticContext) -> None:
    for each in ctx.diagnostics:
        print(each.message if each.span is None else f"{each.span}: {each.message}")


_renderers: list[DiagnosticRenderer] = []


def get_renderer() -> DiagnosticRenderer:
    """Return the renderer that was set, or one that prints."""
    return _renderers[-1] if _renderers else DiagnosticRenderer(_print)


def override_renderer(render_func: Callable[[DiagnosticContext], object] | None = None) -> None:
    """Set a function that receives the errors of a script before they are raised; None removes it."""
    _renderers[:] = [] if render_func is None else [DiagnosticRenderer(render_func)]


@contextmanager
def rendering() -> Iterator[None]:
    """Show the errors that are raised inside to the renderer that was set, if there is one."""
    try:
        yield
    except TiraxError as error:
        for renderer in _renderers:
            found = Diagnostic(DiagnosticLevel.ERROR, error.location, error.message)
            renderer.render(DiagnosticContext(None, renderer, [found]))
        raise


__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DiagnosticRenderer",
    "get_renderer",
    "override_renderer",
    "rendering",
]
