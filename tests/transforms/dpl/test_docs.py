"""The code blocks of docs/dpl.md run, one after the other, and what they assert holds."""

import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "dpl.md"


def test_the_examples_of_the_page(tmp_path):
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    path = tmp_path / "dpl_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location("dpl_page", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
