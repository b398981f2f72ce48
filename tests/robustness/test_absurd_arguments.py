"""Every option of the command lines with values that no option should have: a message, and no internal error.

The table is made of the parsers: an option that is new is in it.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import stat
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from strength import some

from tirax.tools import tirax_cli, tirax_lsp, tirax_opt

PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 6], f32> {
  %y = relax.exp %x : !relax.tensor<[n, 6], f32>
  relax.return %y : !relax.tensor<[n, 6], f32>
}
"""
NO_TEXT = ["a\0b", "\ud800", "x" * 300, "{", "pipe.mlir"]
VALUES = {
    "input": ["", *NO_TEXT, "absent.mlir", ".", "absent/x", "\udcff", "-1", "mlp.mlir:no_thing"],
    "output": [*NO_TEXT[:3], "pipe.mlir", ".", "absent/x", "mlp.mlir/x"],
    "folder": [*NO_TEXT[:3], "pipe.mlir", "mlp.mlir", "mlp.mlir/x"],
    "number": ["", *NO_TEXT, "nan", "-1", "1e999", "0x10", "1_", "--1"],
    "name": ["", *NO_TEXT, "no-thing", "-1", "\udcff", "=", "a=b", "n=-1", "x=pipe.mlir", "x=zeros:-1", "9" * 5000],
}
NUMBERS = (int, float, "count", "sizes", "bytes")
ANYTHING = frozenset(("--allow-extern", "--prompt", "--system", "--stop", "--explain"))
"""Options whose value may be any text."""
EMPTY = frozenset(("--passes", "--name", "--print-ir-before", "--print-ir-after", "--verify-each"))
"""Those that take nothing for none."""
COMMANDS = {
    "run": ["mlp.mlir"],
    "build": ["mlp.mlir", "-o", "out.tirax"],
    "import": ["absent.onnx", "-o", "out.mlir"],
    "inspect": ["mlp.mlir"],
    "graph": ["mlp.mlir"],
    "gui": ["mlp.mlir"],
    "new": ["plugin", "acme_two"],
    "reduce": ["mlp.mlir", "--pipeline", "default-cpu"],
    "bisect": ["mlp.mlir", "-p", "normalize"],
    "prove": ["mlp.mlir", "-p", "normalize"],
    "bench": ["mlp.mlir", "--repeat", "1"],
    "completion": ["bash"],
    "explain": ["mlp.mlir", "-o", "out.html"],
    "chat": ["absent.gguf"],
    "env": [],
    "cache": ["show"],
}
"""A right command line of each command, but for what it reads."""


def with_values(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [
        a
        for a in parser._actions
        if a.nargs != 0 and a.dest != "help" and not isinstance(a, argparse._SubParsersAction)
    ]


def kind_of(action: argparse.Action) -> str:
    """The row of `VALUES` that an option's values are in."""
    if action.type == "path":
        return "folder" if action.metavar in ("FOLDER", "DIR") else "output"
    if action.type in NUMBERS:
        return "number"
    return "name" if action.option_strings or action.choices or action.dest == "name" else "input"


def lines_of(parser: argparse.ArgumentParser, right: list[str], known: set[Any]) -> Iterator[list[str]]:
    """Command lines that are right but for one value; of options that no command before has, which `known` learns."""
    positions = [a.dest for a in with_values(parser) if not a.option_strings]
    for action in with_values(parser):
        option = action.option_strings[-1] if action.option_strings else ""
        if option and (option, action.help) in known:
            continue
        known.add((option, action.help))
        for value in VALUES[kind_of(action)] if option not in ANYTHING else ():
            if option:
                if value or option not in EMPTY:
                    yield [*right, f"{option}={value}"]
            else:
                place = positions.index(action.dest)
                yield [*right[:place], value, *right[place + 1 :]]


def table() -> Iterator[tuple[str, Callable[[Any], int], list[str]]]:
    parser = tirax_cli.command_line()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    known: set[Any] = set()
    for name, right in COMMANDS.items():
        for line in lines_of(commands.choices[name], right, known):
            yield name, tirax_cli.main, [name, *line]
    for line in lines_of(tirax_opt.command_line(), ["mlp.mlir"], known):
        yield "opt", tirax_opt.main, line
    for value in VALUES["name"]:
        yield "lsp", tirax_lsp.main, [value]
        yield "commands", tirax_cli.main, [value]


def test_every_command_is_in_the_table() -> None:
    (commands,) = (a for a in tirax_cli.command_line()._actions if isinstance(a, argparse._SubParsersAction))
    assert set(COMMANDS) == set(commands.choices) - {"compile"}  # which is build


@pytest.fixture
def folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "mlp.mlir").write_text(PROGRAM)
    os.mkfifo(tmp_path / "pipe.mlir")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIRAX_DEBUG", raising=False)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b""), isatty=lambda: False))
    yield tmp_path
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe.mlir").st_mode)
    assert (tmp_path / "mlp.mlir").read_text() == PROGRAM


ROWS: dict[str, list[tuple[Callable[[Any], int], list[str]]]] = {}
for _name, _main, _line in table():
    ROWS.setdefault(_name, []).append((_main, _line))


@pytest.mark.thinned
@pytest.mark.parametrize("command", sorted(ROWS))
def test_what_no_option_should_have_is_refused(command: str, folder: Any, capfd: Any) -> None:
    problems: list[str] = []
    for main, line in some(ROWS[command], 40):
        signal.alarm(20)  # a hang ends the test
        code = main(list(line))
        signal.alarm(0)
        err = capfd.readouterr().err
        is_refused = "error" in err and (code != 0 or "was not run: error" in err)
        if not is_refused or "internal error" in err or "Traceback" in err:
            problems.append(f"{[ascii(word)[:40] for word in line]}: {code} {ascii(err)[:200]}")
    assert problems == []


def test_a_pipe_that_somebody_reads_is_written_to(folder: Any) -> None:
    reader = os.open("pipe.mlir", os.O_RDONLY | os.O_NONBLOCK)
    assert tirax_opt.main(["mlp.mlir", "-o", "pipe.mlir"]) == 0
    assert b"relax.exp" in os.read(reader, 1 << 16)
    os.close(reader)


def test_a_path_that_is_no_text_is_printed_as_it_is(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "utf-8"))
    assert tirax_cli.main(["new", "plugin", "acme_two", "--in", "\udcff"]) == 0
    assert b"\xff/acme_two" in written.getvalue()
