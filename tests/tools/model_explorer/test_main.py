"""The adapter, run as Model Explorer runs it."""

from __future__ import annotations

import pytest

pytest.importorskip("model_explorer", reason="pip install 'tirax[model-explorer]'")

PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.exp %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}
"""


@pytest.fixture(scope="module")
def manager():
    from model_explorer.extension_manager import ExtensionManager

    loaded = ExtensionManager(["tirax.tools.model_explorer"])
    loaded.load_extensions()
    return loaded


def test_the_extension_is_loaded(manager):
    (own,) = [m for m in manager.get_extensions_metadata() if m["id"] == "tirax"]
    assert own["type"] == "adapter" and {"mlir", "py"} <= set(own["fileExts"])


def test_a_program_is_converted(manager, tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(PROGRAM)
    command = {"cmdId": "convert", "extensionId": "tirax", "modelPath": str(path), "settings": {}}
    (graph,) = manager.run_cmd({**command, "deleteAfterConversion": False})["graphs"]
    assert graph["id"] == "main" and [n["label"] for n in graph["nodes"]] == ["x: [n, 4] float32", "exp", "return"]
    assert graph["nodes"][1]["incomingEdges"][0]["sourceNodeId"] == graph["nodes"][0]["id"]
