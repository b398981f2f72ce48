"""docs/extending/importer: the converter of the page is used as the page shows it, from outside of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from strength import only_full

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "extending" / "importer"
PAGE = (FOLDER / "README.md").read_text()
CONVERTER = (FOLDER / "scale.py").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run_page(folder: Path, converter: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
    (folder / "scale.py").write_text(converter)
    (folder / "program.py").write_text("".join(blocks("python")))
    env = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "program.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False)


@only_full  # tests/frontend/onnx/test_custom.py has converters of users, too
def test_the_program_of_the_page(tmp_path):
    done = run_page(tmp_path, CONVERTER)
    assert done.returncode == 0, done.stderr


@only_full
def test_the_program_can_fail(tmp_path):
    assert "AssertionError" in run_page(tmp_path, CONVERTER.replace("multiply", "add")).stderr


def test_the_page_shows_what_the_file_holds():
    assert all(text in CONVERTER for text in blocks("py"))
