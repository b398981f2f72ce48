"""Every package that tirax does not install by itself, blocked: the door that needs it names the line of pip."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.frontend.importing.extras import MissingPackage
from tirax.frontend.onnx import from_onnx
from tirax.frontend.torch.exported_program import from_exported_program
from tirax.llm.chat.template import ChatTemplate
from tirax.llm.tokenizers.huggingface import huggingface_tokenizer
from tirax.runtime.library import toolchain
from tirax.tools import tirax_cli, tirax_lsp
from tirax.tools.gui import workbench
from tirax.tuning.cost_model import XGBModel
from tirax.tuning.progress import plot_trials

ROOT = Path(__file__).parents[2]


def chat(folder: Path) -> None:
    tokenizer: Any = None  # which is not looked at before the package is
    ChatTemplate("{{ messages }}", tokenizer).render([{"role": "user", "content": "hello"}])


def toolchain_of_nothing(folder: Path) -> None:
    toolchain.find_toolchain("s390x-unknown-linux-gnu")


def digits(folder: Path) -> None:
    runpy.run_path(str(ROOT / "examples" / "digits" / "train.py"))["split"](np.random.default_rng(0))


DOORS: list[tuple[str, str, Callable[[Path], Any], type[BaseException]]] = [
    ("jinja2", "language", chat, MissingPackage),
    ("tokenizers", "language", huggingface_tokenizer, MissingPackage),
    ("onnx", "onnx", lambda folder: from_onnx(str(folder / "a.onnx")), MissingPackage),
    ("torch", "torch", lambda folder: from_exported_program(None), MissingPackage),
    ("xgboost", "xgboost", lambda folder: XGBModel(), TiraxError),
    ("matplotlib", "plot", lambda folder: plot_trials(folder, folder / "a.png"), TiraxError),
    ("ziglang", "library", toolchain_of_nothing, TiraxError),
    ("xdsl.interactive.app", "gui", lambda folder: workbench(), TiraxError),
    ("sklearn", "train", digits, SystemExit),
]  # fmt: skip


@pytest.mark.parametrize(("package", "extra", "door", "kind"), DOORS, ids=[door[0] for door in DOORS])
def test_the_line_of_pip_is_named(
    package: str,
    extra: str,
    door: Callable[[Path], Any],
    kind: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(kind) as caught:
        door(tmp_path)
    assert f"pip install 'tirax[{extra}]'" in str(caught.value)


def test_the_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in text for _, extra, _, _ in DOORS)


@pytest.mark.parametrize("package", ["pygls", "lsprotocol"])
def test_the_language_server(package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "tirax.tools.lsp.server", raising=False)
    assert tirax_lsp.main([]) == 1
    assert "pip install 'tirax[lsp]'" in capsys.readouterr().err


def test_the_workbench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "xdsl.interactive.app", None)
    assert tirax_cli.main(["gui"]) == 1
    assert "pip install 'tirax[gui]'" in capsys.readouterr().err
