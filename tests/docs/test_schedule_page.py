"""The Python blocks of docs/schedule.md run, one after the other, and what they assert holds."""

import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "schedule.md"


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    path = tmp_path / "schedule_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location("schedule_page", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
