"""What is built in another process is in the cache afterwards; where that cannot be, it is built here."""

import subprocess
import sys

import pytest
from strength import only_full
from test_build_cache import built, check, own_cache

from tirax.diagnostics import TiraxError
from tirax.driver import build as building
from tirax.driver.subprocess_build import python_process
from tirax.target import Target

__all__ = ["own_cache"]


@only_full
def test_another_process_runs_the_passes():
    """The text of the module has the same place in the cache there, or it would be built here once more."""
    executable, ran = built(in_subprocess=True)
    assert not ran
    check(executable)


def test_where_the_other_process_fails_it_is_built_here(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    executable, ran = built(in_subprocess=True)
    assert ran
    check(executable)


@pytest.mark.parametrize("missing", ["", "/no/such/python"])
def test_where_there_is_no_other_process_it_is_built_here(monkeypatch, missing):
    monkeypatch.setattr(sys, "executable", missing)
    assert built(in_subprocess=True)[1]


def test_a_described_program_is_built_once(own_cache):
    from test_build_cache import module

    def build_program():
        raise TiraxError("it is made again")

    target = Target.host()
    check(building.build_described("a product", ("frontend",), module, target))
    check(building.build_described("a product", ("frontend",), build_program, target))
    with pytest.raises(TiraxError, match="made again"):
        building.build_described("another one", ("frontend",), build_program, target)
    described = "what another process makes", ("frontend",)
    check(
        building.build_described(
            *described, build_program, target, elsewhere=lambda: building.build_described(*described, module, target)
        )
    )


def test_the_folder_in_which_a_process_runs_has_no_modules_of_it(tmp_path):
    (tmp_path / "platform.py").write_text("print('taken from here')")
    command, environment = python_process("platform", ["terse"])
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout.strip() and "taken from here" not in process.stdout


def test_a_process_that_compiles_collects_no_garbage(tmp_path):
    (tmp_path / "seen.py").write_text("import gc, sys\nprint(gc.isenabled(), __name__, sys.argv[1:])")
    command, environment = python_process("seen", ["one", "two"])
    environment["PYTHONPATH"] = str(tmp_path)
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False __main__ ['one', 'two']"
