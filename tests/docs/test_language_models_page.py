"""The Python blocks of docs/language_models.md run, one after the other, with a tiny model.

Of the functions of a model `make test` compiles those for one sequence, which other tests compile, too.
"""

import importlib.util
import re
from pathlib import Path

import pytest
from strength import is_full
from tiny_language_models import SPEAKING, byte_pair_metadata, write_tiny_gguf

pytest.importorskip("jinja2", reason="chat templates are Jinja: tirax[language]")

PAGE = Path(__file__).parents[2] / "docs" / "language_models.md"
COMPILES_MORE = ("generate_batch", "model.logits")
"""What takes functions besides, for several sequences and for all logits."""


@pytest.mark.thinned
def test_the_examples_of_the_page(tmp_path, monkeypatch):
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8
    if not is_full():
        blocks = ["import numpy as np\n", *(b for b in blocks if not any(name in b for name in COMPILES_MORE))]
    metadata = byte_pair_metadata()
    write_tiny_gguf(tmp_path / "model.gguf", SPEAKING, metadata)
    path = tmp_path / "language_models_page.py"
    path.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("language_models_page", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
