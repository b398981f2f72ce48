"""No operator's loops work on single elements but those that say why."""

import subprocess
import sys
from pathlib import Path

from strength import only_full

ROOT = Path(__file__).parents[2]


@only_full
def test_what_is_scalar_has_a_reason():
    command = [sys.executable, "benchmarks/scalar_loops.py", "--check", "--target", "llvm -mcpu=x86-64-v4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "sorted by bits" in done.stdout
