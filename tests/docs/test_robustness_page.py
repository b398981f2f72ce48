"""docs/robustness.md: each line names tests, which are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
HOSTILE, FIRST_USE = PAGE.partition("## First use")[::2]


def rows(section: str) -> list[list[str]]:
    """The tests that each line names."""
    matches = re.findall(r"^\| \d+[a-z]? \| .+ \| (`tests/[^|]+) \|$", section, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", tests) for tests in matches]


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("section", [HOSTILE, FIRST_USE], ids=["hostile", "first use"])
def test_every_line_is_read(section: str) -> None:
    lines = [line for line in section.splitlines() if line.startswith("| ") and "what went wrong" not in line]
    assert len(rows(section)) == len(lines) > 10


@pytest.mark.parametrize("section", [HOSTILE, FIRST_USE], ids=["hostile", "first use"])
def test_every_line_names_tests_that_are_there(section: str) -> None:
    assert all(rows(section))
    for test in (name for names in rows(section) for name in names):
        file, _, name = test.partition("::")
        assert name.startswith("test_") and name in names_in(file), test
