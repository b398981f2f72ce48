"""The code blocks of docs/dpl.md, codegen.md and rewriting.md run, one after the other, and what they assert holds."""

import pytest
from pages import DOCS, python_blocks, run_blocks


@pytest.mark.parametrize("page", ["dpl", "codegen", "rewriting"])
def test_the_examples_of_the_page(tmp_path, page):
    blocks = python_blocks(DOCS / f"{page}.md")
    assert len(blocks) >= 5
    run_blocks(blocks, page, tmp_path)
