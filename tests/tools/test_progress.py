"""Long builds tell what they do: a line now and then, or one that is kept up to date on a terminal."""

import io
import threading
import time

import pytest
from rich.console import Console

from tirax.driver.timings import IN_SUBPROCESS, stage
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


def test_steps_are_shown_in_lines_without_repetitions():
    reported = Recorder()
    with Progress("models/net[1].onnx", Console(file=reported, width=80), delay=0.001) as progress:
        for name in ("import net[1].onnx", "verify", "legalize-ops", IN_SUBPROCESS):
            with stage(name):
                reported.event.clear()
                step = lines([name])[0]
                while step not in reported.text.split("\n"):
                    assert reported.event.wait(30)
                time.sleep(0.01)
    shown = [line for line in reported.text.split("\n") if line]
    assert shown[-3:] == lines(["import net[1].onnx", "verify", IN_SUBPROCESS])
    assert shown[:-3] in ([], ["reading net[1].onnx"])
    assert list(progress.stages) == ["import net[1].onnx", "verify", "legalize-ops", IN_SUBPROCESS]


def lines(stages):
    texts = {"import net[1].onnx": "importing net[1].onnx", IN_SUBPROCESS: "compiling net[1].onnx (first run only)"}
    return [texts.get(name, "compiling net[1].onnx") for name in stages]


def test_nothing_is_shown_of_what_is_short():
    out = console(terminal=False)
    with Progress("net.onnx", out, delay=3600), stage("verify"):
        pass
    assert out.file.getvalue() == ""


def test_a_terminal_shows_the_stage():
    reported = Recorder()
    console = Console(file=reported, force_terminal=True, width=80)
    with Progress("net.onnx", console, delay=0.001), stage("fuse-tir"):
        while "fuse-tir" not in reported.text:
            assert reported.event.wait(30)
    assert "compiling net.onnx: fuse-tir (0 s)" in reported.text


def test_it_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("TIRAX_PROGRESS", "0")
    out = console(terminal=False)
    with Progress("net.onnx", out, delay=0), stage("verify"):
        pass
    assert out.file.getvalue() == ""
