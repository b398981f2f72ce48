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


def rows(section: str) -> dict[str, list[str]]:
    """The number of each line and the tests that it names."""
    found = re.findall(r"^\| (\d+b?) \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE)
    return {number: re.findall(r"`([^`]+)`", tests) for number, tests in found}


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_line_is_there_once() -> None:
    hostile = list(rows(HOSTILE))
    assert hostile == ["1", "2", "3", "3b", *map(str, range(4, len(hostile)))]
    assert list(rows(FIRST_USE)) == [str(n) for n in range(1, 14) if n not in (5, 11)]


@pytest.mark.parametrize("section", [HOSTILE, FIRST_USE], ids=["hostile", "first use"])
def test_every_line_names_tests_that_are_there(section: str) -> None:
    named = rows(section)
    assert all(named.values())
    for test in (name for names in named.values() for name in names):
        file, _, name = test.partition("::")
        assert name.startswith("test_") and name in names_in(file), test
