"""The comparison with peers runs to its end with those that are installed; times are not looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*options):
    command = [sys.executable, "benchmarks/beside_peers.py", "--rounds", "1", "--sample", "0", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((ROOT / "build" / "benchmarks" / "beside_peers.json").read_text())["rows"]


def test_operators_beside_numpy():
    text, rows = run("--only", "add of,1x784,batch 1,gelu_never")
    assert [row["program"] for row in rows] == ["add of one element", "matmul 1x784x128", "MLP, batch 1"]
    for row in rows:
        assert {"tirax", "numpy"} <= set(row["peers"])
        assert row["program"] in text
    assert rows[1]["limit_us"] > 0


@pytest.mark.parametrize("model", ["bert", "resnet", "vit", "gpt2", "llama"])
def test_models_as_onnx(model):
    pytest.importorskip("onnx", reason="models are given to peers as ONNX: pip install onnx onnxruntime")
    pytest.importorskip("onnxruntime", reason="models are given to peers as ONNX: pip install onnx onnxruntime")
    _, rows = run("--models", model, "--small")
    assert "ONNX Runtime" in rows[0]["peers"]
