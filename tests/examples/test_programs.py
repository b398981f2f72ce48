"""The demo and the benchmarks run to their end as a user runs them; times are not looked at."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from strength import only_full

ROOT = Path(__file__).parents[2]
STAGES = ("parse", "legalize", "annotate", "fuse-ops", "fuse-tir", "bind-params")


def run(*arguments: str) -> str:
    """What a program of the repository prints; fails with its errors where it fails."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


DEMO = """
import re, runpy, sys
from pathlib import Path
sys.path.insert(0, "examples/digits")
try:
    runpy.run_path("examples/digits/demo.py", run_name="__main__")
finally:
    print(re.search("Threads:.*", Path("/proc/self/status").read_text())[0])
"""
"""The demo, and how many threads there are at its end."""


@pytest.fixture(scope="module")
def demo() -> str:
    """What the demo prints."""
    return run("-c", DEMO)


def test_the_demo_compares_one_thread_with_one(demo: str):
    assert "one thread each" in demo
    assert demo.splitlines()[-1].split() == ["Threads:", "1"]


def test_the_demo_classifies_the_held_out_images(demo: str):
    assert re.search(r"accuracy +354 of 360 ", demo)
    assert "same digit for 360 of 360" in demo
    assert all(re.search(rf"^{stage} ", demo, re.MULTILINE) for stage in (*STAGES, "build"))
    for number, stage in enumerate(STAGES):
        text = (ROOT / "build" / "digits" / f"{number}-{stage}.py").read_text()
        assert "def main(" in text
        assert ("@T.prim_func" in text) == (number > 0)


@only_full
def test_the_mlp_benchmark():
    output = run("benchmarks/mlp.py", "--batches", "1,5", "--rounds", "3")
    rows = json.loads((ROOT / "build" / "benchmarks" / "mlp.json").read_text())["rows"]
    assert [row["batch"] for row in rows] == [1, 5]
    assert "numpy/tirax" in output


@only_full
def test_the_compile_time_benchmark():
    run("benchmarks/compile_time.py", "--repeats", "1")
    rows = json.loads((ROOT / "build" / "benchmarks" / "compile_time.json").read_text())["rows"]
    assert set(rows) == {"cold", "cached"}
    assert set(rows["cold"]) >= {"import", "parse", "build", "first call", "total", "build again"}


def test_a_benchmark_refuses_to_start_after_numpy():
    code = "import sys, numpy; sys.path.insert(0, 'benchmarks'); import measure; measure.quiet()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "before numpy is imported" in done.stderr


def test_interleaved_alternates():
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); import measure\n"
        "calls = []\n"
        "functions = {name: lambda name=name: calls.append(name) for name in 'ab'}\n"
        "found = measure.interleaved(functions, rounds=3, sample=0)\n"
        "assert calls[2:] == ['a', 'b'] * 3, calls\n"
        "assert list(found) == ['a', 'b'] and all(t.minimum <= t.median for t in found.values())\n"
    )
    run("-c", code)
