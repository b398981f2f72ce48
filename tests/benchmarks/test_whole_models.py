"""The benchmark of whole models runs to its end, on narrow ones; times are not looked at."""

import json
import subprocess
import sys
from pathlib import Path

from strength import only_full

ROOT = Path(__file__).parents[2]


@only_full
def test_whole_models():
    options = ("--small", "--breakdown", "--models", "llama", "--rounds", "1")
    command = [sys.executable, "benchmarks/whole_models.py", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((ROOT / "build" / "benchmarks" / "whole_models.json").read_text())["rows"]
    assert row["model"] == "llama" and row["difference"] < 1e-5
    assert 1 <= row["memory_ratio"] < 1.05
    assert {"build_s", "again_s", "tirax_ms", "numpy_ms"} <= set(row)
    assert sum(kernel["calls"] for kernel in row["kernels"]) > 10
    assert "GFLOP/s" in done.stdout and "memory_ratio" in done.stdout
