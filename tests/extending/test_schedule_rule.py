"""docs/extending/tuning: the rule of the page is used as the page shows it, from outside of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from strength import only_full

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "extending" / "tuning"
PAGE = (FOLDER / "README.md").read_text()
RULE = FOLDER / "register_tile.py"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run_page(folder: Path, rule: str) -> subprocess.CompletedProcess[str]:
    (folder / "register_tile.py").write_text(rule)
    (folder / "program.py").write_text("".join(blocks("python")))
    env = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "program.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False)


@only_full  # tests/schedule/cpu/test_user_rules.py has rules of users, too
def test_the_program_of_the_page(tmp_path):
    done = run_page(tmp_path, RULE.read_text())
    assert done.returncode == 0, done.stderr


@only_full
def test_the_program_can_fail(tmp_path):
    done = run_page(tmp_path, RULE.read_text().replace("sch.vectorize(j_1)", "pass"))
    assert "AssertionError" in done.stderr


def test_the_page_shows_what_the_file_holds():
    assert all(text in RULE.read_text() for text in blocks("py"))


def test_a_rule_takes_no_more_than_30_lines():
    assert len(RULE.read_text().splitlines()) <= 30
