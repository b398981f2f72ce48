"""Long builds tell what they do: a line now and then, or one that is kept up to date on a terminal."""

import io
import threading

import pytest
from rich.console import Console

from tirax.driver.timings import stage
from tirax.tools.progress import Progress


@pytest.fixture(autouse=True)
def _progress_on(monkeypatch):
    monkeypatch.delenv("TIRAX_PROGRESS", raising=False)


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80)


class Recorder:
    """A stream that says when something was written."""

    def __init__(self):
        self.text, self.event = "", threading.Event()

    def write(self, text):
        self.text += text
        self.event.set()

    def flush(self):
        pass


def test_stages_are_shown_in_lines():
    reported = Recorder()
    with Progress(Console(file=reported, width=80), delay=0.001) as progress, stage("legalize-ops"):
        while "legalize-ops" not in reported.text:  # before it begins something may be told already
            assert reported.event.wait(30)
    assert "legalize-ops (0 s)\n" in reported.text
    assert list(progress.stages) == ["legalize-ops"]


def test_nothing_is_shown_of_what_is_short():
    out = console(terminal=False)
    with Progress(out, delay=3600), stage("verify"):
        pass
    assert out.file.getvalue() == ""


def test_a_terminal_shows_the_stage():
    reported = Recorder()
    with Progress(Console(file=reported, force_terminal=True, width=80), delay=0.001), stage("fuse-tir"):
        while "fuse-tir" not in reported.text:
            assert reported.event.wait(30)
    assert "fuse-tir" in reported.text


def test_it_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("TIRAX_PROGRESS", "0")
    out = console(terminal=False)
    with Progress(out, delay=0), stage("verify"):
        pass
    assert out.file.getvalue() == ""
