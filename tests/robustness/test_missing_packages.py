"""Every package that tirax does not install by itself, blocked: the door that needs it names the line of pip."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_language_models import SPEAKING, byte_pair_metadata, write_tiny_gguf

from tirax.diagnostics import TiraxError
from tirax.frontend.importing.extras import MissingPackage
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


BLOCKED = """
import contextlib, io, sys
for name in {blocked}:
    sys.modules[name] = None
from tirax.diagnostics import TiraxError
from tirax.tools import tirax_cli, tirax_lsp

def command(main, *words):
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        code = main(list(words))
    if code:
        raise TiraxError(error.getvalue())

def tirax(line):
    command(tirax_cli.main, *line.split())

failed = []
for text in {entries}:
    try:
        exec(text, globals())
    except TiraxError as error:
        if {expected!r} not in str(error) or "internal error" in str(error):
            failed.append((text, str(error)))
    except BaseException as error:
        failed.append((text, repr(error)))
    else:
        failed.append((text, "no error"))
print("\\n".join(map(str, failed)))
"""
COMMANDS = ("run {}", "build {} -o out", "explain {} -o out.html", "graph {}", "import {} -o out.mlir", "inspect {}",
            "inspect --stubs {}", "bisect {}", "reduce {} --predicate crash")  # fmt: skip
PYTHON = {
    "onnx": [
        "from tirax.frontend.onnx import from_onnx; from_onnx({!r})",
        "from tirax.frontend.onnx import summary_of; summary_of({!r})",
        "from tirax.tvm_api.relax.frontend.onnx import from_onnx; from_onnx({!r})",
        "import tirax; tirax.compile({!r})",
    ],
    "torch": [
        "from tirax.frontend.torch.archive import load_exported_program; load_exported_program({!r})",
        "from tirax.frontend.torch.state_dict import read_state_dict; read_state_dict({!r})",
        "import tirax; tirax.compile({!r})",
    ],
}
OBJECTS = {
    "onnx": [
        "from tirax.frontend.onnx import converter_stub; converter_stub('Foo')",
        "import tirax.frontend.onnx.backend",
        "import tirax; tirax.compile(bytes(range(256)))",
    ],
    "torch": [
        "from tirax.frontend.torch.exported_program import from_exported_program; from_exported_program(None)",
        "from tirax.frontend.torch.fx import from_fx; from_fx(None, [])",
        "from tirax.frontend.torch.stub import converter_stub; converter_stub('aten.add.Tensor')",
        "import tirax; tirax.compile(b'PK' + bytes((3, 4)))",
    ],
}
FILES = {"onnx": "model.onnx", "torch": "model.pt2"}


def entries(extra: str, file: str) -> list[str]:
    """The ways to read a file of a framework, as Python code."""
    return [f"tirax({line.format(file)!r})" for line in COMMANDS] + [text.format(file) for text in PYTHON[extra]]


def failures(blocked: tuple[str, ...], texts: list[str], expected: str, folder: Path) -> str:
    """Which of these do not raise an error with the expected text, in a process where packages are blocked."""
    program = BLOCKED.format(blocked=blocked, entries=texts, expected=expected)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)
    return done.stdout.strip() + done.stderr


@pytest.mark.parametrize(
    ("extra", "blocked"),
    [("onnx", ("onnx",)), ("onnx", ("google",)), ("onnx", ("google.protobuf",)), ("torch", ("torch",))],
)
def test_every_way_to_read_a_model_names_the_extra(extra: str, blocked: tuple[str, ...], tmp_path: Path) -> None:
    if blocked != ("onnx",) and extra == "onnx":
        pytest.importorskip("onnx")
    (tmp_path / FILES[extra]).write_bytes(b"not a model")
    texts = entries(extra, FILES[extra]) + OBJECTS[extra]
    assert failures(blocked, texts, f"pip install 'tirax[{extra}]'", tmp_path) == ""


@pytest.mark.parametrize("extra", FILES)
def test_a_missing_file_is_reported_before_a_missing_package(extra: str, tmp_path: Path) -> None:
    assert failures((extra,), entries(extra, FILES[extra]), "o such file", tmp_path) == ""


def test_a_chat_names_the_extra_before_it_compiles(tmp_path: Path) -> None:
    metadata = {**byte_pair_metadata(), "tokenizer.chat_template": "{{ messages }}"}
    write_tiny_gguf(tmp_path / "model.gguf", SPEAKING, metadata)
    texts = [
        "import tirax.llm.compiled as compiled; compiled.CompiledDecoder.prepare = lambda self: print('compiled')",
        "tirax('chat model.gguf --prompt hello')",
        "from tirax.llm import Conversation, LanguageModel; Conversation(LanguageModel.load('model.gguf'))",
    ]
    said = failures(("jinja2",), texts, "pip install 'tirax[language]'", tmp_path)
    assert said == str((texts[0], "no error"))


@pytest.mark.parametrize(
    ("extra", "blocked", "text"),
    [
        ("lsp", "pygls", "command(tirax_lsp.main)"),
        ("lsp", "lsprotocol", "command(tirax_lsp.main)"),
        ("gui", "textual", "tirax('gui')"),
    ],
)
def test_a_program_of_its_own_packages(extra: str, blocked: str, text: str, tmp_path: Path) -> None:
    assert failures((blocked,), [text], f"pip install 'tirax[{extra}]'", tmp_path) == ""
