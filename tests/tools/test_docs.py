"""The commands and programs of README.md and docs/ work as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from preloaded import Commands
from strength import thinned

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


ONE = ("bring_a_model.md", "how_to.md")
"""The pages whose programs are one together."""

SHORT = ("editors.md",)
"""Pages that `make test` runs beside README.md: what the others need seconds for is left to `make test-all`."""

NEEDED_COMMANDS = {"deploying.md": "cc"}
"""What the commands of a page call besides this Python's."""


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def pages_with(language: str, without: str = "") -> Any:
    """`parametrize` over the pages with blocks of a language, without one."""
    pages = [p for p in PAGES if blocks(p, language) and p.name != without]
    return thinned("page", pages, lambda p: p.name if p.name in SHORT else "README.md", lambda p: p.name)


@pytest.fixture(scope="module")
def commands():
    """The folder of command lines that start at once."""
    started = Commands()
    yield started.bin
    started.close()


def environment(folder: Path, *tools: Path) -> dict[str, str]:
    """These tools and those of this Python in front, and a cache of its own."""
    path = os.pathsep.join([*map(str, tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache")}


@pages_with("sh")
def test_shell_commands(page, tmp_path, commands):
    needed = NEEDED_COMMANDS.get(page.name, "bash")
    if shutil.which(needed) is None:
        pytest.skip(f"the commands of the page call {needed}")
    script = "set -euo pipefail\n" + "".join(blocks(page, "sh")).replace("python3 ", f"{sys.executable} ")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment(tmp_path, commands), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr


@pages_with("python", without="bring_a_model.md")
def test_python_programs(page, tmp_path):
    programs_run(page, tmp_path)


def test_python_programs_with_torch(tmp_path, torch):
    programs_run(ROOT / "docs" / "bring_a_model.md", tmp_path)


def programs_run(page, tmp_path):
    texts = blocks(page, "python")
    for number, text in enumerate(["\n".join(texts)] if page.name in ONE else texts):
        path = tmp_path / f"example{number}.py"
        path.write_text(text)
        done = subprocess.run(
            [sys.executable, str(path)], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
