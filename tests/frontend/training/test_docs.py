"""The code blocks of docs/training.md run, one after the other, and what they assert holds."""

from pathlib import Path

from pages import DOCS, python_blocks, run_blocks
from strength import only_full

PAGE = DOCS / "training.md"


@only_full
def test_the_examples_of_the_page(tmp_path: Path) -> None:
    blocks = python_blocks(PAGE)
    assert len(blocks) == 5
    run_blocks(blocks, "training", tmp_path)
