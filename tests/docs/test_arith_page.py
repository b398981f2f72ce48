"""The Python blocks of docs/arith.md run, one after the other, and what they assert holds."""

from pages import DOCS, python_blocks, run_blocks

PAGE = DOCS / "arith.md"


def test_the_examples_of_the_page(tmp_path):
    blocks = python_blocks(PAGE)
    assert len(blocks) == 6
    run_blocks(blocks, "arith", tmp_path)
