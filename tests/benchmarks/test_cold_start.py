"""A file's first result, new and known, is the same; times are not looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from strength import only_full

ROOT = Path(__file__).parents[2]

pytest.importorskip("onnx", reason="onnx is not installed")


@only_full
def test_a_file_is_compiled_and_loaded():
    command = [sys.executable, "benchmarks/cold_start.py", "--small", "--repeats", "1", "--model", "vit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads((ROOT / "build" / "benchmarks" / "cold_start.json").read_text())["rows"]
    assert list(rows) == ["vit"] and {"first", "known"} <= rows["vit"].keys()
    assert all(seconds > 0 for row in rows["vit"].values() for seconds in row)
