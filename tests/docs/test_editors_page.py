"""docs/editors.md: what it says of editors' files can be read, and names what there is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from tirax.universe import TIRAX_UNIVERSE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/editors.md").read_text()


def test_json_can_be_read():
    blocks = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    package, keys = map(json.loads, blocks)
    assert package["main"] == "./extension.js" and keys[0]["args"]["kind"].startswith("refactor.rewrite.tirax.")


def test_passes_and_the_command_exist():
    passes = re.findall(r"refactor\.rewrite\.tirax\.([\w-]+)", PAGE)
    assert passes and set(passes) <= TIRAX_UNIVERSE.all_passes.keys()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "tirax-lsp" in project["scripts"] and "lsp" in project["optional-dependencies"]
