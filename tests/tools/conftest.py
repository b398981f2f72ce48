"""Fixtures that run the command lines in this process."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from wrong_passes import MODEL
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirax.tools import tirax_cli, tirax_opt

MLP = """
relax.func @main(%x: !relax.tensor<[n, 6], f32>, %w: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %gv = relax.dataflow {
    %lv = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
    %lv1 = relax.nn.relu %lv : !relax.tensor<[n, 4], f32>
    relax.output %lv1 : !relax.tensor<[n, 4], f32>
  }
  relax.return %gv : !relax.tensor<[n, 4], f32>
}
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def _runner(main: Callable[..., int], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*args: object, stdin: str | bytes = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        code = main([str(arg) for arg in args])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def opt(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`opt("-p", "normalize", stdin=text)` is `tirax-opt`."""
    return _runner(tirax_opt.main, capfd, monkeypatch)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`cli("run", file)` is `tirax`."""
    return _runner(tirax_cli.main, capfd, monkeypatch)


@pytest.fixture
def mlp() -> str:
    """A matmul and a relu of n rows."""
    return MLP


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
