"""Sizes have one form on all command lines: by name; what takes several values takes a list, too."""

from __future__ import annotations

import argparse

import pytest

from tirax.tools.guard import UsageError
from tirax.tools.options import named, sizes, sizes_of, sizes_text


@pytest.mark.parametrize("text", ["2,5,1,0", "7", "n=2", "n=2,m=3"])
def test_sizes_are_written_as_they_are_read(text):
    assert sizes_text(sizes(text)) == text


def test_sizes_by_name():
    assert sizes("n=2, m=3") == sizes_of(["n=2,m=3"]) == sizes_of(["n=2", "m=3"]) == {"n": 2, "m": 3}


@pytest.mark.parametrize("text", ["", "a", "-1", "2,a", "n=", "n=a", "n=-1", "=3", "n=2,3", "n=1,n=2"])
def test_other_texts_are_refused_with_the_form(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected: n=2,m=3, or 2,5,0"):
        sizes(text)


def test_pairs_are_refused_with_the_form():
    with pytest.raises(UsageError, match=r"--sizes is not understood\n  expected: sizes by name: n=4,m=8\n  found: 2"):
        sizes_of(["2,5"])
    with pytest.raises(UsageError, match="--input names 'x' twice"):
        named(["x=1", "x=2"], "--input")


COMMANDS = (
    ("run",),
    ("bisect", "-p", "normalize,legalize"),
    ("reduce", "-p", "normalize", "--predicate", "meaning-changes"),
    ("explain", "-o", "out.html", "--pipeline", "optimize", "--no-run"),
)


@pytest.fixture
def program(tmp_path, mlp):
    path = tmp_path / "program.mlir"
    path.write_text(mlp)
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_every_command_takes_the_form_and_names_it(cli, program, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    name, *rest = command
    good = cli(name, program, *rest, "--sizes", "n=3")
    assert good.code == (1 if name == "reduce" else 0), good.err
    assert name != "reduce" or "the program does not have the fault" in good.err
    wrong = cli(name, program, *rest, "--sizes", "n:3")
    assert wrong.code == 2 and "n=" in wrong.err and "m=" in wrong.err
    if name in ("bisect", "reduce", "run"):
        unknown = cli(name, program, *rest, "--sizes", "nn=3")
        assert unknown.code == 2 and "unknown size 'nn'" in unknown.err


def test_tirax_opt_takes_sizes_by_name(opt, program):
    result = opt(program, "-p", "normalize,legalize", "--check-each", "--check-sizes", "n=3")
    assert result.code == 0 and "compared: " in result.err
    result = opt(program, "-p", "normalize", "--check-each", "--check-sizes", "k=3")
    assert result.code == 2 and "unknown size 'k'" in result.err
