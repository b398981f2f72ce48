"""The Python blocks of docs/onnx.md run, one after the other, and what they assert holds."""

import pytest
from pages import DOCS, python_blocks, run_blocks

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

PAGE = DOCS / "onnx.md"


def test_the_examples_of_the_page(tmp_path):
    blocks = python_blocks(PAGE)
    assert len(blocks) == 3
    run_blocks(blocks, "onnx", tmp_path)
