"""An internal error of a pass writes a reproducer, and names the command that makes it smaller."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from strength import thinned
from wrong_passes import look_up_softmax

from tirax.script import parse_mlir
from tirax.tools.guard import message_of
from tirax.tools.reduce.edits import operations
from tirax.transforms.bindings.normalize import Normalize


@pytest.fixture(autouse=True)
def without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIRAX_DEBUG", raising=False)


def named(output: str) -> tuple[Path, list[str]]:
    """The folder and the command of a message."""
    folder = re.search("note: reproducer: (.*)", output)[1]
    return Path(folder), shlex.split(re.search("note: make it smaller: (.*)", output)[1])


@thinned(
    ("tool", "command"),
    [
        ("opt", ("{}", "-p", "canonicalize-bindings,normalize,legalize")),
        ("cli", ("build", "{}", "-p", "canonicalize-bindings,normalize", "-o", "program.tirax")),
        ("cli", ("run", "{}", "--pipeline", "optimize")),
    ],
    1,
)
def test_from_the_error_to_a_small_program(opt, cli, spoil, model, tmp_path, monkeypatch, tool, command):
    spoil(Normalize, look_up_softmax)
    monkeypatch.chdir(tmp_path)
    result = {"opt": opt, "cli": cli}[tool](*(word.replace("{}", str(model)) for word in command))
    assert result.code == 1 and result.out == ""
    assert "Error: 'softmax'" in result.err and "in the pass normalize" in result.err
    folder, words = named(result.err)
    again = opt(folder, "--run-reproducer")
    assert again.code == 1 and "in the pass normalize" in again.err
    assert words[0] == "tirax" and cli(*words[1:]).code == 0
    assert operations(parse_mlir((tmp_path / "small.mlir").read_text())) <= 10


def test_a_diagnostic_leaves_nothing(opt, model):
    result = opt(model, "-p", "bind-params{func_name=nobody}")
    assert result.code == 1 and "reproducer" not in result.err


def test_help_has_lines_of_its_own():
    error = ZeroDivisionError("oops")
    for note in ("in the pass normalize", "reproducer: folder", "make it smaller: command"):
        error.add_note(note)
    first, *notes = message_of(error).split("\n")
    assert first.startswith("internal error: ZeroDivisionError: oops, in the pass normalize, please report; run with")
    assert notes == ["  note: reproducer: folder", "  note: make it smaller: command"]
