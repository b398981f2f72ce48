"""The code blocks of docs/torch_compile.md run, one after the other, and what they assert holds."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from tirax.frontend.torch.compile import Options  # noqa: E402

PAGE = Path(__file__).parents[4] / "docs" / "torch_compile.md"


def test_the_examples_of_the_page(tmp_path):
    torch._dynamo.reset()
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    path = tmp_path / "torch_compile_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location("torch_compile_page", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_the_table_of_options_is_complete():
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [field.name for field in fields(Options)]
