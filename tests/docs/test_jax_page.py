"""The Python blocks of docs/jax.md run, one after the other, and what they assert holds."""

import pytest
from pages import DOCS, python_blocks, run_blocks

pytest.importorskip("jax", reason="`make test-models` installs jax")

PAGE = DOCS / "jax.md"


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(PAGE)
    assert len(blocks) == 4
    run_blocks(blocks, "jax", tmp_path)
