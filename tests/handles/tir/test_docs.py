"""The code blocks of docs/tensor_functions.md run, one after the other, and what they assert holds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "tensor_functions.md"


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    path = tmp_path / "tir_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location("tir_page", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
