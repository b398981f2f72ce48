"""xDSL's workbench over tirax's universe, driven as a user would: by textual's pilot."""

import asyncio
import sys

import pytest

from tirax.diagnostics import TiraxError
from tirax.tools import gui

MLP = """
relax.func @main(%x: !relax.tensor<[n, 6], f32>, %w: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %gv = relax.dataflow {
    %lv = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
    relax.output %lv : !relax.tensor<[n, 4], f32>
  }
  relax.return %gv : !relax.tensor<[n, 4], f32>
}
"""
SCRIPT = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        gv = R.exp(x)
        return gv
"""


@pytest.fixture
def workbench():
    pytest.importorskip("textual", reason="the workbench is textual's: pip install 'tirax[gui]'")
    pytest.importorskip("pyclip", reason="the workbench has a clipboard: pip install 'tirax[gui]'")
    return gui.workbench


def shown(app, *keys):
    """The text of the output, and what there is to choose from, after some keys."""

    async def drive():
        async with app.run_test() as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            return app.output_text_area.text, {str(p) for p in app.available_pass_list}

    return asyncio.run(drive())


def test_passes_run_on_a_program(workbench, tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text(MLP)
    text, passes = shown(workbench(str(path), "legalize,annotate"))
    assert "relax.call_tir @matmul" in text and "op_pattern" in text
    assert {"fuse-ops", "default-schedule", "cse"} <= passes


def test_a_script_is_shown_as_mlir(workbench, tmp_path):
    path = tmp_path / "m.py"
    path.write_text(SCRIPT)
    assert "relax.exp %x" in shown(workbench(str(path)))[0]


def test_a_pass_that_fails_is_reported(workbench, tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text(MLP)
    assert "no native code for" in shown(workbench(str(path), "lower-relax-calls"))[0]


def test_looking_past_a_pass_that_fails_leaves_the_workbench_open(workbench, tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text(MLP)
    app = workbench(str(path))

    async def drive():
        async with app.run_test() as pilot:
            await pilot.pause()
            (node,) = [node for node in app.passes_tree.root.children if str(node.label) == "lower-relax-calls"]
            node.expand()
            await pilot.pause()
            return [n.message for n in app._notifications], app.output_text_area.text

    (message,), text = asyncio.run(drive())
    assert "no native code for 'relax.matmul'" in message and "relax.matmul" in text


def test_without_textual(monkeypatch):
    monkeypatch.setitem(sys.modules, "xdsl.interactive.app", None)
    with pytest.raises(TiraxError, match="the workbench needs a package"):
        gui.workbench()
