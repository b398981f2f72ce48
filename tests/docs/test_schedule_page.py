"""The Python blocks of docs/schedule.md run, one after the other, and what they assert holds."""

from pages import DOCS, python_blocks, run_blocks
from strength import only_full

PAGE = DOCS / "schedule.md"


@only_full
def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(PAGE)
    assert len(blocks) == 7
    run_blocks(blocks, "schedule", tmp_path)
