"""The Python blocks of docs/compile.md run, one after the other, and its table names all kinds of models."""

import pytest
from pages import DOCS, python_blocks, run_blocks

from tirax.api.load import LOADERS
from tirax.api.sources import FILES

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

PAGE = DOCS / "compile.md"


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(PAGE)
    assert len(blocks) == 2
    run_blocks(blocks, "compile", tmp_path)


def test_the_table_has_all_kinds_of_files():
    text = PAGE.read_text()
    assert all(f"`{suffix}`" in text for suffix in {*FILES, *LOADERS})


def test_the_model_of_pytorch_in_the_readme(tmp_path, torch):
    blocks = python_blocks(DOCS.parent / "README.md")
    run_blocks([block for block in blocks if "import torch" in block], "readme", tmp_path)
