"""Exported programs of PyTorch that were compiled before are loaded without PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

PROGRAM = """
import json, sys, tirax, numpy as np
f = tirax.compile(sys.argv[1])
x = np.arange(8, dtype="float32").reshape(2, 4)
result = f(x=x, scale=np.float32([2]))
imported = [name for name in ("torch", "tirax.dialects") if name in sys.modules]
print(json.dumps([np.asarray(result["y"]).tolist(), np.asarray(result["rest"][0]).tolist(), imported, repr(f)]))
"""


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, scale):
        return {"y": self.linear(x) * scale, "rest": (x + 1,)}


def test_the_next_process_does_not_import_pytorch(tmp_path, monkeypatch):
    monkeypatch.setenv("TIRAX_CACHE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    batch = torch.export.Dim("batch")
    model = Model().eval()
    shapes = {"x": {0: batch}, "scale": None}
    program = torch.export.export(model, (torch.ones(3, 4), torch.ones(1)), dynamic_shapes=shapes)
    path = tmp_path / "model.pt2"
    torch.export.save(program, path)

    def run() -> list[object]:
        command = [sys.executable, "-c", PROGRAM, str(path)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])

    first, second = run(), run()
    with torch.no_grad():
        expected = model(torch.arange(8.0).reshape(2, 4), torch.tensor([2.0]))
    torch.testing.assert_close(torch.tensor(second[0]), expected["y"])
    assert first[:2] == second[:2] and first[3] == second[3]
    assert (first[2], second[2]) == (["torch", "tirax.dialects"], [])
