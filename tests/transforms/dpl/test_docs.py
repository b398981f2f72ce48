"""The code blocks of docs/dpl.md, codegen.md and rewriting.md run, one after the other, and what they assert holds."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["dpl", "codegen", "rewriting"])
def test_the_examples_of_the_page(tmp_path, page):
    text = (DOCS / f"{page}.md").read_text()
    blocks = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    path = tmp_path / f"{page}_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location(f"{page}_page", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
