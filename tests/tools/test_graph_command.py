"""`tirax graph`: files by their extension, and what it refuses."""

from __future__ import annotations

import json

import pytest

from tirax.tools.tirax_cli import main

PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.exp %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(PROGRAM)
    return str(path)


def test_the_extension_says_the_form(program, tmp_path):
    dot, explorer = tmp_path / "x.dot", tmp_path / "x.json"
    assert main(["graph", program, "-o", str(dot)]) == main(["graph", program, "-o", str(explorer)]) == 0
    assert dot.read_text().startswith("digraph") and '"exp"' in dot.read_text()
    graphs = json.loads(explorer.read_text())
    assert graphs["label"] == "x" and [n["label"] for n in graphs["graphs"][0]["nodes"]][1:] == ["exp", "return"]


def test_passes_run_before(program, capsys):
    assert main(["graph", program, "-p", "legalize"]) == 0
    assert "call_tir @tir_exp" in capsys.readouterr().out


def test_what_is_refused(program, tmp_path, capsys):
    assert main(["graph", program, "-o", str(tmp_path / "x.png")]) == 2
    assert ".dot, .gv or .json" in capsys.readouterr().err and not list(tmp_path.glob("x.*"))
    assert main(["graph", str(tmp_path / "none.mlir")]) == 1
