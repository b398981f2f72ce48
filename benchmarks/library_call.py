"""A call of a library from C beside the call from Python, and how large the library of an MLP is.

    python benchmarks/library_call.py

The same executable is called both ways in turns; results are compared first. The goals: a call from C takes 30 ns less
than one from Python, and a library is below 150 KB besides its weights.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure

from tools import mlp  # which makes numpy quiet, and is therefore before it

import numpy as np  # isort: skip

GOAL_NS, GOAL_BYTES = -30.0, 150_000
CALLS, ROUNDS, REPEATS = 500, 21, 7

PROGRAM = """
#include "mlp.h"
#include <stdio.h>
#include <time.h>
static float x[BATCH * 784], y[BATCH * 10];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(int count, char **names) {
  FILE *file = fopen(names[1], "rb");
  if (count < 2 || file == NULL || fread(x, sizeof x, 1, file) != 1) return 2;
  mlp_set_threads(1);
  if (mlp_forward_raw(x, BATCH, y)) return 1;
  for (int round = 0; round < ROUNDS; round++) {
    double begin = now();
    for (int i = 0; i < CALLS; i++) mlp_forward_raw(x, BATCH, y);
    printf("%f ", (now() - begin) / CALLS);
  }
  printf("| %.9g\\n", y[BATCH * 10 - 1]);
  return 0;
}
"""


def from_python(function, x: np.ndarray) -> list[float]:
    """Nanoseconds of a call."""
    times: list[float] = []
    for _ in range(ROUNDS):
        begin = time.process_time_ns()
        for _ in range(CALLS):
            function(x)
        times.append((time.process_time_ns() - begin) / CALLS)
    return times


def from_c(program: Path, data: Path, expected: float) -> list[float]:
    """Nanoseconds of a call. Raises `ValueError` where its result is another."""
    output = subprocess.run([str(program), str(data)], check=True, capture_output=True, text=True).stdout
    times, result = output.split("|")
    if not np.isclose(float(result), expected, rtol=1e-6):
        raise ValueError(f"C computes {result}, Python {expected}")
    return [float(t) for t in times.split()]


def row(batch: int, folder: Path) -> dict[str, float]:
    """Medians of the call both ways, and the size of the library without weights."""
    executable, x = mlp(batch)
    library = folder / "mlp.so"
    executable.export_library(library, header=folder / "mlp.h", weights=folder / "mlp.weights")
    text = re.sub(
        "BATCH|ROUNDS|CALLS", lambda m: str({"BATCH": batch, "ROUNDS": ROUNDS, "CALLS": CALLS}[m[0]]), PROGRAM
    )
    (folder / "main.c").write_text(text)
    program, data = folder / "main", folder / "x"
    x.tofile(data)
    subprocess.run(
        ["cc", "-O2", str(folder / "main.c"), str(library), f"-Wl,-rpath,{folder}", "-o", str(program)], check=True
    )
    function = executable["forward"]
    expected = float(function(x)[-1, -1])
    python, c = [], []
    for _ in range(REPEATS):
        python += from_python(function, x)
        c += from_c(program, data, expected)
    medians = statistics.median(python), statistics.median(c)
    return {"batch": batch, "Python ns": medians[0], "C ns": medians[1], "least Python": min(python), "least C": min(c),
            "bytes": library.stat().st_size}  # fmt: skip


def main() -> int:
    if shutil.which("cc") is None:
        print("no C compiler: nothing was compared")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(batch, Path(folder)) for batch in (1, 8)]
    print(f"{'batch':>6} {'Python ns':>10} {'C ns':>8} {'difference':>11} {'of minima':>10} {'bytes':>8}")
    for r in rows:
        difference, least = r["C ns"] - r["Python ns"], r["least C"] - r["least Python"]
        times = f"{r['Python ns']:>10.0f} {r['C ns']:>8.0f} {difference:>11.0f} {least:>10.0f}"
        print(f"{r['batch']:>6} {times} {r['bytes']:>8.0f}")
    measure.write("library_call", rows)
    reached = all(r["least C"] - r["least Python"] <= GOAL_NS and r["bytes"] <= GOAL_BYTES for r in rows)
    print(f"the goals ({GOAL_NS:.0f} ns, {GOAL_BYTES} bytes) are {'reached' if reached else 'missed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
