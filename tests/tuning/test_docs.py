"""The code blocks of docs/tuning.md run, one after the other, and what they assert holds."""

import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 10
    path = tmp_path / "tuning_page.py"
    path.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("tuning_page", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
