"""The Python blocks of docs/language_models.md run, one after the other, with a tiny model."""

import pytest
from pages import DOCS, python_blocks, run_blocks
from strength import only_full
from tiny_language_models import SPEAKING, byte_pair_metadata, write_tiny_gguf

pytest.importorskip("jinja2", reason="chat templates are Jinja: tirax[language]")
pytestmark = pytest.mark.usefixtures("programs_are_kept")

PAGE = DOCS / "language_models.md"


@only_full  # what it compiles, tests/llm and tests/tools/test_chat.py compile in part
def test_the_examples_of_the_page(tmp_path, monkeypatch):
    blocks = python_blocks(PAGE)
    assert len(blocks) == 10
    metadata = byte_pair_metadata()
    write_tiny_gguf(tmp_path / "model.gguf", SPEAKING, metadata)
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks, "language_models", tmp_path)
