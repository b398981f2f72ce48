"""The Python blocks of docs/language_model_files.md run, one after the other, with a tiny model."""

from pages import DOCS, python_blocks, run_blocks
from tiny_language_models import byte_pair_metadata, tiny, write_tiny_gguf

PAGE = DOCS / "language_model_files.md"


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    blocks = python_blocks(PAGE)
    assert len(blocks) == 4
    write_tiny_gguf(tmp_path / "model.gguf", tiny(vocabulary_size=300), byte_pair_metadata())
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks, "language_model_files", tmp_path)
