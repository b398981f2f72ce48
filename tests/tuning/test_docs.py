"""The code blocks of docs/tuning.md run, one after the other, and what they assert holds."""

from pages import DOCS, python_blocks, run_blocks
from strength import only_full

PAGE = DOCS / "tuning.md"


@only_full
def test_the_examples_of_the_page(tmp_path, monkeypatch):
    blocks = python_blocks(PAGE)
    assert len(blocks) == 10
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks, "tuning", tmp_path)
