"""Wrong passes, and the file of a program that shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from wrong_passes import MODEL
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`spoil(pass, change)`: the pass does the change, too."""

    def plant(cls: type[ModulePass], change: Callable[[ModuleOp], None]) -> None:
        right = cls.apply

        def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
            right(self, ctx, op)
            change(op)

        monkeypatch.setattr(cls, "apply", apply)

    return plant


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The file of the program."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path
