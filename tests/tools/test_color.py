"""Diagnostics have colours on a terminal, and are plain text everywhere else."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

import pytest

from tirax.tools import color
from tirax.tools.color import choose_color, is_colored, painted

MESSAGE = """\
layer.mlir:3:5: error: relax.matmul: the last dimension of x1 must agree with x2
    3 |     %lv = relax.matmul %x, %w : !relax.tensor<[n, 128], f32>
      |     ^^^
  expected: 784 rows in x2
  found: 783
  hint: transpose it
  note: another one"""
ANSI = re.compile(r"\x1b\[[\d;]*m")


FILE = io.StringIO()


class Terminal:
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _auto(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    yield
    choose_color("auto")


@pytest.mark.parametrize(
    "message",
    [
        MESSAGE,
        "error: a [b]bold[/b] :smile: text",
        "internal error: KeyError: 'x'",
        "x" * 300,
        "note: über  ",
        "a\n\nb",
    ],
)
def test_colours_change_no_text(message):
    assert ANSI.sub("", painted(message)) == message


def test_the_parts_have_colours():
    text = painted(MESSAGE)
    for part in ("layer.mlir:3:5:", "error:", "    3 |", "    ^^^", "  expected:", "  found:", "  hint:", "  note:"):
        assert re.search(rf"\x1b\[[\d;]+m{re.escape(part)}\x1b\[0m", text), part
    assert painted("x: no error: here") == "x: no error: here"


def test_when_there_are_colours(monkeypatch):
    assert is_colored(Terminal()) and not is_colored(FILE)
    choose_color("never")
    assert not is_colored(Terminal())
    choose_color("auto")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_colored(Terminal())
    choose_color("always")
    assert is_colored(FILE)
    choose_color("auto")
    monkeypatch.setenv("NO_COLOR", "")
    assert is_colored(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not is_colored(Terminal())


BAD = "relax.func @main(%x: f32) {\n  relax.retrun %x : f32\n}"


def test_the_option_of_tirax_opt(opt):
    plain = opt(stdin=BAD)
    assert plain.code == 1 and "\x1b" not in plain.err
    assert opt("--color", "never", stdin=BAD).err == opt("--color", "auto", stdin=BAD).err == plain.err
    always = opt("--color=always", stdin=BAD)
    assert "\x1b[1;31merror:\x1b[0m" in always.err and ANSI.sub("", always.err) == plain.err
    assert color.is_colored() is False, "a choice is that of one command"
    assert opt("--color", "sometimes", stdin=BAD).code == 2


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_option_of_tirax_stands_anywhere(cli, place):
    words = ["run", "missing.py"]
    plain = cli(*words)
    words.insert(place, "--color=always")
    always = cli(*words)
    assert always.code == plain.code == 1
    assert always.err.startswith("\x1b[1;31merror:\x1b[0m") and ANSI.sub("", always.err) == plain.err


def test_wrong_options_have_colours_too(cli):
    assert "\x1b[1;31merror:" in cli("--color", "always", "run", "a.py", "--nonsense").err


def test_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    program = "from tirax.tools.tirax_cli import main; main(['run', 'missing.py'])"
    subprocess.run([sys.executable, "-c", program], stderr=theirs, cwd=tmp_path, check=True)
    os.close(theirs)
    assert b"\x1b[1;31merror:\x1b[0m" in os.read(ours, 4096)
    os.close(ours)
