"""docs/extending/intrinsic: the intrinsic of the page is used as the page shows it, from outside of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from strength import only_full

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "extending" / "intrinsic"
PAGE = (FOLDER / "README.md").read_text()
INTRINSIC = (FOLDER / "row_update.py").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run_page(folder: Path, intrinsic: str) -> subprocess.CompletedProcess[str]:
    (folder / "row_update.py").write_text(intrinsic)
    (folder / "program.py").write_text("".join(blocks("python")))
    env = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "program.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False)


@only_full
def test_the_program_of_the_page(tmp_path):
    done = run_page(tmp_path, INTRINSIC)
    assert done.returncode == 0, done.stderr


def test_what_does_something_else_is_not_put_in(tmp_path):
    done = run_page(tmp_path, INTRINSIC.replace("C[vj] + A[0] * B[vj]", "C[vj] - A[0] * B[vj]"))
    assert "ScheduleError" in done.stderr
    assert "^^^" in done.stderr


def test_the_page_shows_what_the_file_holds():
    assert all(text in INTRINSIC for text in blocks("py"))


def test_an_intrinsic_takes_no_more_than_30_lines():
    assert len(INTRINSIC.splitlines()) <= 30
