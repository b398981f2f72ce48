"""Generate docs/reference and the editor stubs from the code.

`python -m tirax.dev.reference` writes the files; a test checks that they are up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .api import api
from .left_out import left_out
from .operations import DIALECTS, dialect, dialects, operators
from .passes import passes
from .stubs import STUBS
from .tvm_names import tvm_api

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "operators.md": operators,
    "dialects.md": dialects,
    **{f"dialects/{name}.md": (lambda name=name: dialect(name)) for name in DIALECTS},
    "passes.md": passes,
    "api.md": api,
    "tvm_api.md": tvm_api,
    "left_out.md": left_out,
}
"""The pages below docs/reference, and the function that generates each."""


def main() -> None:
    """Write the pages and the stubs."""
    for name, stub in STUBS.items():
        (ROOT / name).write_text(stub(), encoding="utf-8")
    for name, page in PAGES.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")


__all__ = ["FOLDER", "PAGES", "ROOT", "STUBS", "main"]
