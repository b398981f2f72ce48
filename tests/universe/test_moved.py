"""Modules that moved are the same objects under their old paths."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from tirax.moved import MOVED, current_path


@pytest.mark.parametrize("old", MOVED)
def test_the_old_path_warns_and_imports_the_module(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        module = import_module(old)
    assert module is import_module(MOVED[old])
    assert module.__spec__.name == module.__name__ == MOVED[old]


def test_a_module_of_a_package_moved_with_it():
    assert current_path("tirax.frontend.gguf.reader") == "tirax.llm.gguf.reader"
    with pytest.warns(DeprecationWarning):
        old = import_module("tirax.frontend.gguf.reader")
    assert old is import_module("tirax.llm.gguf.reader")


@pytest.mark.parametrize("path", ["tirax.lowering", "tirax.lowering.emit", "tirax.frontend", "numpy", "tirax.no_such"])
def test_other_paths_are_left_to_other_finders(path):
    assert current_path(path) is None


def test_programs_of_the_first_release_run():
    program = (
        "from tirax.lowering.build import build; from tirax.language import LanguageModel; print(build.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "tirax.driver.build\n"
    assert "tirax.language is now tirax.llm" in done.stderr
