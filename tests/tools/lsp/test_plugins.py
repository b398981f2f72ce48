"""The language server knows what plug-ins bring: dialects and passes (docs/extending/dialect), operators (plugin)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from lsp_client import Client, place

pytest.importorskip("pygls", reason="the language server speaks by pygls: pip install 'tirax[lsp]'")

EXTENDING = Path(__file__).resolve().parents[3] / "docs" / "extending"
MLIR = """\
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = acme.twice %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}
"""
SCRIPT = """\
from tvm.script import relax as R
@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.acme.shrink(x, threshold=0.1)
"""


@pytest.fixture
def client(tmp_path):
    for folder, module, entry in (
        ("dialect", "acme_dialect", "[xdsl.universe]\nacme = acme_dialect:UNIVERSE\n"),
        ("plugin", "acme_operators", "[tirax.plugins]\nacme = acme_operators\n"),
    ):
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(entry)
        (tmp_path / f"{module}.py").write_text((EXTENDING / folder / f"{module}.py").read_text())
    command = [str(Path(sys.executable).with_name("tirax-lsp"))]
    running = Client(["env", f"PYTHONPATH={tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", *command])
    yield running
    assert running.close() == 0


def test_dialects_passes_and_operators_of_plugins(client):
    uri, other = "file:///folder/acme.mlir", "file:///folder/acme.py"
    assert client.open(uri, MLIR, "mlir") == [] and client.open(other, SCRIPT, "python") == []

    def ask(request, uri, position):
        return client.request(f"textDocument/{request}", {"textDocument": {"uri": uri}, "position": position})

    assert "Twice a tensor." in ask("hover", uri, place(MLIR, "twice"))["contents"]["value"]
    assert "Soft shrinkage" in ask("hover", other, place(SCRIPT, "shrink"))["contents"]["value"]
    items = ask("completion", other, place(SCRIPT, "shrink", shift=2))
    assert [item["label"] for item in items] == ["shrink"]
    here = {"line": 1, "character": 0}
    context = {"diagnostics": [], "only": ["refactor.rewrite.tirax.lower-acme"]}
    document = {"textDocument": {"uri": uri}, "range": {"start": here, "end": here}}
    (action,) = client.request("textDocument/codeAction", {**document, "context": context})
    (edit,) = client.request("codeAction/resolve", action)["edit"]["changes"][uri]
    assert "relax.add %x, %x" in edit["newText"] and "acme" not in edit["newText"]
