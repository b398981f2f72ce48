"""Pages of the documentation whose Python blocks are run by tests."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def python_blocks(page: Path) -> list[str]:
    """The blocks marked as `py`, in order."""
    return re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def run_blocks(blocks: Iterable[str], name: str, folder: Path) -> None:
    """Run blocks as one module, which is a file of `folder`: what they raise has places in it."""
    path = folder / f"{name}_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
