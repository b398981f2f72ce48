"""The comparison with peers runs to its end with those that are installed; times are not looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from strength import only_full

ROOT = Path(__file__).parents[2]


def run(*options):
    command = [sys.executable, "benchmarks/beside_peers.py", "--rounds", "1", "--sample", "0", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((ROOT / "build" / "benchmarks" / "beside_peers.json").read_text())["rows"]


@only_full
def test_operators_beside_numpy():
    text, rows = run("--only", "add of,1x784,batch 1,gelu_never")
    assert [row["program"] for row in rows] == ["add of one element", "matmul 1x784x128", "MLP, batch 1"]
    for row in rows:
        assert {"tirax", "numpy"} <= set(row["peers"])
        assert row["program"] in text
    assert rows[1]["limit_us"] > 0


@pytest.mark.parametrize("model", ["bert", "resnet", "vit", "gpt2", "llama"])
def test_models_as_onnx(model, onnxruntime):
    pytest.importorskip("onnx", reason="models are given to peers as ONNX: pip install onnx onnxruntime")
    _, rows = run("--models", model, "--small")
    assert "ONNX Runtime" in rows[0]["peers"]


def in_child(script):
    """What a script prints that stands beside the benchmarks: `measure` must be imported before numpy."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "benchmarks", capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_peer_that_fails_is_named_and_left_out():
    text = in_child(
        "import beside_peers as b\n"
        "def fails(program, threads): raise RuntimeError('no such kernel')\n"
        "peer = b.runtimes.Peer('other', 'numpy', fails)\n"
        "program = next(b.programs.small_programs())\n"
        "print(b.first_result(peer, program, 1))\n"
    )
    assert text.splitlines() == ["other cannot run add of one element: no such kernel", "None"]


def test_a_slow_function_sits_out_the_later_rounds():
    text = in_child(
        "import time, measure\n"
        "calls = []\n"
        "def slow(): calls.append('slow'); time.sleep(0.1)\n"
        "def quick(): calls.append('quick')\n"
        "measure.interleaved({'slow': slow, 'quick': quick}, rounds=8, sample=0, longest=0.29)\n"
        "print(calls.count('slow'), calls.count('quick'))\n"
    )
    assert text.split() == ["4", "9"]
