"""Diagnostics with TVM's names: contexts, renderers, levels."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.tvm_api.ir import diagnostics


def test_a_context_shows_what_was_emitted_and_raises_errors(capsys):
    renderer = diagnostics.get_renderer()
    context = diagnostics.DiagnosticContext(None, renderer)
    context.emit(diagnostics.Diagnostic(diagnostics.DiagnosticLevel.NOTE, None, "by the way"))
    context.render()
    assert capsys.readouterr().out == "by the way\n"
    context.emit(diagnostics.Diagnostic(diagnostics.DiagnosticLevel.ERROR, None, "wrong"))
    with pytest.raises(TiraxError, match="wrong"):
        context.render()


def test_a_renderer_of_the_user_is_the_renderer():
    shown = []
    diagnostics.override_renderer(shown.append)
    try:
        diagnostics.DiagnosticContext(None, diagnostics.get_renderer()).render()
    finally:
        diagnostics.override_renderer(None)
    assert [type(context).__name__ for context in shown] == ["DiagnosticContext"]
