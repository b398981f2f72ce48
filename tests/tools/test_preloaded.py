"""Commands that the FileCheck tests run in a process that was started before do what the real ones do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from preloaded import Commands
from strength import only_full, thinned

REAL = Path(sys.executable).parent
T = "!relax.tensor<[n], f32>"
PROGRAM = f"relax.func @f(%x: {T}) -> {T} {{ relax.return %x : {T} }}"


@pytest.fixture(scope="module")
def commands():
    started = Commands()
    yield started.bin
    started.close()


def outcome(folder: Path, name: str, *options: str, text: str = "", **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [str(folder / name), *options], input=text, capture_output=True, text=True, env=os.environ | variables
    )
    return done.returncode, done.stdout, done.stderr


@only_full  # the FileCheck tests run by these commands
@thinned(
    ("name", "options", "text"),
    [
        ("tirax-opt", (), PROGRAM),
        ("tirax-opt", ("-t", "tvmscript"), PROGRAM),
        ("tirax-opt", (), "relax.funk @f() {}"),
        ("tirax-opt", ("--no-such-option",), PROGRAM),
        ("tirax-opt", ("no such file.mlir",), ""),
    ],
    1,
)
def test_they_do_what_the_real_ones_do(commands, name, options, text):
    assert outcome(commands, name, *options, text=text) == outcome(REAL, name, *options, text=text)


@only_full
def test_environment_and_folder_are_those_of_the_caller(commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown, real = (outcome(c, "tirax", "cache", "show", XDG_CACHE_HOME=str(tmp_path)) for c in (commands, REAL))
    assert shown == real and str(tmp_path) in shown[1]
    assert outcome(commands, "tirax-opt", "-o", "here.mlir", text=PROGRAM)[0] == 0
    assert (tmp_path / "here.mlir").is_file()
