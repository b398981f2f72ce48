"""Models that come in from outside are compared and timed beside those written with nn; times are not looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from strength import only_full

ROOT = Path(__file__).parents[2]

pytest.importorskip("onnx", reason="onnx is not installed")


@only_full
def test_a_model_comes_in_as_it_is_written():
    command = [sys.executable, "benchmarks/imported_models.py", "--small", "--rounds", "1", "--models", "bert"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((ROOT / "build" / "benchmarks" / "imported_models.json").read_text())["rows"]
    assert row["model"] == "bert" and {"nn_ms", "onnx_ms", "nn/onnx"} <= row.keys()
    assert 0 <= row["difference"] < 1e-4
