"""Long builds tell what they do: a line now and then, or one that is kept up to date on a terminal."""

import io
import threading

import pytest
from rich.console import Console

from tirax.driver.timings import stage
from tirax.tools.progress import Progress


@pytest.fixture(autouse=True)
def _told(monkeypatch):
    monkeypatch.delenv("TIRAX_PROGRESS", raising=False)


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80)


class Told:
    """A stream that says when something was written."""

    def __init__(self):
        self.text, self.event = "", threading.Event()

    def write(self, text):
        self.text += text
        self.event.set()

    def flush(self):
        pass


def test_stages_are_shown_in_lines():
    told = Told()
    with Progress(Console(file=told, width=80), delay=0.001) as progress, stage("legalize-ops"):
        while "legalize-ops" not in told.text:  # before it begins something may be told already
            assert told.event.wait(30)
    assert "legalize-ops (0 s)\n" in told.text
    assert list(progress.stages) == ["legalize-ops"]


def test_nothing_is_shown_of_what_is_short():
    out = console(terminal=False)
    with Progress(out, delay=3600), stage("verify"):
        pass
    assert out.file.getvalue() == ""


def test_a_terminal_shows_the_stage():
    told = Told()
    with Progress(Console(file=told, force_terminal=True, width=80), delay=0.001), stage("fuse-tir"):
        while "fuse-tir" not in told.text:
            assert told.event.wait(30)
    assert "fuse-tir" in told.text


def test_it_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("TIRAX_PROGRESS", "0")
    out = console(terminal=False)
    with Progress(out, delay=0), stage("verify"):
        pass
    assert out.file.getvalue() == ""
