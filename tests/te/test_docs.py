"""The code blocks of docs/te.md run, one after the other, and what they assert holds."""

from __future__ import annotations

from pathlib import Path

from pages import DOCS, python_blocks, run_blocks

PAGE = DOCS / "te.md"


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    blocks = python_blocks(PAGE)
    assert len(blocks) == 6
    run_blocks(blocks, "te", tmp_path)
