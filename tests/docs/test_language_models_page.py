"""The Python blocks of docs/language_models.md run, one after the other, with a tiny model.

Of the functions of a model `make test` compiles those for one sequence, which other tests compile, too.
"""

import pytest
from pages import DOCS, python_blocks, run_blocks
from strength import is_full
from tiny_language_models import SPEAKING, byte_pair_metadata, write_tiny_gguf

pytest.importorskip("jinja2", reason="chat templates are Jinja: tirax[language]")

PAGE = DOCS / "language_models.md"
COMPILES_MORE = ("generate_batch", "model.logits", "export_library")
"""What takes functions besides: for several sequences, for all logits, with the weights inside."""


@pytest.mark.thinned
def test_the_examples_of_the_page(tmp_path, monkeypatch):
    blocks = python_blocks(PAGE)
    assert len(blocks) == 10
    if not is_full():
        blocks = ["import numpy as np\n", *(b for b in blocks if not any(name in b for name in COMPILES_MORE))]
    metadata = byte_pair_metadata()
    write_tiny_gguf(tmp_path / "model.gguf", SPEAKING, metadata)
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks, "language_models", tmp_path)
